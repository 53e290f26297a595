//! Errors at every operation: the state before stays, and another try works.

use super::memory::{Files, Memory};
use super::*;
use crate::status::Error;
use std::path::Path;

/// The errors of `errno(3)` that a disk, a quota, permissions and a dying device give.
const ERRORS: [i32; 6] = [libc::ENOSPC, libc::EDQUOT, libc::EFBIG, libc::EIO, libc::EACCES, libc::EROFS];

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

/// Saves a change with every operation failing in turn; `start` makes the storage each time.
fn fail_everywhere(errno: i32, start: impl Fn() -> Arc<Memory>) {
    for n in 0.. {
        let storage = start();
        let before = storage.files();
        let mut writer = bank(&storage);
        change(&mut writer);
        storage.fail_at(n, errno);
        let result = writer.save();
        if !storage.has_failed() {
            assert!(n > 25, "only {n} operations");
            result.unwrap();
            break;
        }
        if let Err(error) = result {
            assert!(matches!(error, Error::File { .. } | Error::Directory { .. }), "{error}");
            assert!(error.to_string().contains(DIRECTORY), "{error}");
            let after = cann_files(&storage.files());
            assert!(after == cann_files(&before), "{errno} at {n} changed the bank");
            let more = storage.files().into_keys().filter(|path| !before.contains_key(path) && !path.ends_with("lock"));
            assert_eq!(more.collect::<Vec<_>>(), [""; 0].map(PathBuf::from), "{errno} at {n} left something behind");
        }
        writer.save().unwrap();
        check_changed(&storage);
    }
}

/// Fails unless the change is there, durably, and nothing else.
fn check_changed(storage: &Memory) {
    assert!(cann_files(&storage.files()) == cann_files(&storage.durable()), "acknowledged, and not durable");
    assert!(!storage.files().keys().any(|path| path.to_string_lossy().ends_with(".tmp")));
    let reader = bank(&Arc::new(Memory::with(storage.durable())));
    assert_eq!(schedule_in(&reader, &product_of(384)), Some(tiling(384, 32)));
    assert_eq!(schedule_in(&reader, &product_of(256)), Some(tiling(256, 32)));
    assert_eq!(schedule_in(&reader, &gelu()), Some(vector_tiling(16)));
}

#[test]
fn an_error_at_any_operation_changes_no_file_and_can_be_tried_again() {
    let damaged = || {
        let storage = saved();
        storage.put(Path::new(DIRECTORY).join(FILE), "{}\n");
        storage
    };
    for errno in ERRORS {
        fail_everywhere(errno, saved);
        fail_everywhere(errno, damaged);
        fail_everywhere(errno, Arc::default);
    }
}

#[test]
fn a_storage_that_stays_full_changes_nothing_and_keeps_no_temporary_file() {
    for errno in [libc::ENOSPC, libc::EDQUOT] {
        for n in 0.. {
            let storage = saved();
            let before = storage.files();
            let mut writer = bank(&storage);
            change(&mut writer);
            storage.fill_from(n, errno);
            let saved = writer.save();
            if !storage.has_failed() {
                assert!(n > 10, "only {n} operations");
                saved.unwrap();
                break;
            }
            saved.unwrap_err();
            assert!(storage.files() == before, "full from operation {n} on");
            writer.save().unwrap();
            check_changed(&storage);
        }
    }
}

#[test]
fn a_storage_that_dies_leaves_each_record_old_or_new_and_works_again_when_it_is_back() {
    for n in 0.. {
        let storage = saved();
        let mut writer = bank(&storage);
        change(&mut writer);
        storage.fail_from(n, libc::EIO);
        let saved = writer.save();
        if !storage.has_failed() {
            saved.unwrap();
            break;
        }
        for files in [storage.files(), storage.durable()] {
            let reader = bank(&Arc::new(Memory::with(files)));
            assert_eq!(schedule_in(&reader, &product_of(128)), Some(tiling(128, 64)));
            for (workload, old, new) in [
                (product_of(256), Some(tiling(256, 64)), tiling(256, 32)),
                (product_of(384), None, tiling(384, 32)),
                (gelu(), Some(vector_tiling(8)), vector_tiling(16)),
            ] {
                let found = schedule_in(&reader, &workload);
                assert!(found == old || found == Some(new), "dead from operation {n} on: {workload} is {found:?}");
            }
            assert_eq!(reader.warnings(), [""; 0]);
        }
        writer.save().unwrap();
        check_changed(&storage);
    }
}

