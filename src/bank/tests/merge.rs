//! Properties of a merge of banks.

use super::{FILE, measured, product_of, soc, tiling};
use crate::bank::{BankPaths, Disk, Measured, MergeOutcome, OperatorBank, merge};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a bank with these records: m of the product, k of the L0 tile, time.
pub fn bank_of(directory: &Path, date: &str, records: &[(u64, u32, Measured)]) -> PathBuf {
    let paths = BankPaths { custom: directory.to_owned(), also_read: Vec::new() };
    let mut bank = OperatorBank::with_storage(paths, &soc(), Arc::new(Disk::default()), date.into());
    for (m, base_k, measured) in records {
        bank.record(&product_of(*m), &tiling(*m, *base_k), measured).unwrap();
    }
    bank.save().unwrap();
    directory.to_owned()
}

/// The tiling's k and the time that a bank holds for a product.
fn found(directory: &Path, m: u64) -> Option<(u32, Option<f64>)> {
    let paths = BankPaths { custom: directory.to_owned(), also_read: Vec::new() };
    let bank = OperatorBank::open(paths, &soc());
    let entry = bank.lookup(&product_of(m)).unwrap()?;
    let crate::workload::Schedule::Cube(schedule) = &entry.schedule else { panic!("a product has a cube schedule") };
    Some((schedule.l0.k_a, entry.measured.map(|m| m.after_us)))
}

fn counts(outcome: &MergeOutcome) -> [usize; 5] {
    [outcome.added, outcome.updated, outcome.kept, outcome.refused, outcome.foreign]
}

pub fn on_device(after_us: f64) -> Measured {
    Measured { backend: "ascend".into(), ..measured(after_us) }
}

#[test]
fn the_better_time_stays() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let into = bank_of(&at("into"), "2026-01-02", &[(256, 64, measured(5.0)), (512, 64, measured(5.0))]);
    let better = [(256, 32, measured(4.0)), (512, 32, measured(6.0)), (1024, 32, measured(1.0))];
    let source = bank_of(&at("source"), "2026-01-01", &better);
    let before = std::fs::read(source.join(FILE)).unwrap();
    let outcome = merge(std::slice::from_ref(&source), &into, &[]).unwrap();
    assert_eq!(counts(&outcome), [1, 1, 1, 0, 0], "{outcome:?}");
    assert_eq!(outcome.changed, [into.join(FILE)]);
    assert_eq!(found(&into, 256), Some((32, Some(4.0))));
    assert_eq!(found(&into, 512), Some((64, Some(5.0))));
    assert_eq!(found(&into, 1024), Some((32, Some(1.0))));
    assert_eq!(std::fs::read(source.join(FILE)).unwrap(), before, "a source is only read");
    let again = merge(&[source], &into, &[]).unwrap();
    assert_eq!((counts(&again), again.changed.len()), ([0, 0, 3, 0, 0], 0), "a merge twice changes nothing");
}

#[test]
fn a_device_outranks_the_simulator_and_a_time_outranks_none() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let into = bank_of(&at("into"), "2026-01-02", &[(256, 64, on_device(5.0)), (512, 64, measured(5.0))]);
    let source = bank_of(&at("source"), "2026-01-03", &[(256, 32, measured(1.0)), (512, 32, on_device(9.0))]);
    assert_eq!(counts(&merge(&[source], &into, &[]).unwrap()), [0, 1, 1, 0, 0]);
    assert_eq!(found(&into, 256), Some((64, Some(5.0))));
    assert_eq!(found(&into, 512), Some((32, Some(9.0))));
    let unmeasured = bank_of(&at("unmeasured"), "2026-01-03", &[(256, 32, measured(1.0))]);
    std::fs::remove_dir_all(unmeasured.join(".aoe")).unwrap();
    assert_eq!(counts(&merge(&[unmeasured], &into, &[]).unwrap()), [0, 0, 1, 0, 0]);
}

#[test]
fn without_times_the_text_decides_whatever_the_order() {
    let root = tempfile::tempdir().unwrap();
    let bank = |name: &str, base_k| {
        let bank = bank_of(&root.path().join(name), "2026-01-02", &[(256, base_k, measured(1.0))]);
        std::fs::remove_dir_all(bank.join(".aoe")).unwrap();
        bank
    };
    let [a, b, c] = [("a", 16), ("b", 64), ("c", 32)].map(|(name, base_k)| bank(name, base_k));
    let lines = |into: &Path| std::fs::read(into.join(FILE)).unwrap();
    let mut merged = Vec::new();
    for (number, sources) in [[&a, &b, &c], [&c, &b, &a], [&b, &c, &a]].into_iter().enumerate() {
        let into = root.path().join(format!("into{number}"));
        merge(&sources.map(Clone::clone), &into, &[]).unwrap();
        assert_eq!(found(&into, 256), Some((64, None)));
        merged.push(lines(&into));
    }
    assert!(merged.windows(2).all(|two| two[0] == two[1]), "the files differ");
    // Step by step it is the same.
    let into = root.path().join("steps");
    for source in [b, a, c] {
        merge(&[source], &into, &[]).unwrap();
    }
    assert_eq!(lines(&into), merged[0]);
}

#[test]
fn what_the_built_in_bank_has_as_well_is_not_taken() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let built_in = bank_of(&at("built-in"), "2026-01-02", &[(256, 64, measured(5.0)), (512, 64, measured(5.0))]);
    let records = [(256, 64, measured(5.0)), (512, 32, measured(6.0)), (1024, 32, measured(1.0))];
    let source = bank_of(&at("source"), "2026-01-01", &records);
    let into = at("into");
    let outcome = merge(&[source], &into, &[built_in]).unwrap();
    assert_eq!(counts(&outcome), [1, 0, 0, 2, 0]);
    assert_eq!((found(&into, 256), found(&into, 512)), (None, None));
    assert_eq!(found(&into, 1024), Some((32, Some(1.0))));
}

