//! What matrix products and convolutions have in common.

use aoe_graph::DataType;

/// Cube work seen as `batch` products of m x k by k x n, before rounding to fractals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CubeShape {
    /// Number of products.
    pub batch: u64,
    /// Rows of the left operand.
    pub m: u64,
    /// Inner extent.
    pub k: u64,
    /// Columns of the right operand.
    pub n: u64,
    /// Element type of the operands.
    pub dtype: DataType,
    /// Element type of the result.
    pub out_dtype: DataType,
    /// A bias of n elements is added.
    pub bias: bool,
    /// fp32 operands may be rounded to HF32.
    pub hf32: bool,
}

impl CubeShape {
    /// Extent of one fractal along k: 32 bytes of elements (16 for fp16, 32 for int8, 8 for fp32).
    pub fn k0(&self) -> u64 {
        k0(self.dtype)
    }

    /// Elements of the result.
    pub fn results(&self) -> u64 {
        self.batch.saturating_mul(self.m).saturating_mul(self.n)
    }

    /// Multiply-add operations of these extents.
    pub(crate) fn macs(&self) -> u64 {
        self.batch.saturating_mul(self.m).saturating_mul(self.k).saturating_mul(self.n)
    }
}

/// Elements of one fractal along k (C0): 32 bytes.
pub fn k0(dtype: DataType) -> u64 {
    (256 / u64::from(dtype.bits().max(1))).max(1)
}
