//! Merging of the banks that are one file each: unified, subgraph, gradient.

use crate::bank::form::Form;
use crate::bank::inspect::Fate;
use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::bank::measurement::Measurement;
use crate::bank::side::Side;
use crate::bank::unified::{self, Dict, Value};
use crate::bank::{Content, MergeOutcome, gradient, merge, subgraph};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const UNIFIED: &str = "Ascend910B1_25_AiCore_matmul.json";
const SUBGRAPH: &str = "ascend910b1_l2cache_aoe.json";
const GRADIENT: &str = "Ascend910B1_gradient_fusion.json";

/// Directories with banks.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn merge(&self, sources: &[&str], built_in: &[&str]) -> MergeOutcome {
        let paths = |names: &[&str]| names.iter().map(|name| self.at(name)).collect::<Vec<_>>();
        merge(&paths(sources), &self.at("into"), &paths(built_in)).unwrap()
    }
}

/// Added, updated, kept, refused.
fn counts(outcome: &MergeOutcome) -> [usize; 4] {
    [outcome.added, outcome.updated, outcome.kept, outcome.refused]
}

fn info(m: i64) -> Dict {
    Dict::from_iter([("op_type", Value::from("matmul")), ("m", Value::parse(&m.to_string()).unwrap())])
}

fn knowledge(tile: i64) -> Dict {
    Dict::from_iter([("tile", Value::parse(&tile.to_string()).unwrap())])
}

/// A unified bank of records of `(m, tile, microseconds)`.
fn unified_bank(records: &[(i64, i64, f64)]) -> Vec<u8> {
    let mut bank = unified::Bank::default();
    for &(m, tile, us) in records {
        bank.put(&info(m), &knowledge(tile), us).unwrap();
    }
    bank.render()
}

fn unified_at(path: &Path) -> Vec<(i64, Dict, Option<f64>)> {
    let bank = unified::Bank::parse(&std::fs::read(path).unwrap());
    assert_eq!(bank.findings(), []);
    let of = |m: i64| bank.get(&info(m)).map(|found| (m, found.knowledge().clone(), found.cost_us()));
    (1..10).filter_map(of).collect()
}

#[test]
fn of_unified_records_the_faster_stays_and_the_built_in_bank_is_respected() {
    let place = Place::new();
    place.file(&format!("into/{UNIFIED}"), unified_bank(&[(1, 10, 5.0), (2, 20, 5.0), (3, 30, 5.0)]));
    place.file(
        &format!("source/{UNIFIED}"),
        unified_bank(&[(1, 11, 4.0), (2, 21, 6.0), (3, 30, 5.0), (4, 41, 1.0), (5, 51, 9.0), (6, 60, 2.0)]),
    );
    place.file(&format!("shipped/{UNIFIED}"), unified_bank(&[(4, 40, 2.0), (5, 50, 9.0), (6, 60, 3.0)]));
    let outcome = place.merge(&["source"], &["shipped"]);
    assert_eq!(counts(&outcome), [1, 1, 2, 2], "{outcome:#?}");
    assert_eq!((outcome.warnings.as_slice(), outcome.unmerged.as_slice()), (&[][..], &[][..]));
    let path = place.at("into").join(UNIFIED);
    assert_eq!(outcome.changed, std::slice::from_ref(&path));
    let found: Vec<_> = unified_at(&path).into_iter().map(|(m, knowledge, us)| (m, knowledge, us.unwrap())).collect();
    let expected = [(1, 11, 4.0), (2, 20, 5.0), (3, 30, 5.0), (4, 41, 1.0)];
    assert_eq!(found, expected.map(|(m, tile, us)| (m, knowledge(tile), us)));
    let told: Vec<_> = outcome.records.iter().map(|told| (told.line, told.reason.as_str())).collect();
    assert_eq!(told[0], (2, "4.00 us stay, 5.00 us go"));
    assert_eq!(told[1], (3, "5.00 us stay, 6.00 us go"));
    // What was merged gains nothing a second time.
    let again = place.merge(&["source"], &["shipped"]);
    assert_eq!((counts(&again), again.changed.as_slice()), ([0, 0, 4, 2], &[][..]));
}

