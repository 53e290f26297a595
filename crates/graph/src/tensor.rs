//! Tensor descriptions.

use super::{DataType, Format};

/// Marks a dimension whose size is not known (`ge`'s -1).
pub const UNKNOWN_DIM: i64 = -1;

/// Shape of a tensor: a list of dimensions, or a rank that is not known at all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape(Option<Vec<i64>>);

impl Shape {
    /// A shape with these dimensions; [`UNKNOWN_DIM`] stands for a size not known.
    pub fn new(dims: impl Into<Vec<i64>>) -> Self {
        Shape(Some(dims.into()))
    }

    /// A scalar.
    pub fn scalar() -> Self {
        Shape(Some(Vec::new()))
    }

    /// A shape of unknown rank (`ge`'s single dimension -2).
    pub const fn unknown_rank() -> Self {
        Shape(None)
    }

    /// The dimensions, sizes unknown included; `None` when the rank is unknown.
    pub fn dims(&self) -> Option<&[i64]> {
        self.0.as_deref()
    }

    /// The dimensions when every one is known.
    pub fn known(&self) -> Option<&[i64]> {
        self.dims().filter(|dims| dims.iter().all(|&d| d >= 0))
    }

    /// Whether a tensor of the other shape may stand where this one is stated: where both know a size,
    /// they agree.
    pub fn accepts(&self, other: &Shape) -> bool {
        let (Some(stated), Some(given)) = (self.dims(), other.dims()) else { return true };
        stated.len() == given.len() && stated.iter().zip(given).all(|(&a, &b)| a < 0 || b < 0 || a == b)
    }

    /// The rank when it is known.
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[i64]>::len)
    }

    /// Number of elements when every dimension is known and the product fits.
    pub fn elements(&self) -> Option<u64> {
        self.known()?.iter().try_fold(1u64, |n, &d| n.checked_mul(d as u64))
    }
}

/// Dimensions that are written out; no operator of Ascend's takes more than 25, and a file may state any number.
const SHOWN: usize = 32;

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.dims() {
            None => f.write_str("[?]"),
            Some(dims) => {
                let shown = dims.iter().take(SHOWN).map(|d| if *d < 0 { "?".to_owned() } else { d.to_string() });
                let shown = shown.collect::<Vec<_>>().join(",");
                match dims.len().checked_sub(SHOWN) {
                    Some(more @ 1..) => write!(f, "[{shown},... and {more} more]"),
                    _ => write!(f, "[{shown}]"),
                }
            }
        }
    }
}

/// Type, shape and layout of one tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorDesc {
    /// Element type.
    pub dtype: DataType,
    /// Shape in the framework's view.
    pub shape: Shape,
    /// Memory layout.
    pub format: Format,
}

impl TensorDesc {
    /// A description in format ND.
    pub fn new(dtype: DataType, shape: Shape) -> Self {
        TensorDesc { dtype, shape, format: Format::Nd }
    }

    /// Nothing known yet: what an output is before shape inference.
    pub fn unknown() -> Self {
        TensorDesc::new(DataType::Undefined, Shape::unknown_rank())
    }

    /// Size in bytes when the shape is known and the product fits.
    pub fn bytes(&self) -> Option<u64> {
        let bits = self.shape.elements()?.checked_mul(u64::from(self.dtype.bits()))?;
        Some(bits.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN, Shape};

    #[test]
    fn a_shape_of_any_number_of_dimensions_is_written_in_a_line() {
        let text = |count: usize| Shape::new(vec![2; count]).to_string();
        assert_eq!(text(3), "[2,2,2]");
        assert_eq!(text(SHOWN), format!("[{}]", vec!["2"; SHOWN].join(",")));
        assert!(text(100_000).ends_with(",2,... and 99968 more]") && text(100_000).len() < 100);
    }
}
