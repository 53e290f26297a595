//! Finding and asking an Ascend runtime, against a C stand-in built at test time.

use crate::cc;
use aoe::backend::ascend::{MEASURING, Outcome, Probe, probe};
use aoe::backend::{Choice, DEFAULT_SOC, Opened, Request, RuntimeEnv};
use aoe::status::{Error, Status};
use libloading::Library;
use std::cell::OnceCell;
use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The stand-in's `struct stub_state`.
#[repr(C)]
struct State {
    needs_init: i32,
    init_code: i32,
    count_code: i32,
    final_code: i32,
    devices: u32,
    soc: *const c_char,
    message: *const c_char,
    references: i32,
    init_calls: i32,
    final_calls: i32,
}

/// An install root with a stand-in runtime of its own, so that tests do not share state.
struct Install {
    root: TempDir,
    library: PathBuf,
    /// Kept open so that what is set stays set.
    handle: OnceCell<Library>,
}

impl Install {
    /// Builds `lib64/<name>` without the functions in `omit`; `None` (said aloud) without a C compiler.
    fn build(name: &str, omit: &[&str], flags: &[&str]) -> Option<Install> {
        let root = TempDir::with_prefix("ascend runtime ").unwrap();
        let folder = root.path().join("lib64");
        std::fs::create_dir(&folder).unwrap();
        let written_out = [
            "aclInit",
            "aclFinalize",
            "aclrtGetDeviceCount",
            "aclrtGetSocName",
            "aclrtGetVersion",
            "aclGetRecentErrMsg",
        ];
        let plain = MEASURING.iter().map(|s| s.name).filter(|n| !written_out.contains(n) && !omit.contains(n));
        let symbols: Vec<String> = plain.map(|name| format!("STUB({name})\n")).collect();
        std::fs::write(root.path().join("symbols.inc"), symbols.concat()).unwrap();
        let library = folder.join(name);
        let mut compiler = cc::shared_library("c99", &library);
        compiler
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ascend/runtime.c"))
            .arg("-I")
            .arg(root.path())
            .args(omit.iter().map(|name| format!("-DOMIT_{name}")))
            .args(flags);
        cc::run(&mut compiler)?;
        Some(Install { root, library, handle: OnceCell::new() })
    }

    fn usual() -> Option<Install> {
        Install::build("libascendcl.so", &[], &[])
    }

    /// An environment that finds this install and nothing else.
    fn env(&self) -> RuntimeEnv {
        RuntimeEnv { ascend_home_path: Some(self.root.path().to_owned()), ..RuntimeEnv::default() }
    }

    /// Sets or reads the stand-in's state.
    fn state<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: the stand-in is ours and has no constructors; `stub_state` has the layout of `State`,
        // and one test at a time uses it.
        unsafe {
            let library = self.handle.get_or_init(|| Library::new(&self.library).unwrap());
            let state = library.get::<*mut State>("stub_state").unwrap();
            change(&mut **state)
        }
    }

    fn open(&self, choice: &Choice) -> Result<String, Error> {
        open(choice, None, &self.env()).map(|opened| opened.note)
    }
}

fn open(choice: &Choice, soc_version: Option<&str>, env: &RuntimeEnv) -> Result<Opened, Error> {
    aoe::backend::open(&Request { choice: choice.clone(), soc_version, ..Request::default() }, env)
}

/// A C text that outlives the test.
fn text(value: &str) -> *const c_char {
    CString::new(value).unwrap().into_raw()
}

fn runtime_error(result: Result<String, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!((error.status(), error.id()), (Status::Backend, Some("EG0012")));
    error.to_string()
}

