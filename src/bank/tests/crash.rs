//! Crashes at every moment and errors at every operation.

use super::memory::{Files, Memory};
use super::*;
use crate::status::Error;
use std::io::ErrorKind;
use std::path::Path;

/// A bank with two saved products and one vector kernel.
fn saved() -> Arc<Memory> {
    let storage = Arc::new(Memory::default());
    let mut bank = bank(&storage);
    for m in [128, 256] {
        bank.record(&product_of(m), &tiling(m, 64), &measured(m as f64)).unwrap();
    }
    bank.record(&gelu(), &vector_tiling(8), &measured(3.0)).unwrap();
    bank.save().unwrap();
    storage
}

/// Records an update of one product, a new one, and an update of the vector kernel.
fn change(bank: &mut OperatorBank) {
    bank.record(&product_of(256), &tiling(256, 32), &measured(7.0)).unwrap();
    bank.record(&product_of(384), &tiling(384, 32), &measured(8.0)).unwrap();
    bank.record(&gelu(), &vector_tiling(16), &measured(2.0)).unwrap();
}

fn schedule_in(bank: &OperatorBank, workload: &Workload) -> Option<Schedule> {
    bank.lookup(workload).unwrap().map(|entry| entry.schedule)
}

/// The bank files alone, as CANN sees them.
fn cann_files(files: &Files) -> Files {
    files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|e| e == "json"))
        .map(|(p, c)| (p.clone(), c.clone()))
        .collect()
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_or_the_new_record() {
    let storage = saved();
    let mut writer = bank(&storage);
    change(&mut writer);
    storage.record_images();
    writer.save().unwrap();
    let images = storage.images();
    assert!(images.len() > 30, "{}", images.len());
    for image in images {
        let after = Arc::new(Memory::with(image));
        let reader = bank(&after);
        assert_eq!(schedule_in(&reader, &product_of(128)), Some(tiling(128, 64)));
        let updated = schedule_in(&reader, &product_of(256));
        assert!(updated == Some(tiling(256, 64)) || updated == Some(tiling(256, 32)), "{updated:?}");
        let times = reader.lookup(&product_of(256)).unwrap().unwrap().measured;
        let expected = if updated == Some(tiling(256, 64)) { 256.0 } else { 7.0 };
        assert_eq!(times, Some(measured(expected)), "a time is of the tiling it stands with");
        let vector = schedule_in(&reader, &gelu());
        assert!(vector == Some(vector_tiling(8)) || vector == Some(vector_tiling(16)), "{vector:?}");
        assert_eq!(reader.warnings(), [""; 0], "a crash damages nothing");
        // The next writer finds no obstacle.
        let mut next = bank(&after);
        change(&mut next);
        next.save().unwrap();
        assert_eq!(schedule_in(&bank(&after), &product_of(384)), Some(tiling(384, 32)));
    }
}

#[test]
fn what_save_acknowledged_survives_a_crash() {
    let storage = saved();
    let mut writer = bank(&storage);
    change(&mut writer);
    storage.record_images();
    writer.save().unwrap();
    let images = storage.images();
    // The last image of the certain files, without any of the names that were not yet synced.
    let certain = images[images.len() - 1 - storage.files().len() - 1].clone();
    assert_eq!(cann_files(&certain), cann_files(&storage.files()));
}

/// Saves a change with every operation failing in turn; `start` makes the storage each time.
fn fail_everywhere(kind: ErrorKind, start: impl Fn() -> Arc<Memory>) {
    for n in 0.. {
        let storage = start();
        let before = storage.files();
        let mut writer = bank(&storage);
        change(&mut writer);
        storage.fail_at(n, kind);
        let result = writer.save();
        if !storage.has_failed() {
            assert!(n > 15, "only {n} operations");
            result.unwrap();
            break;
        }
        if let Err(error) = result {
            assert!(matches!(error, Error::File { .. } | Error::Directory { .. }), "{error}");
            assert!(error.to_string().contains(DIRECTORY), "{error}");
            assert!(storage.files() == before, "{kind} at {n} changed the bank or left something behind");
        }
        writer.save().unwrap();
        let reader = bank(&storage);
        assert_eq!(schedule_in(&reader, &product_of(384)), Some(tiling(384, 32)), "{kind} at {n}");
        assert_eq!(schedule_in(&reader, &gelu()), Some(vector_tiling(16)), "{kind} at {n}");
    }
}

#[test]
fn an_error_at_any_operation_changes_no_file_and_can_be_tried_again() {
    let damaged = || {
        let storage = saved();
        storage.put(Path::new(DIRECTORY).join(FILE), "{}\n");
        storage
    };
    for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::Other] {
        fail_everywhere(kind, saved);
        fail_everywhere(kind, damaged);
        fail_everywhere(kind, Arc::default);
    }
}

#[test]
fn a_storage_that_stays_full_loses_nothing_at_any_moment() {
    for n in 0.. {
        let storage = saved();
        let before = cann_files(&storage.files());
        let mut writer = bank(&storage);
        change(&mut writer);
        storage.fill_at(n);
        let saved = writer.save();
        if !storage.has_failed() {
            assert!(n > 2, "only {n} writes");
            saved.unwrap();
            break;
        }
        saved.unwrap_err();
        assert_eq!(cann_files(&storage.files()), before, "full at write {n}");
        let left: Vec<_> = storage.files().into_keys().filter(|p| p.to_string_lossy().ends_with(".tmp")).collect();
        assert_eq!(left, [""; 0].map(PathBuf::from));
    }
}

#[test]
fn a_file_system_without_locks_is_named_and_written() {
    let storage = saved();
    let mut writer = bank(&storage);
    change(&mut writer);
    storage.fail_at(1, ErrorKind::Unsupported);
    writer.save().unwrap();
    assert!(writer.warnings().iter().any(|w| w.contains("no locks")), "{:?}", writer.warnings());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_not_a_miss() {
    let storage = saved();
    let reader = bank(&storage);
    storage.fail_at(0, ErrorKind::PermissionDenied);
    let error = reader.lookup(&product_of(128)).unwrap_err().to_string();
    assert!(error.contains(FILE), "{error}");
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
    let names: Vec<_> = saved().files().into_keys().collect();
    let own = Path::new(DIRECTORY).join(".aoe");
    for name in &names {
        assert!(name.starts_with(&own) || name.to_string_lossy().ends_with("_kb.json"), "{}", name.display());
    }
    assert_eq!(names.len(), 4, "two banks and their side files: {names:?}");
}
