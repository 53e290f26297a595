//! Building stand-ins with this machine's C compiler.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// A call of the compiler that makes a shared library, to which sources and flags are added.
pub fn shared_library(standard: &str, library: &Path) -> Command {
    let mut compiler = program(standard, library);
    compiler.args(["-shared", "-fPIC"]);
    compiler
}

/// A call of the compiler that makes a program, to which sources and flags are added.
pub fn program(standard: &str, program: &Path) -> Command {
    let mut compiler = Command::new("cc");
    compiler.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(program);
    compiler
}

/// Runs the compiler; `None`, said aloud, where there is none. Fails where it finds fault.
pub fn run(compiler: &mut Command) -> Option<()> {
    match compiler.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("SKIPPED: no C compiler (cc) to build the stand-in with");
            None
        }
        built => {
            let built = built.unwrap();
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            Some(())
        }
    }
}
