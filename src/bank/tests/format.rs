//! The record format: keys, ids, reading what others wrote, writing what CANN reads.

use super::memory::Memory;
use super::*;
use crate::bank::knowledge::Knowledge;
use crate::bank::matmul::Tiling;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// The published vector of the product of [`product`].
const VECTOR: &str = r#"{"a_dtype":1,"a_format":2,"aub_double_num":1.0,"b_dtype":1,"b_format":29,"batch_a1":1,"batch_a2":1,"batch_a3":1,"batch_a4":1,"batch_b1":1,"batch_b2":1,"batch_b3":1,"batch_b4":1,"bias_flag":false,"bub_double_num":1.0,"fused_double_operand_num":0.0,"k":1024,"k_align_flag":true,"l1_fused_num":0.0,"m":128,"m_align_flag":true,"n":4096,"n_align_flag":true,"out_dtype":1,"out_format":2,"reserved_bool":false,"reserved_params1":0,"reserved_params2":0,"reserved_params3":0,"reserved_params4":0,"reserved_params5":0,"reserved_params6":0,"trans_a_flag":false,"trans_b_flag":true}"#;

fn vector_with(changes: &Value) -> Value {
    let mut info: Value = serde_json::from_str(VECTOR).unwrap();
    for (name, value) in changes.as_object().unwrap() {
        info[name] = value.clone();
    }
    info
}

fn id(info: &Value) -> u32 {
    matmul_v3().key(info).unwrap().id()
}

#[test]
fn ids_of_known_info_dicts_are_cann_s() {
    assert_eq!(id(&vector_with(&json!({}))), 2_605_295_905);
    let fp32_with_bias = json!({"a_dtype": 0, "b_dtype": 0, "out_dtype": 0, "b_format": 2, "bias_flag": true, "m": 208, "k": 2392,
        "n": 256, "k_align_flag": false, "m_align_flag": false, "trans_b_flag": false});
    assert_eq!(id(&vector_with(&fp32_with_bias)), 3_773_661_998);
    let int8 = json!({"a_dtype": 2, "b_dtype": 2, "m": 4096, "k": 4096, "n": 2048, "reserved_bool": true});
    assert_eq!(id(&vector_with(&int8)), 3_629_255_536);
    let transposed = json!({"m": 3200, "k": 20496, "n": 6400, "b_format": 2, "trans_a_flag": true, "trans_b_flag": false,
        "k_align_flag": false});
    assert_eq!(id(&vector_with(&transposed)), 1_254_529_286);
}

#[test]
fn a_workload_s_info_dict_is_the_known_one() {
    let workload = Workload::MatMul(product());
    assert_eq!(Form::of(&workload, &soc()), matmul_v3());
    assert_eq!(crate::bank::json::to_sorted_text(&matmul_v3().info_dict(&workload)), VECTOR);
}

#[test]
fn sizes_are_rounded_and_16_bit_types_folded() {
    let odd = MatMul { bias: true, dtype: DataType::Float, out_dtype: DataType::Float, ..MatMul::new(200, 2390, 250) };
    let info = matmul_v3().info_dict(&Workload::MatMul(odd));
    assert_eq!(
        [&info["m"], &info["k"], &info["n"], &info["a_dtype"], &info["k_align_flag"]],
        [&json!(208), &json!(2392), &json!(256), &json!(0), &json!(false)]
    );
    let bf16 = MatMul { dtype: DataType::Bfloat16, out_dtype: DataType::Bfloat16, ..product() };
    assert_eq!(
        matmul_v3().info_dict(&Workload::MatMul(bf16)).to_string(),
        matmul_v3().info_dict(&Workload::MatMul(product())).to_string()
    );
}

#[test]
fn what_cann_does_not_query_is_kept_in_our_own_form() {
    let batched = Workload::MatMul(MatMul { batch: 12, ..product() });
    let int8 = Workload::MatMul(MatMul { dtype: DataType::Int8, ..product() });
    let names: Vec<_> = [Workload::MatMul(product()), batched, int8, gelu()]
        .iter()
        .map(|w| {
            let form = Form::of(w, &soc());
            form.file_name(form.op_type(w), &soc())
        })
        .collect();
    assert_eq!(
        names,
        [
            FILE,
            "Ascend910B2_24_AiCore_BatchMatMulV3_aoe_kb.json",
            "Ascend910B2_24_AiCore_QuantBatchMatmulV3_aoe_kb.json",
            "Ascend910B2_24_AiCore_Gelu_aoe_kb.json",
        ]
    );
}

