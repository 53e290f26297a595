//! Products of 8-bit integers in 32 bits, exact whatever the zero points.
//!
//! CANN's cube multiplies int8 and knows no zero points. With operands a and b and their zero points p and q,
//!
//! ```text
//! sum (a - p)(b - q) = sum ab - p sum (b - q) - q sum a
//! ```
//!
//! so that the product stays one of int8, and what is beside it are sums: of a constant operand they are constants, which
//! a convolution takes as its bias. Unsigned operands are moved by 128, their zero points with them.

use super::{Rule, conv, window, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Constant, DataType, Node, Port, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("MatMulInteger", matmul_integer), with("ConvInteger", conv_integer)];

/// What is to be taken off an operand.
#[derive(Clone, Copy, PartialEq)]
enum Zero {
    Nothing,
    /// This number, off every element.
    Number(i64),
    /// A tensor of int32.
    Tensor(Port),
}

/// An operand as the cube multiplies it.
struct Operand {
    /// int8.
    values: Port,
    zero: Zero,
}

/// The types of both operands: int8 or uint8, or `None` where one is not known.
fn types(op: &Op, factors: &[Factor; 2]) -> Option<[DataType; 2]> {
    let of = |factor: &Factor| {
        let zero = factor.zero.map(|zero| op.element_type(zero)).filter(|&dtype| dtype != DataType::Undefined);
        let dtype = zero.unwrap_or_else(|| op.element_type(factor.values));
        matches!(dtype, DataType::Int8 | DataType::Uint8).then_some(dtype)
    };
    Some([of(&factors[0])?, of(&factors[1])?])
}

/// A factor of this type in int8.
fn operand(op: &mut Op, dtype: DataType, factor: Factor, role: &str) -> Result<Operand> {
    let x = factor.values;
    let moved = if dtype == DataType::Uint8 { 128 } else { 0 };
    let mut values = if moved == 0 { x } else { signed(op, x)? };
    if factor.turned {
        values = op.transposed(values, &[1, 0])?;
    }
    let Some(zero) = factor.zero else { return Ok(Operand::new(values, -moved)) };
    if let Some(&[first, ..]) = op.const_ints(zero)
        && !is_tensor(op, zero)
    {
        return Ok(Operand::new(values, first.saturating_sub(moved)));
    }
    let mut zero = op.helper("Cast", &[zero], &[("dst_type", Attr::Type(DataType::Int32))])?;
    if moved != 0 {
        let by = number(op, &format!("{role}_moved"), moved)?;
        zero = op.helper("Sub", &[zero, by], &[])?;
    }
    Ok(Operand { values, zero: Zero::Tensor(zero) })
}

/// Bytes from 0 to 255 as those from -128 to 127; float16 holds both exactly.
fn signed(op: &mut Op, x: Port) -> Result<Port> {
    let wide = op.helper("Cast", &[x], &[("dst_type", Attr::Type(DataType::Float16))])?;
    let moved = op.helper("Adds", &[wide], &[("value", Attr::Float(-128.0))])?;
    op.helper("Cast", &[moved], &[("dst_type", Attr::Type(DataType::Int8))])
}

/// A constant of 32 bits.
fn number(op: &mut Op, role: &str, value: i64) -> Result<Port> {
    op.constant_input(role, TensorDesc::new(DataType::Int32, Shape::scalar()), Constant::Ints(vec![value]))
}

impl Operand {
    fn new(values: Port, zero: i64) -> Self {
        Operand { values, zero: if zero == 0 { Zero::Nothing } else { Zero::Number(zero) } }
    }

    /// The zero point as a tensor, lying before so many axes if it is a list.
    fn zero_tensor(&self, op: &mut Op, role: &str, behind: usize) -> Result<Option<Port>> {
        Ok(match self.zero {
            Zero::Nothing => None,
            Zero::Number(value) => Some(number(op, role, value)?),
            Zero::Tensor(zero) if behind == 0 || op.desc(zero).shape.rank() == Some(0) => Some(zero),
            Zero::Tensor(zero) => {
                let shape = op.ints_input(&format!("{role}_shape"), [vec![-1], vec![1; behind]].concat())?;
                Some(op.helper("Reshape", &[zero, shape], &[])?)
            }
        })
    }

