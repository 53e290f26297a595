//! Crashes: whatever a disk may hold at any moment, nothing acknowledged is lost.

use super::memory::{Files, Forgotten, Memory};
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Operators of the workload, and how many are saved at a time.
const OPERATORS: u64 = 200;
const BATCH: u64 = 10;

/// The operators: every other one a matrix product, in CANN's form, the rest vector kernels, in ours.
fn operator(number: u64) -> Workload {
    if number.is_multiple_of(2) { product_of(16 * (number + 1)) } else { kernel(number) }
}

fn kernel(rows: u64) -> Workload {
    let operand = crate::workload::Operand::new([rows, 1024], DataType::Float16);
    Workload::Vector(Vector { op_type: "Gelu".into(), inputs: vec![operand.clone()], outputs: vec![operand] })
}

/// What is recorded for an operator the first or the second time.
fn found(number: u64, update: bool) -> (Schedule, Measured) {
    let schedule = if number.is_multiple_of(2) {
        tiling(16 * (number + 1), if update { 32 } else { 64 })
    } else {
        vector_tiling(if update { 4 } else { 8 })
    };
    (schedule, measured(number as f64 + if update { 1.5 } else { 2.0 }))
}

/// What the records are that must be there, and those that may be there instead.
#[derive(Default)]
struct Expected {
    saved: BTreeMap<u64, bool>,
    under_way: BTreeMap<u64, bool>,
}

impl Expected {
    /// Fails unless each record is as acknowledged or as in the save under way, with the time that belongs
    /// to it.
    fn check(&self, reader: &OperatorBank) {
        let numbers: BTreeSet<_> = self.saved.keys().chain(self.under_way.keys()).collect();
        for &number in numbers {
            let entry = reader.lookup(&operator(number)).unwrap().map(|e| (e.schedule, e.measured));
            let is = |update: Option<&bool>| {
                entry == update.map(|&update| found(number, update)).map(|(schedule, times)| (schedule, Some(times)))
            };
            let old = is(self.saved.get(&number));
            assert!(old || is(self.under_way.get(&number).or(self.saved.get(&number))), "{number}: {entry:?}");
        }
        assert_eq!(reader.warnings(), [""; 0], "a crash damages nothing");
    }
}

fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "tmp")
}

/// Fails unless the next save works on what a crash left, and leaves nothing behind.
fn check_next_save(left: Files, expected: &Expected) {
    let storage = Arc::new(Memory::with(left));
    let mut next = bank(&storage);
    for number in [OPERATORS, OPERATORS + 1] {
        let (schedule, measured) = found(number, false);
        next.record(&operator(number), &schedule, &measured).unwrap();
    }
    next.save().unwrap();
    assert!(!storage.files().keys().any(|path| is_temporary(path)), "{:?}", storage.files().keys());
    let reader = bank(&Arc::new(Memory::with(storage.durable())));
    expected.check(&reader);
    for number in [OPERATORS, OPERATORS + 1] {
        assert_eq!(reader.lookup(&operator(number)).unwrap().map(|e| e.schedule), Some(found(number, false).0));
    }
}

/// Goes through everything that a crash may leave; returns how much that was.
fn check_images(images: impl Iterator<Item = Files>, expected: &Expected, obstacles: &mut BTreeSet<String>) -> usize {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for image in images {
        count += 1;
        let (stale, bank_files): (Files, Files) = image.clone().into_iter().partition(|(path, _)| is_temporary(path));
        // A reader sees no temporary file, and a writer only that it is there and whether it is empty.
        let new = seen.insert(bank_files.clone());
        if new {
            expected.check(&bank(&Arc::new(Memory::with(bank_files))));
        }
        let obstacle =
            stale.iter().fold(String::new(), |text, (path, content)| format!("{text} {path:?} {}", content.is_empty()));
        if new | obstacles.insert(obstacle) {
            check_next_save(image, expected);
        }
    }
    count
}

