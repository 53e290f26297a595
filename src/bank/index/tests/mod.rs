//! An index says what the files say.

mod listed;
mod table;

use super::load::load;
use super::{Index, Part};
use crate::bank::Disk;
use crate::bank::document::Document;
use crate::bank::form::Form;
use crate::bank::json::to_sorted_text;
use crate::bank::lines::Finding;
use crate::bank::side::Side;
use crate::bank::{BankPaths, Measured, OperatorBank};
use crate::soc::Soc;
use crate::status::Error;
use crate::workload::{MatMul, Operand, Schedule, Vector, VectorSchedule, VectorTemplate, Workload};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const OP: &str = "MatMulV3";

fn form() -> Form {
    Form::runtime(OP)
}

/// A record of the product of these sizes.
fn record(m: u64, seed: u64) -> Value {
    let workload = Workload::MatMul(MatMul::new(m, 1024, 4096));
    let info = form().info_dict(&workload);
    let id = form().key(&info).unwrap().id();
    let knowledge: serde_json::Map<String, Value> =
        form().knowledge_fields().iter().map(|name| ((*name).to_owned(), json!(seed % 1000))).collect();
    json!({"id": id, "info_dict": info, "knowledge": knowledge, "op": OP, "version": 0})
}

/// A line as a file may have it, good or bad.
fn line(kind: u8, m: u64, seed: u64) -> Vec<u8> {
    let mut record = record(m, seed);
    let text = |record: &Value| to_sorted_text(record).into_bytes();
    match kind {
        0 => [b"\xEF\xBB\xBF", &*text(&record), b"\r"].concat(),
        1 => b"  ".to_vec(),
        2 => text(&record)[..100].to_vec(),
        3 => {
            record["op"] = json!("Other");
            text(&record)
        }
        4 => {
            record["knowledge"]["note"] = json!("x".repeat(seed as usize % 300));
            text(&record)
        }
        5 => serde_json::to_string_pretty(&record).unwrap().replace('\n', "").into_bytes(),
        6 => text(&record).replace_all(b"\"baseM\"", b"\"base\\u004d\""),
        7 => {
            record["knowledge"]["baseM"] = json!(-1);
            text(&record)
        }
        8 => {
            record["id"] = json!(seed);
            text(&record)
        }
        _ => text(&record),
    }
}

trait ReplaceAll {
    fn replace_all(self, from: &[u8], to: &[u8]) -> Vec<u8>;
}

impl ReplaceAll for Vec<u8> {
    fn replace_all(self, from: &[u8], to: &[u8]) -> Vec<u8> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        text(&self).replace(&text(from), &text(to)).into_bytes()
    }
}

proptest! {
    #[test]
    fn an_index_says_what_the_document_says(
        lines in prop::collection::vec((0u8..20, 1u64..40, any::<u32>()), 0..60),
        ends_with_line_end: bool,
    ) {
        let mut content: Vec<u8> = lines.iter().map(|(kind, m, seed)| line(*kind, m * 16, (*seed).into())).collect::<Vec<_>>().join(&b'\n');
        if ends_with_line_end {
            content.push(b'\n');
        }
        let (content, side) = (content.into(), Side::default());
        let loaded = load(&content, form(), OP, &side).unwrap();
        let document = Document::parse(form(), OP, &content, &side);
        prop_assert_eq!(loaded.table.len(), document.records().count());
        for record in document.records() {
            let found = loaded.table.get(record.key.bytes()).expect("the document has it");
            let knowledge: Value = serde_json::from_slice(found).unwrap();
            prop_assert_eq!(&form().knowledge(&knowledge).unwrap(), &record.knowledge);
        }
        let expected: Vec<_> = document.lines.findings().iter().map(Finding::sentence).collect();
        prop_assert_eq!(loaded.findings, expected);
    }
}

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn gelu() -> Workload {
    let operand = Operand::new([8, 1024], crate::graph::DataType::Float16);
    Workload::Vector(Vector { op_type: "Gelu".into(), inputs: vec![operand.clone()], outputs: vec![operand] })
}

