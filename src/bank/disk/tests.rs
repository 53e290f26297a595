//! What a disk does with links, directories and what is not there.

use super::*;

#[test]
fn a_directory_that_is_still_to_be_made_is_judged_by_where_it_would_lie() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    DISK.check_writable(directory.path()).unwrap();
    DISK.check_writable(&directory.path().join("deep/down")).unwrap();
    let error = DISK.check_writable(&file.join("deep/down")).unwrap_err().to_string();
    assert!(error.contains("file") && error.contains("no directory"), "{error}");
    assert!(!directory.path().join("deep").exists(), "nothing is made");
}

#[test]
fn links_lead_to_their_target_be_it_there_or_not_and_circles_end() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for (name, to) in [("a", "b"), ("b", "there/c"), ("x", "y"), ("y", "x")] {
        std::os::unix::fs::symlink(to, at(name)).unwrap();
    }
    assert_eq!(DISK.target(&at("a")).unwrap(), at("there/c"));
    assert_eq!(DISK.target(&at("plain")).unwrap(), at("plain"));
    assert!(DISK.target(&at("x")).is_err());
}

#[test]
fn what_is_not_there_is_none_and_what_cannot_be_reached_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let file = File::create(at("file")).unwrap();
    assert_eq!(DISK.read(&at("none")).unwrap(), None);
    assert_eq!(DISK.identity(&at("none")).unwrap(), None);
    DISK.check_file(&at("none")).unwrap();
    assert!(DISK.lock(&at("none"), false).unwrap().is_none());
    assert!(!at("none").exists());
    assert!(!is_current(&file, &at("none")).unwrap());
    // A path through what is no directory.
    let beyond = at("file/beyond");
    assert!(DISK.read(&beyond).is_err());
    assert!(DISK.identity(&beyond).is_err());
    assert!(DISK.check_file(&beyond).is_err());
    assert!(DISK.lock(&beyond, false).is_err());
    assert!(DISK.create(&at("new"), &beyond).is_err());
    assert!(DISK.sync_directory(&at("none")).is_err());
    assert!(is_current(&file, &beyond).is_err());
    // A directory is neither absent nor a file.
    for error in [
        DISK.read(directory.path()).map(drop),
        DISK.check_file(directory.path()),
        DISK.lock(directory.path(), true).map(drop),
    ] {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_file_is_itself_by_all_of_its_names_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let open = File::create(at("a")).unwrap();
    std::fs::hard_link(at("a"), at("b")).unwrap();
    std::fs::write(at("c"), "").unwrap();
    let identity = |name: &str| DISK.identity(&at(name)).unwrap().unwrap();
    assert_eq!(identity("a"), identity("b"));
    assert_ne!(identity("a"), identity("c"));
    assert!(is_current(&open, &at("b")).unwrap());
    assert!(!is_current(&open, &at("c")).unwrap());
}

#[test]
fn the_files_of_a_directory_are_the_regular_ones() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["a", ".b"] {
        std::fs::write(at(name), "").unwrap();
    }
    std::fs::create_dir(at("c")).unwrap();
    std::os::unix::fs::symlink("a", at("d")).unwrap();
    let mut files = DISK.files(directory.path());
    files.sort();
    assert_eq!(files, [at(".b"), at("a")]);
    assert_eq!(DISK.files(&at("none")), [""; 0].map(PathBuf::from));
}

#[test]
fn a_new_file_may_do_what_the_one_that_it_is_like_may_and_lends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let mode = |name: &str| at(name).metadata().unwrap().mode() & 0o7777;
    for (number, (like, expected)) in [(0o600, 0o600), (0o6755, 0o755), (0o666, 0o666)].into_iter().enumerate() {
        std::fs::write(at("like"), "").unwrap();
        std::fs::set_permissions(at("like"), Permissions::from_mode(like)).unwrap();
        DISK.create(&at(&number.to_string()), &at("like")).unwrap();
        assert_eq!(mode(&number.to_string()), expected);
    }
    let error = DISK.create(&at("like"), &at("none")).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}
