//! Lists of configurations as autotuners have them, and what is wrong with others.

use super::candidates;
use crate::cases::Parts;
use aoe_testing as testing;
use proptest::prelude::*;
use serde_json::{Value, json};

fn ask(question: &Value) -> Value {
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    serde_json::from_str(&candidates(&question.to_string(), &mut parts).unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

fn error(question: &Value) -> String {
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    candidates(&question.to_string(), &mut parts).unwrap_err().to_string()
}

fn product() -> Value {
    json!({"op": "MatMul", "m": 4096, "k": 4096, "n": 4096, "dtype": "bfloat16"})
}

fn addition() -> Value {
    let x = json!({"shape": [1 << 22], "dtype": "float32"});
    json!({"op": "Add", "inputs": [x, x], "outputs": [x]})
}

fn reasons(answer: &Value) -> Vec<(u64, String)> {
    let illegal = answer["illegal"].as_array().unwrap().iter();
    illegal.map(|i| (i["index"].as_u64().unwrap(), i["reason"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn each_buffer_that_overflows_is_named_with_its_bytes() {
    let block = |m: u64, n: u64, k: u64, stages: u64| json!({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "num_stages": stages});
    let list = [
        block(128, 256, 64, 2),
        block(256, 256, 64, 2),
        block(128, 256, 512, 2),
        block(100, 256, 64, 2),
        block(2048, 16, 64, 2),
        block(64, 64, 64, 9),
        json!({"BLOCK_M": 64, "BLOCK_N": 64}),
    ];
    let answer = ask(&json!({"case": product(), "configurations": list}));
    assert_eq!(answer["legal"], 1);
    let expected = [
        (1, "L0C needs 262144 bytes, Ascend910B2 has 131072"),
        (2, "L1 needs"),
        (3, "100 along m"),
        (4, "L0A needs 131072 bytes"),
        (5, "9 buffers"),
        (6, "blocksizek"),
    ];
    let told = reasons(&answer);
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((index, reason), (at, words)) in told.iter().zip(expected) {
        assert!(*index == at && reason.contains(words), "{index}: {reason}");
    }
}

#[test]
fn the_fastest_come_first_and_have_the_simulators_time() {
    let sizes = [16, 32, 64, 128, 256];
    let list: Vec<Value> = sizes
        .iter()
        .flat_map(|m| {
            sizes.iter().map(move |n| json!({"kwargs": {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 64}, "num_warps": 4}))
        })
        .collect();
    let answer = ask(&json!({"case": product(), "configurations": list, "best": 5}));
    assert_eq!(answer["legal"], 24, "all but 256 x 256");
    let best = answer["best"].as_array().unwrap();
    let times: Vec<f64> = best.iter().map(|b| b["time_us"].as_f64().unwrap()).collect();
    assert!(times.len() == 5 && times.is_sorted());
    let mut case = product();
    case["schedule"] = best[0]["schedule"].clone();
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let priced: Value = serde_json::from_str(&crate::simulate::price(&case.to_string(), &mut parts).unwrap()).unwrap();
    assert_eq!(priced["time_us"], best[0]["time_us"]);
    let winner = &list[best[0]["index"].as_u64().unwrap() as usize]["kwargs"];
    assert!(winner["BLOCK_M"].as_u64().unwrap() * winner["BLOCK_N"].as_u64().unwrap() >= 128 * 128, "{winner}");
}

#[test]
fn ub_holds_the_buffers_of_all_operands_or_what_the_program_says() {
    let list = [
        json!({"XBLOCK": 65536, "XBLOCK_SUB": 8192}),
        json!({"XBLOCK": 65536, "XBLOCK_SUB": 16384}),
        json!({"XBLOCK": 65536, "XBLOCK_SUB": 16384, "multibuffer": false}),
        json!({"XBLOCK": 65536, "XBLOCK_SUB": 8196}),
        json!({"XBLOCK": 64, "XBLOCK_SUB": 128}),
        json!({"XBLOCK": 65536, "XBLOCK_SUB": 1001}),
    ];
    let answer = ask(&json!({"case": addition(), "configurations": list}));
    let told = reasons(&answer);
    // Three operands in two buffers: 8192 elements fill UB to the byte, 16384 do in one buffer.
    assert_eq!(told.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 3, 4, 5], "{told:?}");
    assert!(told.iter().any(|(i, reason)| *i == 1 && reason.contains("UB needs 393216 bytes")), "{told:?}");
    assert!(told.iter().any(|(i, reason)| *i == 4 && reason.contains("128")), "{told:?}");
    assert!(told.iter().any(|(i, reason)| *i == 5 && reason.contains("multiple of 32")), "{told:?}");
    let own = json!([{"space": "UB", "shape": ["XBLOCK_SUB", 2], "dtype": "float32", "count": 4}]);
    let answer =
        ask(&json!({"case": addition(), "configurations": [{"XBLOCK": 16384, "XBLOCK_SUB": 8192}], "buffers": own}));
    assert!(reasons(&answer)[0].1.contains("UB needs 262144 bytes"), "{answer}");
}

#[test]
fn blocks_of_rows_hold_the_elements_that_are_reduced() {
    let operand = |shape: Value| json!({"shape": shape, "dtype": "float16"});
    let x = operand(json!([4096, 4096]));
    let case = json!({"op": "RmsNorm", "inputs": [x, operand(json!([4096]))], "outputs": [x]});
    let rows = [1, 2, 4, 8, 16, 32].map(|rows| json!({"XBLOCK": rows, "RBLOCK": 4096}));
    let answer = ask(&json!({"case": case, "configurations": rows}));
    // Two buffers of two operands of a row of 8 KiB in 192 KiB: up to 4 rows (of powers of two).
    let reasons = reasons(&answer);
    assert_eq!(reasons.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [3, 4, 5], "{reasons:?}");
    assert!(reasons.iter().all(|(_, reason)| reason.contains("UB needs")), "{reasons:?}");
    let in_elements = ask(&json!({"case": case, "configurations": [{"XBLOCK": 4 * 4096}]}));
    assert_eq!(
        answer["best"].as_array().unwrap().iter().find(|c| c["index"] == 2).unwrap()["time_us"],
        in_elements["best"][0]["time_us"]
    );
}

#[test]
fn programs_without_rules_are_told_so() {
    let operand = json!({"shape": [1, 32, 4096, 128], "dtype": "float16"});
    let case = json!({"op": "FusedInferAttentionScore", "inputs": [operand, operand, operand], "outputs": [operand]});
    let answer = ask(&json!({"case": case, "configurations": [{"BLOCK_M": 64, "BLOCK_N": 64}]}));
    assert!(reasons(&answer)[0].1.contains("attention"), "{answer}");
}

#[test]
fn a_parameter_that_is_there_twice_is_named() {
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let question = format!(r#"{{"case": {}, "configurations": [{{"BLOCK_M": 64, "BLOCK_M": 128}}]}}"#, product());
    let reason = candidates(&question, &mut parts).unwrap_err().to_string();
    assert!(reason.contains("`BLOCK_M` is given twice"), "{reason}");
}

#[test]
fn without_a_list_the_best_tilings_are_at_least_as_fast_as_cann_s_own() {
    let answer = ask(&json!({"case": product(), "best": 3}));
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let default: Value =
        serde_json::from_str(&crate::simulate::price(&product().to_string(), &mut parts).unwrap()).unwrap();
    let best = answer["best"].as_array().unwrap();
    assert!(best.len() == 3 && best[0]["time_us"].as_f64() <= default["time_us"].as_f64());
    assert!(best.iter().all(|b| b.get("index").is_none()));
}

#[test]
fn what_is_wrong_with_a_question_is_named() {
    for (question, named) in [
        (json!({}), "case"),
        (json!({"case": 3}), "case"),
        (json!({"case": product(), "config": []}), "config"),
        (json!({"case": product(), "best": -1}), "best"),
        (json!({"case": product(), "buffers": [{"space": "L3", "shape": [], "dtype": "int8"}]}), "buffers"),
        (json!({"case": {"op": "MatMul", "k": 1, "n": 1}}), "`m`"),
        (json!({"case": product(), "configurations": [1]}), "configurations"),
    ] {
        assert!(error(&question).contains(named), "{}", error(&question));
    }
    let buffers = json!([{"space": "L1", "shape": ["NONE"], "dtype": "int8"}]);
    let answer = ask(
        &json!({"case": product(), "configurations": [{"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}], "buffers": buffers}),
    );
    assert!(reasons(&answer)[0].1.contains("`NONE`"));
}

proptest! {
    #![proptest_config(testing::cases(64))]

    #[test]
    fn any_configuration_is_legal_with_a_time_or_illegal_with_a_reason(
        list in prop::collection::vec(prop::collection::btree_map(
            prop::sample::select(vec!["BLOCK_M", "BLOCK_N", "BLOCK_K", "XBLOCK", "XBLOCK_SUB", "num_stages"]),
            prop_oneof![0u64..600, any::<u64>(), Just(64), Just(128)], 0..6), 0..6),
        vector: bool,
    ) {
        let case = if vector { addition() } else { product() };
        let count = list.len() as u64;
        let answer = ask(&json!({"case": case, "configurations": list, "best": 100}));
        let illegal = reasons(&answer);
        prop_assert_eq!(answer["legal"].as_u64().unwrap() + illegal.len() as u64, count);
        prop_assert!(illegal.iter().all(|(_, reason)| !reason.is_empty()));
    }
}