/// Writes records of products into the bank file of a directory.
fn write(directory: &Path, name: &str, records: &[(u64, u64)]) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    let lines: Vec<_> = records.iter().map(|(m, seed)| to_sorted_text(&record(*m, *seed)) + "\n").collect();
    std::fs::write(directory.join(name), lines.concat()).unwrap();
    directory.to_owned()
}

const FILE: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";

fn base_m(index: &Index, m: u64) -> Option<Value> {
    let found = index.find_workload(&Workload::MatMul(MatMul::new(m, 1024, 4096)), &soc()).unwrap()?;
    let knowledge: Value = serde_json::from_slice(found).unwrap();
    Some(knowledge["baseM"].clone())
}

#[test]
fn the_first_layer_that_has_a_key_counts() {
    let root = tempfile::tempdir().unwrap();
    let custom = write(&root.path().join("custom"), FILE, &[(16, 1), (32, 2)]);
    let built_in = write(&root.path().join("built-in"), FILE, &[(32, 3), (48, 4)]);
    let index = Index::open(&[custom, built_in], &Part::default()).unwrap();
    let found = [16, 32, 48, 64].map(|m| base_m(&index, m));
    assert_eq!(found, [Some(json!(1)), Some(json!(2)), Some(json!(4)), None]);
    assert_eq!((index.records(), index.soc()), (4, Some("Ascend910B2")));
    let info = form().info_dict(&Workload::MatMul(MatMul::new(48, 1024, 4096)));
    assert!(index.find_info(OP, &info).unwrap().is_some());
    assert!(index.find_info("Other", &info).unwrap().is_none());
    assert!(index.find_info(OP, &json!({"m": 1})).is_err());
    assert!(index.find(OP, b"no key").is_none());
}

#[test]
fn what_is_written_later_is_seen_by_the_next_one_opened() {
    let root = tempfile::tempdir().unwrap();
    let paths = BankPaths { custom: root.path().to_owned(), also_read: Vec::new() };
    let open = || Index::open(&[root.path().to_owned()], &Part::default()).unwrap();
    let before = open();
    let mut bank = OperatorBank::with_storage(paths, &soc(), Arc::new(Disk::default()), "2026-01-02".into());
    let schedule = Schedule::Vector(VectorSchedule {
        cores: 8,
        ub_tile_bytes: 4096,
        double_buffer: true,
        template: VectorTemplate::Flat,
    });
    let measured = Measured {
        before_us: 2.0,
        after_us: 1.0,
        backend: "simulator".into(),
        space: 0,
        default: crate::workload::DefaultOrigin::Estimated,
    };
    bank.record(&gelu(), &schedule, &measured).unwrap();
    bank.save().unwrap();
    let after = open();
    let find = |index: &Index| index.find_workload(&gelu(), &soc()).unwrap().map(<[u8]>::to_vec);
    assert_eq!(find(&before), None);
    let text = find(&after).expect("our own form is looked up in too");
    assert_eq!(serde_json::from_slice::<Schedule>(&text).unwrap(), schedule);
}

#[test]
fn files_of_several_parts_need_a_choice() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), FILE, &[(16, 1)]);
    write(root.path(), "Ascend910B2_20_AiCore_MatMulV3_runtime_kb.json", &[(16, 2)]);
    let open =
        |soc: Option<&str>, cores| Index::open(&[root.path().to_owned()], &Part { soc: soc.map(str::to_owned), cores });
    let error = open(None, None).unwrap_err().to_string();
    assert!(error.contains("24 cores") && error.contains("20"), "{error}");
    assert_eq!(base_m(&open(None, Some(20)).unwrap(), 16), Some(json!(2)));
    write(root.path(), "Ascend310P3_8_AiCore_MatMulV3_runtime_kb.json", &[(16, 3)]);
    let error = open(None, None).unwrap_err().to_string();
    assert!(error.contains("Ascend310P3") && error.contains("Ascend910B2"), "{error}");
    assert_eq!(base_m(&open(Some("Ascend310P3"), None).unwrap(), 16), Some(json!(3)));
    assert_eq!(open(Some("Ascend950"), None).unwrap().records(), 0);
}

/// Bad lines that are told one by one.
const MOST: usize = 100;

