//! Names the shared library for the dynamic linker and writes the header that the Rust exports imply,
//! against which `tests/abi/main.rs` checks `include/aoe.h`.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    link_arguments();
    generate_header();
}

/// Plain cargo sets no SONAME. Its number is the major version: programs linked against one release run
/// with every later one of the same major version.
fn link_arguments() {
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let major = env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets CARGO_PKG_VERSION_MAJOR");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libaoe.so.{major}");
    // Code must stay mapped after dlclose: thread-local destructors and worker threads may outlive it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // The drop-in library exports CANN's ten names as well, with other parameters. Where a process holds it, the
    // table of functions here must not point there. (Only functions are exported; zig, which links wheels, knows no other
    // spelling.)
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // A fuzzer defines its coverage hooks in the executable, so its shared library leaves them open.
    if env::var_os("CARGO_CFG_FUZZING").is_none() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
    }
}

/// Files of lower floors that declare what C sees.
const BELOW: [&str; 2] = ["src/backend/plugin/table.rs", "crates/base/src/status.rs"];

/// Writes `aoe_generated.h` into `OUT_DIR`; the source tree is never written to.
fn generate_header() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let mut sources = rust_files(&root.join("src/capi"));
    sources.extend(BELOW.iter().map(|file| root.join(file)));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in &sources {
        builder = builder.with_src(source);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let header = builder.generate().expect("src/capi holds declarations that C can express");
    header.write_to_file(out.join("aoe_generated.h"));
    println!("cargo:rerun-if-changed=src/capi");
    for file in BELOW {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-changed=cbindgen.toml");
}

/// The files of a directory that may export something, in a fixed order.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("src/capi is readable");
    let mut files: Vec<_> = entries.map(|e| e.expect("src/capi is readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "rs") && f.file_stem().is_some_and(|s| s != "tests"));
    files.sort();
    files
}
