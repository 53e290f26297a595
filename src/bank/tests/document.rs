//! What a document keeps of lines that others wrote.

use super::*;
use crate::bank::document::Document;
use crate::bank::key::Key;
use crate::bank::layout::Layout;
use crate::bank::side::Side;
use serde_json::{Value, json};

const OP: &str = "MatMulV3";

/// A record of a product with `m` rows, whose fields all say `value`.
fn record(m: u64, value: u64) -> Value {
    let (form, work) = (matmul_v3(), product_of(m));
    let names = form.knowledge_fields().iter();
    let knowledge: serde_json::Map<String, Value> = names.map(|name| ((*name).to_owned(), json!(value))).collect();
    let id = form.key_of(&work).unwrap().id();
    json!({"id": id, "info_dict": form.info_dict(&work), "knowledge": knowledge, "op": OP, "version": 0})
}

fn document(form: Form, op: &str, lines: &[String]) -> Document {
    Document::parse(form, op, &lines.join("\n").into(), &Side::default())
}

fn texts(document: &Document) -> Vec<String> {
    document.lines.texts().map(|text| String::from_utf8(text.to_vec()).unwrap()).collect()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_line_of_another_file_is_taken_over_as_it_stands_where_its_id_is_right() {
    // As no program of ours writes it.
    let odd = |record: &Value| record.to_string().replace(':', " : ").replace("},", "} , ");
    let (new, known) = (record(32, 7), record(16, 5));
    let mut ours = document(matmul_v3(), OP, &[odd(&known)]);
    let better = record(16, 6);
    let theirs = document(matmul_v3(), OP, &[odd(&new), odd(&better)]);
    ours.adopt(&theirs, 0);
    ours.adopt(&theirs, 1);
    assert_eq!(texts(&ours), [odd(&better), odd(&new)]);
    // A stale id is set right, for which the line is written anew.
    let mut stale = new.clone();
    stale["id"] = json!(7);
    let mut empty = document(matmul_v3(), OP, &[]);
    empty.adopt(&document(matmul_v3(), OP, &[odd(&stale)]), 0);
    assert_eq!(texts(&empty), [crate::bank::json::to_sorted_text(&new)]);
    empty.adopt(&theirs, 9);
    assert_eq!(texts(&empty).len(), 1, "there is no such line");
}

#[test]
fn fields_that_nobody_knows_stay_where_a_better_record_takes_a_place() {
    let mut old = record(16, 5);
    old["note"] = json!("ours");
    old["both"] = json!("ours");
    old["info_dict"]["extra"] = json!(1);
    old["knowledge"]["future"] = json!(2);
    let mut new = record(16, 6);
    new["both"] = json!("theirs");
    new["knowledge"].as_object_mut().unwrap().remove("stepM");
    let mut ours = document(matmul_v3(), OP, &[old.to_string()]);
    ours.adopt(&document(matmul_v3(), OP, &[new.to_string()]), 0);
    let [text] = &texts(&ours)[..] else { panic!() };
    let kept = value(text);
    assert_eq!((&kept["note"], &kept["both"]), (&json!("ours"), &json!("theirs")));
    assert_eq!((&kept["info_dict"]["extra"], &kept["knowledge"]["future"]), (&json!(1), &json!(2)));
    assert_eq!(kept["knowledge"]["baseM"], json!(6));
    assert_eq!(kept["knowledge"].get("stepM"), None, "what a tiling lacks is at its default, not as it was");
}

#[test]
fn a_tiling_that_is_not_decoded_is_taken_as_a_whole() {
    let (form, op) = (Form::runtime("Conv3DV2"), "Conv3DV2");
    assert!(form.knowledge_fields().is_empty(), "its tiling is not decoded");
    let layout = Layout::of(op).unwrap();
    let info = Value::Object(layout.unpack(&vec![0; layout.bytes()]).unwrap());
    let id = form.key(&info).unwrap().id();
    let of = |tile: u32| json!({"id": id, "info_dict": info, "knowledge": {"tile": tile}, "op": op, "version": 0});
    let mut old = of(5);
    old["knowledge"]["other"] = json!(1);
    old["info_dict"]["extra"] = json!(1);
    let mut ours = document(form, op, &[old.to_string()]);
    ours.adopt(&document(form, op, &[of(6).to_string()]), 0);
    let kept = value(&texts(&ours)[0]);
    assert_eq!(kept["knowledge"], json!({"tile": 6}));
    assert_eq!(kept["info_dict"]["extra"], json!(1));
}

#[test]
fn a_record_that_is_written_is_found_and_keeps_its_place() {
    let mut ours = document(matmul_v3(), OP, &[record(16, 5).to_string()]);
    let write = |ours: &mut Document, m: u64, k: u32| -> Key {
        let info = matmul_v3().info_dict(&product_of(m));
        let key = matmul_v3().key(&info).unwrap();
        let knowledge = matmul_v3().knowledge_of(&tiling(m, k), &product_of(m)).unwrap();
        ours.put(&key, &info, knowledge.clone()).unwrap();
        assert_eq!(ours.get(&key), Some(&knowledge));
        key
    };
    let (second, first) = (write(&mut ours, 32, 64), write(&mut ours, 16, 32));
    write(&mut ours, 32, 16);
    let keys: Vec<_> = ours.records().map(|record| record.key.clone()).collect();
    assert_eq!(keys, [first, second]);
    let again = document(matmul_v3(), OP, &texts(&ours));
    assert!(again.records().eq(ours.records()) && again.lines.findings().is_empty());
}
