//! Two banks compared, and times beside records.

use super::super::{Change, Difference, Gains, Source, Times, diff, entries, items};
use super::Place;
use crate::bank::form::Form;
use crate::bank::measurement::Stamp;
use crate::bank::side::{Side, soc_digest};
use crate::bank::{Measured, json as bank_json};
use crate::soc::Soc;
use crate::workload::{DefaultOrigin, MatMul, Workload};
use serde_json::{Value, json};
use std::path::Path;

const NAME: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";

fn form() -> Form {
    Form::runtime("MatMulV3")
}

fn record(m: u64, base_m: u64) -> Value {
    let info = form().info_dict(&Workload::MatMul(MatMul::new(m, 1024, 4096)));
    let mut knowledge: serde_json::Map<String, Value> =
        form().knowledge_fields().iter().map(|name| ((*name).to_owned(), json!(1))).collect();
    knowledge.insert("baseM".into(), json!(base_m));
    let id = form().key(&info).unwrap().id();
    json!({"id": id, "info_dict": info, "knowledge": knowledge, "op": "MatMulV3", "version": 0})
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| record.to_string() + "\n").collect()
}

/// Labels of what only one has, fields of what differs, and how many are equal.
fn compared(place: &Place, a: &str, b: &str) -> (Vec<String>, usize) {
    let [a, b] = [("a.json", a), ("b.json", b)].map(|(name, content)| place.file(name, content));
    let mut told = Vec::new();
    let mut tell = |difference| {
        told.push(match difference {
            Difference::OnlyA(entry) => format!("< {}", entry.number),
            Difference::OnlyB(entry) => format!("> {}", entry.number),
            Difference::Differs { a, b, changes } => {
                let said = |Change { field, a, b }: &Change| format!("{field} {a:?} {b:?}");
                let changes: Vec<_> = changes.iter().map(said).collect();
                format!("! {} {}: {}", a.number, b.number, changes.join(", "))
            }
        });
        Ok(())
    };
    let equal = diff(&mut Source::open(&a).unwrap(), &mut Source::open(&b).unwrap(), &mut tell).unwrap();
    (told, equal)
}

#[test]
fn of_entries_that_a_bank_has_twice_the_first_counts_and_each_is_told_once() {
    let place = Place::new();
    let a = lines(&[record(16, 1), record(32, 2), record(16, 9), record(48, 3)]);
    let b = lines(&[record(64, 4), record(48, 3), record(16, 1), record(16, 5), record(64, 6)]);
    assert_eq!(compared(&place, &a, &b), (vec!["< 2".to_owned(), "> 1".into()], 2));
    let (told, equal) = compared(&place, &lines(&[record(16, 9)]), &b);
    assert_eq!((told.len(), equal), (3, 0));
    assert_eq!(told[0], "! 1 3: knowledge.baseM Some(Number(9)) Some(Number(1))");
    assert_eq!(told[1..], ["> 1", "> 2"]);
}

#[test]
fn numbers_are_equal_however_they_are_written_and_texts_are_no_numbers() {
    let place = Place::new();
    let of = |value: &str| format!("{{\"shape\":{{\"a\":1}},\"tiling\":[1],\"cost_time\":{value}}}\n");
    for (a, b, same) in [
        ("5", "5.0", true),
        ("5.0", "5", true),
        ("5", "6", false),
        ("5.5", "5", false),
        ("9007199254740993", "9007199254740992", false),
        ("\"5\"", "5", false),
        ("null", "0", false),
    ] {
        let (told, equal) = compared(&place, &of(a), &of(b));
        assert_eq!((told.is_empty(), equal == 1), (same, same), "{a} {b}: {told:?}");
    }
}

#[test]
fn fields_that_one_bank_lacks_are_told_with_the_place_in_the_record() {
    let place = Place::new();
    let of = |rest: &str| format!("{{\"shape\":{{\"a\":1}},\"tiling\":[1]{rest}}}\n");
    let (told, _) = compared(&place, &of(",\"x\":{\"y\":1,\"z\":2}"), &of(",\"x\":{\"y\":1},\"w\":null"));
    assert_eq!(told, ["! 1 1: x.z Some(Number(2)) None, w None Some(Null)"]);
}