/// Saves operators in batches and goes through all that a crash may leave at any moment; `forgotten` is left out
/// of the saves.
fn crash_everywhere(operators: u64, forgotten: Option<Forgotten>) -> usize {
    let storage = Arc::new(Memory::default());
    if let Some(what) = forgotten {
        storage.forget(what);
    }
    let mut expected = Expected::default();
    let mut obstacles = BTreeSet::new();
    let mut images = 0;
    storage.record_images();
    for first in (0..operators).step_by(BATCH as usize) {
        // Each save updates a part of what the one before added.
        let updates = (first.saturating_sub(BATCH)..first).step_by(3).map(|number| (number, true));
        expected.under_way = (first..first + BATCH).map(|number| (number, false)).chain(updates).collect();
        let mut writer = bank(&storage);
        for (&number, &update) in &expected.under_way {
            let (schedule, measured) = found(number, update);
            writer.record(&operator(number), &schedule, &measured).unwrap();
        }
        writer.save().unwrap();
        images += check_images(storage.take_images(), &expected, &mut obstacles);
        let under_way = std::mem::take(&mut expected.under_way);
        expected.saved.extend(under_way);
        expected.check(&bank(&Arc::new(Memory::with(storage.durable()))));
    }
    assert!(obstacles.len() > 5, "{obstacles:?}");
    images
}

#[test]
fn whatever_a_crash_leaves_at_any_moment_of_200_operators_holds_all_that_was_acknowledged() {
    let images = crash_everywhere(OPERATORS, None);
    assert!(images > 1000, "{images} images");
}

#[test]
fn a_save_that_left_out_a_sync_would_be_found_out() {
    assert!(crash_everywhere(2 * BATCH, None) > 100);
    let directories = [".aoe", "unified_bank", "Ascend910B2"].map(Forgotten::Directory);
    for what in [Forgotten::Contents].into_iter().chain(directories) {
        let outcome = std::panic::catch_unwind(|| crash_everywhere(2 * BATCH, Some(what)));
        assert!(outcome.is_err(), "{what:?} is not missed");
    }
}

#[test]
fn what_a_killed_writer_left_would_be_in_the_way_if_it_were_not_removed() {
    let storage = saved();
    storage.put(Path::new(DIRECTORY).join(format!(".{FILE}.tmp")), "half a fi");
    storage.forget(Forgotten::Removal);
    let mut writer = bank(&storage);
    writer.record(&product_of(640), &tiling(640, 32), &measured(6.0)).unwrap();
    writer.save().unwrap_err();
}

fn schedule_in(bank: &OperatorBank, workload: &Workload) -> Option<Schedule> {
    bank.lookup(workload).unwrap().map(|entry| entry.schedule)
}

#[test]
fn writers_that_meet_keep_each_other_s_records_and_the_better_time() {
    let storage = saved();
    let (mut one, mut two) = (bank(&storage), bank(&storage));
    one.record(&product_of(512), &tiling(512, 64), &measured(5.0)).unwrap();
    two.record(&product_of(512), &tiling(512, 32), &measured(6.0)).unwrap();
    two.record(&product_of(640), &tiling(640, 32), &measured(6.0)).unwrap();
    one.save().unwrap();
    two.save().unwrap();
    let reader = bank(&storage);
    assert_eq!(schedule_in(&reader, &product_of(512)), Some(tiling(512, 64)), "5 us beats 6 us");
    assert_eq!(schedule_in(&reader, &product_of(640)), Some(tiling(640, 32)));
    assert_eq!(schedule_in(&two, &product_of(512)), Some(tiling(512, 64)), "and the loser sees it");
}

#[test]
fn a_decided_update_stands_even_where_the_old_time_was_better() {
    let storage = saved();
    let mut writer = bank(&storage);
    // The tuner measured the old record anew and found it slower than it once was.
    writer.record(&product_of(128), &tiling(128, 32), &measured(1000.0)).unwrap();
    writer.save().unwrap();
    assert_eq!(schedule_in(&bank(&storage), &product_of(128)), Some(tiling(128, 32)));
}

#[test]
fn the_same_records_give_the_same_bytes_in_any_order() {
    let files = |order: [u64; 3]| {
        let storage = Arc::new(Memory::default());
        let mut bank = bank(&storage);
        for m in order {
            bank.record(&product_of(m), &tiling(m, 64), &measured(m as f64)).unwrap();
        }
        bank.save().unwrap();
        storage.files()
    };
    assert_eq!(files([128, 256, 384]), files([384, 128, 256]));
}

#[test]
fn our_files_stay_out_of_cann_s_sight() {
    let names: Vec<_> = saved().files().into_keys().filter(|path| !path.ends_with(".aoe/lock")).collect();
    let own = Path::new(DIRECTORY).join(".aoe");
    for name in &names {
        assert!(name.starts_with(&own) || name.to_string_lossy().ends_with("_kb.json"), "{}", name.display());
    }
    assert_eq!(names.len(), 4, "two banks and their side files: {names:?}");
}
