//! Convolutions of volumes: what their kernel does with a record, right or wrong, and the whole loop.

use crate::stand_in::Machine;
use serde_json::{Value, json};
use std::fs;

/// A convolution of 32 channels with 64 filters of three taps each way.
const INPUT: [u64; 3] = [4, 14, 14];
const CHANNELS: [u64; 2] = [32, 64];

/// A tiling of it that keeps every rule.
fn knowledge() -> Value {
    // Too long for `json!`.
    const TEXT: &str = r#"
        {"batchDim": 1, "doDim": 2, "mDim": 3, "nDim": 4, "groupDim": 1, "singleCoreDo": 2, "singleCoreM": 80,
        "singleCoreCo": 16, "mL0": 80, "kL0": 144, "nL0": 16, "mAL1": 80, "kAL1": 864, "nBL1": 16, "kBL1": 864,
        "pBufferFlag": 7, "al1FullLoad": 1, "bl1FullLoad": 1, "bl1BypassFlag": 0, "iterateMNOrder": 0, "groups": 1,
        "orgCi": 32, "orgCo": 64, "orgDi": 4, "orgDo": 4, "orgHi": 14, "orgHo": 14, "orgWi": 14, "orgWo": 14,
        "kernelD": 3, "kernelH": 3, "kernelW": 3, "strideD": 1, "strideH": 1, "strideW": 1, "dilationD": 1,
        "dilationH": 1, "dilationW": 1, "padHead": 1, "padTail": 1, "padTop": 1, "padBottom": 1, "padLeft": 1,
        "padRight": 1}"#;
    serde_json::from_str(TEXT).unwrap()
}

/// The operator as a job describes it.
fn operator() -> Value {
    let [cin, cout] = CHANNELS;
    let tensor = |shape: Value, format: &str, fill: Value| json!({"dtype": "float16", "shape": shape, "format": format, "transposed": false, "fill": fill});
    let [d, h, w] = INPUT;
    json!({"op_type": "Conv3DV2", "entry": "aclop",
        "inputs": [tensor(json!([1, cin, d, h, w]), "NDC1HWC0", json!([0, 0])),
            tensor(json!([cout, cin, 3, 3, 3]), "FRACTAL_Z_3D", json!([0, 0]))],
        "output": tensor(json!([1, cout, d, h, w]), "NDC1HWC0", Value::Null),
        "attributes": [["strides", {"numbers": [1, 1, 1, 1, 1]}], ["pads", {"numbers": [1, 1, 1, 1, 1, 1]}],
            ["dilations", {"numbers": [1, 1, 1, 1, 1]}], ["groups", {"number": 1}], ["data_format", {"text": "NCDHW"}]],
        "expected": {"volume": {"images": 1, "input": INPUT, "output": INPUT, "kernel": [3, 3, 3], "stride": [1, 1, 1],
            "dilation": [1, 1, 1], "before": [1, 1, 1], "cin": cin, "cout": cout, "exponent": 0, "bias": false}}})
}

/// Measures the convolution with a record in the bank, and answers what came of it.
fn measured(machine: &Machine, changes: &Value) -> Value {
    let mut knowledge = knowledge();
    for (name, value) in changes.as_object().unwrap() {
        assert!(knowledge.get(name).is_some(), "{name}");
        knowledge[name] = value.clone();
    }
    let folder = machine.path("bank/Ascend910B2/unified_bank");
    fs::create_dir_all(&folder).unwrap();
    let record = json!({"id": 1, "info_dict": {}, "knowledge": knowledge, "op": "Conv3D", "version": 0});
    fs::write(folder.join("Ascend910B2_24_AiCore_Conv3D_runtime_kb.json"), format!("{record}\n")).unwrap();
    machine.measure(&operator())
}

