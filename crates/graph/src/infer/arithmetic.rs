//! Elementwise arithmetic on the small tensors that decide shapes.

use super::call::Call;
use super::value::{Elements, Value, as_type, broadcast_value, small};
use crate::TensorDesc;

/// A function of one number for each element.
pub(super) fn unary(call: &Call<'_>, name: &str, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    // ONNX may ask for the infinities of one sign.
    let asked = |sign| call.flag(&[sign], true);
    let (below, above) = (asked("detect_negative"), asked("detect_positive"));
    let elements = match &x.elements {
        Elements::Floats(v) if name == "IsInf" => {
            let is_one = |f: f64| f.is_infinite() && if f > 0.0 { above } else { below };
            Elements::Ints(v.iter().map(|f| f.map(|f| i64::from(is_one(f)))).collect())
        }
        Elements::Ints(v) => {
            let op: fn(i64) -> Option<i64> = match name {
                "Neg" => i64::checked_neg,
                "Abs" => i64::checked_abs,
                "Sign" => |a| Some(a.signum()),
                "Square" => |a| a.checked_mul(a),
                "LogicalNot" => |a| Some(i64::from(a == 0)),
                "IsNan" | "IsInf" => |_| Some(0),
                "IsFinite" => |_| Some(1),
                "Floor" | "Ceil" | "Round" | "Rint" => Some,
                _ => return None,
            };
            Elements::Ints(v.iter().map(|i| i.and_then(op)).collect())
        }
        Elements::Floats(v) => {
            let op: fn(f64) -> f64 = match name {
                "Neg" => |a| -a,
                "Abs" => f64::abs,
                "Sign" => f64::signum,
                "Square" => |a| a * a,
                "Floor" => f64::floor,
                "Ceil" => f64::ceil,
                "Round" | "Rint" => f64::round_ties_even,
                "Sqrt" => f64::sqrt,
                "Reciprocal" => f64::recip,
                "Exp" => f64::exp,
                "Log" => f64::ln,
                "IsNan" => |a| f64::from(u8::from(a.is_nan())),
                "IsFinite" => |a| f64::from(u8::from(a.is_finite())),
                _ => return None,
            };
            Elements::Floats(v.iter().map(|f| f.map(op)).collect())
        }
    };
    Value::new(x.dims.clone(), as_type(elements, out.dtype))
}

type IntOp = fn(i64, i64) -> Option<i64>;
type FloatOp = fn(f64, f64) -> f64;

#[expect(clippy::float_cmp, reason = "the operator compares exactly")]
/// What a binary operator does to integers (nothing where it overflows or divides by zero) and to
/// floating-point numbers.
fn binary_ops(name: &str) -> Option<(IntOp, FloatOp)> {
    fn truth(holds: bool) -> f64 {
        f64::from(u8::from(holds))
    }
    Some(match name {
        "Add" | "AddV2" => (i64::checked_add, |a, b| a + b),
        "Sub" => (i64::checked_sub, |a, b| a - b),
        "Mul" => (i64::checked_mul, |a, b| a * b),
        "Div" | "RealDiv" | "TruncateDiv" => (i64::checked_div, |a, b| a / b),
        "FloorDiv" => (|a, b| floor_mod(a, b).and_then(|r| a.checked_sub(r)?.checked_div(b)), |a, b| (a / b).floor()),
        "Mod" | "TruncateMod" => (i64::checked_rem, |a, b| a % b),
        "FloorMod" => (floor_mod, |a, b| a - (a / b).floor() * b),
        "Maximum" => (|a, b| Some(a.max(b)), f64::max),
        "Minimum" => (|a, b| Some(a.min(b)), f64::min),
        "Pow" => (|a, b| a.checked_pow(u32::try_from(b).ok()?), f64::powf),
        "Equal" => (|a, b| Some(i64::from(a == b)), |a, b| truth(a == b)),
        "NotEqual" => (|a, b| Some(i64::from(a != b)), |a, b| truth(a != b)),
        "Less" => (|a, b| Some(i64::from(a < b)), |a, b| truth(a < b)),
        "LessEqual" => (|a, b| Some(i64::from(a <= b)), |a, b| truth(a <= b)),
        "Greater" => (|a, b| Some(i64::from(a > b)), |a, b| truth(a > b)),
        "GreaterEqual" => (|a, b| Some(i64::from(a >= b)), |a, b| truth(a >= b)),
        "LogicalAnd" => (|a, b| Some(i64::from(a != 0 && b != 0)), |a, b| truth(a != 0.0 && b != 0.0)),
        "LogicalOr" => (|a, b| Some(i64::from(a != 0 || b != 0)), |a, b| truth(a != 0.0 || b != 0.0)),
        _ => return None,
    })
}

/// What an operator on bits does to integers; truth values are written so too (`Xor` of ONNX).
fn bitwise(name: &str) -> Option<IntOp> {
    Some(match name {
        "BitwiseAnd" => |a, b| Some(a & b),
        "BitwiseOr" => |a, b| Some(a | b),
        "BitwiseXor" => |a, b| Some(a ^ b),
        _ => return None,
    })
}

/// Remainder with the sign of the divisor.
fn floor_mod(a: i64, b: i64) -> Option<i64> {
    let r = a.checked_rem(b)?;
    Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
}

/// A function of two numbers for each pair of elements, after broadcasting.
pub(super) fn binary(call: &Call<'_>, name: &str, out: &TensorDesc) -> Option<Value> {
    let (int_op, float_op) = match bitwise(name) {
        Some(on_bits) => (on_bits, None),
        None => binary_ops(name).map(|(int_op, float_op)| (int_op, Some(float_op)))?,
    };
    let dims = small(out)?;
    let a = broadcast_value(call.value(0)?.as_ref(), dims)?;
    let b = broadcast_value(call.value(1)?.as_ref(), dims)?;
    let elements = if let (Elements::Ints(a), Elements::Ints(b)) = (&a.elements, &b.elements) {
        Elements::Ints(a.iter().zip(b).map(|(a, b)| a.zip(*b).and_then(|(a, b)| int_op(a, b))).collect())
    } else {
        let (float_op, a, b) = (float_op?, a.partial_floats(), b.partial_floats());
        Elements::Floats(a.iter().zip(&b).map(|(a, b)| a.zip(*b).map(|(a, b)| float_op(a, b))).collect())
    };
    Value::new(dims.to_vec(), as_type(elements, out.dtype))
}
