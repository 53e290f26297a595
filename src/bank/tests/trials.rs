//! The trials kept with a bank: read as they were written, or not at all.

use super::memory::Memory;
use super::*;
use crate::bank::trials::MOST_TRIALS;
use crate::bank::{KnownTrial, KnownTrials};
use std::path::Path;

fn trials(count: u32) -> KnownTrials {
    let trial = |n: u32| KnownTrial {
        schedule: tiling(128 * u64::from(n + 1), 64),
        us: (n % 5 != 3).then(|| f64::from(n) + 0.1),
    };
    KnownTrials { search: "1 auto 7".into(), trials: (0..count).map(trial).collect(), dropped: 2 }
}

/// The only file of trials.
fn path(storage: &Memory) -> PathBuf {
    let paths = storage.files().into_keys().filter(|path| path.to_string_lossy().contains(".trials/"));
    let paths: Vec<_> = paths.collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths[0].clone()
}

#[test]
fn trials_survive_writing_and_are_those_of_one_workload_backend_and_soc() {
    let storage = Arc::new(Memory::default());
    let store = bank(&storage).trials();
    assert_eq!(store.read(&product_of(128), "simulator"), None);
    store.write(&product_of(128), "simulator", &trials(20)).unwrap();
    assert_eq!(store.read(&product_of(128), "simulator"), Some(trials(20)));
    assert!(path(&storage).starts_with(Path::new(DIRECTORY).join(".aoe")), "out of CANN's sight");
    // 120 and 128 rows have one record; as problems they are two.
    assert_eq!(store.read(&product_of(120), "simulator"), None);
    assert_eq!(store.read(&product_of(128), "ascend"), None);
    let faster = Soc { hbm_gb_s: 3200.0, ..soc() };
    let other = OperatorBank::with_storage(paths(), &faster, storage.clone(), String::new()).trials();
    assert_eq!(other.read(&product_of(128), "simulator"), None);
}

#[test]
fn of_many_trials_the_fastest_are_kept_in_their_order() {
    let storage = Arc::new(Memory::default());
    let store = bank(&storage).trials();
    let many = trials(MOST_TRIALS as u32 + 2000);
    store.write(&product_of(128), "simulator", &many).unwrap();
    let read = store.read(&product_of(128), "simulator").unwrap();
    assert_eq!(read.dropped, 2002);
    let kept = read.trials;
    assert_eq!(kept.len(), MOST_TRIALS);
    let measured: Vec<_> = many.trials.into_iter().filter(|trial| trial.us.is_some()).take(MOST_TRIALS).collect();
    assert_eq!(kept, measured);
    let bytes = storage.get(path(&storage)).unwrap().len();
    assert!(bytes < 64 * MOST_TRIALS, "{bytes} bytes");
}

#[test]
fn a_damaged_file_of_trials_is_a_miss() {
    let storage = Arc::new(Memory::default());
    let store = bank(&storage).trials();
    store.write(&product_of(128), "simulator", &trials(5)).unwrap();
    let path = path(&storage);
    let content = storage.get(&path).unwrap();
    let flipped = (0..content.len() * 8).map(|bit| {
        let mut damaged = content.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        damaged
    });
    let cut = (0..content.len()).map(|length| content[..length].to_vec());
    for damaged in flipped.chain(cut) {
        storage.put(&path, damaged);
        // What gzip does not look at may change: its time stamp, say.
        assert!(store.read(&product_of(128), "simulator").is_none_or(|found| found == trials(5)));
    }
    storage.put(&path, "{}\n");
    assert_eq!(store.read(&product_of(128), "simulator"), None);
    store.write(&product_of(128), "simulator", &trials(6)).unwrap();
    assert_eq!(store.read(&product_of(128), "simulator"), Some(trials(6)));
}

#[test]
fn whatever_a_crash_leaves_of_trials_is_the_old_the_new_or_none() {
    let storage = Arc::new(Memory::default());
    let store = bank(&storage).trials();
    store.write(&product_of(128), "simulator", &trials(5)).unwrap();
    storage.record_images();
    store.write(&product_of(128), "simulator", &trials(6)).unwrap();
    for image in storage.take_images() {
        let after = Arc::new(Memory::with(image));
        let store = bank(&after).trials();
        let found = store.read(&product_of(128), "simulator");
        assert!(found.is_none() || found == Some(trials(5)) || found == Some(trials(6)));
        store.write(&product_of(128), "simulator", &trials(7)).unwrap();
        assert_eq!(store.read(&product_of(128), "simulator"), Some(trials(7)));
    }
}

#[test]
fn an_error_while_trials_are_written_leaves_those_before() {
    for n in 0.. {
        let storage = Arc::new(Memory::default());
        let store = bank(&storage).trials();
        store.write(&product_of(128), "simulator", &trials(5)).unwrap();
        storage.fail_at(n, libc::ENOSPC);
        let written = store.write(&product_of(128), "simulator", &trials(6));
        if !storage.has_failed() {
            assert!(n > 3, "only {n} operations");
            break;
        }
        let expected = if written.is_ok() { trials(6) } else { trials(5) };
        assert_eq!(store.read(&product_of(128), "simulator"), Some(expected), "operation {n}");
        store.write(&product_of(128), "simulator", &trials(7)).unwrap();
        assert!(!storage.files().keys().any(|path| path.to_string_lossy().ends_with(".tmp")));
    }
}
