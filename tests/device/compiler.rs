//! Finding GE's compiler and having it write the .om, against a C stand-in built at test time.

use crate::cc;
use aoe::backend::RuntimeEnv;
use aoe::backend::ascend::{COMPILING, CompileOptions, Compiler, Search, compiler};
use libloading::Library;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The stand-in's `struct ge_state`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    environments: i32,
    graphs: i32,
    models: i32,
    messages: i32,
    initialized: i32,
}

const NOTHING_LEFT: State = State { environments: 0, graphs: 0, models: 0, messages: 0, initialized: 1 };

/// An installed CANN with a stand-in for GE, and a model to compile.
struct Install {
    root: TempDir,
    library: PathBuf,
}

impl Install {
    /// Builds the stand-in as these libraries, each with its flags; `None` (said aloud) without a C compiler.
    fn build(libraries: &[(&str, &[&str])]) -> Option<Install> {
        let root = TempDir::with_prefix("cann with ge ").unwrap();
        let folder = root.path().join("python/site-packages/ge/_capi");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(root.path().join("net.air"), "IR").unwrap();
        for (name, flags) in libraries {
            let mut compiler = cc::shared_library("c99", &folder.join(name));
            compiler.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ascend/ge.c")).args(*flags);
            cc::run(&mut compiler)?;
        }
        let library = folder.join(libraries[0].0);
        Some(Install { root, library })
    }

    fn with(flags: &[&str]) -> Option<Install> {
        Install::build(&[("libgraph_wrapper.so", flags)])
    }

    fn env(&self) -> RuntimeEnv {
        RuntimeEnv { ascend_home_path: Some(self.root.path().to_owned()), ..RuntimeEnv::default() }
    }

    fn compiler(&self) -> Compiler {
        match compiler(&self.env()) {
            Search::Found(compiler) => compiler,
            Search::Absent => panic!("not found"),
            Search::Unusable(reason) => panic!("{reason}"),
        }
    }

    fn om(&self) -> PathBuf {
        self.root.path().join("out.v2.om")
    }

    fn compile(&self) -> Result<PathBuf, String> {
        let option = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let options = CompileOptions {
            initialize: vec![option("ge.socVersion", "Ascend910B2")],
            build: vec![option("input_format", "ND"), option("alone", "")],
        };
        self.compiler().compile(&self.root.path().join("net.air"), &self.om(), &options)
    }

    fn state(&self) -> State {
        // SAFETY: the stand-in is ours and has no constructors; `ge_state` has the layout of `State`.
        unsafe {
            let library = Library::new(&self.library).unwrap();
            **library.get::<*const State>("ge_state").unwrap()
        }
    }
}

#[test]
fn ge_compiles_with_the_options_given_and_leaves_nothing_behind() {
    let Some(install) = Install::with(&[]) else { return };
    install.compile().unwrap();
    let air = install.root.path().join("net.air");
    let expected = format!("air={}\nge.socVersion=Ascend910B2\ninput_format=ND\nalone=\n", air.display());
    assert_eq!(std::fs::read_to_string(install.om()).unwrap(), expected);
    assert_eq!(install.state(), NOTHING_LEFT);
    assert_eq!(install.compiler().path(), install.library);
}

#[test]
fn functions_are_found_in_the_libraries_that_later_releases_split_off() {
    let Some(install) = Install::build(&[
        ("libgraph_wrapper.so", &["-DOMIT_OfflineCompile", "-DOMIT_Message"]),
        ("liboffline_compile_wrapper.so", &["-DOMIT_CreateGraph", "-DOMIT_DestroyGraph", "-DOMIT_LoadFromAir"]),
    ]) else {
        return;
    };
    install.compile().unwrap();
    assert!(install.om().is_file());
}

#[test]
fn every_missing_function_is_named() {
    let Some(install) = Install::with(&["-DOMIT_OfflineCompile", "-DOMIT_LoadFromAir"]) else { return };
    let Search::Unusable(reason) = compiler(&install.env()) else { panic!("it cannot be used") };
    for name in COMPILING {
        let missing = name.contains("OfflineCompile") || name.contains("ModelBuffer") || name.contains("LoadFromAir");
        assert_eq!(reason.contains(name), missing, "{name} in {reason}");
    }
    assert!(reason.contains(install.library.to_str().unwrap()) && reason.contains("ASCEND_HOME_PATH"), "{reason}");
}

#[test]
fn a_library_that_cannot_be_loaded_is_told_of_and_none_at_all_is_no_matter() {
    let Some(install) = Install::with(&[]) else { return };
    std::fs::write(&install.library, "no library").unwrap();
    let Search::Unusable(reason) = compiler(&install.env()) else { panic!("it cannot be loaded") };
    assert!(reason.contains(install.library.to_str().unwrap()), "{reason}");
    std::fs::remove_file(&install.library).unwrap();
    assert!(matches!(compiler(&install.env()), Search::Absent));
}

