//! Files and folders that belong together appear together, whatever ends their writer at which step.

use crate::cc;
use aoe::output_file::{Patience, Publication, sweep};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// More steps than a publication has.
const MOST_STEPS: usize = 500;
/// Places of two files that are replaced, one that is new in a folder that is new, and one that goes.
const OLD: [&str; 3] = ["report", "page", "parts/gone"];
const FILES: [&str; 3] = ["report", "page", "parts/new"];
const FOLDERS: [&str; 2] = ["before/profile", "after/profile"];

/// What the child does, in the directory that `PUBLISH` names.
fn publish(place: &Path) -> aoe::status::Result<()> {
    let mut publication = Publication::new();
    for file in FILES {
        publication.file(&place.join(file), b"new")?;
    }
    for folder in FOLDERS {
        let unfinished = publication.folder(&place.join(folder))?;
        for file in ["one", "deep/two"] {
            Publication::write(&unfinished.join(file), b"new")?;
        }
    }
    publication.lock(place, &Patience::default())?;
    publication.retire(place.join("parts/gone"));
    publication.commit()
}

#[test]
#[ignore = "the child of the other tests"]
fn child() {
    if let Err(error) = publish(&PathBuf::from(std::env::var_os("PUBLISH").unwrap())) {
        println!("FAILED {error}");
        std::process::exit(3);
    }
}

/// A library that stands before the C library, at a path without spaces; `None` (said aloud) without a C compiler.
fn steps(place: &TempDir) -> Option<PathBuf> {
    let library = place.path().join("steps.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/banks/steps.c");
    cc::run(cc::shared_library("gnu99", &library).arg(source).arg("-ldl"))?;
    Some(library)
}

/// A folder with the old files.
fn old(place: &TempDir, name: &str) -> PathBuf {
    let folder = place.path().join(name);
    fs::create_dir_all(folder.join("parts")).unwrap();
    for file in OLD {
        fs::write(folder.join(file), "old").unwrap();
    }
    folder
}

fn run(steps: &Path, folder: &Path, variables: &[(&str, &str)]) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["publication::child", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("PUBLISH", folder);
    child.env("LD_PRELOAD", steps).envs(variables.iter().copied()).output().unwrap()
}

/// All paths below a folder.
fn paths(folder: &Path) -> BTreeSet<PathBuf> {
    let mut open = vec![folder.to_owned()];
    let mut found = BTreeSet::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            found.insert(path.strip_prefix(folder).unwrap().to_owned());
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

fn is_unfinished(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(".aoe"))
}

/// Every file is the old or the new one, whole; of the folders there is none, or all of both, or the first one alone
/// for the moment between two renames. Answers how many pieces are new.
fn check(folder: &Path, step: usize) -> usize {
    let content = |file: &str| fs::read_to_string(folder.join(file)).ok();
    for file in ["report", "page"] {
        assert!(["old", "new"].map(|text| Some(text.to_owned())).contains(&content(file)), "{file} at step {step}");
    }
    let is_whole = |profile: &str| {
        let files = ["one", "deep/two"].map(|file| content(&format!("{profile}/{file}")));
        assert!(files == [None, None] || files.iter().all(|text| text.as_deref() == Some("new")), "step {step}");
        files[0].is_some()
    };
    let [before, after] = FOLDERS.map(is_whole);
    assert!(before || !after, "one without its before at step {step}");
    let files = FILES.iter().filter(|file| content(file).as_deref() == Some("new")).count();
    assert!(files == 0 || (before && after), "a file tells of folders that are not there at step {step}");
    assert!(content("parts/gone").is_some() || files == FILES.len(), "removed too early at step {step}");
    files + usize::from(before) + usize::from(after)
}

#[test]
fn a_kill_at_any_step_leaves_whole_files_and_the_next_publication_clears_away() {
    let place = TempDir::with_prefix("publication-").unwrap();
    let Some(library) = steps(&place) else { return };
    let mut seen = BTreeSet::new();
    for step in 1..MOST_STEPS {
        let folder = old(&place, &format!("kill {step}"));
        let child = run(&library, &folder, &[("STEP", &step.to_string())]);
        seen.insert(check(&folder, step));
        if child.status.success() {
            assert!(step > 20 && seen.len() >= FILES.len() + FOLDERS.len(), "{step} steps, {seen:?}");
            return;
        }
        assert_eq!(child.status.signal(), Some(9), "{child:?}");
        // Who was killed before it had said that it lives is given ten minutes.
        for path in paths(&folder).iter().map(|path| folder.join(path)) {
            let is_shelf = path.is_dir() && is_unfinished(path.file_name().unwrap().as_ref());
            if is_shelf && !path.join(".aoe-owner").exists() {
                let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(1200);
                fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
            }
        }
        for profile in FOLDERS {
            let _ = fs::remove_dir_all(folder.join(profile));
        }
        publish(&folder).unwrap();
        assert_eq!(check(&folder, step), 5);
        let left: Vec<_> = paths(&folder).into_iter().filter(|path| is_unfinished(path)).collect();
        assert!(left.is_empty(), "left at step {step}: {left:?}");
    }
    panic!("{MOST_STEPS} steps were not enough");
}