/// Runs one test of this file again in a process of its own, with variables that tell it so.
fn in_child(test: &str, variables: &[(&str, &Path)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("loader::{test}"), "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_runtime_is_found_and_says_what_it_is() {
    let Some(install) = Install::usual() else { return };
    let found = probe(&install.env()).runtime.expect("found");
    assert_eq!(found.path, install.library);
    assert_eq!(found.version, Some((1, 17, 0)));
    assert_eq!(found.devices, Ok(2));
    assert_eq!(found.soc_name.as_deref(), Ok("Ascend910B3"));
    assert!(found.missing.is_empty(), "{:?}", found.missing);
}

#[test]
fn auto_simulates_the_devices_soc_where_it_cannot_measure_and_says_why() {
    let Some(install) = Install::usual() else { return };
    let opened = open(&Choice::Auto, None, &install.env()).unwrap();
    assert_eq!(opened.backend.describe().name, "simulator");
    assert_eq!(opened.backend.soc().name, "Ascend910B3");
    // No program that measures lies beside a test.
    let found = install.library.to_str().unwrap();
    for part in ["simulator", "1.17.0", "2 device(s)", "not measured there", "measure_program", found] {
        assert!(opened.note.contains(part), "{part} in {}", opened.note);
    }
}

#[test]
fn ascend_is_refused_with_the_reason_where_it_cannot_measure() {
    let Some(install) = Install::usual() else { return };
    let message = runtime_error(install.open(&Choice::Ascend));
    assert!(message.contains("`aoe`, which measures candidates, was not found"), "{message}");
}

#[test]
fn ascend_without_a_runtime_names_every_path_tried() {
    let root = TempDir::new().unwrap();
    let env = RuntimeEnv::read(|name| match name {
        "ASCEND_HOME_PATH" => Some(root.path().join("home").into()),
        "ASCEND_TOOLKIT_HOME" => Some(root.path().join("toolkit").into()),
        "LD_LIBRARY_PATH" => Some(root.path().join("path").into()),
        "HOME" => Some(root.path().into()),
        _ => None,
    });
    // Whatever the machine has installed is not what this test is about.
    let env = RuntimeEnv { system_loader: false, install_roots: vec![root.path().join("Ascend")], ..env };
    let message = runtime_error(open(&Choice::Ascend, None, &env).map(|opened| opened.note));
    let arch = format!("{}-linux", std::env::consts::ARCH);
    for folder in [
        "home/lib64".to_owned(),
        format!("home/{arch}/lib64"),
        "toolkit/lib64".to_owned(),
        format!("toolkit/{arch}/lib64"),
        "path".to_owned(),
        "Ascend/cann/lib64".to_owned(),
        "Ascend/ascend-toolkit/latest/lib64".to_owned(),
        format!("Ascend/ascend-toolkit/latest/{arch}/lib64"),
    ] {
        let path = root.path().join(folder).join("libascendcl.so");
        assert!(message.contains(path.to_str().unwrap()), "{} in {message}", path.display());
    }
    assert!(open(&Choice::Auto, None, &env).unwrap().note.contains("no Ascend runtime"));
}

#[test]
fn each_missing_symbol_is_named() {
    for symbol in MEASURING {
        let Some(install) = Install::build("libascendcl.so", &[symbol.name], &[]) else { return };
        let found: Probe = probe(&install.env());
        match &found.runtime {
            Some(runtime) => assert_eq!(runtime.missing, [symbol.name]),
            None => assert_eq!(found.attempts[0].outcome, Outcome::Incomplete(vec![symbol.name.into()])),
        }
        let message = runtime_error(install.open(&Choice::Ascend));
        assert!(message.contains(&format!("lacks {}", symbol.name)), "{} in {message}", symbol.name);
    }
}

#[test]
fn a_symbol_is_found_in_the_library_of_the_split() {
    let Some(install) = Install::build("libascendcl.so", &["aclmdlUnload"], &[]) else { return };
    let Some(other) = Install::build("libacl_mdl.so", &[], &[]) else { return };
    std::fs::copy(&other.library, install.library.with_file_name("libacl_mdl.so")).unwrap();
    assert_eq!(probe(&install.env()).runtime.unwrap().missing, [""; 0]);
}

#[test]
fn the_split_runtime_alone_is_found() {
    let Some(install) = Install::build("libacl_rt.so", &[], &[]) else { return };
    assert_eq!(probe(&install.env()).runtime.unwrap().path, install.library);
}

#[test]
fn an_unusable_place_is_passed_over_for_a_usable_one() {
    let Some(install) = Install::usual() else { return };
    let Some(broken) = Install::build("libascendcl.so", &["aclInit"], &[]) else { return };
    let env = RuntimeEnv { ascend_toolkit_home: install.env().ascend_home_path, ..broken.env() };
    let found = probe(&env);
    assert_eq!(found.runtime.unwrap().path, install.library);
    assert_eq!(found.attempts[0].outcome, Outcome::Incomplete(vec!["aclInit".into()]));
}

#[test]
fn a_file_that_is_no_library_is_named_with_the_loaders_reason() {
    let root = TempDir::new().unwrap();
    let library = root.path().join("lib64/libascendcl.so");
    std::fs::create_dir(root.path().join("lib64")).unwrap();
    let env = RuntimeEnv { ascend_home_path: Some(root.path().to_owned()), ..RuntimeEnv::default() };
    for (content, words) in [
        (b"".as_slice(), "file too short"),
        (b"not a library at all", "file too short"),
        (&[b'x'; 4096], "invalid ELF header"),
        (b"\x7fELF\x02\x01\x01", "file too short"),
    ] {
        std::fs::write(&library, content).unwrap();
        let Outcome::Refused(reason) = &probe(&env).attempts[0].outcome else { panic!("{content:?} was loaded") };
        assert!(reason.contains(words), "{reason}");
        for choice in [Choice::Ascend, Choice::Auto] {
            let said = open(&choice, None, &env).map_or_else(|error| error.to_string(), |opened| opened.note);
            assert!(said.contains(reason) && said.contains(library.to_str().unwrap()), "{choice:?}: {said}");
        }
    }
}

#[test]
fn a_runtime_without_devices_names_no_soc() {
    let Some(install) = Install::usual() else { return };
    install.state(|state| state.devices = 0);
    let opened = open(&Choice::Auto, None, &install.env()).unwrap();
    assert_eq!(opened.backend.soc().name, DEFAULT_SOC);
    assert!(opened.note.contains("no device"), "{}", opened.note);
    assert!(runtime_error(install.open(&Choice::Ascend)).contains("no device"));
}

#[test]
fn a_device_of_an_unknown_soc_is_named_and_the_default_or_another_is_simulated() {
    let Some(install) = Install::usual() else { return };
    // Whatever bytes the name is of.
    for (name, said) in [(&b"Ascend999X"[..], "Ascend999X"), (b"Ascend\xff", "Ascend\u{fffd}")] {
        install.state(|state| state.soc = CString::new(name).unwrap().into_raw());
        for choice in [Choice::Auto, Choice::Simulator] {
            let opened = open(&choice, None, &install.env()).unwrap();
            assert_eq!(opened.backend.soc().name, DEFAULT_SOC);
            assert!(opened.note.contains(&format!("the device's `{said}` is unknown")), "{}", opened.note);
        }
        let opened = open(&Choice::Auto, Some("Ascend310P3"), &install.env()).unwrap();
        assert_eq!(opened.backend.soc().name, "Ascend310P3");
    }
}

#[test]
fn every_documented_code_is_reported_with_its_function() {
    let Some(install) = Install::usual() else { return };
    for code in [100_000, 100_039, 145_000, 200_002, 500_004, 507_008, -1] {
        install.state(|state| {
            state.count_code = code;
            state.message = text("driver is not there");
        });
        let message = runtime_error(install.open(&Choice::Ascend));
        for part in [&format!("aclrtGetDeviceCount returned {code}"), "driver is not there"] {
            assert!(message.contains(part), "{part} in {message}");
        }
        let note = install.open(&Choice::Auto).unwrap();
        assert!(note.contains(&code.to_string()) && note.contains("(default)"), "{note}");
    }
}

#[test]
fn a_failing_initialisation_is_reported_with_its_code() {
    let Some(install) = Install::usual() else { return };
    install.state(|state| {
        state.needs_init = 1;
        state.init_code = 100_039;
    });
    let message = runtime_error(install.open(&Choice::Ascend));
    assert!(message.contains("aclInit returned 100039 (a stub library for linking, not a runtime)"), "{message}");
}

#[test]
fn a_runtime_that_answers_at_once_is_never_initialised() {
    let Some(install) = Install::usual() else { return };
    install.open(&Choice::Auto).unwrap();
    assert_eq!(install.state(|s| (s.init_calls, s.final_calls)), (0, 0));
}

#[test]
fn an_initialisation_that_asking_needs_is_undone() {
    for flags in [[].as_slice(), &["-DCOUNTED"]] {
        let Some(install) = Install::build("libascendcl.so", &[], flags) else { return };
        install.state(|state| state.needs_init = 1);
        assert_eq!(probe(&install.env()).device_count(), Some(2));
        assert_eq!(install.state(|s| (s.init_calls, s.references)), (1, 0), "{flags:?}");
    }
}

#[test]
fn an_initialisation_by_the_host_stays_in_force() {
    for (flags, references) in [([].as_slice(), 2), (&["-DCOUNTED"], 1)] {
        let Some(install) = Install::build("libascendcl.so", &[], flags) else { return };
        // The host has initialised; no SoC name makes the probe try to.
        install.state(|state| {
            state.references = 1;
            state.soc = std::ptr::null();
        });
        let found = probe(&install.env());
        assert!(found.has_device() && found.device_soc().is_none());
        let after = install.state(|s| (s.init_calls, s.final_calls, s.references));
        assert_eq!(after, (1, 0, references), "{flags:?}");
    }
}

#[test]
fn a_finalisation_that_fails_is_reported() {
    let Some(install) = Install::usual() else { return };
    install.state(|state| {
        state.needs_init = 1;
        state.final_code = 500_003;
    });
    assert!(install.open(&Choice::Auto).unwrap().contains("aclFinalize returned 500003"));
}

#[test]
fn threads_that_probe_at_once_all_get_the_answer() {
    for flags in [[].as_slice(), &["-DCOUNTED"]] {
        let Some(install) = Install::build("libascendcl.so", &[], flags) else { return };
        install.state(|state| state.needs_init = 1);
        let env = install.env();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        assert_eq!(probe(&env).device_soc().map(|(name, _)| name), Some("Ascend910B3"));
                    }
                });
            }
        });
        assert_eq!(install.state(|s| s.references), 0, "{flags:?}");
    }
}

