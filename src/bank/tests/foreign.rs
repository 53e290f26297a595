//! Runtime banks of operators that libaoe does not tune: read as CANN reads them, kept as they stand.

use super::*;
use crate::bank::document::Document;
use crate::bank::knowledge::Knowledge;
use crate::bank::layout::Layout;
use crate::bank::side::Side;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A record of an operator with every key field set to `number` (or whether it is odd), hand-numbered as
/// the public ones are.
fn line(layout: &Layout, number: u64, knowledge: &Value) -> String {
    let value = |field: &crate::bank::layout::Field| match field.kind {
        crate::bank::layout::FieldType::Bool => json!(number % 2 == 1),
        _ => json!(number),
    };
    let info: Map<_, _> = layout.fields().iter().map(|f| (f.name.to_owned(), value(f))).collect();
    json!({"id": 7, "info_dict": info, "knowledge": knowledge, "op": layout.op_type(), "version": 0}).to_string()
}

fn parse(op_type: &str, text: &str) -> Document {
    Document::parse(
        Form::runtime(op_type),
        op_type,
        &prost::bytes::Bytes::copy_from_slice(text.as_bytes()),
        &Side::default(),
    )
}

#[test]
fn every_known_layout_is_read_whatever_its_stored_ids() {
    for layout in Layout::all().iter().filter(|l| l.op_type().starts_with("Conv3DB") || l.op_type() == "Conv3DV2") {
        let knowledge = json!({"singleCoreM": 16, "future": "x"});
        let text = format!("\u{FEFF}{}\r\n{}", line(layout, 1, &knowledge), line(layout, 2, &knowledge));
        let document = parse(layout.op_type(), &text);
        let records: Vec<_> = document.records().collect();
        assert_eq!(records.len(), 2, "{}: {:?}", layout.op_type(), document.lines.findings());
        assert_ne!(records[0].key, records[1].key);
        assert_eq!(records[0].knowledge, Knowledge::Opaque(knowledge.as_object().unwrap().clone()));
    }
}

#[test]
fn of_two_records_with_one_key_the_first_wins_in_every_layout() {
    for layout in Layout::all() {
        let text = [json!({}), json!({"later": 1})].map(|knowledge| line(layout, 1, &knowledge)).join("\n");
        let document = parse(layout.op_type(), &text);
        assert_eq!(document.records().count(), 1);
        assert_eq!(document.lines.findings().len(), 1);
        assert!(document.lines.findings()[0].reason.contains("first"), "{:?}", document.lines.findings());
    }
}

#[test]
fn records_of_an_unknown_operator_are_kept_and_none_is_used() {
    let text =
        "{\"id\":1,\"info_dict\":{\"a\":1},\"knowledge\":{\"b\":2},\"op\":\"ExtendConvTranspose\",\"version\":0}\n";
    let document = parse("ExtendConvTranspose", text);
    assert_eq!(document.records().count(), 0);
    assert!(
        !document.lines.is_damaged() && document.lines.findings()[0].reason.contains("not known"),
        "{:?}",
        document.lines.findings()
    );
    assert_eq!(document.lines.render(), text.as_bytes());
    assert_eq!(
        Form::runtime("ExtendConvTranspose").file_name("ExtendConvTranspose", &soc()),
        "Ascend910B2_24_AiCore_ExtendConvTranspose_runtime_kb.json"
    );
}

#[test]
fn what_is_not_decoded_is_neither_applied_nor_written() {
    let product = Workload::MatMul(product());
    let opaque = Knowledge::Opaque(Map::new());
    assert!(opaque.schedule(&product).unwrap_err().to_string().contains("not decoded"));
    for form in [Form::runtime("Conv3DV2"), Form::Unknown] {
        assert!(form.knowledge_of(&tiling(128, 64), &product).unwrap_err().to_string().contains("not decoded"));
    }
}

proptest! {
    #[test]
    fn a_foreign_bank_is_written_back_line_for_line(
        layout in proptest::sample::select(Layout::all().iter().collect::<Vec<_>>()),
        numbers in proptest::collection::btree_set(0u64..1000, 0..20),
    ) {
        let lines: Vec<_> = numbers.iter().map(|&n| line(layout, n, &json!({"future": n}))).collect();
        let text = if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" };
        let document = parse(layout.op_type(), &text);
        prop_assert_eq!(document.records().count(), lines.len());
        prop_assert_eq!(document.lines.render(), text.into_bytes());
    }
}
