//! Products that a case gives by their extents, and whose kernel computes them.

use super::tensor::{self, dtype, matrix_format};
use super::{Case, MAX_EXTENT, operands, product, wrong};
use crate::graph::{DataType, Format};
use crate::soc::{Arch, Soc};
use crate::status::Result;
use crate::workload::{MatMul, MatMulKernel, Workload};
use serde::Deserialize;

/// A product, and the axes of its batches, outermost first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    pub matmul: MatMul,
    pub batches: [[u64; 4]; 2],
    /// The bias has an axis of the batch.
    pub bias_has_batch: bool,
    /// The case's shapes are m x k and k x n, and not those in memory.
    pub as_multiplied: bool,
}

/// Fields of TBE's bank records whose names come from convolutions but mean something else for products.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Raw {
    /// 1 neither operand transposed, 2 A, 3 B, 4 both.
    dilation_h: Option<i64>,
    /// 0 operands are plain matrices, 1 they are fractals: which of the two takes several times as long says so, of
    /// products that a repository has both ways.
    pub(super) stride_h: Option<i64>,
    /// 0 one product, 2 one B for all products, 3 every product its own.
    batch_type: Option<i64>,
    /// Operands of the result's size behind the product; for int32 the width of what is written.
    pub(super) fused_operands: Option<i64>,
}

impl Raw {
    /// Whether the row counts the result's columns in blocks of 32 and calls each 16: rows of int8 whose int32 leaves as it
    /// is have blocks of L0 tiles that would otherwise reach beyond n.
    fn halves_columns(&self, dtype: DataType, out_dtype: DataType) -> bool {
        self.fused_operands == Some(1) && dtype == DataType::Int8 && out_dtype == DataType::Int32
    }
}

impl Case {
    /// The product and the axes of its batches, whichever way the case gives it.
    pub(crate) fn product(&self, soc: &Soc) -> Result<Product> {
        let mut as_multiplied = false;
        let (matmul, batches) = match self.operands()? {
            None => {
                let Workload::MatMul(matmul) = self.workload(soc)? else {
                    return Err(wrong("`op`: it is no product alone"));
                };
                let shapes = self.shapes_of([matmul.trans_a, matmul.trans_b])?;
                as_multiplied = shapes.as_ref().is_some_and(|s| s.as_multiplied);
                (matmul, shapes.map(|s| s.batches))
            }
            Some((inputs, _)) => match self.workload(soc)? {
                Workload::MatMul(matmul) => {
                    let batches = product::batches(&inputs);
                    (matmul, batches)
                }
                other => return Err(wrong(format!("`op`: {other} is no product alone"))),
            },
        };
        let shared = |one: bool| [1, 1, 1, if one { 1 } else { matmul.batch }];
        let batches = batches.unwrap_or_else(|| [shared(matmul.a_shared), shared(matmul.b_shared)]);
        let bias_has_batch = match (&self.bias_shape, self.operands()?) {
            (Some(shape), _) => shape.iter().rev().skip(1).any(|&d| d > 1),
            (None, Some((inputs, _))) => inputs.get(2).is_some_and(|o| o.shape.iter().rev().skip(2).any(|&d| d > 1)),
            _ => false,
        };
        Ok(Product { matmul, batches, bias_has_batch, as_multiplied })
    }

    /// Whether a product is priced as TBE's kernel: what the graph compiler takes before version 3 is, and whatever has a
    /// tiling in TBE's form. A 910B's `MatMulV2` without a tiling is not: the graph compiler has version 3 take its place,
    /// and so has a kernel of that name in PyTorch's profiles.
    pub(super) fn is_tbe(&self, soc: &Soc) -> bool {
        let op = operands::parts(&self.op).next().unwrap_or_default();
        let is_batched = matches!(op, "BatchMatMul" | "BatchMatMulV2");
        let connects = op == "FullyConnection" && !soc.has_two_cores();
        let by_name = match soc.arch {
            Arch::C310 => false,
            Arch::C220 | Arch::M300 => is_batched || connects,
            Arch::C100 | Arch::M200 => is_batched || matches!(op, "MatMul" | "MatMulV2") || connects,
        };
        self.has_tbe_tiling() || by_name
    }