#[test]
fn a_device_id_that_the_machine_does_not_have_is_an_error() {
    let Some(install) = Install::usual() else { return };
    for (id, good) in [("0", true), ("1", true), ("2", false)] {
        let env = RuntimeEnv { device_id: Some(id.into()), ..install.env() };
        match open(&Choice::Auto, None, &env) {
            Ok(_) => assert!(good, "{id}"),
            Err(error) => {
                assert!(!good && error.id() == Some("EG0002"), "{id}: {error}");
                assert!(error.to_string().contains("ASCEND_DEVICE_ID"), "{error}");
            }
        }
    }
    let request = Request { devices: &[2], ..Request::default() };
    let error = aoe::backend::open(&request, &install.env()).err().unwrap();
    assert!(matches!(&error, Error::Option { option, .. } if option == "device"), "{error}");
}

#[test]
fn the_simulator_with_a_soc_touches_no_runtime() {
    let root = TempDir::new().unwrap();
    let marker = root.path().join("loaded");
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void load(void) {{ fclose(fopen({marker:?}, \"w\")); }}\n"
    );
    std::fs::create_dir(root.path().join("lib64")).unwrap();
    std::fs::write(root.path().join("marker.c"), code).unwrap();
    let mut compiler = cc::shared_library("c99", &root.path().join("lib64/libascendcl.so"));
    if cc::run(compiler.arg(root.path().join("marker.c"))).is_none() {
        return;
    }
    let env = RuntimeEnv { ascend_home_path: Some(root.path().to_owned()), ..RuntimeEnv::default() };
    open(&Choice::Simulator, Some(DEFAULT_SOC), &env).unwrap();
    assert!(!marker.exists());
    open(&Choice::Simulator, None, &env).unwrap();
    assert!(marker.exists(), "the marker would not have been written at all");
}

#[test]
fn a_runtime_that_the_host_has_loaded_is_preferred() {
    if let (Some(host), Some(other)) = (std::env::var_os("HOST_RUNTIME"), std::env::var_os("OTHER_ROOT")) {
        // SAFETY: the stand-in has no constructors.
        let _host = unsafe { Library::new(host) }.unwrap();
        let env = RuntimeEnv { ascend_home_path: Some(other.into()), system_loader: true, ..RuntimeEnv::default() };
        let found = probe(&env);
        assert_eq!(found.runtime.unwrap().path, Path::new("libascendcl.so"));
        assert_eq!(found.attempts.len(), 1, "{:?}", found.attempts);
        return;
    }
    let Some(host) = Install::build("libascendcl.so", &[], &["-Wl,-soname,libascendcl.so"]) else { return };
    let Some(other) = Install::usual() else { return };
    in_child(
        "a_runtime_that_the_host_has_loaded_is_preferred",
        &[("HOST_RUNTIME", &host.library), ("OTHER_ROOT", other.root.path())],
    );
}

#[test]
fn the_systems_loader_finds_a_runtime_by_plain_name() {
    if std::env::var_os("LOADER_TEST").is_some() {
        let found = probe(&RuntimeEnv { system_loader: true, ..RuntimeEnv::default() });
        assert_eq!(found.runtime.unwrap().path, Path::new("libascendcl.so"));
        return;
    }
    let Some(install) = Install::usual() else { return };
    let folder = install.library.parent().unwrap();
    let variables = [("LD_LIBRARY_PATH", folder), ("LOADER_TEST", folder)];
    in_child("the_systems_loader_finds_a_runtime_by_plain_name", &variables);
}
