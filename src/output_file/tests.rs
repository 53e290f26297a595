//! Properties of files that are replaced whole.

use super::{check, create_whole, replace};
use std::fs;

#[test]
fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.air");
    for content in [&b"one"[..], b"", b"three"] {
        replace(&path, content).unwrap();
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_new_file_is_whole_and_takes_nobody_s_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("aoe_result.json");
    create_whole(&path, b"[]").unwrap();
    assert_eq!(create_whole(&path, b"other").unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"[]");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_named_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("no/such/out.air"), dir.path().join("..")] {
        let message = replace(&path, b"x").unwrap_err().to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
    fs::write(dir.path().join("file"), "").unwrap();
    for path in [dir.path().to_owned(), dir.path().join("file/out.air"), dir.path().join("file/no/out.air")] {
        let message = check(&path).unwrap_err().to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
    check(&dir.path().join("no/such/out.air")).unwrap();
    fs::remove_file(dir.path().join("file")).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
