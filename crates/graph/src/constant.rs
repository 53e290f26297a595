//! Values of small constants.

use super::{DataType, Weight};

/// Value of a `Const` node, as far as it was read: a tuner needs shapes, and values only where they
/// decide shapes.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// Integers (and booleans as 0 and 1) in row-major order.
    Ints(Vec<i64>),
    /// Floating-point numbers in row-major order.
    Floats(Vec<f64>),
    /// The value exists but was not read: a weight, which is known to lie here.
    Stored(Weight),
    /// The value exists but was not read, and where it lies is not known.
    Opaque,
}

impl Constant {
    /// Constants up to this many elements keep their values: those that decide shapes, axes and
    /// attributes are far smaller, and a weight's values say nothing about its speed.
    pub const MAX_VALUES: u64 = 4096;

    /// The integers, when the value is a read integer tensor.
    pub fn ints(&self) -> Option<&[i64]> {
        if let Constant::Ints(v) = self { Some(v) } else { None }
    }

    /// Little-endian elements; what is not a plain number stays opaque.
    pub fn from_bytes(dtype: DataType, raw: &[u8]) -> Constant {
        macro_rules! each {
            ($kind:ident, $t:ty, $f:expr) => {
                Constant::$kind(raw.as_chunks().0.iter().map(|&c| $f(<$t>::from_le_bytes(c))).collect())
            };
        }
        match dtype {
            DataType::Int64 => each!(Ints, i64, |v| v),
            DataType::Int32 => each!(Ints, i32, i64::from),
            DataType::Int16 => each!(Ints, i16, i64::from),
            DataType::Int8 => each!(Ints, i8, i64::from),
            DataType::Uint8 => each!(Ints, u8, i64::from),
            DataType::Uint16 => each!(Ints, u16, i64::from),
            DataType::Uint32 => each!(Ints, u32, i64::from),
            // Values past 2^63 cannot be a size; wrapping keeps them recognisably out of range.
            DataType::Uint64 => each!(Ints, u64, u64::cast_signed),
            DataType::Bool => each!(Ints, u8, |v| i64::from(v != 0)),
            DataType::Float => each!(Floats, f32, f64::from),
            DataType::Double => each!(Floats, f64, |v| v),
            DataType::Float16 => each!(Floats, u16, half),
            DataType::Bfloat16 => each!(Floats, u16, brain),
            _ => Constant::Opaque,
        }
    }

    /// The elements in little-endian form, the reverse of [`Constant::from_bytes`]; `None` for what is
    /// opaque or of a type that holds no such numbers.
    pub fn to_bytes(&self, dtype: DataType) -> Option<Vec<u8>> {
        macro_rules! each {
            ($values:expr, $f:expr) => {
                $values.iter().copied().flat_map(|v| $f(v).to_le_bytes()).collect()
            };
        }
        Some(match (self, dtype) {
            (Constant::Ints(v), DataType::Int64 | DataType::Uint64) => each!(v, |v: i64| v),
            (Constant::Ints(v), DataType::Int32 | DataType::Uint32) => each!(v, |v: i64| v as i32),
            (Constant::Ints(v), DataType::Int16 | DataType::Uint16) => each!(v, |v: i64| v as i16),
            (Constant::Ints(v), DataType::Int8 | DataType::Uint8 | DataType::Bool) => each!(v, |v: i64| v as i8),
            (Constant::Floats(v), DataType::Float) => each!(v, |v: f64| v as f32),
            (Constant::Floats(v), DataType::Double) => each!(v, |v: f64| v),
            (Constant::Floats(v), DataType::Float16) => each!(v, half_bits),
            (Constant::Floats(v), DataType::Bfloat16) => each!(v, brain_bits),
            _ => return None,
        })
    }
}

/// IEEE 754 binary16 by its bits.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    sign * magnitude
}

/// bfloat16 by its bits: the upper half of a binary32.
fn brain(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The bits of a number that a bfloat16 holds; of another, those of the one nearest to zero's side.
fn brain_bits(value: f64) -> u16 {
    ((value as f32).to_bits() >> 16) as u16
}

/// The bits of a number that a binary16 holds; of another, those of the one nearest to zero's side.
fn half_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    let bits = if magnitude.is_nan() {
        0x7e00
    } else if magnitude >= 65536.0 {
        0x7c00
    } else if magnitude < 2f64.powi(-14) {
        (magnitude * 2f64.powi(24)) as u16
    } else {
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023) as u16;
        let mantissa = (magnitude.to_bits() >> 42) as u16 & 0x3ff;
        (exponent.wrapping_add(15) << 10) | mantissa
    };
    sign | bits
}

#[cfg(test)]
mod tests {
    use super::Constant;
    use crate::DataType;

    #[test]
    fn numbers_of_every_width_are_read() {
        let ints = |dtype, bytes: &[u8]| Constant::from_bytes(dtype, bytes).ints().map(<[i64]>::to_vec);
        assert_eq!(ints(DataType::Int64, &(-2i64).to_le_bytes()), Some(vec![-2]));
        assert_eq!(ints(DataType::Int16, &[0xff, 0xff, 1, 0]), Some(vec![-1, 1]));
        assert_eq!(ints(DataType::Bool, &[0, 7]), Some(vec![0, 1]));
        assert_eq!(ints(DataType::String, b"x"), None);
        let floats = |dtype, bits: u16| Constant::from_bytes(dtype, &bits.to_le_bytes());
        assert_eq!(floats(DataType::Float16, 0x3c00), Constant::Floats(vec![1.0]));
        assert_eq!(floats(DataType::Float16, 0xc500), Constant::Floats(vec![-5.0]));
        assert_eq!(floats(DataType::Float16, 0x0001), Constant::Floats(vec![2f64.powi(-24)]));
        assert_eq!(floats(DataType::Bfloat16, 0xbf80), Constant::Floats(vec![-1.0]));
    }

    #[test]
    fn what_was_read_is_written_as_it_was() {
        for bits in 0..=u16::MAX {
            for dtype in [DataType::Float16, DataType::Bfloat16, DataType::Int16, DataType::Uint16] {
                let read = Constant::from_bytes(dtype, &bits.to_le_bytes());
                let written = read.to_bytes(dtype).unwrap();
                let nan = matches!(&read, Constant::Floats(v) if v[0].is_nan());
                assert!(nan || written == bits.to_le_bytes(), "{dtype:?} {bits:#x}");
            }
        }
        for (dtype, bytes) in [
            (DataType::Int64, (-2i64).to_le_bytes().to_vec()),
            (DataType::Uint64, u64::MAX.to_le_bytes().to_vec()),
            (DataType::Uint32, u32::MAX.to_le_bytes().to_vec()),
            (DataType::Int8, vec![0x80, 0x7f]),
            (DataType::Bool, vec![0, 1]),
            (DataType::Float, 0.1f32.to_le_bytes().to_vec()),
            (DataType::Double, 0.1f64.to_le_bytes().to_vec()),
        ] {
            assert_eq!(Constant::from_bytes(dtype, &bytes).to_bytes(dtype), Some(bytes), "{dtype:?}");
        }
        assert_eq!(Constant::Opaque.to_bytes(DataType::Float), None);
    }
}
