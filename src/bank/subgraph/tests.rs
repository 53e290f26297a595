//! Tests of the subgraph bank.

use super::{Bank, Feature, Group, Kind, Node, Part, Record, Strategy, SubgraphBank};
use crate::bank::tests::memory::Memory;
use crate::bank::tests::mutate::{damage, damaged};
use crate::bank::{Content, load, update};
use crate::status::Error;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::json;
use std::path::Path;

/// A convolution without bias and what follows it.
fn feature(batch: i64) -> Feature {
    let node = |op: &str, inputs: &[&[i64]]| Node {
        op: op.into(),
        inputs: inputs.iter().map(|dims| dims.to_vec()).collect(),
        element_bytes: inputs.iter().map(|dims| if *dims == [-1] { 0 } else { 2 }).collect(),
        ..Node::default()
    };
    let window = [batch, 4, 56, 56, 16];
    let nodes = vec![node("Conv2D", &[&window, &[36, 4, 16, 16], &[-1]]), node("Relu", &[&window])];
    Feature { parts: vec![Part { nodes, ..Part::default() }], ..Feature::default() }
}

fn strategy(time: u64) -> Strategy {
    let group = Group {
        cut: vec![2, 1],
        fusion_type: vec![true, false],
        scope_id: vec![3, 3],
        ub_pass: [("AutomaticUbFusion".to_owned(), vec![3])].into(),
        ..Group::default()
    };
    Strategy { model_name: Some("net".into()), end2_end_time: time, groups: vec![group], ..Strategy::default() }
}

fn bank(kind: Kind) -> Bank {
    let mut bank = Bank::parse(kind, b"");
    for batch in [8, 32] {
        bank.put(Record::new(feature(batch), strategy(1000 * batch as u64)).unwrap()).unwrap();
    }
    bank
}

#[test]
fn the_file_is_laid_out_as_cann_lays_it_out() {
    let mut bank = Bank::parse(Kind::Cann, b"{\"version\": \"2.1\"}\n");
    let id = 13_392_788_111_899_413_299;
    bank.put(Record { graph_id: id, ..Record::new(feature(8), strategy(11_776_810)).unwrap() }).unwrap();
    let text = r#"{"version": "2.1"}
{"feature":{"feature":[{"struct":[{"dsize":[2,2,0],"in":[[8,4,56,56,16],[36,4,16,16],[-1]],"op":"Conv2D"},{"dsize":[2],"in":[[8,4,56,56,16]],"op":"Relu"}]}]},"graphID":"13392788111899413299","strategy":{"end2EndTime":11776810,"group":[{"cut":[2,1],"fusionType":[true,false],"scopeId":[3,3],"ubPass":{"AutomaticUbFusion":[3]}}],"modelName":"net"}}
"#;
    assert_eq!(String::from_utf8(bank.render()).unwrap(), text);
    let read = Bank::parse(Kind::Cann, text.as_bytes());
    assert_eq!((read.findings(), read.is_damaged()), (&[][..], false));
    assert_eq!(read.get(id, &feature(8)), Some(&strategy(11_776_810)));
    assert_eq!(read.get(id, &feature(9)), None, "the number alone is not enough");
    assert_eq!(read.get(id + 1, &feature(8)), None);
    assert_eq!(read.find(&feature(8)).unwrap().repo_key(), "13392788111899413299");
}

#[test]
fn our_number_of_a_network_stays_what_it_is() {
    // Written down: banks of earlier versions are found by it.
    assert_eq!(feature(8).graph_id().unwrap(), 1_843_519_189_258_969_597);
    assert_ne!(feature(8).graph_id().unwrap(), feature(9).graph_id().unwrap());
    let record = Record::new(feature(8), strategy(1)).unwrap();
    assert_eq!(record.repo_key(), "1843519189258969597");
}

