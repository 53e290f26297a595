//! Names the shared library for the dynamic linker and writes the header that the Rust exports imply,
//! against which `tests/abi/main.rs` checks `include/aoe.h`. For cargo-c it writes the `CMake` package.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    link_arguments();
    generate_header();
    if env::var_os("CARGO_FEATURE_CAPI").is_some() {
        generate_cmake_package();
    }
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
    let root = root();
    let mut sources = rust_files(&root.join("src/capi"));
    sources.extend(BELOW.iter().map(|file| root.join(file)));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in &sources {
        builder = builder.with_src(source);
    }
    let header = builder.generate().expect("src/capi holds declarations that C can express");
    header.write_to_file(out().join("aoe_generated.h"));
    println!("cargo:rerun-if-changed=src/capi");
    for file in BELOW {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-changed=cbindgen.toml");
}

fn root() -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
}

fn out() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}

/// Fills the templates that `scripts/install` fills as well. cargo-c lays them to `share/cmake/aoe`, and the library to one of
/// three folders.
fn generate_cmake_package() {
    let (cmake, target) = (root().join("cmake"), out().join("cmake"));
    let read = |name: &str| std::fs::read_to_string(cmake.join(name)).expect("the files in cmake are readable");
    let variable = |name: &str| env::var(name).expect("cargo sets the package's version");
    let (version, major, libraries) =
        (variable("CARGO_PKG_VERSION"), variable("CARGO_PKG_VERSION_MAJOR"), read("static-libs"));
    let filled = [
        ("@VERSION@", version.as_str()),
        ("@MAJOR@", &major),
        ("@LIBDIR@", "lib/${CMAKE_LIBRARY_ARCHITECTURE} lib64 lib"),
        ("@PREFIX_FROM_CMAKE@", "../../.."),
        ("@STATIC_LIBS@", libraries.trim()),
    ];
    std::fs::create_dir_all(&target).expect("OUT_DIR is writable");
    for name in ["aoeConfig.cmake", "aoeConfigVersion.cmake"] {
        let template = read(&format!("{name}.in"));
        let text = filled.iter().fold(template, |text, (from, to)| text.replace(from, to));
        std::fs::write(target.join(name), text).expect("OUT_DIR is writable");
    }
    println!("cargo:rerun-if-changed=cmake");
}

/// The files of a directory that may export something, in a fixed order.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("src/capi is readable");
    let mut files: Vec<_> = entries.map(|e| e.expect("src/capi is readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "rs") && f.file_stem().is_some_and(|s| s != "tests"));
    files.sort();
    files
}
