//! The stand-in's kernels do with a record what the device's do: one that keeps the rules computes its result, one
//! that breaks a rule does not. Records are put in its bank by hand, for libaoe writes none that breaks one.

use crate::stand_in::Machine;
use serde_json::{Value, json};
use std::fs;

/// m, k and n of the product, float16, B transposed; all 24 cores get a task.
const SIZES: [u64; 3] = [1024, 1024, 768];

/// A base tiling of it that keeps every rule.
fn knowledge() -> Value {
    json!({"usedCoreNum": 24, "singleCoreM": 128, "singleCoreN": 256, "singleCoreK": 1024, "baseM": 128, "baseN": 256,
        "baseK": 64, "depthA1": 8, "depthB1": 4, "stepM": 1, "stepN": 1, "iterateOrder": 0, "stepKa": 4, "stepKb": 2,
        "dbL0A": 2, "dbL0B": 2, "dbL0C": 1, "l2MTileCnt": 1, "l2NTileCnt": 1, "l2MTileBlock": 8, "l2NTileBlock": 3,
        "l2IterateOrder": 0, "tilingEnable": 0})
}

/// Measures the product with a record in the bank, and answers what came of it.
fn measured(machine: &Machine, changes: &Value, dtype: &str) -> Value {
    let mut knowledge = knowledge();
    for (name, value) in changes.as_object().unwrap() {
        assert!(knowledge.get(name).is_some(), "{name}");
        knowledge[name] = value.clone();
    }
    let folder = machine.path("bank/Ascend910B2/unified_bank");
    fs::create_dir_all(&folder).unwrap();
    let record = json!({"id": 1, "info_dict": {}, "knowledge": knowledge, "op": "MatMulV3", "version": 0});
    fs::write(folder.join("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"), format!("{record}\n")).unwrap();
    let [m, k, n] = SIZES;
    let tensor = |shape: [u64; 2], transposed: bool, fill: Value| json!({"dtype": dtype, "shape": shape, "format": "ND", "transposed": transposed, "fill": fill});
    let operator = json!({"op_type": "MatMulV3", "entry": {"aclnn_matmul": 0}, "attributes": [["transpose_x2", {"flag": true}]],
        "inputs": [tensor([m, k], false, json!([0, 0])), tensor([n, k], true, json!([0, -1]))],
        "output": tensor([m, n], false, Value::Null),
        "expected": {"product": {"batch": 1, "shared": [false, false], "m": m, "k": k, "n": n, "exponent": -1,
            "bias": false}}});
    machine.measure(&operator)
}

#[test]
fn a_record_that_keeps_the_rules_computes_its_result() {
    let Some(machine) = Machine::new() else { return };
    for (changes, dtype) in [
        (json!({}), "float16"),
        // CANN derives blocks of 0.
        (json!({"l2MTileBlock": 0, "l2NTileBlock": 0}), "float16"),
        (json!({"l2MTileCnt": 2, "l2MTileBlock": 4}), "float16"),
        (json!({"tilingEnable": 10000}), "float16"),
        (json!({"tilingEnable": 20, "singleCoreM": 256, "l2MTileBlock": 4}), "float16"),
        (json!({"tilingEnable": 3, "singleCoreK": 32}), "float16"),
        (json!({"tilingEnable": 10, "baseK": 32}), "float32"),
    ] {
        let answer = measured(&machine, &changes, dtype);
        assert!(answer.get("timed").is_some(), "{changes}: {answer}");
    }
}

#[test]
fn a_record_that_breaks_a_rule_computes_none() {
    let Some(machine) = Machine::new() else { return };
    for (changes, dtype, reason) in [
        // Tasks of several blocks, of which the base kernel computes one.
        (json!({"singleCoreM": 256, "l2MTileBlock": 4}), "float16", "wrong result"),
        (json!({"singleCoreN": 512, "l2NTileBlock": 2}), "float16", "wrong result"),
        // Outer loops of no round.
        (json!({"l2MTileCnt": 0}), "float16", "wrong result"),
        (json!({"l2NTileCnt": 0}), "float16", "wrong result"),
        // Tiles that do not reach the end.
        (json!({"l2MTileBlock": 7}), "float16", "wrong result"),
        // Cores without a piece of K.
        (json!({"tilingEnable": 3, "singleCoreK": 64}), "float16", "wrong result"),
        // Buffers that overflow.
        (json!({"depthA1": 32}), "float16", "wrong result"),
        (json!({"baseK": 128}), "float16", "wrong result"),
        (json!({"usedCoreNum": 25}), "float16", "wrong result"),
        // Templates that are not compiled, or not for this type.
        (json!({"tilingEnable": 13}), "float16", "aclnnMatmul"),
        (json!({"tilingEnable": 22}), "float16", "aclnnMatmul"),
        (json!({"tilingEnable": 10}), "float16", "aclnnMatmul"),
        (json!({"tilingEnable": 2020}), "float16", "aclnnMatmul"),
        (json!({"tilingEnable": 12}), "float32", "aclnnMatmul"),
        (json!({"tilingEnable": 4}), "float16", "aclnnMatmul"),
    ] {
        let answer = measured(&machine, &changes, dtype);
        let said = answer["failed"]["reason"].as_str().unwrap_or_else(|| panic!("{changes}: {answer}"));
        assert!(said.contains(reason), "{changes}: {said}");
    }
}
