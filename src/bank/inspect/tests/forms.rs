//! Records of other forms: read, said in another form, and taken into banks.

use super::super::export::Export;
use super::super::{Content, Socs, Source, Target, broken_rule, convert, import, items, kept_out_line};
use super::Place;
use crate::bank::form::Form;
use crate::bank::{Content as _, json as bank_json, unified};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::workload::{MatMul, MatMulKernel, Schedule, Workload};
use serde_json::{Value, json};

fn soc() -> Soc {
    Soc::find("Ascend910B1").unwrap()
}

fn tbe() -> Workload {
    Workload::MatMul(MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(128, 768, 768) })
}

/// A unified bank of one record.
fn unified_bank(cost_us: f64) -> Vec<u8> {
    let Schedule::Cube(mut schedule) = default_policy(&tbe(), &soc()).unwrap() else { panic!("cube work") };
    // TBE's form has no loop order and no grouping for L2.
    (schedule.order, schedule.l2) = Default::default();
    let mut bank = unified::Bank::default();
    let info = unified::info_dict(&tbe()).unwrap();
    bank.put(&info, &unified::knowledge(&schedule, &tbe(), None).unwrap(), cost_us).unwrap();
    bank.render()
}

/// A record of CANN's runtime bank with the default of a part.
fn record(m: u64, soc: &Soc) -> Value {
    let (form, work) = (Form::runtime("MatMulV3"), Workload::MatMul(MatMul::new(m, 1024, 4096)));
    let knowledge = form.record_of(&default_policy(&work, soc).unwrap(), &work, soc).unwrap().to_fields().unwrap();
    let id = form.key_of(&work).unwrap().id();
    json!({"id": id, "info_dict": form.info_dict(&work), "knowledge": knowledge, "op": "MatMulV3", "version": 0})
}

fn name(soc: &Soc) -> String {
    Form::runtime("MatMulV3").file_name("MatMulV3", soc)
}

#[test]
fn a_record_of_the_unified_bank_is_said_again_without_a_loss() {
    let place = Place::new();
    let path = place.file("Ascend910B1_24_AiCore_matmul.json", unified_bank(2.5));
    let mut found = Vec::new();
    let bad = items(&mut Source::open(&path).unwrap(), &mut |item| {
        found.push(item);
        Ok(true)
    });
    assert_eq!((bad.unwrap(), found.len()), (0, 1));
    let converted = convert(&found[0], Target::Unified, &soc()).unwrap();
    assert_eq!((converted.op.as_str(), converted.lost), ("matmul", vec![]));
    let Content::Element { info, cost_us, .. } = converted.content else { panic!("an element") };
    assert_eq!((info, cost_us), (unified::info_dict(&tbe()).unwrap(), 2.5));
    let ours = convert(&found[0], Target::Canonical, &soc()).unwrap();
    let Content::Record { form: Form::Canonical, fields, .. } = ours.content else { panic!("a record of ours") };
    assert_eq!(
        (&fields["cost_time"], &fields["op"]),
        (&json!(2.5), &json!(found[0].workload.as_ref().unwrap().op_type()))
    );
}

#[test]
fn entries_that_hold_no_record_are_counted() {
    let place = Place::new();
    let count = |content: &[u8]| {
        let path = place.file("bank", content);
        items(&mut Source::open(&path).unwrap(), &mut |_| Ok(true)).unwrap()
    };
    let text = String::from_utf8(unified_bank(1.0)).unwrap();
    let key = &text[text.find('"').unwrap()..text.find(": ").unwrap()];
    let other: String = key.chars().rev().collect();
    assert_eq!(count(text.as_bytes()), 0);
    assert_eq!(count(text.replacen(key, &other, 1).as_bytes()), 1);
    let gradient = r#"[{"modelhash":"77","modelvalue":{"gradientTime":[1],"gradientSize":[2]}},{"modelhash":"x"}]"#;
    assert_eq!(count(gradient.as_bytes()), 1);
    let subgraph = r#"{"version": "2.1"}
{"feature":{"feature":[{"struct":[{"dsize":[2],"in":[[8,4,56,56,16]],"op":"Relu"}]}]},"graphID":"5","strategy":{"end2EndTime":7,"group":[{"cut":[2],"fusionType":[true],"scopeId":[3],"ubPass":{}}],"modelName":"net"}}
"#;
    assert_eq!(count(subgraph.as_bytes()), 0, "the first line is no record, and none is to be there");
    assert_eq!(count(format!("{subgraph}half\n").as_bytes()), 1);
    let lines = format!("{}\nhalf\n\n{}\nhalf", record(128, &soc()), record(256, &soc()));
    assert_eq!(count(lines.as_bytes()), 2, "a blank line is none");
}