    /// Whether its tiling has TBE's form, or is that of an answer about such a product; a name that says otherwise counts
    /// first.
    pub(super) fn has_tbe_tiling(&self) -> bool {
        let tbe_tiling = self
            .schedule
            .as_ref()
            .is_some_and(|s| s.get("kernel").is_some() || (s.get("cores").is_some() && s.get("single").is_none()));
        tbe_tiling && !self.op.ends_with("V3")
    }

    /// The product that a case gives without operands.
    pub(super) fn matmul(&self) -> Result<MatMul> {
        if !self.op.contains("MatMul") && !self.op.contains("Matmul") {
            return Err(wrong(format!(
                "{} needs `inputs` and `outputs`; only MatMul is described by m, k, n",
                self.op
            )));
        }
        let trans = |bit: i64| self.raw.dilation_h.is_some_and(|mode| (1..=4).contains(&mode) && (mode - 1) & bit != 0);
        let [stated_a, stated_b] = self.transposes()?;
        let [trans_a, trans_b] = [stated_a.unwrap_or_else(|| trans(1)), stated_b.unwrap_or_else(|| trans(2))];
        if let Some(shapes) = self.shapes_of([trans_a, trans_b])? {
            return self.matmul_of(shapes.extents, shapes.batches, [trans_a, trans_b]);
        }
        let batch = extent("batch", Some(self.batch.unwrap_or(1)))?;
        let types = [self.dtype.as_deref(), self.out_dtype.as_deref()].map(|name| name.and_then(DataType::from_name));
        let halved = matches!(types, [Some(read), Some(written)] if self.raw.halves_columns(read, written));
        let n = self.n.map(|n| if halved { n.saturating_mul(2) } else { n });
        let extents = [extent("m", self.m)?, extent("k", self.k)?, extent("n", n)?];
        let b_shared = batch > 1 && self.raw.batch_type == Some(2);
        let batches = [[1, 1, 1, batch], [1, 1, 1, if b_shared { 1 } else { batch }]];
        self.matmul_of(extents, batches, [trans_a, trans_b])
    }

    fn matrix_format(&self, field: &str, own: Option<&str>) -> Result<Format> {
        let others = || Some(("format", self.format.as_deref()?));
        own.map(|name| (field, name)).or_else(others).map_or(Ok(Format::Nd), |(field, name)| matrix_format(field, name))
    }

    /// The product of these extents and batches, with the case's types and formats.
    fn matmul_of(&self, [m, k, n]: [u64; 3], batches: [[u64; 4]; 2], [trans_a, trans_b]: [bool; 2]) -> Result<MatMul> {
        let [a, b] = batches.map(|axes| axes.iter().fold(1u64, |n, &d| n.saturating_mul(d)));
        let batch = (0..4).fold(1u64, |n, axis| n.saturating_mul(batches[0][axis].max(batches[1][axis])));
        let dtype = dtype("dtype", self.dtype.as_deref().unwrap_or("float16"))?;
        let out_dtype = self.out_dtype.as_deref().map_or(Ok(dtype), |name| tensor::dtype("out_dtype", name))?;
        Ok(MatMul {
            batch,
            a_shared: batch > 1 && a == 1,
            b_shared: batch > 1 && b == 1,
            dtype,
            out_dtype,
            trans_a,
            trans_b,
            bias: self.bias || self.bias_shape.is_some(),
            a_format: self.matrix_format("a_format", self.a_format.as_deref())?,
            b_format: self.matrix_format("b_format", self.b_format.as_deref())?,
            hf32: self.hf32,
            kernel: product::ascend_c(&self.op),
            ..MatMul::new(m, k, n)
        })
    }
}

/// An extent of a product, which has to be there.
fn extent(name: &str, value: Option<u64>) -> Result<u64> {
    match value {
        None => Err(wrong(format!("`{name}` is missing"))),
        Some(v) if v == 0 || v > MAX_EXTENT => Err(wrong(format!("`{name}`: {v} is not from 1 to {MAX_EXTENT}"))),
        Some(v) => Ok(v),
    }
}

/// Has TBE's kernels compute the products.
pub(super) fn by_tbe(workload: &mut Workload) {
    match workload {
        Workload::MatMul(w) => w.kernel = MatMulKernel::Tbe,
        Workload::Fused(parts) => parts.iter_mut().for_each(by_tbe),
        Workload::Conv(_) | Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) | Workload::Collective(_) => {
        }
    }
}
