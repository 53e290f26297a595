//! The file system itself: paths, permissions, locks.

use super::*;
use crate::bank::{BankEnvironment, DISK, Storage};
use crate::status::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn environment(tune: Option<PathBuf>, cache: Option<PathBuf>, home: Option<PathBuf>) -> BankEnvironment {
    BankEnvironment { tune_bank_path: tune, ascend_cache_path: cache, home, ..BankEnvironment::default() }
}

#[test]
fn the_first_variable_that_is_set_decides() {
    let directory = tempfile::tempdir().unwrap();
    let tune = directory.path().to_owned();
    let (cache, home) = (PathBuf::from("/cache"), PathBuf::from("/home/me"));
    let open = |tune, cache, home| BankPaths::operator(&environment(tune, cache, home), &soc()).unwrap();
    let paths = open(Some(tune.clone()), Some(cache.clone()), Some(home.clone()));
    assert_eq!((paths.custom, paths.also_read), (tune.join("Ascend910B2/unified_bank"), vec![]));
    let paths = open(Some(PathBuf::new()), Some(cache), Some(home.clone()));
    assert_eq!(paths.custom, PathBuf::from("/cache/aoe_data/Ascend910B2/unified_bank"));
    assert_eq!(paths.also_read, [PathBuf::from("/cache/Ascend910B2/unified_bank")], "where libaoe wrote before");
    let paths = open(None, None, Some(home));
    assert_eq!(paths.custom, PathBuf::from("/home/me/Ascend/cann/data/aoe/custom/op/Ascend910B2/unified_bank"));
}

#[test]
fn an_unusable_environment_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let missing = directory.path().join("missing");
    for (env, variable, reason) in [
        (environment(Some(file), None, None), "TUNE_BANK_PATH", "not a directory"),
        (environment(Some(missing), None, None), "TUNE_BANK_PATH", "missing"),
        (environment(None, None, None), "HOME", "not set"),
    ] {
        let error = BankPaths::operator(&env, &soc()).unwrap_err();
        assert!(matches!(&error, Error::Environment { name, .. } if name == variable), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_soc_s_name_cannot_lead_out_of_the_bank() {
    let evil = Soc { name: "../../etc".into(), ..soc() };
    let paths = BankPaths::operator(&environment(None, Some("/cache".into()), None), &evil).unwrap();
    assert_eq!(paths.custom, PathBuf::from("/cache/aoe_data/-2E.-2F..-2Fetc/unified_bank"));
}

#[test]
fn new_files_have_cann_s_mode_and_old_ones_keep_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let paths = BankPaths { custom: directory.path().join("deep/unified_bank"), also_read: vec![] };
    let file = paths.custom.join(FILE);
    let mut bank = OperatorBank::open(paths, &soc());
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    for (m, expected) in [(128, 0o640), (256, 0o664)] {
        bank.record(&product_of(m), &tiling(m, 64), &measured(1.0)).unwrap();
        bank.save().unwrap();
        assert_eq!(mode(), expected, "{:o}", mode());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    }
}

#[test]
fn a_layer_below_answers_what_the_custom_bank_does_not_know() {
    let directory = tempfile::tempdir().unwrap();
    let [low, high] = ["low", "high"].map(|name| directory.path().join(name));
    let mut below = OperatorBank::open(BankPaths { custom: low.clone(), also_read: vec![] }, &soc());
    for m in [128, 256] {
        below.record(&product_of(m), &tiling(m, 64), &measured(1.0)).unwrap();
    }
    below.save().unwrap();
    let mut bank = OperatorBank::open(BankPaths { custom: high.clone(), also_read: vec![low.clone()] }, &soc());
    bank.record(&product_of(256), &tiling(256, 32), &measured(0.5)).unwrap();
    bank.save().unwrap();
    let source = |m| bank.lookup(&product_of(m)).unwrap().unwrap().source;
    assert_eq!((source(128), source(256)), (low.join(FILE), high.join(FILE)));
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let paths = BankPaths { custom: directory.path().join("file/unified_bank"), also_read: vec![] };
    let mut bank = OperatorBank::open(paths, &soc());
    let error = bank.record(&product_of(128), &tiling(128, 64), &measured(1.0)).and_then(|()| bank.save()).unwrap_err();
    assert!(error.to_string().contains("file/unified_bank"), "{error}");
}

#[test]
fn something_that_is_no_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(FILE)).unwrap();
    let bank = OperatorBank::open(BankPaths { custom: directory.path().into(), also_read: vec![] }, &soc());
    let error = bank.lookup(&product_of(128)).unwrap_err();
    assert!(error.to_string().contains(FILE) && error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn a_bank_file_that_could_not_be_written_is_known_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let check = |workload: &Workload| OperatorBank::open(paths_in(place), &soc()).check_writable([workload]);
    check(&product_of(128)).unwrap();
    assert_eq!(fs::read_dir(place).unwrap().count(), 0, "nothing is written");
    // What no user may open for writing, whatever the rights: a directory.
    fs::create_dir(place.join(FILE)).unwrap();
    let error = check(&product_of(128)).unwrap_err();
    assert!(matches!(&error, Error::Bank { path, .. } if path.ends_with(FILE)), "{error}");
    assert!(error.to_string().contains("EC0011: custom_file_dir"), "{error}");
    check(&gelu()).expect("it goes into another file");
    fs::remove_dir(place.join(FILE)).unwrap();
    fs::write(place.join("no directory"), "").unwrap();
    std::os::unix::fs::symlink(place.join("no directory/bank.json"), place.join(FILE)).unwrap();
    assert!(check(&product_of(128)).unwrap_err().to_string().contains(FILE));
    fs::create_dir_all(place.join(".aoe/lock")).unwrap();
    let error = check(&gelu()).unwrap_err().to_string();
    assert!(error.contains("lock") && error.contains("not a regular file"), "{error}");
}