#[test]
fn what_cannot_be_read_is_named() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let open = |path: PathBuf| Index::open(&[path], &Part::default());
    let error = open(at("absent")).unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if *path == at("absent")), "{error}");
    std::fs::write(at("mine.json"), "").unwrap();
    assert!(matches!(open(at("mine.json")), Err(Error::Bank { .. })));
    write(&at("bank"), FILE, &[(16, 1)]);
    std::fs::write(at("bank").join("notes.json"), "{").unwrap();
    std::fs::write(at("bank").join("Ascend910B2_24_AiCore_Unheard_runtime_kb.json"), "{}\n").unwrap();
    let index = open(at("bank")).unwrap();
    assert_eq!(index.records(), 1);
    assert!(matches!(index.warnings(), [one] if one.contains("Unheard")), "{:?}", index.warnings());
    let many = "nonsense\n".repeat(MOST + 5);
    std::fs::write(at("bank").join(FILE), many).unwrap();
    let index = open(at("bank").join(FILE)).unwrap();
    assert_eq!((index.records(), index.warnings().len()), (0, MOST + 1));
    assert!(index.warnings()[0].contains(&format!("{FILE}:1: ")), "{}", index.warnings()[0]);
    assert!(index.warnings()[MOST].contains("5 more"));
    std::fs::write(at("bank").join(FILE), "nonsense\n".repeat(1_000_000)).unwrap();
    let index = open(at("bank").join(FILE)).unwrap();
    assert_eq!(index.warnings().len(), MOST + 1);
    assert!(index.warnings()[MOST].contains("999900 more"), "{}", index.warnings()[MOST]);
}

#[test]
fn unified_banks_are_looked_up_in_by_their_texts_and_by_the_work() {
    use crate::bank::{Content as _, unified};
    let dir = tempfile::tempdir().unwrap();
    let soc = Soc::find("Ascend910B2").unwrap();
    let w = MatMul { kernel: crate::workload::MatMulKernel::Tbe, ..MatMul::new(128, 768, 768) };
    let work = Workload::MatMul(w.clone());
    let Schedule::Cube(tiling) = crate::space::default_policy(&work, &soc).unwrap() else { panic!() };
    let knowledge = unified::knowledge(&tiling, &work, None).unwrap();
    let mut bank = unified::Bank::default();
    // Only the last of the questions that TBE may ask is answered.
    let infos = unified::info_dicts(&work).unwrap();
    let info = infos.last().unwrap();
    bank.put(info, &knowledge, 3.5).unwrap();
    std::fs::write(dir.path().join(unified::file_name("matmul", &soc)), bank.render()).unwrap();
    std::fs::write(dir.path().join("Ascend910B2_24_AiCore_gelu.json"), "{}").unwrap();
    let index = Index::open(&[dir.path().to_owned()], &Part::default()).unwrap();
    assert_eq!((index.records(), index.soc(), index.warnings().len()), (1, Some("Ascend910B2"), 0));
    let expected = knowledge.dumps();
    assert_eq!(index.find_workload(&work, &soc).unwrap().unwrap(), expected.as_bytes());
    // Neither blanks nor the order matter.
    let text = info.dumps().replace(", ", ",\n");
    assert_eq!(index.find_text("matmul", text.as_bytes()).unwrap().unwrap(), expected.as_bytes());
    assert!(index.find_text("matmul", infos[0].dumps().as_bytes()).unwrap().is_none());
    assert!(index.find_text("matmul", b"{").is_err());
    let file = dir.path().join(unified::file_name("matmul", &soc));
    assert_eq!(Index::open(&[file], &Part::default()).unwrap().records(), 1);
}

#[test]
fn a_pipe_in_the_place_of_a_bank_is_refused_and_not_waited_for() {
    let layer = tempfile::tempdir().unwrap();
    let pipe = layer.path().join("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let refused = match Index::open(&[pipe], &Part::default()) {
        Err(error) => error.to_string(),
        Ok(index) => index.warnings().join("; "),
    };
    assert!(refused.contains("MatMulV3_runtime_kb.json") && refused.contains("regular file"), "{refused}");
}
