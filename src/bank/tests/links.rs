//! Links on the way to a bank, and in its hidden folder, that somebody else may have laid.

use super::disk::{give_away, paths_in};
use super::*;
use crate::bank::{DISK, KnownTrial, KnownTrials, Storage};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_way_by_a_link_that_another_user_laid_where_all_may_write_is_not_gone() {
    let place = tempfile::tempdir().unwrap();
    let (shared, precious) = (place.path().join("shared"), place.path().join("precious"));
    fs::create_dir(&shared).unwrap();
    fs::create_dir(&precious).unwrap();
    let link = shared.join("unified_bank");
    symlink("../precious/./.", &link).unwrap();
    set_mode(&shared, 0o1777);
    let new = link.join("sub").join(FILE);
    assert_eq!(DISK.target(&new).unwrap(), new, "one's own way is gone");
    if !give_away(&link) {
        return;
    }
    let round = shared.join("../shared/unified_bank").join(FILE);
    for path in [&new, &round] {
        for error in [DISK.target(path).unwrap_err(), DISK.read(path).unwrap_err(), DISK.lock(path, true).unwrap_err()]
        {
            assert!(error.to_string().contains("unified_bank is a link of user 65534's"), "{error}");
        }
    }
    assert!(
        OperatorBank::open(paths_in(&link), &soc()).record(&product_of(128), &tiling(128, 64), &measured(1.0)).is_err()
    );
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
    set_mode(&shared, 0o2775);
    assert_eq!(DISK.target(&new).unwrap(), new, "a group says where its bank lies");
}

#[test]
fn links_that_lead_round_are_an_error() {
    let place = tempfile::tempdir().unwrap();
    symlink(place.path().join("b"), place.path().join("a")).unwrap();
    symlink("a", place.path().join("b")).unwrap();
    assert!(DISK.target(&place.path().join("a").join(FILE)).is_err());
}

/// The folder of trials is emptied when a bank needs room: what else lies there, or where a link leads, stays.
#[test]
fn trials_are_neither_written_nor_removed_where_another_users_link_leads() {
    let place = tempfile::tempdir().unwrap();
    let (own, precious) = (place.path().join(".aoe"), place.path().join("precious"));
    fs::create_dir(&own).unwrap();
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis"), "years").unwrap();
    fs::write(precious.join("0123456789abcdef.jsonl.gz"), "mine").unwrap();
    let link = own.join(format!("{FILE}.trials"));
    symlink(&precious, &link).unwrap();
    let known = KnownTrials {
        search: String::new(),
        trials: vec![KnownTrial { schedule: tiling(128, 64), us: Some(1.0) }],
        dropped: 0,
    };
    let names = || fs::read_dir(&precious).unwrap().count();
    let trials = OperatorBank::open(paths_in(place.path()), &soc()).trials();
    if give_away(&link) {
        set_mode(&own, 0o777);
        let error = trials.write(&product_of(128), "simulator", &known).unwrap_err().to_string();
        assert!(error.contains("is a link of user 65534's"), "{error}");
        assert!(!trials.give_up(FILE) && names() == 2);
        set_mode(&own, 0o755);
    }
    trials.write(&product_of(128), "simulator", &known).unwrap();
    assert_eq!(names(), 3, "nobody else could have laid it");
    assert!(trials.give_up(FILE), "trials are given up");
    assert_eq!(fs::read_to_string(precious.join("thesis")).unwrap(), "years");
    assert_eq!(names(), 1);
}