#[test]
fn whatever_hinders_a_save_from_its_start_is_named_by_the_check() {
    let storage = Arc::new(memory::Memory::default());
    for n in 0.. {
        storage.fail_at(n, libc::EROFS);
        let checked = bank(&storage).check_writable([&product_of(128), &gelu()]);
        if !storage.has_failed() {
            assert!(n >= 7, "only {n} operations");
            return checked.unwrap();
        }
        let error = checked.unwrap_err();
        assert!(error.to_string().contains(DIRECTORY) && error.to_string().contains("ead-only"), "{error}");
    }
}

pub(super) fn paths_in(directory: &Path) -> BankPaths {
    BankPaths { custom: directory.to_owned(), also_read: vec![] }
}

/// Opens the bank of a directory and records a product.
fn recorded(directory: &Path, m: u64) -> OperatorBank {
    let mut bank = OperatorBank::open(paths_in(directory), &soc());
    bank.record(&product_of(m), &tiling(m, 64), &measured(1.0)).unwrap();
    bank
}

fn holds(directory: &Path, m: u64) -> bool {
    OperatorBank::open(paths_in(directory), &soc()).lookup(&product_of(m)).unwrap().is_some()
}

#[test]
fn a_link_in_the_bank_s_place_is_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let [bank, far] = ["bank", "far"].map(|name| directory.path().join(name));
    fs::create_dir(&bank).unwrap();
    fs::create_dir(&far).unwrap();
    std::os::unix::fs::symlink("../far/shared.json", bank.join(FILE)).unwrap();
    // First it leads nowhere, then to a file.
    for m in [128, 256] {
        recorded(&bank, m).save().unwrap();
        assert!(fs::symlink_metadata(bank.join(FILE)).unwrap().is_symlink());
        assert!(holds(&bank, m));
    }
    assert_eq!(fs::read(far.join("shared.json")).unwrap(), fs::read(bank.join(FILE)).unwrap());
    assert_eq!(fs::read_dir(&far).unwrap().count(), 1, "no temporary file is left there");
    fs::remove_dir_all(&far).unwrap();
    let error = recorded(&bank, 384).save().unwrap_err().to_string();
    assert!(error.contains(FILE), "{error}");
}

#[test]
fn a_pipe_or_a_directory_that_takes_the_bank_s_place_is_an_error_and_nothing_waits() {
    for make in ["mkfifo", "mkdir"] {
        let directory = tempfile::tempdir().unwrap();
        let mut bank = recorded(directory.path(), 128);
        let path = directory.path().join(FILE);
        assert!(std::process::Command::new(make).arg(&path).status().unwrap().success());
        for _ in 0..2 {
            let error = bank.save().unwrap_err().to_string();
            assert!(error.contains(FILE) && error.contains("not a regular file"), "{error}");
        }
        let reader = OperatorBank::open(paths_in(directory.path()), &soc());
        assert!(reader.lookup(&product_of(128)).unwrap_err().to_string().contains(FILE));
        fs::remove_dir(&path).or_else(|_| fs::remove_file(&path)).unwrap();
        bank.save().unwrap();
        assert!(holds(directory.path(), 128));
    }
}

