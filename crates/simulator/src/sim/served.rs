//! What products take in a served network beyond their own time, whatever their tiling.

/// Microseconds that a product takes longer in a running network than by itself: others ran before it, and its code is not in
/// the cores' caches. Published decode products of a served Qwen3-32B on an Atlas A3 lie on a line that starts at 4.0. Of
/// vector kernels the model has the start itself.
const NETWORK_START_US: f64 = 1.8;
/// The same of `QuantBatchMatmulV3`, whose vector cores wait for cube cores and these for them: published decode products
/// of int8 weights of a served DeepSeek-V3 on an Atlas A3 lie on a line that starts at 12.7, bfloat16 ones on one from 4.0.
const MIXED_START_US: f64 = 6.0;

/// Microseconds that a kernel of this operator type takes longer in a served network than [`Model`](super::Model) has it: 0 for
/// what is no product.
pub fn served_start_us(op_type: &str) -> f64 {
    match op_type {
        "QuantBatchMatmulV3" => MIXED_START_US,
        _ if op_type.contains("MatMul") || op_type.contains("Matmul") => NETWORK_START_US,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::served_start_us;

    #[test]
    fn products_alone_start_later_and_mixed_ones_latest() {
        for op in ["MatMulV2", "MatMulV3", "GroupedMatmul", "TransposeBatchMatMul", "WeightQuantBatchMatmulV2"] {
            assert!(served_start_us(op) > 0.0 && served_start_us(op) < served_start_us("QuantBatchMatmulV3"), "{op}");
        }
        for op in ["RmsNorm", "FusedInferAttentionScore", "MoeGatingTopK", "hcom_allReduce_"] {
            assert_eq!(served_start_us(op), 0.0, "{op}");
        }
    }
}