#[test]
fn an_error_before_the_first_rename_changes_nothing_and_none_leaves_anything_unfinished() {
    let place = TempDir::with_prefix("publication-").unwrap();
    let Some(library) = steps(&place) else { return };
    let mut whole = 0;
    for step in 1..MOST_STEPS {
        let folder = old(&place, &format!("full {step}"));
        let before = paths(&folder);
        // ENOSPC.
        let child = run(&library, &folder, &[("STEP", &step.to_string()), ("ERROR", "28")]);
        if child.status.success() {
            assert!(whole > 20, "{whole} of {step}");
            return;
        }
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.code() == Some(3) && said.contains("No space left"), "{child:?}");
        assert!(said.contains(folder.to_str().unwrap()), "it names the place: {said}");
        let after = paths(&folder);
        assert!(!after.iter().any(|path| is_unfinished(path)), "step {step}: {after:?}");
        let is_old = OLD.iter().all(|file| fs::read_to_string(folder.join(file)).is_ok_and(|text| text == "old"));
        if is_old {
            assert_eq!(after, before, "step {step}");
            whole += 1;
        }
    }
    panic!("{MOST_STEPS} steps were not enough");
}

#[test]
fn without_locks_everything_is_written_and_said_once() {
    let place = TempDir::with_prefix("publication-").unwrap();
    let Some(library) = steps(&place) else { return };
    let folder = old(&place, "no locks");
    let child = run(&library, &folder, &[("FLOCK", "no")]);
    assert!(child.status.success(), "{child:?}");
    assert_eq!(check(&folder, 0), 5);
    // Nobody knows whether such a writer lives, so what it is at stays.
    let killed = run(&library, &folder.join("next"), &[("FLOCK", "no"), ("STEP", "12")]);
    assert_eq!(killed.status.signal(), Some(9));
    let unfinished = |folder: &Path| paths(folder).into_iter().filter(|path| is_unfinished(path)).count();
    assert!(unfinished(&folder) > 0);
}

#[test]
fn publications_of_several_processes_at_once_leave_the_files_of_one() {
    let place = TempDir::with_prefix("publication-").unwrap();
    let folder = place.path().join("shared");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                for round in 0..20 {
                    let mut publication = Publication::new();
                    let text = format!("{writer} {round}");
                    for file in ["a", "b", "sub/c"] {
                        publication.file(&folder.join(file), text.as_bytes()).unwrap();
                    }
                    publication.lock(folder, &Patience::default()).unwrap();
                    publication.retire(folder.join("sub/earlier"));
                    publication.commit().unwrap();
                }
            });
        }
    });
    let texts: BTreeSet<_> = ["a", "b", "sub/c"].map(|file| fs::read_to_string(folder.join(file)).unwrap()).into();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(paths(&folder).len(), 4);
}

#[test]
fn what_is_given_up_leaves_nothing_and_what_was_there_stays() {
    let place = TempDir::new().unwrap();
    fs::create_dir(place.path().join("mine")).unwrap();
    let mut publication = Publication::new();
    publication.file(&place.path().join("mine/a/b/file"), b"x").unwrap();
    sweep(&place.path().join("mine/a/b"));
    assert_eq!(paths(place.path()).len(), 6, "the living one's is not swept");
    drop(publication);
    assert_eq!(paths(place.path()), BTreeSet::from([PathBuf::from("mine")]));
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_left() {
    let place = TempDir::new().unwrap();
    let way = place.path().join("file");
    fs::write(&way, "mine").unwrap();
    std::os::unix::fs::symlink("nowhere", place.path().join("link")).unwrap();
    for (target, said) in [("file/x", "file"), ("file/a/x", "file"), ("link/x", "a link that leads nowhere")] {
        let error = Publication::new().file(&place.path().join(target), b"x").unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(place.path().to_str().unwrap()), "{error}");
    }
    assert!(Publication::new().folder(&way).unwrap_err().to_string().contains("exists"));
    // The second of two folders has no place: the first is taken back.
    let mut publication = Publication::new();
    for name in ["one", "two"] {
        Publication::write(&publication.folder(&place.path().join(name)).unwrap().join("in"), b"x").unwrap();
    }
    fs::create_dir_all(place.path().join("two/other")).unwrap();
    assert!(publication.commit().unwrap_err().to_string().contains("two"));
    assert_eq!(paths(place.path()).len(), 4, "{:?}", paths(place.path()));
}
