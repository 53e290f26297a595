//! Programs in C and C++ that are measured beside: a client of the C interface, and a loader as CANN's.

use super::records::key;
use super::row;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Compiles a source of this folder; `Err` says why that failed.
fn compile(directory: &Path, variable: &str, compiler: &str, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let program = directory.join(source.replace('.', "-"));
    let compiler = std::env::var(variable).unwrap_or_else(|_| compiler.into());
    let mut command = Command::new(&compiler);
    command.arg("-O2").arg(format!("{ROOT}/benches/bank/{source}")).arg("-o").arg(&program).args(flags);
    let output = command.output().map_err(|e| format!("{compiler}: {e}"))?;
    if output.status.success() {
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().find(|line| line.contains("error")).unwrap_or(said.trim()).to_owned())
}

/// Runs a program and prints its figures: a line is a name, a tab, a value, and a tab and a goal where it has one.
fn run(who: &str, command: &mut Command) {
    let output = command.output().expect("a program that was compiled can be run");
    assert!(output.status.success(), "{who}: {}", String::from_utf8_lossy(&output.stderr));
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        row(&format!("{who}: {}", field()), field(), field());
    }
}

/// The library that was built for this measurement.
fn library() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.ancestors().skip(1).take(2).map(|folder| folder.join("libaoe.so")).find(|path| path.is_file())
}

/// Measures both programs on a bank of so many records; says so where one cannot be compiled.
pub fn compare(directory: &Path, bank: &Path, count: u64) {
    let mut random = fastrand::Rng::with_seed(1);
    let keys: Vec<u8> = (0..200_000).flat_map(|_| key(random.u64(0..count))).collect();
    let key_file = directory.join("keys");
    std::fs::write(&key_file, keys).expect("the folder can be written");
    let include = format!("-I{ROOT}/include");
    match (compile(directory, "CC", "cc", "client.c", &[&include, "-pthread", "-ldl"]), library()) {
        (Ok(client), Some(library)) => run("C", Command::new(client).arg(library).arg(bank).arg(&key_file)),
        (Err(why), _) => println!("C interface: skipped, the client does not compile: {why}"),
        (_, None) => println!("C interface: skipped, libaoe.so was not built beside this program"),
    }
    match compile(directory, "CXX", "c++", "loader.cpp", &["-std=c++17", "-pthread"]) {
        Ok(loader) => run("C++, nlohmann/json", Command::new(loader).arg(bank).arg(&key_file)),
        Err(why) => {
            println!("C++ beside it: skipped, it does not compile (apt-get install g++ nlohmann-json3-dev): {why}");
        }
    }
}