    /// The sums of its elements along these axes, which stay with size 1.
    fn sums(&self, op: &mut Op, role: &str, axes: &[i64], minus: Option<Port>) -> Result<Port> {
        let mut wide = op.helper("Cast", &[self.values], &[("dst_type", Attr::Type(DataType::Int32))])?;
        if let Some(minus) = minus {
            wide = op.helper("Sub", &[wide, minus], &[])?;
        }
        let axes = op.ints_input(&format!("{role}_axes"), axes.to_vec())?;
        op.helper("ReduceSum", &[wide, axes], &[("keep_dims", Attr::Bool(true))])
    }
}

/// Takes products off a tensor.
fn minus(op: &mut Op, from: Port, x: Port, y: Port) -> Result<Port> {
    let product = op.helper("Mul", &[x, y], &[])?;
    op.helper("Sub", &[from, product], &[])
}

/// Whether a zero point is more than one known number.
fn is_tensor(op: &Op, zero: Port) -> bool {
    !op.const_ints(zero).is_some_and(|list| list.first().is_some_and(|first| list.iter().all(|value| value == first)))
}

/// Whether no factor has a zero point other than 0.
fn no_zeros(op: &Op, factors: &[Factor; 2]) -> bool {
    factors.iter().filter_map(|factor| factor.zero).all(|zero| op.is_zero(zero))
}

/// A quantised tensor that is multiplied.
#[derive(Clone, Copy)]
pub struct Factor {
    /// Its numbers.
    pub values: Port,
    /// Its zero points, where it has any.
    pub zero: Option<Port>,
    /// Whether it is a matrix that is multiplied transposed.
    pub turned: bool,
}

/// Operands of a product and their zero points, by input.
#[derive(Clone, Copy)]
pub struct Places {
    pub left: usize,
    pub right: usize,
    pub left_zero: Option<usize>,
    pub right_zero: Option<usize>,
}

impl Places {
    /// What stands at these inputs.
    fn factors(&self, op: &Op) -> Result<[Factor; 2]> {
        let factor = |values: usize, zero: Option<usize>| -> Result<Factor> {
            Ok(Factor { values: op.required(values)?, zero: zero.and_then(|zero| op.input(zero)), turned: false })
        };
        Ok([factor(self.left, self.left_zero)?, factor(self.right, self.right_zero)?])
    }
}

/// The product of two stacks of matrices in 32 bits; `None` where the type of an operand is not known or an operand with
/// a zero point is a vector.
pub fn product(op: &mut Op, at: &Places) -> Result<Option<Port>> {
    let factors = at.factors(op)?;
    product_of(op, factors)
}

/// The same of these factors.
pub fn product_of(op: &mut Op, factors: [Factor; 2]) -> Result<Option<Port>> {
    let Some(types) = types(op, &factors) else { return Ok(None) };
    let vectors = factors.iter().any(|factor| op.desc(factor.values).shape.rank() == Some(1));
    if vectors && !(types == [DataType::Int8; 2] && no_zeros(op, &factors)) {
        return Ok(None);
    }
    let left = operand(op, types[0], factors[0], "a")?;
    let right = operand(op, types[1], factors[1], "b")?;
    let mut node = op.node("BatchMatMulV2").with_inputs([left.values, right.values]);
    node.attrs.set("adj_x1", Attr::Bool(false));
    node.attrs.set("adj_x2", Attr::Bool(false));
    let mut so_far = Port::first(op.core(node)?);
    let right_zero = right.zero_tensor(op, "b_zero", 0)?;
    if let Some(zero) = left.zero_tensor(op, "a_zero", 1)? {
        let sums = right.sums(op, "b", &[-2], right_zero)?;
        so_far = minus(op, so_far, zero, sums)?;
    }
    if let Some(zero) = right_zero {
        let sums = left.sums(op, "a", &[-1], None)?;
        so_far = minus(op, so_far, sums, zero)?;
    }
    Ok(Some(so_far))
}

