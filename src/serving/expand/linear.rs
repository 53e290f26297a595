//! Products with weights, as the quantisation has them.

use super::super::deployment::Quantization;
use super::super::kernel::{Class, Kernel, Work, bytes, case, fractal, operand};
use super::List;
use crate::graph::DataType;
use crate::soc::Arch;
use serde_json::{Value, json};

/// Rows from which on a product is `MatMulV3`'s, and columns and depth. In served networks with weights in `FRACTAL_NZ`
/// the large products of a prefill are `MatMulV3` and the narrow ones beside them `MatMulV2`, as are all of a decode.
const V3_EXTENT: u64 = 1024;
/// Weights that share a scale in int4 (the group size of published W4A16 models).
const GROUP: u64 = 128;

/// How the left operand of a quantised product gets its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// By a scale that is part of the weights.
    Static,
    /// By one of each token, found on the way.
    Dynamic,
}

/// The operator of a product with weights that are not quantised, on such a part.
pub(super) const fn product_op(arch: Arch, [m, k, n]: [u64; 3]) -> &'static str {
    let is_large = m >= V3_EXTENT && k >= V3_EXTENT && n >= V3_EXTENT;
    if is_large && arch.has_third_products() { "MatMulV3" } else { "MatMulV2" }
}

impl List<'_> {
    /// Adds a product of `m` rows with `k` x `n` weights, and the quantisation that goes before it.
    pub(super) fn linear(&mut self, role: &'static str, [m, k, n]: [u64; 3], (scale, bias): (Scale, bool), count: u64) {
        match self.deployment.quantization {
            Quantization::W8a8 => self.int8_product(role, [m, k, n], scale, count),
            Quantization::W4a16 => self.int4_product(role, [m, k, n], count),
            Quantization::None => self.plain_product(role, [m, k, n], (bias, self.deployment.nz_weights), count),
        }
    }

    /// Adds a product whose weights have the activations' type.
    pub(super) fn plain_product(
        &mut self,
        role: &'static str,
        [m, k, n]: [u64; 3],
        (bias, nz): (bool, bool),
        count: u64,
    ) {
        let dtype = self.deployment.dtype.name();
        let mut work =
            json!({"op": product_op(self.arch, [m, k, n]), "m": m, "k": k, "n": n, "dtype": dtype, "trans_b": true});
        if nz {
            work["b_format"] = "FRACTAL_NZ".into();
        }
        if bias {
            work["bias"] = true.into();
        }
        self.product(role, work, bytes(k * n, self.deployment.dtype), count);
    }

    fn product(&mut self, role: &'static str, work: Value, cold_bytes: u64, count: u64) {
        self.push(Kernel { class: Class::Product, role, work: Work::Case(work), priced: None, cold_bytes, count });
    }

    fn int8_product(&mut self, role: &'static str, [m, k, n]: [u64; 3], scale: Scale, count: u64) {
        self.quantize(role, [m, k], scale, count);
        let float = |size: u64| operand([size], DataType::Float);
        let weights = weights(None, [k, n], DataType::Int8, self.deployment.nz_weights);
        let mut inputs = vec![operand([m, k], DataType::Int8), weights, float(n)];
        if scale != Scale::Static {
            inputs.push(float(m));
        }
        let work = case("QuantBatchMatmulV3", inputs, vec![self.activations([m, n])]);
        self.product(role, work, bytes(k * n, DataType::Int8), count);
    }

    /// Adds the quantisation of `m` rows of `k` elements.
    pub(super) fn quantize(&mut self, role: &'static str, [m, k]: [u64; 2], scale: Scale, count: u64) {
        let x = self.activations([m, k]);
        let quantized = operand([m, k], DataType::Int8);
        let work = match scale {
            Scale::Static => {
                let by = || self.activations([k]);
                case("AscendQuantV2", vec![x, by(), by()], vec![quantized])
            }
            Scale::Dynamic => case("DynamicQuant", vec![x], vec![quantized, operand([m], DataType::Float)]),
        };
        self.launch(Class::Quantize, role, work, count);
    }

    fn int4_product(&mut self, role: &'static str, [m, k, n]: [u64; 3], count: u64) {
        let scales = || self.activations([k.div_ceil(GROUP), n]);
        let inputs = vec![self.activations([m, k]), operand([k, n], DataType::Int4), scales(), scales()];
        let work = case("WeightQuantBatchMatmulV2", inputs, vec![self.activations([m, n])]);
        let cold = bytes(k * n, DataType::Int4) + 2 * bytes(k.div_ceil(GROUP) * n, self.deployment.dtype);
        self.product(role, work, cold, count);
    }
}

/// An operand of `k` x `n` weights; blocks need whole ones.
pub(super) fn weights(batch: Option<u64>, [k, n]: [u64; 2], dtype: DataType, nz: bool) -> Value {
    let c0 = 256 / u64::from(dtype.bits());
    if nz && k.is_multiple_of(16) && n.is_multiple_of(c0) {
        return fractal(batch, k, n, dtype);
    }
    let shape: Vec<u64> = batch.into_iter().chain([k, n]).collect();
    operand(shape, dtype)
}
