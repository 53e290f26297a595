//! What the host tiling of `QuantBatchMatmulV3` looks at.

use crate::workload::MatMul;
use aoe_graph::{DataType, Format};

/// A quantised product with the attributes that a [`MatMul`] does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the operands")]
pub struct Problem {
    /// Number of products.
    pub batch: u64,
    /// Rows of A and C.
    pub m: u64,
    /// Inner extent.
    pub k: u64,
    /// Columns of B and C.
    pub n: u64,
    /// A is stored k x m.
    pub trans_a: bool,
    /// B is stored n x k.
    pub trans_b: bool,
    /// A is in `FRACTAL_NZ`.
    pub a_nz: bool,
    /// B is in `FRACTAL_NZ`.
    pub b_nz: bool,
    /// Bits of an element of A and B: 8, or 4 for int4.
    pub bits: u64,
    /// Bytes of an element of C.
    pub out_bytes: u64,
    /// Vector cores finish the result: it is bf16, or each row of A has a scale of its own (per token).
    pub mix: bool,
    /// An int32 bias is added in the cube.
    pub bias: bool,
    /// B has one scale for each column, which is kept in L1 (not where vector cores scale).
    pub channel_scale: bool,
}

impl From<&MatMul> for Problem {
    /// The product with one scale for each column and none for rows, as a graph's `QuantBatchMatmulV3` has it
    /// unless it says otherwise. A bias is int32.
    fn from(w: &MatMul) -> Problem {
        let mix = w.out_dtype == DataType::Bfloat16;
        Problem {
            batch: w.batch,
            m: w.m,
            k: w.k,
            n: w.n,
            trans_a: w.trans_a,
            trans_b: w.trans_b,
            a_nz: w.a_format == Format::FractalNz,
            b_nz: w.b_format == Format::FractalNz,
            bits: u64::from(w.dtype.bits()).clamp(4, 8),
            out_bytes: w.out_dtype.bytes().max(1),
            mix,
            bias: w.bias,
            channel_scale: !mix,
        }
    }
}

impl Problem {
    /// Bytes of so many elements of A or B; saturates.
    pub(super) fn bytes(&self, elements: u64) -> u64 {
        if self.bits == 4 { elements.div_ceil(2) } else { elements }
    }

    /// Bytes of A.
    pub(super) fn a_bytes(&self) -> u64 {
        self.bytes(self.m.saturating_mul(self.k))
    }

    /// Bytes of B.
    pub(super) fn b_bytes(&self) -> u64 {
        self.bytes(self.k.saturating_mul(self.n))
    }

    /// Bytes of A, B and C.
    pub(super) fn all_bytes(&self) -> u64 {
        let result = self.m.saturating_mul(self.n).saturating_mul(self.out_bytes);
        self.a_bytes().saturating_add(self.b_bytes()).saturating_add(result)
    }

    /// Neither A nor B is transposed in the sense of the rules: A m x k, B k x n.
    pub(super) fn plain(&self) -> bool {
        !self.trans_a && !self.trans_b
    }
}

/// Rounds up to a multiple; saturates.
pub(super) fn up(value: u64, step: u64) -> u64 {
    let step = step.max(1);
    value.div_ceil(step).saturating_mul(step)
}