/// A side file of records of `(m, tile, microseconds, backend)`.
fn side_file(records: &[(i64, i64, f64, &str)]) -> Vec<u8> {
    let mut side = Side::default();
    for &(m, tile, us, backend) in records {
        let key = Key::new(info(m).dumps().into_bytes());
        side.insert(Measurement {
            key: key.digest(),
            id: key.id(),
            knowledge: Knowledge::Unified(unified::Operator::MatMul, knowledge(tile).dumps()),
            before_us: 9.0,
            after_us: us,
            backend: backend.to_owned(),
            soc: "Ascend910B1".to_owned(),
            soc_fields: 1,
            date: "2026-11-28".to_owned(),
            space: 1,
            default: crate::workload::DefaultOrigin::default(),
            line: None,
        });
    }
    side.render().unwrap()
}

#[test]
fn what_unified_records_cost_comes_along_and_the_order_of_sources_never_matters() {
    let side = format!(".aoe/{UNIFIED}.side.jsonl");
    let sources = [
        (
            "a",
            unified_bank(&[(1, 10, 5.0), (2, 20, 3.0)]),
            side_file(&[(1, 10, 5.0, "simulator"), (2, 20, 3.0, "ascend")]),
        ),
        (
            "b",
            unified_bank(&[(1, 11, 4.0), (2, 20, 3.0)]),
            side_file(&[(1, 11, 4.0, "ascend"), (2, 20, 2.5, "simulator")]),
        ),
        ("c", unified_bank(&[(3, 30, 1.0)]), Vec::new()),
    ];
    let told = |order: &[&str]| {
        let place = Place::new();
        for (name, bank, measured) in &sources {
            place.file(&format!("{name}/{UNIFIED}"), bank);
            place.file(&format!("{name}/{side}"), measured);
        }
        for names in order.chunks(2) {
            place.merge(names, &[]);
        }
        let content = std::fs::read(place.at("into").join(&side)).unwrap();
        // What was merged gains nothing a second time.
        place.merge(order, &[]);
        assert_eq!(std::fs::read(place.at("into").join(&side)).unwrap(), content);
        content
    };
    let content = told(&["a", "b", "c"]);
    let known = Side::parse(Form::Unified(unified::Operator::MatMul), &content);
    let of = |m: i64, tile: i64| {
        let (key, text) = (Key::new(info(m).dumps().into_bytes()), knowledge(tile).dumps());
        let found = known
            .of_key(&key)
            .iter()
            .find(|m| m.knowledge == Knowledge::Unified(unified::Operator::MatMul, text.clone()));
        found.map(|m| (m.after_us, m.backend.clone()))
    };
    // A device's time stands before a prediction of the same record; of a record without measurements nothing is told.
    assert_eq!(of(1, 11), Some((4.0, "ascend".to_owned())));
    assert_eq!(of(2, 20), Some((3.0, "ascend".to_owned())));
    assert_eq!(of(3, 30), None);
    assert_eq!(of(1, 10), None);
    for order in [["c", "b", "a"], ["b", "a", "c"], ["b", "c", "a"]] {
        assert_eq!(told(&order), content, "{order:?}");
    }
}

