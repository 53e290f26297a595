//! Where the operands of a profile's kernels lay: profiles do not tell, and the network that ran decides it.

use crate::graph::DataType;
use serde_json::Value;

/// Tells the case of a product or convolution that its weights come from device memory, and of all else what exceeds L2: nothing used the weights
/// shortly before, as serving and tunings of networks price them. A case that says where its operands lie stays as it is.
#[must_use]
pub fn in_network(mut case: Value, l2_bytes: u64) -> Value {
    const TOLD: [&str; 4] = ["missed_bytes", "cache", "a_cache", "b_cache"];
    if !TOLD.iter().any(|field| case.get(field).is_some())
        && let Some(weights) = weights(&case)
    {
        let rest = case_bytes(&case).saturating_sub(weights);
        case["missed_bytes"] = (weights + rest.saturating_sub(l2_bytes)).into();
    }
    case
}

/// Whether an operator multiplies matrices.
pub fn is_product(op: &str) -> bool {
    op.contains("MatMul") || op.contains("Matmul")
}

/// Bytes of the weights of a product or convolution: its second operand, but that of a product in batches, where both are activations (scores of
/// attention and what they weigh).
fn weights(case: &Value) -> Option<u64> {
    let op = case["op"].as_str()?;
    let second = &case["inputs"][1];
    let axes = second["shape"].as_array()?.len();
    let in_blocks = second["format"] == "FRACTAL_NZ";
    let in_batches =
        op.trim_start_matches("FusionOp_").starts_with("BatchMatMul") && axes > if in_blocks { 4 } else { 2 };
    (is_product(op) && !in_batches || is_convolution(op)).then(|| operand_bytes(second))
}

/// Whether an operator is a convolution that reads its weights as the second operand.
fn is_convolution(op: &str) -> bool {
    const TYPES: [&str; 3] = ["Conv2D", "DepthwiseConv2D", "Conv3D"];
    let op = op.trim_start_matches("FusionOp_");
    TYPES.iter().any(|name| op.strip_prefix(name).is_some_and(|version| ["", "V2"].contains(&version)))
}

/// Bytes of all operands that a case lists.
pub(crate) fn case_bytes(case: &Value) -> u64 {
    let operands = ["inputs", "outputs"].into_iter().filter_map(|side| case[side].as_array()).flatten();
    operands.map(operand_bytes).fold(0, u64::saturating_add)
}

/// Bytes of an operand.
pub(crate) fn operand_bytes(operand: &Value) -> u64 {
    let shape = operand["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    let dtype = operand["dtype"].as_str().and_then(DataType::from_name).unwrap_or(DataType::Bfloat16);
    bytes(shape.fold(1, u64::saturating_mul), dtype)
}

/// Bytes of so many elements.
pub(crate) fn bytes(elements: u64, dtype: DataType) -> u64 {
    elements.saturating_mul(u64::from(dtype.bits())).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn missed(op: &str, shapes: &[&[u64]], format: &str) -> Option<u64> {
        let operand = |shape: &&[u64]| json!({"shape": shape, "dtype": "float16", "format": format});
        let inputs: Vec<Value> = shapes[..2].iter().map(operand).collect();
        let case = json!({"op": op, "inputs": inputs, "outputs": [operand(&shapes[2])]});
        in_network(case, 1 << 20)["missed_bytes"].as_u64()
    }

    #[test]
    fn weights_are_cold_and_so_is_what_exceeds_l2() {
        assert_eq!(missed("MatMulV2", &[&[16, 64], &[64, 32], &[16, 32]], "ND"), Some(2 * 64 * 32));
        let large = missed("MatMulV3", &[&[8192, 64], &[64, 32], &[8192, 32]], "ND");
        assert_eq!(large, Some(2 * (64 * 32 + 8192 * (64 + 32)) - (1 << 20)));
        // Weights of experts and of heads are weights in batches; scores of attention are none.
        assert!(missed("GroupedMatmul", &[&[16, 64], &[8, 64, 32], &[16, 32]], "ND").is_some());
        assert!(missed("TransposeBatchMatMul", &[&[8, 16, 64], &[8, 64, 32], &[16, 256]], "ND").is_some());
        assert_eq!(missed("BatchMatMulV2", &[&[8, 16, 64], &[8, 64, 32], &[8, 16, 32]], "ND"), None);
        assert_eq!(
            missed("BatchMatMulV2", &[&[4, 1, 16, 16], &[2, 4, 16, 16], &[2, 1, 16, 16]], "FRACTAL_NZ"),
            Some(4096)
        );
        assert_eq!(missed("Conv2D", &[&[1, 8, 8, 16], &[3, 3, 16, 32], &[1, 8, 8, 32]], "ND"), Some(2 * 9 * 16 * 32));
        assert_eq!(missed("Conv2DBackpropFilter", &[&[1, 8], &[8], &[1, 8]], "ND"), None, "it reads no weights");
        assert_eq!(missed("SwiGlu", &[&[16, 64], &[64, 32], &[16, 32]], "ND"), None);
    }

    #[test]
    fn a_case_that_tells_where_its_operands_lie_keeps_that() {
        let case = json!({"op": "MatMulV2", "inputs": [{"shape": [16, 16]}, {"shape": [16, 16]}], "outputs": [], "cache": "warm"});
        assert_eq!(in_network(case.clone(), 0), case);
    }
}