#[test]
fn the_step_that_fails_is_named_with_its_code_and_ges_words_and_everything_is_given_back() {
    let steps = [
        ("INITIALIZE", "GeApiWrapper_OfflineCompile_BuildInitialize", 0),
        ("LOAD", "GeApiWrapper_Graph_LoadFromAir", 1),
        ("BUILD", "GeApiWrapper_OfflineCompile_BuildModel", 1),
        ("SAVE", "GeApiWrapper_OfflineCompile_SaveModel", 1),
    ];
    for (step, function, initialized) in steps {
        let Some(install) = Install::with(&[&format!("-DFAIL_{step}=50331649")]) else { return };
        let reason = install.compile().unwrap_err();
        for part in [function, "50331649", "E10001"] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        assert_eq!(install.state(), State { initialized, ..NOTHING_LEFT }, "{step}");
        assert!(!install.om().exists());
    }
}

#[test]
fn a_success_without_a_file_is_a_failure() {
    let Some(install) = Install::with(&["-DFORGETS", "-DOMIT_Message"]) else { return };
    let reason = install.compile().unwrap_err();
    assert!(reason.contains("out.v2.om"), "{reason}");
}

#[test]
fn the_hosts_own_ge_is_neither_initialised_nor_finalised() {
    let Some(install) = Install::with(&["-DHOSTED"]) else { return };
    install.compile().unwrap();
    assert_eq!(install.state(), State { initialized: 0, ..NOTHING_LEFT });
}

/// Tunes the bundled ResNet-50 beside this installation.
fn tune(install: &Install, arguments: &[&str]) -> Output {
    tuning(install, arguments).output().unwrap()
}

fn tuning(install: &Install, arguments: &[&str]) -> Command {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/resnet50.onnx");
    let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
    command.args([
        "--backend=simulator",
        "--max_tuning_count=4",
        "--soc_version=Ascend310P3",
        "--output=net.om",
        "--model",
    ]);
    command.arg(model).args(arguments).current_dir(install.root.path()).env_clear();
    command.env("HOME", install.root.path()).env("ASCEND_HOME_PATH", install.root.path());
    command
}

#[test]
fn with_ge_installed_the_om_is_compiled_and_the_user_is_told_by_whom() {
    let Some(install) = Install::with(&[]) else { return };
    let output = tune(&install, &["--job_type=1", "--init_bypass=a=1||b", "--build_bypass=c=d"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("compiled by GE") && told.contains(install.library.to_str().unwrap()), "{told}");
    let om = std::fs::read_to_string(install.root.path().join("net.om")).unwrap();
    // Compiled is what is prepared: until both files are there, neither has its place.
    let (air, options) = om.strip_prefix("air=").and_then(|rest| rest.split_once('\n')).unwrap();
    assert!(Path::new(air).starts_with(install.root.path()) && air.ends_with("/net.air"), "{air}");
    assert_eq!(options, "ge.socVersion=Ascend310P3\na=1\nb=\nc=d\n");
}

#[test]
fn with_a_ge_that_fails_the_om_is_the_container_and_the_user_is_told_why() {
    let Some(install) = Install::with(&["-DFAIL_BUILD=50331649"]) else { return };
    let output = tune(&install, &["--job_type=2"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["no compiled kernels", "GeApiWrapper_OfflineCompile_BuildModel", "E10001"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let om = std::fs::read(install.root.path().join("net.om")).unwrap();
    assert!(om.starts_with(b"IMOD"), "it is a container");
}

#[test]
fn a_model_with_code_of_the_host_keeps_the_name_that_ge_gives_it() {
    let Some(install) = Install::with(&["-DHOST=\"_linux_aarch64\""]) else { return };
    // What lies beside it and is called alike is not what GE wrote.
    std::fs::write(install.root.path().join("net_linux.om"), "another").unwrap();
    let output = tune(&install, &["--job_type=2"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("net_linux_aarch64.om\n") && told.contains("compiled by GE"), "{told}");
    let om = std::fs::read_to_string(install.root.path().join("net_linux_aarch64.om")).unwrap();
    assert!(om.starts_with("air="), "{om}");
    assert!(!install.root.path().join("net.om").exists());
}

#[test]
fn a_tuning_that_is_killed_while_ge_compiles_goes_on_with_reload() {
    let Some(install) = Install::with(&["-DHANGS"]) else { return };
    let here = |name: &str| install.root.path().join(name);
    for jobs in ["--job_type=1", "--job_type=1,2"] {
        let mut child = tuning(&install, &[jobs]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !here("building").exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended without GE");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Where nothing is left in it, the directory of the jobs goes as well.
        let jobs_of = || std::fs::read_dir(here("aoe_workspace")).into_iter().flatten().flatten();
        let states = || jobs_of().map(|job| job.path());
        assert_eq!(states().filter(|job| job.join("subgraphs.json").is_file()).count(), 1, "{jobs}");
        // The next one does without GE.
        std::fs::rename(&install.library, here("gone")).unwrap();
        let output = tune(&install, &[jobs, "--reload"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read(here("net.om")).unwrap().starts_with(b"IMOD"), "{jobs}");
        assert_eq!(states().filter(|job| job.join("subgraphs.json").exists()).count(), 0, "{jobs}");
        std::fs::rename(here("gone"), &install.library).unwrap();
        std::fs::remove_file(here("building")).unwrap();
    }
}