#[test]
fn what_stands_in_the_way_of_a_temporary_file_is_named_or_removed() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().join(format!(".{FILE}.tmp"));
    let victim = directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &temporary).unwrap();
    recorded(directory.path(), 128).save().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "a link is not written through here");
    fs::create_dir(&temporary).unwrap();
    let error = recorded(directory.path(), 256).save().unwrap_err().to_string();
    assert!(error.contains(FILE), "{error}");
    assert!(holds(directory.path(), 128) && !holds(directory.path(), 256));
}

#[test]
fn a_directory_that_is_removed_under_a_bank_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("deep/unified_bank");
    let mut bank = recorded(&inside, 128);
    bank.save().unwrap();
    fs::remove_dir_all(directory.path().join("deep")).unwrap();
    bank.record(&product_of(256), &tiling(256, 64), &measured(1.0)).unwrap();
    bank.save().unwrap();
    assert!(holds(&inside, 256));
    // At any moment of a save too: it succeeds, or says where it failed and works when tried again.
    let is_over = AtomicBool::new(false);
    let errors = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                let _ = fs::remove_dir_all(&inside);
            }
        });
        let errors: Vec<_> = (1..200).filter_map(|m| recorded(&inside, 16 * m).save().err()).collect();
        is_over.store(true, Ordering::Release);
        errors
    });
    for error in errors {
        assert!(error.to_string().contains("unified_bank"), "{error}");
    }
    recorded(&inside, 384).save().unwrap();
    assert!(holds(&inside, 384));
}

#[test]
fn a_lock_ends_with_its_guard_though_a_forked_child_has_the_file_open() {
    let directory = tempfile::tempdir().unwrap();
    let file = fs::File::create(directory.path().join("lock")).unwrap();
    file.lock().unwrap();
    // What a fork leaves in the child: the same open file.
    let inherited = file.try_clone().unwrap();
    drop(crate::bank::Guard::of(file));
    let other = fs::File::open(directory.path().join("lock")).unwrap();
    other.try_lock().unwrap();
    drop(inherited);
}

#[test]
fn a_lock_is_exclusive_until_its_guard_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let guard = DISK.lock(&path, true).unwrap().unwrap();
    let released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (path, released) = (&path, &released);
        scope.spawn(move || {
            sender.send(()).unwrap();
            let _second = DISK.lock(path, true).unwrap().unwrap();
            assert!(released.load(Ordering::SeqCst), "two guards at once");
        });
        receiver.recv().unwrap();
        // Whatever the other thread does meanwhile, it cannot have got past `lock`.
        std::thread::yield_now();
        released.store(true, Ordering::SeqCst);
        drop(guard);
    });
}

#[test]
fn many_writers_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let paths = BankPaths { custom: directory.path().join("unified_bank"), also_read: vec![] };
    let products: Vec<u64> = (1..=40).map(|i| 16 * i).collect();
    std::thread::scope(|scope| {
        for part in products.chunks(10) {
            let mut bank = OperatorBank::open(paths.clone(), &soc());
            scope.spawn(move || {
                for &m in part {
                    bank.record(&product_of(m), &tiling(m, 64), &measured(1.0)).unwrap();
                    bank.save().unwrap();
                }
            });
        }
    });
    let reader = OperatorBank::open(paths.clone(), &soc());
    for &m in &products {
        assert!(reader.lookup(&product_of(m)).unwrap().is_some(), "m = {m} was lost");
    }
    assert_eq!(reader.warnings(), [""; 0]);
    let names: Vec<_> = fs::read_dir(&paths.custom).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the bank and our hidden directory: {names:?}");
}

/// Lets a link belong to somebody else, which only root can do; `false` where the test cannot.
pub(super) fn give_away(link: &Path) -> bool {
    rustix::process::geteuid().is_root() && std::os::unix::fs::lchown(link, Some(65_534), None).is_ok()
}