#[test]
fn a_runtime_bank_is_of_one_part_and_our_own_form_of_any() {
    let place = Place::new();
    let parts = ["Ascend910B1", "Ascend910B4"].map(|name| Soc::find(name).unwrap());
    let files = parts.map(|soc| place.file(&name(&soc), record(128, &soc).to_string() + "\n"));
    let taken = |target| {
        let (mut export, mut socs) = (Export::new(target), Socs::new(None));
        for path in &files {
            assert_eq!(export.take(&mut Source::open(path).unwrap(), &mut socs).unwrap(), 0);
        }
        // What is there is not taken twice.
        export.take(&mut Source::open(&files[0]).unwrap(), &mut socs).unwrap();
        let left: Vec<_> = export.left.iter().filter_map(|left| left.left_out.clone()).collect();
        (export.count, left, String::from_utf8(export.content()).unwrap().lines().count())
    };
    let (count, left, lines) = taken(Target::Runtime);
    assert_eq!((count, lines, left.len()), (1, 1, 2));
    assert!(left[0].contains("one part and operator") && left[1].contains("earlier record"), "{left:?}");
    let (count, left, lines) = taken(Target::Canonical);
    assert_eq!((count, lines, left.len()), (2, 2, 1), "{left:?}");
}

#[test]
fn what_has_no_schedule_is_left_out_with_the_reason() {
    let place = Place::new();
    let soc = Soc::find("Ascend910B2").unwrap();
    let mut wrong = record(256, &soc);
    wrong["knowledge"]["tilingEnable"] = json!(9);
    let lines = format!("{}\n{}\nhalf\n", record(128, &soc), bank_json::to_sorted_text(&wrong));
    let source = place.file(&name(&soc), lines);
    let temporary = place.0.path().to_owned();
    let into = place.0.path().join("into");
    let done = import(&[source], &into, &[], &mut Socs::new(None), &temporary, false).unwrap();
    assert_eq!((done.count, done.bad, done.merged.outcome.added), (1, 1, 1));
    let left: Vec<_> = done.left.iter().filter_map(|left| Some((left.line, left.left_out.clone()?))).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].0 == 2 && left[0].1.contains("its tiling has no canonical schedule"), "{left:?}");
    assert!(into.join(name(&soc)).is_file());
}

#[test]
fn a_rule_is_broken_by_what_does_not_run_and_by_nothing_else() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let good = record(256, &soc).to_string();
    assert_eq!((broken_rule(good.as_bytes(), &soc), kept_out_line(good.as_bytes(), &soc)), (None, None));
    // Tasks of more than one block, which the kernel does not walk through.
    let mut wrong = record(256, &soc);
    wrong["knowledge"]["singleCoreM"] = json!(256);
    wrong["knowledge"]["baseM"] = json!(64);
    let line = wrong.to_string();
    let rule = broken_rule(line.as_bytes(), &soc).expect("its kernel would not compute it");
    assert!(rule.contains("singleCoreM") || rule.contains("baseM"), "{rule}");
    let (kept_out, label) = kept_out_line(line.as_bytes(), &soc).unwrap();
    assert_eq!((kept_out, label.as_str()), (rule, "MatMulV3 256x1024x4096 float16"));
    // A record that lacks fields is of another version, and what is none breaks no rule.
    wrong["knowledge"].as_object_mut().unwrap().remove("tilingEnable");
    assert_eq!(kept_out_line(wrong.to_string().as_bytes(), &soc), None);
    assert_eq!((broken_rule(b"half", &soc), kept_out_line(b"half", &soc)), (None, None));
}