#[test]
fn fields_that_are_not_known_stay_everywhere() {
    let line = bank(Kind::Cann).render();
    let line = String::from_utf8(line).unwrap().lines().nth(1).unwrap().to_owned();
    let line = line
        .replace("\"op\":\"Relu\"", "\"op\":\"Relu\",\"z\":1.50")
        .replace("\"modelName\"", "\"later\": {\"a\":null},\"modelName\"")
        .replace("\"cut\"", "\"aa\":\"\\u00e9\",\"cut\"")
        .replace("{\"feature\":{", "{\"extra\":[],\"feature\":{");
    let text = format!("\u{feff}{{\"version\": \"2.1\", \"by\": \"x\"}}\r\n{line}\r\n");
    let mut bank = Bank::parse(Kind::Cann, text.as_bytes());
    assert_eq!(bank.findings(), []);
    assert_eq!(String::from_utf8(bank.render()).unwrap(), format!("{{\"version\": \"2.1\", \"by\": \"x\"}}\n{line}\n"));
    let mut record = bank.records().next().unwrap().clone();
    record.strategy.end2_end_time = 7;
    bank.put(record.clone()).unwrap();
    let again = Bank::parse(Kind::Cann, &bank.render());
    assert_eq!(again.records().collect::<Vec<_>>(), [&record]);
    let text = String::from_utf8(bank.render()).unwrap();
    for kept in ["\"z\":1.5", "\"later\":{\"a\":null}", "\"aa\":\"é\"", "\"extra\":[]", "\"end2EndTime\":7"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn lists_that_do_not_fit_the_nodes_are_named() {
    type Change = fn(&mut Record);
    let cases: [(&str, Change); 6] = [
        ("cut", |r| r.strategy.groups[0].cut.clear()),
        ("fusionType", |r| r.strategy.groups[0].fusion_type.push(true)),
        ("scopeId", |r| r.strategy.groups[0].scope_id.clear()),
        ("dsize", |r| r.feature.parts[0].nodes[0].element_bytes.push(2)),
        ("group", |r| r.strategy.groups.clear()),
        ("no part", |r| r.feature.parts.clear()),
    ];
    for (name, change) in cases {
        let mut record = Record::new(feature(8), strategy(1)).unwrap();
        change(&mut record);
        record.graph_id = 5;
        let error = bank(Kind::Cann).put(record.clone()).unwrap_err().to_string();
        assert!(error.contains(name), "{name}: {error}");
        let line = serde_json::to_string(&record.fields().unwrap()).unwrap();
        let read = Bank::parse(Kind::Cann, format!("{{\"version\":\"2.1\"}}\n{line}\n").as_bytes());
        assert!(matches!(read.findings(), [f] if f.line == 2 && f.reason.contains(name)), "{:?}", read.findings());
    }
    for id in ["\"05\"", "\"-1\"", "\"18446744073709551616\"", "5", "\"\""] {
        let line = json!({"graphID": serde_json::from_str::<serde_json::Value>(id).unwrap(), "feature": feature(8), "strategy": strategy(1)});
        let read = Bank::parse(Kind::Cann, format!("{{\"version\":\"2.1\"}}\n{line}\n").as_bytes());
        assert!(matches!(read.findings(), [f] if f.reason.contains("graphID")), "{:?}", read.findings());
    }
}

#[test]
fn a_file_of_another_version_is_kept_and_not_used() {
    let text = String::from_utf8(bank(Kind::Cann).render()).unwrap().replace("2.1", "3.0");
    let mut read = Bank::parse(Kind::Cann, text.as_bytes());
    assert_eq!((read.records().count(), read.findings().len(), read.is_damaged()), (0, 2, false));
    let refused = read.put(Record::new(feature(8), strategy(1)).unwrap());
    assert!(matches!(refused, Err(Error::Unsupported { .. })));
    assert_eq!(String::from_utf8(read.render()).unwrap(), text);
    // Without a version the records are read, and the line is written again.
    let text = String::from_utf8(bank(Kind::Cann).render()).unwrap();
    let read = Bank::parse(Kind::Cann, text.split_once('\n').unwrap().1.as_bytes());
    assert_eq!((read.records().count(), read.render()), (2, text.into_bytes()));
}

#[test]
fn every_flipped_byte_of_our_file_loses_the_record_it_touches_and_no_other() {
    let content = bank(Kind::Ours).render();
    let known = bank(Kind::Ours);
    for at in 0..content.len() {
        for mask in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x80] {
            let mut damaged = content.clone();
            damaged[at] ^= mask;
            let read = Bank::parse(Kind::Ours, &damaged);
            let line = content[..at].split(|&b| b == b'\n').count();
            assert!(read.records().all(|r| known.get(r.graph_id, &r.feature) == Some(&r.strategy)), "byte {at}");
            let lost = 2 - read.records().count();
            // The version counts for all; a line feed stands between two.
            assert!(lost <= if line == 1 || content[at] == b'\n' { 2 } else { 1 }, "byte {at} mask {mask:#x}");
            let is_named = read.findings().iter().any(|f| f.line == line || (line == 1 && f.line > 1));
            assert!(lost == 0 || is_named, "byte {at} mask {mask:#x}: {:?}", read.findings());
        }
    }
}

#[test]
fn every_flipped_byte_of_canns_file_is_named_or_leaves_a_record_of_the_form() {
    let content = bank(Kind::Cann).render();
    let known = bank(Kind::Cann);
    for at in content.iter().position(|&b| b == b'\n').unwrap() + 1..content.len() {
        for mask in [0x01, 0x08, 0x10, 0x20, 0x80] {
            let mut damaged = content.clone();
            damaged[at] ^= mask;
            let read = Bank::parse(Kind::Cann, &damaged);
            let kept = known.records().filter(|r| read.get(r.graph_id, &r.feature) == Some(&r.strategy)).count();
            assert!(kept >= usize::from(content[at] != b'\n'), "byte {at} mask {mask:#x}");
            assert!(read.records().all(|r| r.check().is_ok()));
            assert!(read.records().count() + read.findings().len() >= 1);
        }
    }
}

#[test]
fn a_cut_file_keeps_every_whole_line() {
    let content = bank(Kind::Ours).render();
    for length in 0..content.len() {
        let whole = content[..length].split(|&b| b == b'\n').count().saturating_sub(2);
        let read = Bank::parse(Kind::Ours, &content[..length]);
        assert!(read.records().count() >= whole, "{length} bytes");
    }
}

#[test]
fn a_file_is_replaced_whole_and_a_damaged_one_set_aside() {
    let storage = Memory::default();
    let path = Path::new("/bank/ascend910b2_l2cache.json");
    let parse = |content: &[u8]| Bank::parse(Kind::Cann, content);
    let record = Record::new(feature(8), strategy(1)).unwrap();
    let done = update(&storage, path, parse, |bank: &mut Bank| bank.put(record.clone())).unwrap();
    assert_eq!((done.changed, done.warnings), (true, Vec::new()));
    let done = update(&storage, path, parse, |bank: &mut Bank| bank.put(record.clone())).unwrap();
    assert!(!done.changed);
    let mut damaged = storage.get(path).unwrap();
    damaged.extend_from_slice(b"{\"feature\":\n");
    storage.put(path, damaged.clone());
    let (read, warnings) = load(&storage, path, parse).unwrap();
    assert_eq!(read.find(&feature(8)), Some(&record));
    assert!(matches!(&warnings[..], [only] if only.contains("l2cache.json:3")), "{warnings:?}");
    let second = Record::new(feature(9), strategy(2)).unwrap();
    update(&storage, path, parse, |bank: &mut Bank| bank.put(second.clone())).unwrap();
    assert_eq!(storage.get(Path::new("/bank/ascend910b2_l2cache.json.damaged-1")), Some(damaged));
    let (read, warnings) = load(&storage, path, parse).unwrap();
    assert_eq!((read.records().count(), warnings.len()), (2, 0));
    // A change that is refused leaves the file alone.
    let before = storage.get(path);
    let bad = Record { graph_id: 1, ..Record::new(Feature::default(), strategy(1)).unwrap() };
    assert!(update(&storage, path, parse, |bank: &mut Bank| bank.put(bad.clone())).is_err());
    assert_eq!(storage.get(path), before);
}

proptest! {
    #[test]
    fn what_is_left_of_a_damaged_file_is_written_whole_and_read_again(damage in damage()) {
        for kind in [Kind::Cann, Kind::Ours] {
            let read = Bank::parse(kind, &damaged(&bank(kind).render(), &damage));
            let again = Bank::parse(kind, &read.render());
            prop_assert!(!again.is_damaged(), "{:?}", again.findings());
            prop_assert!(again.records().eq(read.records()));
            let known = bank(kind);
            let is_known = |r: &Record| known.get(r.graph_id, &r.feature) == Some(&r.strategy);
            prop_assert!(kind == Kind::Cann || read.records().all(is_known));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_and_rendered_safely(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        for kind in [Kind::Cann, Kind::Ours] {
            let mut bank = Bank::parse(kind, &content);
            bank.put(Record::new(feature(8), strategy(3)).unwrap()).unwrap();
            let read = Bank::parse(kind, &bank.render());
            prop_assert_eq!(read.find(&feature(8)).map(|r| &r.strategy), Some(&strategy(3)));
        }
    }

    #[test]
    fn any_record_is_written_and_read_back(
        nodes in proptest::collection::vec(("[A-Za-z0-9]{1,12}", proptest::collection::vec(proptest::collection::vec(-1i64..5000, 1..6), 0..4)), 1..6),
        (cut, fused, scope, time) in (1i64..33, any::<bool>(), any::<i64>(), any::<u64>()),
    ) {
        let count = nodes.len();
        let nodes = nodes.into_iter().map(|(op, inputs)| Node { element_bytes: vec![2; inputs.len()], op, inputs, ..Node::default() });
        let feature = Feature { parts: vec![Part { nodes: nodes.collect(), ..Part::default() }], ..Feature::default() };
        let group = Group { cut: vec![cut; count], fusion_type: vec![fused; count], scope_id: vec![scope; count], ..Group::default() };
        let strategy = Strategy { end2_end_time: time, groups: vec![group], ..Strategy::default() };
        let record = Record::new(feature, strategy).unwrap();
        for kind in [Kind::Cann, Kind::Ours] {
            let mut bank = Bank::parse(kind, b"");
            bank.put(record.clone()).unwrap();
            let read = Bank::parse(kind, &bank.render());
            prop_assert_eq!(read.records().collect::<Vec<_>>(), [&record]);
        }
    }
}

#[test]
fn a_bank_that_could_not_be_written_is_known_before_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ascend910b2_l2cache_aoe.json");
    SubgraphBank::of_file(&file).check_writable().unwrap();
    std::fs::create_dir(&file).unwrap();
    let error = SubgraphBank::of_file(&file).check_writable().unwrap_err();
    assert!(error.to_string().contains("EC0011: custom_file_dir"), "{error}");
    assert!(error.to_string().contains("_l2cache_aoe.json"), "{error}");
}

#[test]
fn whose_numbers_a_file_holds_is_told_by_its_name_and_by_its_records() {
    let [cann, ours] = [Kind::Cann, Kind::Ours].map(|kind| bank(kind).render());
    let of = |name: &str, content: &[u8]| Kind::of(Path::new(name), content);
    assert_eq!((of("x", &cann), of("x", &ours)), (Kind::Cann, Kind::Ours));
    assert_eq!(of("a_l2cache_aoe.json", b""), Kind::Ours);
    assert_eq!(of("a_l2cache.json", &ours), Kind::Cann);
    // The first record has lost its sum: it is damaged, and the others are still ours.
    let damaged = String::from_utf8(ours).unwrap().replacen("\"sum\"", "\"sun\"", 1);
    assert_eq!(of("x", damaged.as_bytes()), Kind::Ours);
}
