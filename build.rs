//! Names the shared library for the dynamic linker, writes the header that the Rust exports imply, against which
//! `tests/abi/main.rs` checks `include/aoe.h`, and writes what belongs to every installed copy: `scripts/install` lays
//! it down, and cargo-c does (`package.metadata.capi` in `Cargo.toml`).

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    link_arguments();
    generate_header();
    write_installed();
}

/// Arguments for the linker, which `scripts/shared-library` reads, too.
fn link_arguments() {
    println!("cargo:rerun-if-changed=cmake");
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    // A fuzzer defines its coverage hooks in the executable, so its shared library leaves them open.
    let fuzzing = env::var_os("CARGO_CFG_FUZZING").is_some();
    let text = filled("link-arguments");
    for argument in text.lines().filter(|line| !line.starts_with('#')) {
        if !(fuzzing && argument == "-Wl,-z,defs") {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
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

/// Writes `installed/` into `OUT_DIR`: `include/` and `share/` as they come to lie below a prefix, and beside them `aoe.pc`,
/// of which cargo-c writes one of its own from the same table of `Cargo.toml`.
fn write_installed() {
    let installed = out().join("installed");
    // Nothing stays of a file that is gone since the last build.
    let _ = fs::remove_dir_all(&installed);
    let write = |name: &str, bytes: &[u8]| {
        let file = installed.join(name);
        fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("OUT_DIR is writable");
        fs::write(file, bytes).expect("OUT_DIR is writable");
    };
    for header in files(&root().join("include")) {
        let name = header.file_name().expect("a file has a name").to_string_lossy();
        write(&format!("include/{name}"), &fs::read(&header).expect("the files in include are readable"));
    }
    for name in ["aoeConfig.cmake", "aoeConfigVersion.cmake"] {
        write(&format!("share/cmake/aoe/{name}"), filled(&format!("{name}.in")).as_bytes());
    }
    write("aoe.pc", pkg_config().as_bytes());
    println!("cargo:rerun-if-changed=include");
    println!("cargo:rerun-if-changed=Cargo.toml");
}

/// A file of `cmake/`, with its `@NAMES@` replaced.
fn filled(name: &str) -> String {
    let read =
        |name: &str| fs::read_to_string(root().join("cmake").join(name)).expect("the files in cmake are readable");
    read(name)
        .replace("@VERSION@", &variable("CARGO_PKG_VERSION"))
        .replace("@MAJOR@", &variable("CARGO_PKG_VERSION_MAJOR"))
        .replace("@STATIC_LIBS@", read("static-libs").trim())
}

/// What pkg-config is told, by the table that cargo-c reads. Where it is installed, only `scripts/install` knows.
fn pkg_config() -> String {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml is readable");
    let manifest: toml::Table = manifest.parse().expect("Cargo.toml is TOML");
    let table = ["package", "metadata", "capi", "pkg_config"]
        .iter()
        .try_fold(&manifest, |table, key| table.get(*key)?.as_table())
        .expect("Cargo.toml has package.metadata.capi.pkg_config");
    let said = |key: &str| table.get(key).map(|value| value.as_str().expect("it says texts").to_owned());
    let needed = |name: &str, key: &str| said(key).map(|packages| format!("{name}: {packages}\n")).unwrap_or_default();
    let libraries = filled("static-libs").trim().replace(';', " -l");
    format!(
        "prefix=@PREFIX@\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/@LIBDIR@\n\n\
         Name: {}\nDescription: {}\nVersion: {}\nCflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -laoe\nLibs.private: -l{libraries}\n{}{}",
        said("name").unwrap_or_else(|| variable("CARGO_PKG_NAME")),
        said("description").unwrap_or_else(|| variable("CARGO_PKG_DESCRIPTION")),
        said("version").unwrap_or_else(|| variable("CARGO_PKG_VERSION")),
        needed("Requires", "requires"),
        needed("Requires.private", "requires_private"),
    )
}

fn root() -> PathBuf {
    PathBuf::from(variable("CARGO_MANIFEST_DIR"))
}

fn out() -> PathBuf {
    PathBuf::from(variable("OUT_DIR"))
}

/// A variable that cargo sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("cargo sets {name}: {error}"))
}

/// The files of a directory that may export something, in a fixed order.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = files(directory);
    files.retain(|f| f.extension().is_some_and(|e| e == "rs") && f.file_stem().is_some_and(|s| s != "tests"));
    files
}

/// The files of a directory, in a fixed order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<_> = entries.map(|e| e.expect("a folder of the source is readable").path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}
