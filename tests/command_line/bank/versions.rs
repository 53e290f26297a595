//! Files that earlier versions wrote, which every later one reads.

use super::{Answer, Place};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders, one for each version.
fn versions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert!(!found.is_empty());
    found
}

fn aoe(place: &Place, arguments: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
    command.args(arguments).current_dir(place.0.path()).env_clear();
    Answer::of(command.output().unwrap())
}

/// Copies a folder, hidden files too.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

#[test]
fn banks_of_every_version_are_read_whole_and_merged_without_a_loss() {
    for version in versions() {
        let place = Place::new();
        copy(&version.join("bank"), &place.path("old"));
        let verified = place.run(&["verify", "old", "--strict"]).says(0, &[]);
        let files = verified.stdout.lines().filter(|line| line.contains(" judged: ")).count();
        assert!(files >= 4, "{verified:#?}");
        let shown = place.run(&["show", "old", "--json"]).json();
        assert!(shown.len() >= 4, "{version:?}");
        // What a version measured stays known: the side files are read.
        assert!(shown.iter().any(|record| record["measured"]["after_us"].is_number()), "{:?}", shown.first());
        place.run(&["merge", "old", "--into", "new"]).says(0, &[]);
        place.run(&["diff", "old", "new"]).says(0, &["0 only in A, 0 only in B, 0 differ"]);
    }
}

/// The test above sees what a version could no longer read.
#[test]
fn a_bank_of_a_version_that_is_not_read_whole_is_found_out() {
    for version in versions() {
        let place = Place::new();
        copy(&version.join("bank"), &place.path("old"));
        let files = place.run(&["verify", "old", "--strict"]).says(0, &[]).stdout;
        let files: Vec<_> = files.lines().filter_map(|line| line.split_once(" judged: ")).collect();
        for (said, _) in files {
            let path = place.path(said.split_once(": ").map_or(said, |(file, _)| file));
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            let verified = place.run(&["verify", "old", "--strict"]);
            assert_ne!(verified.status, Some(0), "{said}: {verified:#?}");
            std::fs::write(&path, whole).unwrap();
        }
    }
}

#[test]
fn results_of_every_version_make_a_page_and_are_compared() {
    for version in versions() {
        let place = Place::new();
        copy(&version.join("results"), &place.path("results"));
        aoe(&place, &["report", "results"]).says(0, &[]);
        assert!(place.path("results/report.html").is_file());
        let results = version.join("results");
        aoe(&place, &["compare", results.to_str().unwrap(), "results", "--fail-below=0"]).says(0, &[]);
        let mut entries = std::fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().path());
        let file = entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("aoe_result_")).unwrap();
        aoe(&place, &["compare", file.to_str().unwrap(), file.to_str().unwrap()]).says(0, &["0 slower"]);
    }
}