#[test]
fn a_link_that_another_user_laid_where_all_may_write_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let (bank, precious) = (place.path().join("bank"), place.path().join("precious"));
    fs::create_dir(&bank).unwrap();
    fs::write(&precious, "mine\n").unwrap();
    let link = bank.join(FILE);
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    assert_eq!(DISK.target(&link).unwrap(), precious, "one's own is");
    if !give_away(&link) {
        return;
    }
    assert_eq!(DISK.target(&link).unwrap(), precious, "nobody else could have laid it");
    fs::set_permissions(&bank, fs::Permissions::from_mode(0o777)).unwrap();
    for error in [
        DISK.target(&link).unwrap_err(),
        DISK.read(&link).unwrap_err(),
        DISK.check_file(&link).unwrap_err(),
        DISK.lock(&link, false).unwrap_err(),
    ] {
        assert!(error.to_string().contains("user 65534") && error.to_string().contains(FILE), "{error}");
    }
    assert!(OperatorBank::open(paths_in(&bank), &soc()).check_writable([&product_of(128)]).is_err());
    fs::remove_file(&link).unwrap();
    let mut bank = recorded(&bank, 128);
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    assert!(give_away(&link) && bank.save().is_err());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine\n");
    assert!(link.is_symlink());
}

#[test]
fn a_link_to_what_is_no_bank_is_not_written_through() {
    let place = tempfile::tempdir().unwrap();
    let precious = place.path().join("settings");
    fs::write(&precious, "[user]\nname = me\n").unwrap();
    std::os::unix::fs::symlink(&precious, place.path().join(FILE)).unwrap();
    let mut bank = OperatorBank::open(paths_in(place.path()), &soc());
    let saved = bank.record(&product_of(128), &tiling(128, 64), &measured(1.0)).and_then(|()| bank.save());
    let error = saved.unwrap_err().to_string();
    assert!(error.contains("settings") && error.contains("no bank"), "{error}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "[user]\nname = me\n");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "no copy of it is left either");
}

#[test]
fn the_copy_of_a_damaged_bank_is_open_to_nobody_who_could_not_read_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(FILE);
    recorded(place.path(), 128).save().unwrap();
    let content = fs::read(&file).unwrap();
    fs::write(&file, [&content[..], b"{damaged\n"].concat()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    recorded(place.path(), 256).save().unwrap();
    let copy = place.path().join(format!("{FILE}.damaged-1"));
    for path in [&file, &copy] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_bank_file_with_two_names_is_neither_waited_for_nor_written_twice() {
    let both = |place: &Path| {
        let mut bank = recorded(place, 128);
        bank.record(&gelu(), &vector_tiling(8), &measured(1.0)).unwrap();
        bank
    };
    let names = |place: &Path| {
        both(place).save().unwrap();
        let mut names: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|name| name.is_file());
        names.sort();
        <[PathBuf; 2]>::try_from(names).unwrap()
    };
    // As hard links each becomes a file of its own.
    let place = tempfile::tempdir().unwrap();
    let [first, second] = names(place.path());
    fs::remove_file(&second).unwrap();
    fs::hard_link(&first, &second).unwrap();
    both(place.path()).save().unwrap();
    assert!(holds(place.path(), 128) && fs::read(&first).unwrap() != fs::read(&second).unwrap());
    // As a link it is known before anything is measured, and nothing is lost in silence.
    fs::remove_file(&second).unwrap();
    std::os::unix::fs::symlink(&first, &second).unwrap();
    let before = fs::read(&first).unwrap();
    let check = OperatorBank::open(paths_in(place.path()), &soc()).check_writable([&product_of(128), &gelu()]);
    for error in [check.unwrap_err(), both(place.path()).save().unwrap_err()] {
        assert!(error.to_string().contains("by another name"), "{error}");
    }
    assert_eq!(fs::read(&first).unwrap(), before);
}

#[test]
fn a_bank_of_terabytes_is_refused_by_its_size() {
    let place = tempfile::tempdir().unwrap();
    // It takes no room on the disk.
    fs::File::create(place.path().join(FILE)).unwrap().set_len(1 << 40).unwrap();
    let error = OperatorBank::open(paths_in(place.path()), &soc()).lookup(&product_of(128)).unwrap_err();
    assert!(error.to_string().contains("4 GiB"), "{error}");
}