#[test]
fn of_unified_records_a_prediction_takes_no_place_of_a_time_that_was_measured() {
    // Of each product what the bank has and what comes: tile, microseconds, and who measured, where a side file says it;
    // then what became of it.
    let cases = [
        ((10, 5.0, "ascend"), (11, 4.0, "simulator"), Fate::Kept),
        // CANN's tuner measures on a device and has no side file.
        ((20, 5.0, ""), (21, 4.0, "simulator"), Fate::Kept),
        ((30, 5.0, "simulator"), (31, 9.0, "ascend"), Fate::Updated),
        ((40, 5.0, "simulator"), (41, 4.0, "simulator"), Fate::Updated),
        ((50, 5.0, "simulator"), (51, 9.0, ""), Fate::Updated),
        // One tiling that both have: what it states is what a device has measured.
        ((60, 5.0, "simulator"), (60, 7.0, "ascend"), Fate::Updated),
        ((70, 7.0, "ascend"), (70, 5.0, "simulator"), Fate::Kept),
    ];
    let side = format!(".aoe/{UNIFIED}.side.jsonl");
    let place = Place::new();
    let write = |name: &str, given: &[(i64, (i64, f64, &str))]| {
        let bank: Vec<_> = given.iter().map(|&(m, (tile, us, _))| (m, tile, us)).collect();
        let vouched = given.iter().filter(|(_, (_, _, backend))| !backend.is_empty());
        let vouched: Vec<_> = vouched.map(|&(m, (tile, us, backend))| (m, tile, us, backend)).collect();
        place.file(&format!("{name}/{UNIFIED}"), unified_bank(&bank));
        place.file(&format!("{name}/{side}"), side_file(&vouched));
    };
    let numbered: Vec<_> = (1..).zip(cases).collect();
    write("into", &numbered.iter().map(|&(m, (old, _, _))| (m, old)).collect::<Vec<_>>());
    write("one", &numbered.iter().map(|&(m, (old, _, _))| (m, old)).collect::<Vec<_>>());
    write("two", &numbered.iter().map(|&(m, (_, new, _))| (m, new)).collect::<Vec<_>>());
    let outcome = place.merge(&["two"], &[]);
    let fates: Vec<_> = outcome.records.iter().map(|told| told.fate).collect();
    assert_eq!(fates, cases.map(|(_, _, fate)| fate), "{outcome:#?}");
    assert_eq!(outcome.records[0].reason, "5.00 us of a device stay, 4.00 us of the simulator go");
    assert_eq!(outcome.warnings, [""; 0]);
    let path = place.at("into").join(UNIFIED);
    let found: Vec<_> = unified_at(&path).into_iter().map(|(m, knowledge, us)| (m, knowledge, us.unwrap())).collect();
    let stay = numbered.iter().map(|&(m, (old, new, fate))| (m, if fate == Fate::Kept { old } else { new }));
    assert_eq!(found, stay.map(|(m, (tile, us, _))| (m, knowledge(tile), us)).collect::<Vec<_>>());
    // The other way round the same records stay.
    let turned = [place.at("two"), place.at("one")];
    for (name, order) in [("a", [0, 1]), ("b", [1, 0])] {
        let into = place.at(name);
        for source in order {
            merge(&turned[source..=source], &into, &[]).unwrap();
        }
        assert_eq!(unified_at(&into.join(UNIFIED)), unified_at(&path), "{name}");
    }
    place.file(&format!("one/{side}"), "garbage");
    let told = place.merge(&["one"], &[]).warnings;
    assert!(told.len() == 1 && told[0].contains(&format!("{side}:1: ")), "{told:?}");
}

#[test]
fn a_unified_record_is_held_beside_the_built_in_one_by_times_of_one_kind_only() {
    let place = Place::new();
    let side = |folder: &str| format!("{folder}/.aoe/{UNIFIED}.side.jsonl");
    // What CANN ships states a device's times: a prediction is neither lower nor higher than those.
    place.file(&format!("source/{UNIFIED}"), unified_bank(&[(1, 11, 6.0), (2, 21, 4.0), (3, 30, 6.0), (4, 41, 6.0)]));
    place.file(
        &side("source"),
        side_file(&[(1, 11, 6.0, "simulator"), (2, 21, 4.0, "simulator"), (3, 30, 6.0, "simulator")]),
    );
    place.file(&format!("shipped/{UNIFIED}"), unified_bank(&[(1, 10, 5.0), (2, 20, 5.0), (3, 30, 5.0), (4, 40, 5.0)]));
    let outcome = place.merge(&["source"], &["shipped"]);
    assert_eq!(counts(&outcome), [2, 0, 0, 2], "the same tiling, and a slower one, are not taken: {outcome:#?}");
    let tiles: Vec<_> = unified_at(&place.at("into").join(UNIFIED)).into_iter().map(|(m, tile, _)| (m, tile)).collect();
    assert_eq!(tiles, [(1, knowledge(11)), (2, knowledge(21))]);
    // Two predictions compare, whatever the banks state.
    place.file(&side("shipped"), side_file(&[(1, 10, 7.0, "simulator"), (2, 20, 3.0, "simulator")]));
    std::fs::remove_dir_all(place.at("into")).unwrap();
    let outcome = place.merge(&["source"], &["shipped"]);
    assert_eq!(counts(&outcome), [1, 0, 0, 3], "{outcome:#?}");
    assert_eq!(unified_at(&place.at("into").join(UNIFIED))[0].1, knowledge(11));
}