#[test]
fn banks_of_two_forms_do_not_compare_but_an_empty_one_does() {
    let place = Place::new();
    let operators = lines(&[record(16, 1)]);
    let gradient = r#"[{"modelhash":"1","modelvalue":{"gradientTime":[0],"gradientSize":[0]}}]"#;
    assert_eq!(compared(&place, &operators, "").0, ["< 1"]);
    assert_eq!(compared(&place, "", &operators).0, ["> 1"]);
    assert_eq!(compared(&place, gradient, "").0, ["< 1"]);
    let [a, b] = [("a.json", &*operators), ("b.json", gradient)].map(|(name, content)| place.file(name, content));
    let error = diff(&mut Source::open(&a).unwrap(), &mut Source::open(&b).unwrap(), &mut |_| panic!()).unwrap_err();
    assert!(error.to_string().contains("operator bank") && error.to_string().contains("gradient bank"), "{error}");
}

#[test]
fn entries_are_told_apart_by_part_operator_and_key_and_what_is_none_by_its_text() {
    let place = Place::new();
    let mut part = record(16, 1);
    part["soc_cores"] = json!("Ascend910B2_24");
    part["note"] = json!("ours");
    let other = [record(16, 1).to_string().replace("MatMulV3", "QuantBatchMatmulV3"), "half".into(), "half".into()];
    let path = place.file(NAME, lines(&[record(16, 1), part]) + "\n \n" + &other.join("\n"));
    let mut all = Vec::new();
    entries(&mut Source::open(&path).unwrap(), &mut |entry| {
        all.push(entry);
        Ok(())
    })
    .unwrap();
    assert_eq!(all.iter().map(|entry| entry.number).collect::<Vec<_>>(), [1, 2, 5, 6, 7]);
    let identities: std::collections::BTreeSet<_> = all.iter().map(|entry| &entry.identity).collect();
    assert_eq!(identities.len(), 4, "the two halves are one");
    assert_eq!(all[0].label, "MatMulV3 16x1024x4096 float16");
    assert_eq!(all[1].label, "Ascend910B2_24 MatMulV3 16x1024x4096 float16");
    assert_eq!(all[3].label, "no record: half");
    assert!(all[3].content.is_empty());
    assert_eq!(all[1].content.get("note"), Some(&json!("ours")));
    assert_eq!(all[1].content.get("soc_cores"), None, "the part is what it is for, not what it says");
    let names: Vec<_> = all[0].content.keys().map(String::as_str).collect();
    assert_eq!(names, ["id", "info_dict", "knowledge", "version"]);
}

/// A bank of one record with its side file, which states 5 us instead of 8.
fn timed(place: &Place, base_m: u64) -> std::path::PathBuf {
    let (soc, record) = (Soc::find("Ascend910B2").unwrap(), record(16, base_m));
    let key = form().key(&record["info_dict"]).unwrap();
    let knowledge = form().knowledge(&self::record(16, 1)["knowledge"]).unwrap();
    let measured =
        Measured { before_us: 8.0, after_us: 5.0, backend: "ascend".into(), space: 7, default: DefaultOrigin::Public };
    let stamp = Stamp { soc: "Ascend910B2".into(), soc_fields: soc_digest(&soc), date: "2026-02-03".into() };
    let mut side = Side::default();
    side.insert(stamp.measurement(&key, &knowledge, &measured));
    place.file(&format!(".aoe/{NAME}.side.jsonl"), side.render().unwrap());
    place.file(NAME, bank_json::to_sorted_text(&record) + "\n")
}

fn times_of(path: &Path) -> Option<Times> {
    let mut found = None;
    let bad = items(&mut Source::open(path).unwrap(), &mut |item| {
        found = item.times;
        Ok(true)
    });
    assert_eq!(bad.unwrap(), 0);
    found
}

#[test]
fn times_are_those_of_the_tiling_that_was_measured_and_a_gain_is_counted_as_aoe_does() {
    let place = Place::new();
    let path = timed(&place, 1);
    let times = times_of(&path).unwrap();
    assert_eq!((times.before_us, times.after_us, times.gain()), (8.0, 5.0, 8.0 / 5.0 - 1.0));
    assert_eq!(
        (times.backend.as_str(), times.soc.as_str(), times.date.as_str()),
        ("ascend", "Ascend910B2", "2026-02-03")
    );
    assert_eq!((times.space, times.default), (7, DefaultOrigin::Public));
    assert_eq!(times.soc_fields, soc_digest(&Soc::find("Ascend910B2").unwrap()));
    // The side file speaks of another tiling.
    assert_eq!(times_of(&timed(&place, 2)), None);
    std::fs::remove_dir_all(path.parent().unwrap().join(".aoe")).unwrap();
    assert_eq!(times_of(&path), None);
    let mut none = Gains::of(&Source::open(&path).unwrap());
    let key = form().key(&record(16, 1)["info_dict"]).unwrap();
    assert_eq!(none.times_of(form(), &key, &form().knowledge(&record(16, 1)["knowledge"]).unwrap()), None);
}
