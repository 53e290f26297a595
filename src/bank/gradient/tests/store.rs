//! The banks of a SoC as a tuner uses them.

use super::{TEXT, gradients};
use crate::bank::gradient::{Bank, GradientBank, Gradients};
use crate::bank::{BankPaths, Content};
use crate::soc::Soc;
use crate::status::Error;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "Ascend910B2_gradient_fusion.json";

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// A directory for records and one that is read as well.
fn places(root: &Path) -> BankPaths {
    let [custom, also] = ["custom", "toolkit"].map(|name| root.join(name));
    fs::create_dir(&custom).unwrap();
    fs::create_dir(&also).unwrap();
    BankPaths { custom, also_read: vec![also] }
}

fn read(file: &Path) -> Vec<(u64, Vec<u64>)> {
    let bank = Bank::parse(&fs::read(file).unwrap());
    assert!(!bank.is_damaged(), "{:?}", bank.findings());
    bank.entries().map(|(hash, gradients)| (hash, gradients.time.clone())).collect()
}

#[test]
fn the_nearest_bank_that_knows_a_network_answers() {
    let root = tempfile::tempdir().unwrap();
    let paths = places(root.path());
    fs::write(paths.also_read[0].join(NAME), TEXT).unwrap();
    let mut near = Bank::default();
    near.put(2, gradients(&[8]));
    // A network that waits to be profiled is not known.
    near.put(15_294_858_920_613_849_201, Gradients::placeholder());
    fs::write(paths.custom.join(NAME), near.render()).unwrap();
    let bank = GradientBank::open(&paths, &soc());
    assert_eq!(bank.get(2), Some(&gradients(&[8])));
    assert_eq!(bank.get(15_294_858_920_613_849_201), Some(&gradients(&[9, 100, 7])));
    assert_eq!(bank.get(3), None);
    assert_eq!(bank.file(), paths.custom.join(NAME));
}

#[test]
fn a_record_goes_into_the_file_as_it_is_at_that_moment() {
    let root = tempfile::tempdir().unwrap();
    let paths = places(root.path());
    let bank = GradientBank::open(&paths, &soc());
    // Somebody else was here since.
    fs::write(bank.file(), TEXT).unwrap();
    bank.record(7, &gradients(&[1]), false).unwrap();
    bank.record(2, &gradients(&[5, 6]), false).unwrap();
    let known = [(15_294_858_920_613_849_201, vec![9, 100, 7]), (2, vec![5, 6]), (7, vec![1])];
    assert_eq!(read(bank.file()), known);
    assert_eq!(bank.get(7), None, "what was recorded since it was opened is not looked at");
    assert_eq!(fs::read_dir(&paths.also_read[0]).unwrap().count(), 0, "what is read as well is never written");
}

#[test]
fn what_waits_to_be_profiled_is_filled_and_the_network_itself_only_where_nothing_waits() {
    let root = tempfile::tempdir().unwrap();
    let bank = GradientBank::open(&places(root.path()), &soc());
    let mut waiting = Bank::default();
    waiting.put(4, Gradients::placeholder());
    fs::write(bank.file(), waiting.render()).unwrap();
    bank.record(5, &gradients(&[1, 2]), true).unwrap();
    assert_eq!(read(bank.file()), [(4, vec![1, 2])], "as CANN's tuner does");
    bank.record(5, &gradients(&[3]), true).unwrap();
    assert_eq!(read(bank.file()), [(4, vec![1, 2]), (5, vec![3])]);
}

#[test]
fn a_damaged_bank_is_kept_beside_the_one_that_is_written() {
    let root = tempfile::tempdir().unwrap();
    let paths = places(root.path());
    let damaged = &TEXT[..TEXT.len() - 4];
    fs::write(paths.custom.join(NAME), damaged).unwrap();
    let bank = GradientBank::open(&paths, &soc());
    assert_eq!(bank.get(15_294_858_920_613_849_201), Some(&gradients(&[9, 100, 7])), "what is whole is used");
    bank.record(7, &gradients(&[1]), false).unwrap();
    assert_eq!(read(bank.file()), [(15_294_858_920_613_849_201, vec![9, 100, 7]), (7, vec![1])]);
    let others: Vec<PathBuf> = fs::read_dir(&paths.custom).unwrap().map(|entry| entry.unwrap().path()).collect();
    let kept = others.iter().find(|path| path.to_string_lossy().contains(".damaged-")).expect("a copy");
    assert_eq!(fs::read_to_string(kept).unwrap(), damaged);
}

#[test]
fn a_place_that_takes_no_bank_is_named_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let paths = places(root.path());
    assert!(GradientBank::open(&paths, &soc()).check_writable().is_ok());
    fs::create_dir(paths.custom.join(NAME)).unwrap();
    let error = GradientBank::open(&paths, &soc()).check_writable().unwrap_err();
    assert!(error.to_string().contains(NAME), "{error}");
    assert!(matches!(error, Error::Bank { .. } | Error::Directory { .. }), "{error:?}");
}