#[test]
fn a_unified_record_brings_its_fields_and_keeps_those_that_it_has_not() {
    let place = Place::new();
    let with = |field: &str, content: Vec<u8>| {
        String::from_utf8(content).unwrap().replace("\"cost_time\"", &format!("{field}, \"cost_time\""))
    };
    place.file(&format!("into/{UNIFIED}"), with("\"origin\": \"a\", \"own\": 1", unified_bank(&[(1, 10, 5.0)])));
    place.file(&format!("source/{UNIFIED}"), with("\"origin\": \"b\", \"new\": 2", unified_bank(&[(1, 11, 4.0)])));
    assert_eq!(counts(&place.merge(&["source"], &[])), [0, 1, 0, 0]);
    let text = std::fs::read_to_string(place.at("into").join(UNIFIED)).unwrap();
    for said in ["\"origin\": \"b\"", "\"own\": 1", "\"new\": 2", "\"cost_time\": 4.0"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

fn feature(batch: i64) -> subgraph::Feature {
    let node = |op: &str| subgraph::Node {
        op: op.into(),
        inputs: vec![vec![batch, 4, 56, 56, 16]],
        element_bytes: vec![2],
        ..subgraph::Node::default()
    };
    let part = subgraph::Part { nodes: vec![node("Relu"), node("Sigmoid")], ..subgraph::Part::default() };
    subgraph::Feature { parts: vec![part], ..subgraph::Feature::default() }
}

/// A subgraph bank of ours of records of `(batch, nanoseconds)`.
fn subgraph_bank(kind: subgraph::Kind, records: &[(i64, u64)]) -> Vec<u8> {
    let mut bank = subgraph::Bank::parse(kind, b"");
    for &(batch, time) in records {
        let group = subgraph::Group {
            cut: vec![1, 1],
            fusion_type: vec![false, false],
            scope_id: vec![1, 1],
            ..subgraph::Group::default()
        };
        let strategy = subgraph::Strategy { end2_end_time: time, groups: vec![group], ..subgraph::Strategy::default() };
        bank.put(subgraph::Record::new(feature(batch), strategy).unwrap()).unwrap();
    }
    bank.render()
}

#[test]
fn of_subgraph_records_the_faster_stays() {
    let place = Place::new();
    let ours = |records: &[(i64, u64)]| subgraph_bank(subgraph::Kind::Ours, records);
    place.file(&format!("into/{SUBGRAPH}"), ours(&[(1, 5000), (2, 5000), (3, 0), (4, 5000)]));
    place.file(&format!("one/{SUBGRAPH}"), ours(&[(1, 4000), (2, 6000), (3, 7000), (4, 0)]));
    place.file(&format!("two/{SUBGRAPH}"), ours(&[(1, 3000), (9, 1000)]));
    let outcome = place.merge(&["one", "two"], &[]);
    // A record counts by what it met: of two sources the one whose content sorts first is taken in first.
    assert_eq!(outcome.added + outcome.updated + outcome.kept, 6, "{outcome:#?}");
    assert_eq!(outcome.added, 1, "{outcome:#?}");
    let content = std::fs::read(place.at("into").join(SUBGRAPH)).unwrap();
    let bank = subgraph::Bank::parse(subgraph::Kind::Ours, &content);
    assert_eq!(bank.findings(), []);
    let time = |batch| {
        let feature = feature(batch);
        bank.get(feature.graph_id().unwrap(), &feature).map(|strategy| strategy.end2_end_time)
    };
    assert_eq!([1, 2, 3, 4, 9].map(time), [3000, 5000, 7000, 5000, 1000].map(Some));
    let new = outcome.records.iter().find(|told| told.fate == Fate::Added).unwrap();
    assert_eq!(new.line, 3, "{:#?}", outcome.records);
}

#[test]
fn records_under_cann_s_numbers_and_ours_do_not_mix() {
    let place = Place::new();
    let name = "ascend910b1_l2cache.json";
    let content = subgraph_bank(subgraph::Kind::Cann, &[(1, 5000)]);
    place.file(&format!("source/{name}"), &content);
    assert_eq!(counts(&place.merge(&["source"], &[])), [1, 0, 0, 0]);
    assert_eq!(std::fs::read(place.at("into").join(name)).unwrap(), content, "no sum comes in");
    let target = place.file(&format!("other/{SUBGRAPH}"), subgraph_bank(subgraph::Kind::Ours, &[(2, 5000)]));
    let before = std::fs::read(&target).unwrap();
    let error = merge(&[place.at("source").join(name)], &target, &[]).unwrap_err().to_string();
    assert!(error.contains("l2cache.json") && error.contains("CANN's numbers"), "{error}");
    assert_eq!(std::fs::read(&target).unwrap(), before);
}

#[test]
fn of_gradient_records_a_profiled_one_stays_before_a_placeholder_else_the_text_decides() {
    let place = Place::new();
    let bank = |records: &[(u64, u64)]| {
        let mut bank = gradient::Bank::default();
        for &(hash, time) in records {
            let gradients = gradient::Gradients { time: vec![time], size: vec![4] };
            bank.put(hash, if time == 0 { gradient::Gradients::placeholder() } else { gradients });
        }
        bank.render()
    };
    place.file(&format!("into/{GRADIENT}"), bank(&[(1, 5), (2, 5), (3, 0), (4, 5)]));
    place.file(&format!("source/{GRADIENT}"), bank(&[(1, 5), (2, 6), (3, 7), (4, 0), (5, 8)]));
    let outcome = place.merge(&["source"], &[]);
    assert_eq!(counts(&outcome), [1, 2, 2, 0], "{outcome:#?}");
    assert_eq!(
        std::fs::read(place.at("into").join(GRADIENT)).unwrap(),
        bank(&[(1, 5), (2, 6), (3, 7), (4, 5), (5, 8)])
    );
}

#[test]
fn all_files_of_a_merge_are_replaced_together_or_none() {
    let place = Place::new();
    place.file(&format!("source/{UNIFIED}"), unified_bank(&[(1, 10, 5.0)]));
    place.file(&format!("source/{SUBGRAPH}"), subgraph_bank(subgraph::Kind::Ours, &[(1, 4000)]));
    let first = place.file(&format!("into/{UNIFIED}"), unified_bank(&[(2, 10, 5.0)]));
    let before = std::fs::read(&first).unwrap();
    let later = place.file(&format!("into/{SUBGRAPH}"), "{\"version\": \"9.9\"}\n");
    let error = merge(&[place.at("source")], &place.at("into"), &[]).unwrap_err().to_string();
    assert!(error.contains("9.9"), "{error}");
    assert_eq!(std::fs::read(&first).unwrap(), before);
    std::fs::remove_file(later).unwrap();
    let outcome = place.merge(&["source"], &[]);
    assert_eq!((counts(&outcome), outcome.changed.len()), ([2, 0, 0, 0], 2));
}

#[test]
fn a_damaged_target_is_set_aside_and_its_whole_records_stay() {
    let place = Place::new();
    let whole = String::from_utf8(unified_bank(&[(1, 10, 5.0), (2, 20, 5.0)])).unwrap();
    let damaged = whole.replace("\n}", ",\n\"half");
    place.file(&format!("into/{UNIFIED}"), &damaged);
    place.file(&format!("source/{UNIFIED}"), unified_bank(&[(3, 30, 5.0)]));
    let outcome = place.merge(&["source"], &[]);
    assert_eq!(counts(&outcome), [1, 0, 0, 0]);
    assert!(outcome.warnings.iter().any(|text| text.contains("set aside")), "{:?}", outcome.warnings);
    let path = place.at("into").join(UNIFIED);
    assert_eq!(unified_at(&path).len(), 3);
    let copy = place.at("into").join(format!("{UNIFIED}.damaged-1"));
    assert_eq!(std::fs::read_to_string(copy).unwrap(), damaged);
}

#[test]
fn what_is_not_merged_is_named_and_does_not_hinder_the_rest() {
    let place = Place::new();
    place.file(&format!("source/{UNIFIED}"), unified_bank(&[(1, 10, 5.0)]));
    place.file("source/Ascend910B1_AiCore_25_v001.json", r#"{"[[1, [8], [], 0, []]]": "[[0, 1, 2]]"}"#);
    place.file("source/mdat_knowledge_bank.json", "{\"cost_time\":\"12\",\"hash_str\":\"34\"}\n");
    place.file("source/notes.json", "{\"a\":1}");
    place.file(
        &format!("source/Ascend910B1/{GRADIENT}"),
        "[{\"modelhash\":\"1\",\"modelvalue\":{\"gradientTime\":[1],\"gradientSize\":[1]}}]",
    );
    std::fs::create_dir(place.at("empty")).unwrap();
    let outcome = place.merge(&["source", "empty"], &[]);
    assert_eq!(counts(&outcome), [2, 0, 0, 0]);
    assert!(place.at("into/Ascend910B1").join(GRADIENT).is_file(), "what lies below goes below");
    let names: Vec<_> = outcome.unmerged.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["Ascend910B1_AiCore_25_v001.json", "mdat_knowledge_bank.json", "empty"]);
    for said in ["RL bank", "operator cost bank", "no bank lies there"] {
        assert!(outcome.warnings.iter().any(|text| text.contains(said)), "{said}: {:?}", outcome.warnings);
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let place = Place::new();
    let source = place.file(&format!("source/{UNIFIED}"), unified_bank(&[(1, 10, 5.0)]));
    let refused = |sources: &[&Path], into: &Path, said: &str| {
        let sources: Vec<_> = sources.iter().map(|path| path.to_path_buf()).collect();
        let error = merge(&sources, into, &[]).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    };
    refused(&[&source], &source, "would be merged into");
    refused(&[&source], &place.at("source"), "would be merged into");
    refused(&[&source], &place.at(&UNIFIED.replace("_25_", "_24_")), "ascend910b1_24");
    refused(&[&source], &place.file("g.json", "[]"), "another form, gradient bank");
    refused(&[&source], &place.at("Ascend910B1_25_AiCore_MatMulV3_runtime_kb.json"), "operator bank");
    refused(&[&place.file("note.json", "{\"a\":1}")], &place.at("into"), "JSON with the fields `a`");
    refused(&[&place.file("cost.json", "{\"cost_time\":\"1\",\"hash_str\":\"2\"}")], &place.at("into"), "not merged");
    let other = place.file("Ascend910B2_24_AiCore_matmul.json", unified_bank(&[(1, 10, 5.0)]));
    refused(&[&source, &other], &place.at("into"), "different SoCs");
    place.file("with/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json", "");
    refused(&[&source], &place.at("with"), "different SoCs");
    assert!(!place.at("into").exists());
}

#[test]
fn banks_of_many_records_on_one_line_or_under_one_number_come_along_whole() {
    const MANY: u64 = 20_000;
    let place = Place::new();
    let entries = |text: &dyn Fn(u64) -> String| (0..MANY).map(text).collect::<Vec<_>>().join(",");
    let lists = r#""modelvalue":{"gradientTime":[1],"gradientSize":[1]}"#;
    place.file(
        &format!("source/{GRADIENT}"),
        format!("[{}]", entries(&|i| format!(r#"{{"modelhash":"{i}",{lists}}}"#))),
    );
    let records: Vec<_> = (0..MANY as i64).map(|m| (m, m, 1.0)).collect();
    // All on one line.
    let unified = String::from_utf8(unified_bank(&records)).unwrap().replace('\n', "");
    place.file(&format!("source/{UNIFIED}"), unified);
    // All under one number, as a program may write them that makes no number.
    let records = subgraph_bank(subgraph::Kind::Cann, &[(7, 1000)]);
    let record = std::str::from_utf8(&records).unwrap().lines().nth(1).unwrap();
    let lines: Vec<_> = (0..MANY).map(|i| record.replace("[7,4,", &format!("[{i},4,"))).collect();
    place.file("source/ascend910b1_l2cache.json", format!("{{\"version\": \"2.1\"}}\n{}\n", lines.join("\n")));
    let outcome = place.merge(&["source"], &[]);
    assert_eq!((counts(&outcome), outcome.warnings.as_slice()), ([3 * MANY as usize, 0, 0, 0], &[][..]));
}

#[test]
fn records_whose_file_is_named_otherwise_are_not_merged_and_that_is_said() {
    let place = Place::new();
    let record = r#"{"id":1,"info_dict":{},"knowledge":{},"op":"Other","version":0}"#;
    place.file("source/mine.json", format!("{record}\n"));
    place.file(&format!("source/{UNIFIED}"), unified_bank(&[(1, 10, 5.0)]));
    let outcome = place.merge(&["source"], &[]);
    assert_eq!(outcome.unmerged, [place.at("source/mine.json")]);
    let said =
        |word: &str| outcome.warnings.iter().any(|warning| warning.contains("mine.json") && warning.contains(word));
    assert!(said("its name does not say for what operator it is"), "{:?}", outcome.warnings);
    assert_eq!(outcome.added, 1);
    // One that is named as it should be is no other bank.
    place.file("named/Ascend910B1_25_AiCore_Other_runtime_kb.json", format!("{record}\n"));
    let outcome = place.merge(&["named"], &[]);
    assert_eq!((outcome.unmerged.len(), outcome.foreign), (0, 1), "{:?}", outcome.warnings);
}