#[test]
fn an_operator_type_cannot_lead_out_of_the_bank() {
    let name = |op: &str| Form::Canonical.file_name(op, &soc());
    assert_eq!(name("../ai.onnx/Foo"), "Ascend910B2_24_AiCore_-2E-2E-2Fai-2Eonnx-2FFoo_aoe_kb.json");
    assert_ne!(name("a/b"), name("a-2Fb"));
    let long = [name(&"x".repeat(500)), name(&"x".repeat(501))];
    assert!(long[0] != long[1] && long.iter().all(|n| n.len() < 230));
}

#[test]
fn a_new_record_is_written_as_cann_writes_it() {
    let storage = Arc::new(Memory::default());
    let mut bank = bank(&storage);
    let workload = Workload::MatMul(product());
    bank.record(&workload, &tiling(128, 64), &measured(10.0)).unwrap();
    assert_eq!(bank.save().unwrap(), [Path::new(DIRECTORY).join(FILE)]);
    let knowledge = r#"{"baseK":64,"baseM":128,"baseN":256,"dbL0A":2,"dbL0B":2,"dbL0C":1,"depthA1":8,"depthB1":4,"iterateOrder":1,"l2IterateOrder":0,"l2MTileBlock":1,"l2MTileCnt":1,"l2NTileBlock":16,"l2NTileCnt":1,"singleCoreK":1024,"singleCoreM":128,"singleCoreN":256,"stepKa":4,"stepKb":2,"stepM":1,"stepN":1,"tilingEnable":0,"usedCoreNum":16}"#;
    let expected =
        format!(r#"{{"id":2605295905,"info_dict":{VECTOR},"knowledge":{knowledge},"op":"MatMulV3","version":0}}"#)
            + "\n";
    assert_eq!(String::from_utf8(storage.get(Path::new(DIRECTORY).join(FILE)).unwrap()).unwrap(), expected);
}

/// A record as a foreign writer would have written it: fields in another order, one that is unknown at
/// each level, and a stale id.
fn foreign_line(m: u64) -> String {
    let info = vector_with(&json!({"m": m, "future": [1]}));
    let mut knowledge = matmul_v3().knowledge_of(&tiling(m, 64), &foreign_product(m)).unwrap().to_fields().unwrap();
    knowledge.insert("reservedField".into(), 7.into());
    format!(
        r#"{{"version": 0, "op": "MatMulV3", "note": "x", "knowledge": {}, "info_dict": {info}, "id": 1}}"#,
        Value::Object(knowledge)
    )
}

fn foreign_product(m: u64) -> Workload {
    Workload::MatMul(MatMul { m, ..product() })
}

#[test]
fn marks_and_line_ends_of_other_systems_are_read() {
    let text = format!("\u{FEFF}{}\r\n{}", foreign_line(128), foreign_line(256));
    let storage = Arc::new(Memory::default());
    storage.put(Path::new(DIRECTORY).join(FILE), text);
    let bank = bank(&storage);
    for m in [128, 256] {
        let entry = bank.lookup(&foreign_product(m)).unwrap().unwrap();
        assert_eq!((entry.schedule, entry.measured), (tiling(m, 64), None));
    }
    assert_eq!(bank.warnings(), [""; 0]);
}

#[test]
fn foreign_records_and_unknown_fields_survive_a_rewrite() {
    let other_op = r#"{"id":3,"info_dict":{"a":1},"knowledge":{},"op":"Conv2DV2","version":0}"#;
    let no_k = r#"{"id":3,"info_dict":{"m":1},"knowledge":{},"op":"MatMulV3","version":0}"#;
    let storage = Arc::new(Memory::default());
    let path = Path::new(DIRECTORY).join(FILE);
    storage.put(&path, format!("{}\n{other_op}\n{no_k}\n{}", foreign_line(128), foreign_line(256)));
    let mut bank = bank(&storage);
    bank.record(&foreign_product(256), &tiling(256, 32), &measured(5.0)).unwrap();
    bank.save().unwrap();
    let text = String::from_utf8(storage.get(&path).unwrap()).unwrap();
    let lines: Vec<_> = text.split_terminator('\n').collect();
    assert_eq!(lines[..3], [foreign_line(128).as_str(), other_op, no_k]);
    let updated: Value = serde_json::from_str(lines[3]).unwrap();
    assert_eq!(
        [
            &updated["note"],
            &updated["info_dict"]["future"],
            &updated["knowledge"]["reservedField"],
            &updated["knowledge"]["baseK"]
        ],
        [&json!("x"), &json!([1]), &json!(7), &json!(32)]
    );
    assert_eq!(
        updated["id"],
        json!(Form::of(&foreign_product(256), &soc()).key_of(&foreign_product(256)).unwrap().id())
    );
    assert_eq!(bank.warnings().len(), 2, "{:?}", bank.warnings());
    assert!(bank.warnings()[0].contains(&format!("{FILE}:2")), "{:?}", bank.warnings());
}

#[test]
fn the_first_of_two_records_with_one_key_wins_and_the_second_is_never_written_again() {
    let storage = Arc::new(Memory::default());
    let path = Path::new(DIRECTORY).join(FILE);
    let second =
        foreign_line(128).replace(r#""stepKb":2"#, r#""stepKb":1"#).replace(r#""depthB1":4"#, r#""depthB1":2"#);
    storage.put(&path, format!("{}\n{second}\n", foreign_line(128)));
    let mut bank = bank(&storage);
    assert_eq!(bank.lookup(&foreign_product(128)).unwrap().unwrap().schedule, tiling(128, 64));
    bank.record(&foreign_product(256), &tiling(256, 64), &measured(5.0)).unwrap();
    bank.save().unwrap();
    let text = String::from_utf8(storage.get(&path).unwrap()).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains(&second) && text.starts_with(&foreign_line(128)));
    assert!(storage.get(Path::new(DIRECTORY).join(format!("{FILE}.damaged-1"))).is_some(), "nothing is lost");
}

#[test]
fn an_illegal_record_is_a_miss_with_a_warning() {
    let storage = Arc::new(Memory::default());
    storage.put(Path::new(DIRECTORY).join(FILE), foreign_line(128).replace(r#""baseN":256"#, r#""baseN":4096"#));
    let bank = bank(&storage);
    assert_eq!(bank.lookup(&foreign_product(128)).unwrap(), None);
    assert!(bank.warnings()[0].contains(FILE) && bank.warnings()[0].contains("L0B"), "{:?}", bank.warnings());
}

#[test]
fn of_workloads_that_share_a_record_the_one_that_gains_more_keeps_it() {
    let (short, long) = (product_of(250), product_of(256 - 1));
    let storage = Arc::new(Memory::default());
    let mut bank = bank(&storage);
    assert_eq!(bank.record_name(&short).unwrap(), bank.record_name(&long).unwrap());
    assert_ne!(bank.record_name(&short).unwrap(), bank.record_name(&product_of(256)).unwrap());
    for (workload, base_k, gain) in [(&short, 64, 3.0), (&long, 32, 2.0)] {
        bank.record(workload, &tiling(256, base_k), &measured(gain)).unwrap();
    }
    assert_eq!(bank.lookup(&long).unwrap().unwrap().schedule, tiling(256, 64));
    bank.record(&short, &tiling(256, 16), &measured(1.0)).unwrap();
    assert_eq!(bank.lookup(&long).unwrap().unwrap().schedule, tiling(256, 16), "its own record it may replace");
}

#[test]
fn a_record_fits_every_product_that_shares_it() {
    let product = |m: u64, k: u64, n: u64| Workload::MatMul(MatMul::new(m, k, n));
    let schedule = |m: u64, k: u64, n: u64| {
        let Schedule::Cube(cube) = tiling(128, 64) else { unreachable!() };
        let cores = Cores { batch: 1, m: 1, n: 1, k: 1 };
        Schedule::Cube(CubeSchedule { used_cores: 1, cores, single: Extents { batch: 1, m, n, k }, ..cube })
    };
    let storage = Arc::new(Memory::default());
    let mut writer = bank(&storage);
    writer.record(&product(1, 250, 100), &schedule(1, 250, 100), &measured(1.0)).unwrap();
    let path = writer.save().unwrap().remove(0);
    let record: Value = serde_json::from_slice(&storage.get(path).unwrap()).unwrap();
    let single = ["singleCoreM", "singleCoreK", "singleCoreN"].map(|name| record["knowledge"][name].as_u64().unwrap());
    assert_eq!(single, [16, 256, 112]);
    for (m, k, n) in [(1, 250, 100), (15, 241, 111)] {
        let entry = writer.lookup(&product(m, k, n)).unwrap().unwrap();
        assert_eq!(entry.schedule, schedule(m, k, n), "{m} x {k} x {n}");
    }
}

#[test]
fn a_later_version_of_our_form_is_kept_and_not_used() {
    let storage = Arc::new(Memory::default());
    let mut writer = bank(&storage);
    writer.record(&gelu(), &vector_tiling(8), &measured(3.0)).unwrap();
    let path = writer.save().unwrap().remove(0);
    let later = String::from_utf8(storage.get(&path).unwrap()).unwrap().replace(r#""version":0"#, r#""version":1"#);
    storage.put(&path, later.clone());
    let mut writer = bank(&storage);
    assert_eq!(writer.lookup(&gelu()).unwrap(), None);
    writer.record(&gelu(), &vector_tiling(16), &measured(3.0)).unwrap();
    writer.save().unwrap();
    let text = String::from_utf8(storage.get(&path).unwrap()).unwrap();
    assert!(text.starts_with(&later) && text.lines().count() == 2, "{text}");
    assert_eq!(bank(&storage).lookup(&gelu()).unwrap().unwrap().schedule, vector_tiling(16));
}

/// With `LIBAOE_DATA` naming a directory of published records, all ids that are not stale must come out.
/// A share of them is stale; the exact number is printed.
#[test]
fn published_ids_are_reproduced() {
    let Some(data) = std::env::var_os("LIBAOE_DATA") else { return };
    let text = std::fs::read_to_string(Path::new(&data).join("bank_matmulv3.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let matching = rows.iter().filter(|row| row["id"] == json!(id(&row["info_dict"]))).count();
    println!("{matching} of {} stored ids reproduced", rows.len());
    assert!(matching * 100 >= rows.len() * 91, "{matching} of {}", rows.len());
    for row in &rows {
        let info = &row["info_dict"];
        let extent = |name: &str| info[name].as_u64().unwrap();
        let product = MatMul::new(extent("m"), extent("k"), extent("n"));
        let Knowledge::Tiling(tiling) = matmul_v3().knowledge(&row["knowledge"]).unwrap() else { unreachable!() };
        let schedule = tiling.schedule(&product).unwrap();
        assert_eq!(Tiling::from_schedule(&schedule).unwrap(), tiling, "{row}");
    }
}

proptest! {
    #[test]
    fn distinct_canonical_workloads_have_distinct_keys(m in 1u64..5, n in 1u64..5, bias: bool, batch in 2u64..4, other in 1u64..5, narrow: bool) {
        let a = MatMul { batch, bias, b_dtype: narrow.then_some(DataType::Int4), ..MatMul::new(m, 4, n) };
        let b = MatMul { batch, bias, ..MatMul::new(other, 4, n) };
        let key = |w: &MatMul| Form::Canonical.key_of(&Workload::MatMul(w.clone())).unwrap();
        prop_assert_eq!(key(&a) == key(&b), a == b);
        let json = crate::workload::canonical_json(&Workload::MatMul(a.clone()));
        prop_assert_eq!(crate::bank::inspect::exact_workload(json.as_object().unwrap()), Ok(Workload::MatMul(a)));
    }
}

#[test]
fn our_own_record_is_the_documented_one() {
    let storage = Arc::new(Memory::default());
    let mut bank = bank(&storage);
    bank.record(&gelu(), &vector_tiling(8), &measured(3.0)).unwrap();
    let path = bank.save().unwrap().remove(0);
    let line = String::from_utf8(storage.get(path).unwrap()).unwrap();
    let documents = include_str!("../../../docs/banks.md");
    assert!(documents.contains(line.trim_end()), "docs/banks.md should show {line}");
}