#[test]
fn what_a_killed_writer_left_goes_also_where_its_file_is_up_to_date() {
    let storage = saved();
    let stale = Path::new(DIRECTORY).join(format!(".{FILE}.tmp"));
    storage.put(&stale, "half a fi");
    let mut writer = bank(&storage);
    writer.record(&product_of(128), &tiling(128, 64), &measured(1.0)).unwrap();
    writer.save().unwrap();
    assert_eq!(storage.get(&stale), None);
}

#[test]
fn a_file_system_without_locks_is_named_and_written_under_names_of_one_s_own() {
    let storage = saved();
    let stale = Path::new(DIRECTORY).join(format!(".{FILE}.tmp"));
    storage.put(&stale, "another process is writing this");
    let mut writer = bank(&storage);
    change(&mut writer);
    // Behind the look at whether our own directory is a link.
    storage.fail_at(1, libc::EOPNOTSUPP);
    writer.save().unwrap();
    assert!(writer.warnings().iter().any(|w| w.contains("no locks")), "{:?}", writer.warnings());
    assert_eq!(storage.get(&stale).as_deref(), Some(&b"another process is writing this"[..]));
    assert_eq!(schedule_in(&bank(&storage), &product_of(384)), Some(tiling(384, 32)));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_not_a_miss() {
    let storage = saved();
    let reader = bank(&storage);
    storage.fail_at(0, libc::EACCES);
    let error = reader.lookup(&product_of(128)).unwrap_err().to_string();
    assert!(error.contains(FILE), "{error}");
}

#[test]
fn trials_make_room_for_records() {
    let storage = saved();
    let trials = bank(&storage).trials();
    let known = crate::bank::KnownTrials { search: "s".into(), trials: Vec::new(), dropped: 0 };
    trials.write(&product_of(128), "simulator", &known).unwrap();
    let kept = || storage.files().into_keys().filter(|path| path.to_string_lossy().contains(".trials/")).count();
    assert_eq!(kept(), 1);
    let mut writer = bank(&storage);
    change(&mut writer);
    // What is staged first finds the disk full, once.
    storage.fail_at(12, libc::ENOSPC);
    writer.save().unwrap();
    assert!(storage.has_failed());
    assert_eq!(kept(), 0);
    assert_eq!(schedule_in(&bank(&storage), &product_of(384)), Some(tiling(384, 32)));
}

#[test]
fn a_look_up_that_cannot_read_says_so_and_never_forgets_what_a_record_cost() {
    for errno in ERRORS {
        for n in 0.. {
            let storage = saved();
            storage.fail_at(n, errno);
            let entry = bank(&storage).lookup(&product_of(256));
            let has_failed = storage.has_failed();
            // Another user's bank may be read where its side file may not.
            if let Ok(Some(entry)) = &entry
                && !(has_failed && errno == libc::EACCES)
            {
                assert_eq!(entry.measured, Some(measured(256.0)), "{errno} at {n}");
            }
            if !has_failed {
                assert!(n > 1 && entry.unwrap().is_some(), "only {n} operations");
                break;
            }
        }
    }
}

#[test]
fn where_what_was_written_cannot_be_taken_back_either_every_record_still_has_its_time() {
    let mut failed_twice = 0;
    for (first, later) in (10..60).flat_map(|first| (1..8).map(move |later| (first, first + later))) {
        let storage = saved();
        let mut writer = bank(&storage);
        change(&mut writer);
        storage.fail_at(first, libc::EIO);
        storage.fail_at(later, libc::EIO);
        let saved = writer.save();
        failed_twice += usize::from(saved.is_err());
        storage.has_failed();
        let reader = bank(&storage);
        for workload in [product_of(128), product_of(256), product_of(384), gelu()] {
            let entry = reader.lookup(&workload).unwrap();
            assert!(entry.is_none_or(|entry| entry.measured.is_some()), "{first} {later}: {workload}");
        }
    }
    assert!(failed_twice > 50, "{failed_twice}");
}
