//! `aoe bank repair`: what would not compute goes, and nothing else happens.

use super::*;
use std::io::{BufRead, BufReader};

/// A record with digits that have no kernel.
fn broken() -> Value {
    changed(&[("knowledge/tilingEnable", json!(4))])
}

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn repair_rehearses_under_either_spelling_and_keeps_a_copy() {
    let place = Place::new();
    let broken = changed(&[("knowledge/tilingEnable", json!(4))]);
    let before = lines(&[record(), broken]);
    let path = place.file(NAME, &before);
    place.run(&["repair", "none"]).says(2, &["EG0011", "cannot open file none"]);
    for rehearsal in ["--dry-run", "--dry_run"] {
        place.run(&["repair", "--all", rehearsal, NAME]).says(1, &[NAME]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "{rehearsal} writes nothing");
    }
    place.run(&["repair", "--all", NAME]).says(0, &["1 records taken out, no other would fail"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(&[record()]));
    assert_eq!(std::fs::read_to_string(place.path(&format!("{NAME}.before-repair-1"))).unwrap(), before);
}

#[test]
fn a_file_that_is_not_there_is_an_error_and_nothing_is_made() {
    let place = Place::new();
    let below = format!("sub/{NAME}");
    std::os::unix::fs::symlink(place.path(&below), place.path(NAME)).unwrap();
    for rehearsal in [&["repair"][..], &["repair", "--dry-run"]] {
        for path in [below.as_str(), NAME] {
            place.run(&[rehearsal, &[path]].concat()).says(2, &[path]);
        }
    }
    assert_eq!(names(&place), [NAME], "no folder, no `.aoe`");
    std::fs::create_dir(place.path("empty")).unwrap();
    place.run(&["repair", "empty"]).says(2, &["no bank file lies there or below"]);
}

#[test]
fn a_good_file_is_left_without_a_trace() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    place.run(&["repair", NAME]).says(0, &["0 records taken out, no other would fail"]);
    assert_eq!(names(&place), [NAME]);
}

#[test]
fn what_a_killed_repair_left_goes_with_the_next_one_though_nothing_is_taken_out() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    let copy = format!("{NAME}.before-repair-1");
    place.file(&copy, lines(&[broken()]));
    let left = [format!(".{NAME}.tmp"), format!(".{NAME}.before-repair-2.tmp")];
    for name in &left {
        place.file(name, "half of a li");
    }
    place.run(&["repair", "--dry-run", NAME]).says(0, &[]);
    assert!(left.iter().all(|name| place.path(name).exists()), "a rehearsal removes nothing");
    place.run(&["repair", NAME]).says(0, &["0 records taken out"]);
    assert_eq!(names(&place), [".aoe", NAME, &copy]);
}

#[test]
fn a_file_with_an_error_is_named_and_does_not_keep_the_others_of_its_folder() {
    let place = Place::new();
    let (no_core, unknown) = (NAME.replace("B2_24", "B2_0"), NAME.replace("Ascend910B2", "Ascend000"));
    let last = NAME.replace("Ascend910B2", "Ascend910B4").replace("_24_", "_20_");
    for name in [NAME, &no_core, &unknown, &last] {
        place.file(name, lines(&[broken()]));
    }
    place.run(&["repair", "--all", "."]).says(2, &[&no_core, "no AI Core", &unknown, "Ascend910B4"]);
    for (name, left) in [(NAME, 0), (&last, 0), (&no_core, 1), (&unknown, 1)] {
        assert_eq!(std::fs::read_to_string(place.path(name)).unwrap().lines().count(), left, "{name}");
    }
}

#[test]
fn what_lies_under_another_operators_name_is_judged_and_taken_out_alike() {
    let place = Place::new();
    let name = NAME.replace("MatMulV3", "AAAA");
    let path = place.file(&name, lines(&[record(), broken()]));
    place.run(&["verify", &name]).says(1, &["refused: on", "`aoe bank repair --all` takes it out"]);
    place.run(&["repair", &name]).says(1, &["0 records taken out, 1 that would fail left (--all takes them out too)"]);
    place.run(&["repair", "--all", &name]).says(0, &["1 records taken out, no other would fail"]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), lines(&[record()]));
}

#[test]
fn an_interrupt_lets_the_file_at_work_come_to_its_end() {
    let place = Place::new();
    let path = place.file(NAME, lines(&[broken()]));
    let held = std::fs::File::open(&path).unwrap();
    held.lock().unwrap();
    let last = NAME.replace("Ascend910B2", "Ascend910B4");
    place.file(&last, lines(&[broken()]));
    let mut repair = place.command(&["repair", "--all", NAME, &last]);
    let mut child = repair.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The lock of the folder is made once it listens.
    while !place.path(".aoe/lock").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the file");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("interrupted: the file at work is brought to its end"), "{said}");
    held.unlock().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    assert_eq!(std::fs::read_to_string(place.path(&last)).unwrap(), lines(&[broken()]), "the next is not begun");
    assert_eq!(names(&place), [".aoe", NAME, &format!("{NAME}.before-repair-1"), &last]);
}