/// The convolution in 32 bits, with this bias; `None` where the type of an operand is not known, or where a padding that
/// only sizes tell has to hold a zero point that only a run tells.
pub fn convolution(op: &mut Op, at: &Places, bias: Option<Port>) -> Result<Option<Port>> {
    let spatial = window::spatial_rank(op, &[at.right, at.left])?;
    let factors = at.factors(op)?;
    let Some(types) = types(op, &factors) else { return Ok(None) };
    let mut form = op.node(if spatial == 3 { "Conv3D" } else { "Conv2D" });
    window::set_window(op, &mut form, spatial)?;
    conv::set_groups(op, &mut form)?;
    conv::check_kernel(op, at.right, spatial)?;
    let read = at.left_zero.and_then(|zero| op.input(zero));
    if form.attrs.str("auto_pad").is_some() && read.is_some_and(|zero| is_tensor(op, zero)) {
        return Ok(None);
    }
    let mut image = operand(op, types[0], factors[0], "x")?;
    let filter = operand(op, types[1], factors[1], "w")?;
    match image.zero {
        Zero::Nothing => {}
        // What surrounds the image is to be nothing, that is, the zero point.
        Zero::Number(zero) => form.attrs.set("offset_x", Attr::Int(zero)),
        Zero::Tensor(zero) => image.values = padded(op, image.values, zero, &mut form, spatial)?,
    }
    let with_bias = biased(op, &form, &image, filter.values, bias)?;
    let core = Node { inputs: with_bias, ..form.clone() };
    let plain = Port::first(op.core(core)?);
    let Some(zero) = filter.zero_tensor(op, "w_zero", spatial)? else { return Ok(Some(plain)) };
    // The sums of what lies below the window, once for each filter: a convolution with ones.
    let ones = op.helper("OnesLike", &[filter.values], &[])?;
    let inputs: Vec<Port> = biased(op, &form, &image, ones, None)?.into_iter().flatten().collect();
    let attrs: Vec<(&str, Attr)> = form.attrs.iter().map(|(name, value)| (name, value.clone())).collect();
    let sums = op.helper(&form.op_type, &inputs, &attrs)?;
    minus(op, plain, sums, zero).map(Some)
}

/// The inputs of a convolution of int8, with what the image's zero point makes of its bias.
fn biased(op: &mut Op, form: &Node, image: &Operand, filter: Port, bias: Option<Port>) -> Result<Vec<Option<Port>>> {
    let mut inputs = vec![Some(image.values), Some(filter)];
    let zero = image.zero_tensor(op, "x_zero", 0)?;
    let offset = match zero {
        None => None,
        Some(zero) => {
            let taps = Operand { values: filter, zero: Zero::Nothing };
            let axes: Vec<i64> = (1..form.attrs.ints("pads").map_or(0, <[i64]>::len) as i64 / 2 + 2).collect();
            let sums = taps.sums(op, "w", &axes, None)?;
            let flat = op.ints_input("bias_shape", vec![-1])?;
            let sums = op.helper("Reshape", &[sums, flat], &[])?;
            let product = op.helper("Mul", &[sums, zero], &[])?;
            Some(match bias {
                Some(bias) => op.helper("Sub", &[bias, product], &[])?,
                None => op.helper("Neg", &[product], &[])?,
            })
        }
    };
    inputs.extend(offset.or(bias).map(Some));
    Ok(inputs)
}

/// The image with its zero point around it, and no padding left in the window.
fn padded(op: &mut Op, x: Port, zero: Port, form: &mut Node, spatial: usize) -> Result<Port> {
    let pads = form.attrs.ints("pads").unwrap_or_default().to_vec();
    if pads.iter().all(|&pad| pad == 0) {
        return Ok(x);
    }
    let side = |which: usize| [0, 0].into_iter().chain(pads.iter().skip(which).step_by(2).copied());
    let paddings = op.ints_input("paddings", side(0).chain(side(1)).collect())?;
    let value = op.helper("Cast", &[zero], &[("dst_type", Attr::Type(DataType::Int8))])?;
    form.attrs.set("pads", Attr::Ints(vec![0; 2 * spatial]));
    let attrs = [("mode", Attr::Str("constant".to_owned())), ("paddings_contiguous", Attr::Bool(false))];
    op.helper("PadV3", &[x, paddings, value], &attrs)
}

const OPERANDS: Places = Places { left: 0, right: 1, left_zero: Some(2), right_zero: Some(3) };

fn matmul_integer(op: &mut Op) -> Result<()> {
    match product(op, &OPERANDS)? {
        Some(result) => op.finish_with(result),
        None => op.keep_shaped_as("BatchMatMulV2", DataType::Int32)?,
    }
    Ok(())
}

fn conv_integer(op: &mut Op) -> Result<()> {
    match convolution(op, &OPERANDS, None)? {
        Some(result) => op.finish_with(result),
        None => keep_convolution(op)?,
    }
    Ok(())
}

/// Keeps the operator as the framework knows it; its sizes are those of any convolution.
fn keep_convolution(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let mut node = op.shaped_as("Conv2D", DataType::Int32)?;
    window::set_window(op, &mut node, spatial)?;
    op.finish(node)
}