#[test]
fn a_convolution_of_volumes_computes_its_result_without_a_record_and_with_one_that_keeps_the_rules() {
    let Some(machine) = Machine::new() else { return };
    let answer = machine.measure(&operator());
    assert!(answer.get("timed").is_some(), "{answer}");
    for changes in [
        json!({}),
        json!({"iterateMNOrder": 1}),
        json!({"doDim": 4, "singleCoreDo": 1, "nDim": 2, "singleCoreCo": 32, "nBL1": 32}),
        json!({"kL0": 48, "kAL1": 432, "al1FullLoad": 0, "pBufferFlag": 15}),
    ] {
        let answer = measured(&machine, &changes);
        assert!(answer.get("timed").is_some(), "{changes}: {answer}");
    }
}

#[test]
fn a_record_of_a_convolution_that_breaks_a_rule_computes_no_right_result() {
    let Some(machine) = Machine::new() else { return };
    for (changes, reason) in [
        // The kernel takes the record's sizes, not the node's.
        (json!({"padTop": 0}), "wrong result"),
        (json!({"orgHi": 15}), "wrong result"),
        (json!({"strideW": 2}), "wrong result"),
        // Planes, pixels, channels that no core has.
        (json!({"doDim": 1}), "wrong result"),
        (json!({"mDim": 2}), "wrong result"),
        (json!({"nDim": 3}), "wrong result"),
        // More tasks than cores.
        (json!({"doDim": 4}), "wrong result"),
        // Buffers that overflow, depths that do not nest.
        (json!({"kL0": 864, "mL0": 80}), "wrong result"),
        (json!({"kAL1": 300}), "wrong result"),
        (json!({"kBL1": 432, "bl1FullLoad": 1}), "wrong result"),
        (json!({"bl1BypassFlag": 1}), "wrong result"),
        // Divisors of the kernel.
        (json!({"kAL1": 0}), "aclopExecuteV2"),
        (json!({"groupDim": 0}), "aclopExecuteV2"),
    ] {
        let answer = measured(&machine, &changes);
        let said = answer["failed"]["reason"].as_str().unwrap_or_else(|| panic!("{changes}: {answer}"));
        assert!(said.contains(reason), "{changes}: {said}");
    }
}

/// The convolution as ATC describes it.
pub fn text() -> String {
    let [cin, cout] = CHANNELS;
    let [d, h, w] = INPUT;
    let tensor = |shape: [u64; 5]| format!(r#"{{"format":"NCDHW","shape":{shape:?},"type":"float16"}}"#);
    let (x, filter, y) = (tensor([1, cin, d, h, w]), tensor([cout, cin, 3, 3, 3]), tensor([1, cout, d, h, w]));
    let list = |name: &str, value: &[u64]| format!(r#"{{"name":"{name}","type":"list_int","value":{value:?}}}"#);
    let attributes = [
        list("strides", &[1; 5]),
        list("pads", &[1; 6]),
        list("dilations", &[1; 5]),
        r#"{"name":"data_format","type":"string","value":"NCDHW"}"#.to_owned(),
    ];
    let attributes = attributes.join(",");
    format!(r#"{{"op":"Conv3DV2","input_desc":[{x},{filter}],"output_desc":[{y}],"attr":[{attributes}]}}"#)
}

#[test]
fn a_convolution_of_volumes_is_measured_with_each_tiling_and_its_best_kept() {
    let Some(machine) = Machine::new() else { return };
    machine.operators(&[text()]);
    let options = [("backend", "ascend"), ("algorithm", "annealing"), ("max_tuning_count", "8")];
    machine.tune(&options).expect(0, &["backend ascend"]);
    let kernels = machine.kernels();
    // The others bring the caller's tensors into blocks of channels and out of them.
    let kernel = kernels.iter().find(|kernel| kernel["failure"].is_null()).unwrap();
    assert_eq!((&kernel["backend"], &kernel["failed_trials"]), (&json!("ascend"), &json!(0)), "{kernel}");
    assert!(kernel["trials"].as_u64().unwrap() > 0 && kernel["before_us"].as_f64().unwrap() > 0.0, "{kernel}");
    let is_added = kernel["status"] == "added";
    // A record for each type that its key may name for a bias that is not there.
    assert_eq!(machine.records_of("Conv3D_runtime_kb").len(), if is_added { 2 } else { 0 }, "{kernel}");
}
