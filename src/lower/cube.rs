//! Products and convolutions.

use super::Scene;
use crate::graph::infer::Call;
use crate::graph::infer::attention::Geometry;
use crate::graph::infer::einsum::{Equation, Label};
use crate::graph::infer::groups::weight_place;
use crate::graph::infer::language::{packs_words, stack_of};
use crate::graph::infer::matmul::{self, Product};
use crate::graph::infer::recurrent::Layer;
use crate::graph::op::{Kind, prototype};
use crate::graph::{DataType, Format};
use crate::soc::Arch;
use crate::status::{Error, Result};
use crate::tiling::vector::axes;
use crate::workload::{MatMul, MatMulKernel, Operand, Reduce, Vector, Workload};

impl Scene<'_> {
    /// Matrix products and what is made of them.
    pub(super) fn product(&self) -> Result<Option<Workload>> {
        match self.kind {
            Kind::Einsum => self.einsum(),
            Kind::Attention => self.attention(),
            Kind::Recurrent => self.recurrent(),
            _ => {
                let name = self.node().op_type.as_str();
                // How many columns words of several weights make is not told by their shape.
                if name == "QuantBatchMatmulV4" && packs_words(&self.call, 1) {
                    return self.movement();
                }
                let product = match name {
                    _ if name.starts_with("FullyConnection") || name == "InnerProduct" => {
                        matmul::fully_connected(&self.call).map(|read| read.map(|(_, product)| product))
                    }
                    "TransposeBatchMatMul" => stack_of(&self.call),
                    _ => Product::of(&self.call),
                };
                let product = product.map_err(|r| self.error(r))?;
                let product = product.ok_or_else(|| self.error("an operand has no known rank"))?;
                let mut matmul =
                    MatMul { bias: self.call.get(prototype::bias_place(name)).is_some(), ..self.stacked(&product)? };
                if reads_image(&self.call) {
                    // The image in blocks of channels and its filter are fractals, whatever the part.
                    (matmul.a_format, matmul.b_format) = (Format::FractalNz, Format::FractalNz);
                }
                self.finish(matmul)
            }
        }
    }

    /// A product of this size on the operands' types and formats.
    fn matmul(&self, rows: u64, inner: u64, columns: u64) -> Result<MatMul> {
        let dtype = self.cube_operand(self.call.dtype(self.multiplied()))?;
        let result = self.node().outputs.first().map_or(dtype, |d| d.dtype);
        let format = self.matrix_format();
        Ok(MatMul {
            dtype,
            out_dtype: self.settings.precision.cube_result(result, dtype),
            a_format: format,
            b_format: format,
            hf32: self.hf32(dtype),
            kernel: self.kernel(),
            ..MatMul::new(rows, inner, columns)
        })
    }

    /// Who wrote the kernel, which the operator's type says: versions 1 and 2 of the products are TBE's, as is what
    /// becomes one of them; the 950 has none of those. What a 310 is measured to take for a `FullyConnection` is not what
    /// its repository's products take.
    fn kernel(&self) -> MatMulKernel {
        let name = self.node().op_type.as_str();
        let first_two = matches!(name, "MatMul" | "MatMulV2" | "BatchMatMul" | "BatchMatMulV2" | "GEMM" | "Einsum");
        let becomes = name.starts_with("FullyConnection") || matches!(name, "InnerProduct" | "MatMulV2Compress");
        match name {
            "QuantBatchMatmulV4" => MatMulKernel::QuantV4,
            "TransposeBatchMatMul" | "TransposeQuantBatchMatMul" => MatMulKernel::Transposed,
            _ if self.is_grouped() => MatMulKernel::Grouped,
            _ if matches!(self.kind, Kind::Within(_)) => MatMulKernel::Fused,
            _ if becomes && self.soc.has_two_cores() => MatMulKernel::AscendC,
            _ if (first_two || becomes) && self.soc.arch != Arch::C310 => MatMulKernel::Tbe,
            _ => MatMulKernel::AscendC,
        }
    }

    /// The stack of products that a node is. Where one right-hand matrix serves all, the stack of left-hand ones is one
    /// matrix with more rows; but the kernels of batched products before the 950 keep the batch. TBE's has a
    /// `batch_type` for it, and only `BatchMatMulV2ReshapeFusionPass` makes one matrix of some; that of `BatchMatMulV3`
    /// folds it in its own host tiling.
    pub(super) fn stacked(&self, p: &Product) -> Result<MatMul> {
        let weight = match self.kind {
            Kind::Within(within) => weight_place(&self.call, within.reading),
            _ => 1,
        };
        let stored = self.stored(self.call.dtype(weight));
        let count = |dims: &[i64]| dims.iter().map(|&d| self.size(d)).collect::<Result<Vec<_>>>();
        let batch = self.product_of(&count(&p.batch)?)?;
        let (stack_a, stack_b) = (self.product_of(&count(&p.batch_a)?)?, self.product_of(&count(&p.batch_b)?)?);
        let (m, k, n) = (self.size(p.m)?, self.size(p.k)?, self.size(p.n)?);
        let base = |rows| {
            let matmul = self.matmul(rows, k, n)?;
            let b_dtype = Some(stored).filter(|stored| (1..matmul.dtype.bits()).contains(&stored.bits()));
            Ok::<_, Error>(MatMul { trans_a: p.trans_a, trans_b: p.trans_b, b_dtype, ..matmul })
        };
        let keeps_batch = self.node().op_type.starts_with("BatchMatMul") && self.soc.arch != Arch::C310;
        if batch > 1 && stack_b == 1 && !p.trans_a && !keeps_batch {
            return base(self.product_of(&[batch, m])?);
        }
        Ok(MatMul { batch, a_shared: batch > 1 && stack_a == 1, b_shared: batch > 1 && stack_b == 1, ..base(m)? })
    }

    /// Checks that the work can be counted. A product without terms, or a sum of none, only writes zeros.
    pub(super) fn finish(&self, m: MatMul) -> Result<Option<Workload>> {
        for dims in [[m.batch, m.m, m.k, 1], [m.batch, m.k, m.n, 1], [m.batch, m.m, m.n, 1], [m.batch, m.m, m.k, m.n]] {
            self.product_of(&dims)?;
        }
        if m.k == 0 || self.product_of(&[m.batch, m.m, m.n])? == 0 {
            return Ok(Some(self.fill(self.results()?)));
        }
        Ok(Some(Workload::MatMul(m)))
    }

    /// First-generation and inference parts keep matrices in fractals; the others convert on the way.
    pub(super) fn matrix_format(&self) -> Format {
        if matches!(self.soc.arch, Arch::C100 | Arch::M200) { Format::FractalNz } else { Format::Nd }
    }

    pub(super) fn cube_operand(&self, dtype: DataType) -> Result<DataType> {
        self.settings.precision.cube_operand(dtype, self.soc).ok_or_else(|| Error::Option {
            option: "precision_mode".into(),
            reason: format!(
                "{} leaves node `{}` ({}) in {}, which the cube of {} cannot multiply",
                self.settings.precision.name(),
                self.node().name,
                self.node().op_type,
                self.stored(dtype).name(),
                self.soc.name
            ),
        })
    }

    pub(super) fn hf32(&self, dtype: DataType) -> bool {
        dtype == DataType::Float && (self.settings.allow_hf32 || self.call.flag(&["enable_hf32"], false))
    }

    /// Two operands make a product, one a reduction or a transpose; what has no common summed axis is
    /// elementwise.
    fn einsum(&self) -> Result<Option<Workload>> {
        let operands: Vec<_> = self.call.connected().filter_map(|(_, d)| d.shape.known()).collect();
        let text = self.call.str("equation").unwrap_or_default();
        let ranks: Vec<_> = operands.iter().map(|d| d.len()).collect();
        let equation = Equation::parse(text, &ranks).map_err(|r| self.error(r))?;
        let sizes = equation.sizes(&operands).map_err(|r| self.error(r))?;
        let size = |l: &Label| sizes.get(l).map_or(1, |d| d.unsigned_abs());
        let [left, right] = equation.inputs.as_slice() else {
            return self.einsum_without_product(&equation, operands[0]);
        };
        let kept = |l: &Label| equation.output.contains(l);
        let count = |labels: &[Label], test: &dyn Fn(&Label) -> bool| {
            let mut seen: Vec<Label> = labels.iter().copied().filter(|l| test(l)).collect();
            seen.sort_unstable();
            seen.dedup();
            self.product_of(&seen.iter().map(size).collect::<Vec<_>>())
        };
        let is_inner = |l: &Label| right.contains(l) && !kept(l);
        let inner = count(left, &is_inner)?;
        if !left.iter().any(is_inner) {
            return self.elementwise();
        }
        let is_row = |l: &Label| !right.contains(l) && kept(l);
        let is_column = |l: &Label| !left.contains(l) && kept(l);
        let matmul = MatMul {
            batch: count(left, &|l| right.contains(l) && kept(l))?,
            // Stored with the inner axis first.
            trans_a: left.last().is_some_and(is_row) && left.len() > 1,
            trans_b: right.last().is_some_and(|l| left.contains(l) && !kept(l)) && right.iter().any(is_column),
            ..self.matmul(count(left, &is_row)?, inner, count(right, &is_column)?)?
        };
        self.finish(matmul)
    }

    fn einsum_without_product(&self, equation: &Equation, dims: &[i64]) -> Result<Option<Workload>> {
        let [labels] = equation.inputs.as_slice() else {
            return self.movement();
        };
        let dims: Vec<u64> = dims.iter().map(|d| d.unsigned_abs()).collect();
        let gone: Vec<bool> = labels.iter().map(|l| !equation.output.contains(l)).collect();
        if !gone.contains(&true) {
            return self.movement();
        }
        let [outer, axis, inner] = axes::rows(dims.iter().copied().zip(gone)).ok_or_else(|| self.overflow())?;
        let (inputs, outputs) = (self.flat_inputs()?, self.results()?);
        Ok(Some(Workload::Reduce(Reduce { op_type: self.op_type(), outer, axis, inner, inputs, outputs })))
    }

    /// Scores, softmax and context as one kernel; the gradient does each product twice more.
    fn attention(&self) -> Result<Option<Workload>> {
        let heads = Geometry::of(&self.call).map_err(|r| self.error(r))?;
        let heads = heads.ok_or_else(|| self.error("an operand has no known rank"))?;
        let batch = self.product_of(&[self.size(heads.batch)?, self.size(heads.heads)?])?;
        let (queries, keys, depth) = (self.size(heads.queries)?, self.size(heads.keys)?, self.size(heads.depth)?);
        let scores = MatMul { batch, trans_b: true, ..self.matmul(queries, depth, keys)? };
        let context = MatMul { batch, ..self.matmul(queries, keys, depth)? };
        let rows = self.product_of(&[batch, queries])?;
        let tile = Operand::new([self.product_of(&[rows, keys])?], scores.out_dtype);
        let softmax = Reduce {
            op_type: "SoftmaxV2".into(),
            outer: rows,
            axis: keys,
            inner: 1,
            inputs: vec![tile.clone()],
            outputs: vec![tile],
        };
        let products = [self.finish(scores)?, Some(Workload::Reduce(softmax)), self.finish(context)?];
        let mut parts: Vec<_> = products.into_iter().flatten().collect();
        if self.node().op_type.ends_with("Grad") {
            let again: Vec<_> = parts.iter().filter(|p| p.is_cube()).cloned().collect();
            parts.extend(again.iter().cloned().chain(again.iter().take(1).cloned()));
        }
        Ok(Some(Workload::Fused(parts)))
    }

    /// The inputs of all steps in one product, the states step by step, and the gates.
    fn recurrent(&self) -> Result<Option<Workload>> {
        let layer = Layer::of(&self.call).map_err(|r| self.error(r))?;
        let layer = layer.ok_or_else(|| self.error("x has no known rank"))?;
        let [steps, batch, input, hidden, ways, gates] =
            [layer.steps, layer.batch, layer.input, layer.hidden, layer.directions, layer.gates];
        let size = |d| self.size(d);
        let (steps, batch, hidden, ways) = (size(steps)?, size(batch)?, size(hidden)?, size(ways)?);
        let width = self.product_of(&[size(gates)?, hidden])?;
        let inputs =
            MatMul { batch: ways, bias: true, ..self.matmul(self.product_of(&[steps, batch])?, size(input)?, width)? };
        let steps_in_all = self.product_of(&[steps, ways])?;
        let states = MatMul { batch: steps_in_all, b_shared: steps_in_all > 1, ..self.matmul(batch, hidden, width)? };
        let elements =
            |n| Ok::<_, Error>(Operand::new([self.product_of(&[steps_in_all, batch, n])?], inputs.out_dtype));
        let gates =
            Vector { op_type: "Sigmoid".into(), inputs: vec![elements(width)?], outputs: vec![elements(hidden)?] };
        let parts = [self.finish(inputs)?, self.finish(states)?, Some(Workload::Vector(gates))];
        Ok(Some(Workload::Fused(parts.into_iter().flatten().collect())))
    }
}

/// Whether a product is a convolution over all of its image, which it reads as the convolution would.
pub(super) fn reads_image(call: &Call<'_>) -> bool {
    let rank = |input: usize| call.get(input).and_then(|desc| desc.shape.rank());
    call.node.op_type == "FullyConnection" && rank(0) == Some(4) && rank(1) == Some(4)
}
