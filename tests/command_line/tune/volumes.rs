//! Convolutions of volumes: what their tuning writes is a record of CANN's bank "`Conv3D`".

use super::Place;
use serde_json::Value;
use std::process::Command;

/// A protobuf field of bytes.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(content.len() as u64), content].concat()
}

/// A protobuf field of a number.
fn number(number: u8, value: u64) -> Vec<u8> {
    [&[number << 3][..], &varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A field whose number takes two bytes.
fn attribute_type(value: u64) -> Vec<u8> {
    [varint(20 << 3), varint(value)].concat()
}

/// A tensor of float32 that the graph reads or makes.
fn value_info(name: &str, dims: &[u64]) -> Vec<u8> {
    let shape: Vec<u8> = dims.iter().flat_map(|&d| bytes(1, &number(1, d))).collect();
    let tensor = [number(1, 1), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

fn constant(name: &str, dims: &[u64]) -> Vec<u8> {
    let raw = vec![0; dims.iter().product::<u64>() as usize * 4];
    let dims: Vec<u8> = dims.iter().flat_map(|&d| number(1, d)).collect();
    [dims, number(2, 1), bytes(8, name.as_bytes()), bytes(9, &raw)].concat()
}

fn node(kind: &str, inputs: &[&str], output: &str, pads: bool) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
    node.extend([bytes(2, output.as_bytes()), bytes(3, output.as_bytes()), bytes(4, kind.as_bytes())].concat());
    if pads {
        let ones: Vec<u8> = (0..6).flat_map(|_| number(8, 1)).collect();
        node.extend(bytes(5, &[bytes(1, b"pads"), ones, attribute_type(7)].concat()));
    }
    node
}

/// Two convolutions of 8 planes of 28 x 28 pixels with an activation between them, as ONNX.
pub fn network() -> Vec<u8> {
    let nodes = [
        node("Conv", &["x", "w1", "b1"], "first", true),
        node("Relu", &["first"], "active", false),
        node("Conv", &["active", "w2"], "second", true),
    ];
    let constants = [constant("w1", &[64, 16, 3, 3, 3]), constant("b1", &[64]), constant("w2", &[64, 64, 3, 3, 3])];
    let mut graph: Vec<u8> = nodes.iter().flat_map(|node| bytes(1, node)).collect();
    graph.extend(bytes(2, b"volumes"));
    graph.extend(constants.iter().flat_map(|constant| bytes(5, constant)));
    graph.extend(bytes(11, &value_info("x", &[1, 16, 8, 28, 28])));
    graph.extend(bytes(12, &value_info("second", &[1, 64, 8, 28, 28])));
    [number(1, 8), bytes(7, &graph), bytes(8, &number(2, 13))].concat()
}

#[test]
fn a_network_of_volumes_is_tuned_into_records_of_cann_s_bank() {
    let place = Place::new();
    let model = place.path("volumes.onnx");
    std::fs::write(&model, network()).unwrap();
    let tune = ["--job_type=2", "--backend=simulator", "--max_tuning_count=64", "--soc_version=Ascend910B2"];
    let answer = place.run(&[&tune[..], &["--framework=5", "--model", model.to_str().unwrap()]].concat());
    assert_eq!(answer.status, Some(0), "{answer:#?}");
    let bank = place.path("bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_Conv3D_runtime_kb.json");
    let text = std::fs::read_to_string(&bank).expect("a bank of Conv3D");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!records.is_empty());
    for record in &records {
        assert_eq!((&record["op"], &record["knowledge"]["orgDi"]), (&"Conv3D".into(), &8.into()));
    }
    let bank = bank.to_str().unwrap();
    let ask = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aoe")).arg("bank").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let ok = format!("operator bank, {0} judged: {0} ok\n", records.len());
    assert!(ask(&["verify", bank]).ends_with(&ok), "{}", ask(&["verify", bank]));
    let ids: Vec<String> = ask(&["key", "--info", bank]).lines().map(str::to_owned).collect();
    assert_eq!(ids, records.iter().map(|record| record["id"].to_string()).collect::<Vec<_>>());
    assert!(ask(&["show", bank]).contains("8x28x28"), "{}", ask(&["show", bank]));
    // The default was CANN's by public rules, and what is not proven of the records is told.
    let side = std::path::Path::new(bank);
    let side = side.parent().unwrap().join(".aoe").join("Ascend910B2_24_AiCore_Conv3D_runtime_kb.json.side.jsonl");
    let side = std::fs::read_to_string(side).unwrap();
    assert_eq!(side.lines().count(), records.len());
    assert!(side.lines().all(|line| line.contains(r#""default":"public""#) && line.contains("biasDtype")), "{side}");
}
