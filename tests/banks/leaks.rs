//! A fault that ended a tuning leaves nothing behind in its process: no descriptor, no thread, no temporary file, no memory.
//!
//! `LIBAOE_TEST_FAULTS` says at how many places of each kind of call (2; 0 for at every one). Failed allocations are not among
//! them: the small ones end the process, as `aoe.h` says.

use crate::cc;
use crate::faults::{MEAN, OPERATORS, PLACES};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs `leaks.c`; `None` (said aloud) without a C compiler.
fn run(network: &str, job: [&str; 2], places: &str, plant: &str) -> Option<Output> {
    let place = TempDir::with_prefix("leaks-").unwrap();
    let at = |name: &str| place.path().join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    cc::run(cc::shared_library("gnu99", &at("faults.so")).arg(sources.join("tests/banks/faults.c")))?;
    // The library names itself by its version where it is linked.
    let library = std::env::current_exe().unwrap().with_file_name("libaoe.so");
    for name in ["libaoe.so", concat!("libaoe.so.", env!("CARGO_PKG_VERSION_MAJOR"))] {
        std::os::unix::fs::symlink(&library, at(name)).unwrap();
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(at("leaks"));
    compiler.arg("-I").arg(sources.join("include")).arg(sources.join("tests/banks/leaks.c"));
    cc::run(compiler.args([at("faults.so"), at("libaoe.so")]))?;
    fs::write(at("net.txt"), network).unwrap();
    fs::create_dir(at("run")).unwrap();
    let mut leaks = Command::new(at("leaks"));
    leaks.arg(at("net.txt")).args(job).args([places, plant]).current_dir(at("run"));
    leaks
        .env("HOME", at("run"))
        .env("FAULT_CLASS", "open")
        .env("LD_LIBRARY_PATH", place.path())
        .env_remove("ASCEND_WORK_PATH");
    Some(leaks.output().unwrap())
}

fn check(network: &str, job: [&str; 2]) {
    let places = std::env::var(PLACES).unwrap_or_else(|_| "2".into());
    let Some(ended) = run(network, job, &places, "") else { return };
    let said = String::from_utf8_lossy(&ended.stdout);
    println!("{said}");
    assert!(ended.status.success(), "{}: {said}{}", ended.status, String::from_utf8_lossy(&ended.stderr));
    assert!(!said.contains("which 0 ended"), "the faults do not arrive: {said}");
}

#[test]
fn faults_of_a_tuning_of_operators_leave_nothing_behind() {
    check(OPERATORS, ["2", "Ascend910B2"]);
}

#[test]
fn faults_of_a_tuning_of_subgraphs_leave_nothing_behind() {
    check(MEAN, ["1", "Ascend310P3"]);
}

/// The campaign is live: what is left behind is found out.
#[test]
fn what_a_fault_leaves_behind_is_found_out() {
    for (plant, finds) in [
        ("descriptor", "open that does 24, 1 times: descriptors"),
        ("thread", "threads 4 to 5"),
        ("file", "1 temporary files"),
        ("memory", "memory that nobody gives back"),
    ] {
        let Some(ended) = run(MEAN, ["1", "Ascend310P3"], "1", plant) else { return };
        let said = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(1), "{plant}: {said}{}", String::from_utf8_lossy(&ended.stderr));
        assert!(said.contains(finds), "{plant}: {said}");
    }
}
