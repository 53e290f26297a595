//! What a merge tells of each record.

use super::super::{Fate, merge_with_records};
use crate::bank::Measured;
use crate::bank::tests::measured;
use crate::bank::tests::merge::{bank_of, on_device};
use std::path::Path;

/// Rows of a product, k of its L0 tile, and its time.
type Row = (u64, u32, Measured);

/// Fate and reason of each record, for records of `(m, k of the tile, time)` of a bank and of sources with their days.
fn told(into: &[Row], sources: &[(&str, &[Row])], rehearse: bool) -> Vec<(Fate, String)> {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let bank = if into.is_empty() { at("into") } else { bank_of(&at("into"), "2026-01-02", into) };
    let mut paths = Vec::new();
    for (number, (date, records)) in sources.iter().enumerate() {
        let source = bank_of(&at(&format!("source{number}")), date, records);
        // Neither a note nor a directory is a bank, whatever its name.
        std::fs::write(source.join("notes.json"), "[1]").unwrap();
        std::fs::create_dir(source.join("Ascend910B2_24_AiCore_Add_aoe_kb.json")).unwrap();
        paths.push(source);
    }
    let read = |path: &Path| std::fs::read_dir(path).map_or(0, Iterator::count);
    let before = read(&bank);
    let merged = merge_with_records(&paths, &bank, &[], rehearse.then_some(root.path())).unwrap();
    if rehearse {
        assert_eq!(read(&bank), before, "the bank stays as it is");
    }
    let records = merged.records.unwrap();
    let count = |fate| records.iter().filter(|record| record.fate == fate).count();
    let outcome = &merged.outcome;
    assert_eq!(
        [outcome.added, outcome.updated, outcome.refused],
        [Fate::Added, Fate::Updated, Fate::Refused].map(count)
    );
    assert!(outcome.changed.iter().all(|path| path.starts_with(&bank)), "{:?}", outcome.changed);
    records.into_iter().map(|record| (record.fate, record.reason)).collect()
}

#[test]
fn each_record_has_its_fate_and_the_reason() {
    let ours = [256, 512, 768, 1024].map(|m| (m, 64, measured(5.0)));
    let theirs = [
        (256, 32, measured(4.0)),
        (512, 32, measured(6.0)),
        (768, 32, on_device(9.0)),
        (1024, 64, measured(5.0)),
        (1280, 32, measured(1.5)),
    ];
    for rehearse in [false, true] {
        let told = told(&ours, &[("2026-01-02", &theirs)], rehearse);
        let expected = [
            (Fate::Updated, "4.00 us stay, 5.00 us go (simulator)"),
            (Fate::Kept, "5.00 us stay, 6.00 us go (simulator)"),
            (Fate::Updated, "the time of ascend stays, that of simulator goes"),
            (Fate::Kept, "the bank has the same tiling"),
            (Fate::Added, "the bank had none; 1.50 us instead of 3.00 (simulator)"),
        ];
        assert_eq!(told, expected.map(|(fate, reason)| (fate, reason.to_owned())), "{rehearse}");
    }
}

#[test]
fn of_equal_times_the_later_day_and_then_the_text_decides() {
    let record = |base_k| [(256, base_k, measured(5.0))];
    let of = |date: &str, base_k| told(&record(64), &[(date, &record(base_k))], false);
    let [(fate, reason)] = &of("2026-01-03", 32)[..] else { panic!() };
    assert_eq!((fate, reason.as_str()), (&Fate::Updated, "measured on 2026-01-03 stays, on 2026-01-02 goes"));
    let [(fate, reason)] = &of("2026-01-01", 32)[..] else { panic!() };
    assert_eq!((fate, reason.as_str()), (&Fate::Kept, "measured on 2026-01-02 stays, on 2026-01-01 goes"));
    let [(_, reason)] = &of("2026-01-02", 32)[..] else { panic!() };
    assert!(reason.starts_with("both were measured alike"), "{reason}");
}

#[test]
fn of_two_sources_the_better_one_is_added_and_the_other_told_so() {
    let (slow, fast) = ([(256, 64, measured(5.0))], [(256, 32, measured(4.0))]);
    let told = told(&[], &[("2026-01-02", &slow), ("2026-01-02", &fast)], false);
    assert_eq!(told[0].0, Fate::Kept);
    assert_eq!(told[0].1, "another source has a better one: 4.00 us stay, 5.00 us go (simulator)");
    assert_eq!(told[1], (Fate::Added, "the bank had none; 4.00 us instead of 8.00 (simulator)".to_owned()));
}