#[test]
fn unknown_fields_and_foreign_records_stay() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let into = bank_of(&at("into"), "2026-01-02", &[(256, 64, measured(5.0))]);
    let source = bank_of(&at("source"), "2026-01-02", &[(256, 32, measured(1.0)), (512, 32, measured(1.0))]);
    let foreign = r#"{"id":1,"info_dict":{},"knowledge":{},"op":"Other","version":0}"#;
    let edit = |path: &Path, field: &str, tail: &str| {
        let text = std::fs::read_to_string(path.join(FILE)).unwrap();
        let text = text.replace(r#"{"id":"#, &format!(r#"{{{field}:1,"id":"#)) + tail;
        std::fs::write(path.join(FILE), text).unwrap();
    };
    edit(&into, r#""ours""#, "");
    edit(&source, r#""theirs""#, &format!("{foreign}\n{foreign}\n"));
    assert_eq!(counts(&merge(&[source], &into, &[]).unwrap()), [1, 1, 0, 0, 1]);
    let text = std::fs::read_to_string(into.join(FILE)).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains(r#""ours":1"#) && lines[0].contains(r#""theirs":1"#), "{}", lines[0]);
    assert!(lines[1].contains(r#""theirs":1"#) && lines[1].contains(r#""m":512"#));
    assert_eq!(lines[2], foreign);
}

#[test]
fn banks_of_different_parts_are_not_merged() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let source = bank_of(&at("source"), "2026-01-02", &[(256, 64, measured(5.0))]);
    let into = at("into");
    std::fs::create_dir(&into).unwrap();
    std::fs::write(into.join("Ascend310P3_8_AiCore_MatMulV3_runtime_kb.json"), "").unwrap();
    let error = merge(std::slice::from_ref(&source), &into, &[]).unwrap_err().to_string();
    assert!(error.contains("Ascend310P3") && error.contains("Ascend910B2"), "{error}");
    let error = merge(std::slice::from_ref(&source), &source, &[]).unwrap_err().to_string();
    assert!(error.contains("merged into"), "{error}");
    let error = merge(std::slice::from_ref(&source), Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("into") && error.contains("empty"), "{error}");
    let error = merge(&[at("absent")], &at("fresh"), &[]).unwrap_err().to_string();
    assert!(error.contains("absent"), "{error}");
}

#[test]
fn a_side_file_that_cannot_be_read_is_named_by_file_and_line_and_its_records_count_as_not_measured() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let side = |bank: &Path| bank.join(format!(".aoe/{FILE}.side.jsonl"));
    let source = bank_of(&at("source"), "2026-01-02", &[(256, 32, measured(1.0)), (512, 32, measured(1.0))]);
    let into = bank_of(&at("into"), "2026-01-02", &[(256, 64, measured(5.0))]);
    let clean = merge(std::slice::from_ref(&source), &at("clean"), &[]).unwrap();
    assert_eq!(clean.warnings, [""; 0]);
    // A zero byte within the digits of a time, which leaves the line a text.
    let whole = std::fs::read_to_string(side(&source)).unwrap();
    let time = whole.find("\"after_us\":1").unwrap() + "\"after_us\":1".len();
    std::fs::write(side(&source), [&whole[..time], "\0", &whole[time..]].concat()).unwrap();
    std::fs::write(side(&into), b"garbage\n\xff\n").unwrap();
    let outcome = merge(std::slice::from_ref(&source), &into, &[]).unwrap();
    assert_eq!(counts(&outcome), [1, 0, 1, 0, 0], "{outcome:?}");
    let told = |path: &Path, line: usize| {
        let place = format!("{}:{line}: no measurement", path.display());
        outcome.warnings.iter().filter(|text| text.contains(&place)).count()
    };
    assert_eq!([told(&side(&source), 1), told(&side(&into), 1), told(&side(&into), 2)], [1; 3], "{outcome:#?}");
    assert_eq!(outcome.warnings.len(), 3, "{outcome:#?}");
    let again = merge(&[into], &at("again"), &[]).unwrap();
    assert_eq!(again.warnings, [""; 0], "what was told is not written again");
}

#[test]
fn of_one_tiling_the_better_time_stays_and_the_record_counts_as_kept() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let into = bank_of(&at("into"), "2026-01-02", &[(256, 64, measured(5.0)), (512, 64, measured(5.0))]);
    let source = bank_of(&at("source"), "2026-01-02", &[(256, 64, measured(6.0)), (512, 64, measured(4.0))]);
    assert_eq!(counts(&merge(&[source], &into, &[]).unwrap()), [0, 0, 2, 0, 0]);
    assert_eq!(found(&into, 256), Some((64, Some(5.0))));
    assert_eq!(found(&into, 512), Some((64, Some(4.0))));
}

#[test]
fn a_built_in_record_that_was_measured_otherwise_keeps_no_other_out() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let built_in = [(256, 64, measured(5.0)), (512, 64, on_device(5.0)), (1024, 64, measured(5.0))];
    let built_in = bank_of(&at("built-in"), "2026-01-02", &built_in);
    let source = [(256, 32, measured(4.9)), (512, 32, measured(9.0)), (1024, 32, measured(5.0))];
    let outcome = merge(&[bank_of(&at("source"), "2026-01-02", &source)], &at("into"), &[built_in]).unwrap();
    assert_eq!(counts(&outcome), [2, 0, 0, 1, 0], "one that is as fast gains nothing");
    let into = [256, 512, 1024].map(|m| found(&at("into"), m).map(|(base_k, _)| base_k));
    assert_eq!(into, [Some(32), Some(32), None]);
}
