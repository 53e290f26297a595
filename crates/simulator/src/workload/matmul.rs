//! Matrix products.

use super::CubeShape;
use aoe_graph::{DataType, Format};

/// `C[b] = A[b] x B[b] (+ bias)` for every batch `b`; A is m x k, B is k x n.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the operands, as CANN's key has them")]
pub struct MatMul {
    /// Number of products.
    pub batch: u64,
    /// Whether one A serves every batch.
    pub a_shared: bool,
    /// Whether one B serves every batch.
    pub b_shared: bool,
    /// Rows of A and C.
    pub m: u64,
    /// Columns of A, rows of B.
    pub k: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Element type of A and B, as the cube multiplies them.
    pub dtype: DataType,
    /// Element type of B in memory where it is narrower: a weight that the kernel widens.
    pub b_dtype: Option<DataType>,
    /// Element type of C.
    pub out_dtype: DataType,
    /// A is stored k x m.
    pub trans_a: bool,
    /// B is stored n x k.
    pub trans_b: bool,
    /// A bias of n elements is added.
    pub bias: bool,
    /// Layout of A: ND or `FRACTAL_NZ`.
    pub a_format: Format,
    /// Layout of B: ND or `FRACTAL_NZ`.
    pub b_format: Format,
    /// fp32 operands may be rounded to HF32.
    pub hf32: bool,
    /// Who implements it: it decides which default tiling and which bank count.
    pub kernel: MatMulKernel,
}

/// The implementations of products that CANN has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MatMulKernel {
    /// `MatMulV2`, `BatchMatMulV2`: compiled by TBE for static shapes; its default tiling is closed.
    Tbe,
    /// `MatMulV3`, `BatchMatMulV3`, `QuantBatchMatmulV3` of integers: written in `AscendC`, with public host tiling.
    #[default]
    AscendC,
    /// `QuantBatchMatmulV4`: written in `AscendC`, of operands of different types; its host tiling is not known.
    QuantV4,
    /// `TransposeBatchMatMul`: written in `AscendC`, whose operands and result have their batch in the middle; its host
    /// tiling is not known.
    Transposed,
    /// `GroupedMatmul` and what is made of it: written in `AscendC`, the rows dealt out to the groups, each with a matrix of
    /// its own; its host tiling is not known.
    Grouped,
    /// Products that another kernel written in `AscendC` does more with (an exchange, a norm, an activation); their host
    /// tiling is not known.
    Fused,
}

impl MatMul {
    /// A plain fp16 product in format ND, to be refined field by field.
    pub fn new(m: u64, k: u64, n: u64) -> Self {
        MatMul {
            batch: 1,
            a_shared: false,
            b_shared: false,
            m,
            k,
            n,
            dtype: DataType::Float16,
            b_dtype: None,
            out_dtype: DataType::Float16,
            trans_a: false,
            trans_b: false,
            bias: false,
            a_format: Format::Nd,
            b_format: Format::Nd,
            hf32: false,
            kernel: MatMulKernel::AscendC,
        }
    }

    /// CANN's operator type.
    pub fn op_type(&self) -> &'static str {
        match (self.kernel, self.batch > 1) {
            (MatMulKernel::Tbe, false) => "MatMulV2",
            (MatMulKernel::Tbe, true) => "BatchMatMulV2",
            (MatMulKernel::QuantV4, _) => "QuantBatchMatmulV4",
            (MatMulKernel::Transposed, _) => "TransposeBatchMatMul",
            (MatMulKernel::Grouped, _) => "GroupedMatmul",
            (MatMulKernel::Fused, _) => "FusedMatMul",
            (MatMulKernel::AscendC, _) if self.is_quantised() => "QuantBatchMatmulV3",
            (MatMulKernel::AscendC, false) => "MatMulV3",
            (MatMulKernel::AscendC, true) => "BatchMatMulV3",
        }
    }

    /// Whether the operands are integers, which results are scaled from.
    pub fn is_quantised(&self) -> bool {
        matches!(self.dtype, DataType::Int8 | DataType::Int4)
    }

    /// The product as cube work.
    pub fn cube(&self) -> CubeShape {
        CubeShape {
            batch: self.batch,
            m: self.m,
            k: self.k,
            n: self.n,
            dtype: self.dtype,
            out_dtype: self.out_dtype,
            bias: self.bias,
            hf32: self.hf32,
        }
    }
}

impl std::fmt::Display for MatMul {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}x[{},{},{}] {}", self.op_type(), self.batch, self.m, self.k, self.n, self.dtype.name())?;
        if let Some(stored) = self.b_dtype {
            write!(f, " by {}", stored.name())?;
        }
        let flags = [(self.trans_a, " ta"), (self.trans_b, " tb"), (self.bias, " bias"), (self.hf32, " hf32")];
        flags.iter().filter(|(on, _)| *on).try_for_each(|(_, text)| f.write_str(text))
    }
}
