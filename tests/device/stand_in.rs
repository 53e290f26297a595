//! A machine with devices, played by the stand-in runtime of `tests/ascend`.

use crate::{cc, host};
use serde_json::{Value, json};
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// What the stand-in is built from.
const C_FILES: [&str; 8] =
    ["faults.c", "device.c", "operators.c", "unified.c", "kernels.c", "product.c", "volume.c", "pricing.c"];
/// CANN's offline compiler as a program, of these and a file of its own.
const ATC: &str = "atc.c";
const HEADERS: [&str; 1] = ["stand_in.h"];

/// The root of an installed CANN with the stand-in in it, without the functions named; `None`, said aloud, without
/// a C compiler. Built once for all tests.
pub fn installed(without: &[&str]) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ascend");
    let mut digest = DefaultHasher::new();
    for name in C_FILES.iter().chain(&HEADERS).chain([&ATC]) {
        fs::read(sources.join(name)).unwrap().hash(&mut digest);
    }
    // Whoever changes the profiler below builds anew.
    (2u8, without).hash(&mut digest);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = target.join(format!("stand-in-{:016x}", digest.finish()));
    let lock = File::create(target.join("stand-in.lock")).unwrap();
    lock.lock().unwrap();
    if !root.exists() {
        let unfinished = TempDir::new_in(target).unwrap();
        build(&sources, unfinished.path(), without)?;
        fs::rename(unfinished.keep(), &root).unwrap();
    }
    Some(root)
}

fn build(sources: &Path, root: &Path, without: &[&str]) -> Option<()> {
    let folder = root.join("lib64");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(root.join("bin")).unwrap();
    profiler(root);
    let hidden = without.join("; ");
    let script = root.join("exports");
    let local = if hidden.is_empty() { String::new() } else { format!("local: {hidden}; ") };
    fs::write(&script, format!("{{ global: *; {local}}};\n")).unwrap();
    let library = folder.join("libascendcl.so");
    let mut compiler = cc::shared_library("gnu99", &library);
    compiler.arg(format!("-Wl,--version-script={}", script.display()));
    for (mut compiler, own) in [(compiler, None), (cc::program("gnu99", &root.join("bin/atc")), Some(ATC))] {
        compiler.arg("-O2").args(C_FILES.iter().copied().chain(own).map(|name| sources.join(name)));
        compiler.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
        cc::run(compiler.args(["-ldl", "-lm"]))?;
    }
    Some(())
}

/// A program in place of CANN's profiler: it runs what it is given and writes down on how many cores, as the record says.
fn profiler(root: &Path) {
    use std::os::unix::fs::PermissionsExt;
    const SCRIPT: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
folder="${1#--output=}/PROF_1/mindstudio_profiler_output"
shift
"$@" || exit
mkdir -p "$folder"
cores=$(sed -n 's/.*"usedCoreNum":\([0-9]*\).*/\1/p' "$TUNE_BANK_PATH"/*/unified_bank/*_MatMulV3_runtime_kb.json)
[ "$STAND_IN_BANK" != ignored ] || cores=24
printf 'Op Name,OP Type,Block Dim,Task Duration(us)\nfill,MemSet,48,1.5\nx,MatMulV3,%s,9\n' "$cores" >"$folder/op_summary_1.csv"
"#;
    let program = root.join("bin/msprof");
    fs::write(&program, SCRIPT).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine with devices, and a user's folders on it.
pub struct Machine {
    pub folder: TempDir,
    root: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Machine {
    /// A machine whose devices measure without noise.
    pub fn new() -> Option<Machine> {
        Machine::without(&[])
    }

    /// A machine whose runtime lacks these functions.
    pub fn without(functions: &[&str]) -> Option<Machine> {
        let root = installed(functions)?;
        let folder = tempfile::Builder::new().prefix("aoe device ").tempdir().unwrap();
        for name in ["home", "bank", "work", "tmp", "state"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Some(Machine { folder, root, variables: Vec::new() })
    }

    /// Sets one of the stand-in's variables, or any other.
    pub fn with(mut self, name: &'static str, value: &str) -> Machine {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// The library of its runtime.
    pub fn runtime(&self) -> PathBuf {
        self.root.join("lib64/libascendcl.so")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command line, on this machine and with nothing of the real one.
    pub fn aoe(&self, arguments: &[&str]) -> Command {
        let mut command = self.on(env!("CARGO_BIN_EXE_aoe").as_ref());
        command.args(arguments);
        command
    }

    /// A program on this machine.
    pub fn on(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        for (name, folder) in [("HOME", "home"), ("TUNE_BANK_PATH", "bank"), ("ASCEND_WORK_PATH", "work")] {
            command.env(name, self.path(folder));
        }
        let library = std::env::current_exe().unwrap().with_file_name("libaoe.so");
        command.env("ASCEND_HOME_PATH", &self.root).env("TMPDIR", self.path("tmp"));
        command.env("STAND_IN_LIBAOE", library).env("STAND_IN_STATE", self.path("state"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Writes the operators to tune: products.
    pub fn products(&self, products: &[Product]) {
        self.operators(&products.iter().map(Product::text).collect::<Vec<_>>());
    }

    /// Writes the operators to tune, each described as ATC describes single operators.
    pub fn operators(&self, operators: &[String]) {
        fs::write(self.path("ops.json"), format!("[{}]", operators.join(","))).unwrap();
    }

    /// Tunes the operators inside a program that hosts the library, with these options. Exit status and what is
    /// said are as the command line's; the full report is kept.
    pub fn tune(&self, options: &[(&str, &str)]) -> Tuned {
        let usual = [("job_type", "2"), ("log", "info"), ("measure_program", env!("CARGO_BIN_EXE_aoe"))];
        let options: Vec<_> = usual.iter().chain(options).map(|(key, value)| format!("{key}={value}")).collect();
        let mut command = self.on(std::env::current_exe().unwrap().as_ref());
        command.args(["--exact", "host::host", "--nocapture"]).env(host::OPTIONS, options.join("\n"));
        Tuned::of(command.output().unwrap())
    }

    /// The records of the bank of `MatMulV3`.
    pub fn records(&self) -> Vec<String> {
        self.records_of("MatMulV3_runtime_kb")
    }

    /// The lines of a bank, by the end of its file's name.
    pub fn records_of(&self, bank: &str) -> Vec<String> {
        let file = format!("bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_{bank}.json");
        let text = fs::read_to_string(self.path(&file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The full report of the last tuning by [`Machine::tune`].
    pub fn report(&self) -> Value {
        let text = fs::read_to_string(self.path(host::REPORT)).expect("a report");
        serde_json::from_str(&text).unwrap()
    }

    /// The operators in it.
    pub fn kernels(&self) -> Vec<Value> {
        self.report()["kernels"].as_array().unwrap().clone()
    }

    /// Has a measuring process run an operator as a job describes it, with the bank as it is; what it answers.
    pub fn measure(&self, operator: &Value) -> Value {
        self.answer(&json!({"measure": {"operator": operator, "timing": {"warm_up": 1, "repeats": 1, "samples": 1}}}))
    }

    /// Has a measuring process do a task, with the bank as it is; what it answers.
    pub fn answer(&self, task: &Value) -> Value {
        let work =
            json!({"on_device": {"runtime": self.runtime(), "device": 0, "device_timeout_ms": 60000, "task": task}});
        let job = json!({"version": env!("CARGO_PKG_VERSION"), "work": work, "answer": self.path("answer.json")});
        fs::write(self.path("job.json"), job.to_string()).unwrap();
        let _ = fs::remove_file(self.path("answer.json"));
        let ran = self.aoe(&["measure-candidate", "job.json"]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_str(&fs::read_to_string(self.path("answer.json")).unwrap()).unwrap()
    }

    /// The processes of this machine that live, found by their environment.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("STAND_IN_STATE={}", self.path("state").display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |number: &u32| {
            let folder = Path::new("/proc").join(number.to_string());
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            let is_marked = environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes());
            let state = fs::read_to_string(folder.join("stat")).unwrap_or_default();
            is_marked && !state.contains(") Z ")
        };
        numbers.filter(is_ours).collect()
    }

    /// What measuring left in the folder for temporary files.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// A matrix product.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub m: u32,
    pub k: u32,
    pub n: u32,
    pub dtype: &'static str,
    pub trans_a: bool,
    pub trans_b: bool,
    pub bias: bool,
}

/// One that is tuned in a moment.
pub const SMALL: Product = Product::new(512, 1024, 768);

impl Product {
    pub const fn new(m: u32, k: u32, n: u32) -> Product {
        Product { m, k, n, dtype: "float16", trans_a: false, trans_b: false, bias: false }
    }

    /// As ATC describes it: the operator whose bank CANN asks, which on a 310P no other becomes.
    pub fn text(&self) -> String {
        let Product { m, k, n, dtype, trans_a, trans_b, bias } = *self;
        let tensor = |shape: &[u32]| format!(r#"{{"format":"ND","shape":{shape:?},"type":"{dtype}"}}"#);
        let a = tensor(&if trans_a { [k, m] } else { [m, k] });
        let b = tensor(&if trans_b { [n, k] } else { [k, n] });
        let bias = if bias { format!(",{}", tensor(&[n])) } else { String::new() };
        let flag = |name: &str, value| format!(r#"{{"name":"{name}","type":"bool","value":{value}}}"#);
        let attributes = [flag("transpose_x1", trans_a), flag("transpose_x2", trans_b)].join(",");
        let c = tensor(&[m, n]);
        format!(r#"{{"op":"MatMulV3","input_desc":[{a},{b}{bias}],"output_desc":[{c}],"attr":[{attributes}]}}"#)
    }
}

/// What the report says of an operator for which a better tiling was recorded.
pub const ADDED: &str = "\"status\": \"added\"";

/// What a tuning came to.
pub struct Tuned {
    pub output: Output,
    pub said: String,
}

impl Tuned {
    pub fn of(output: Output) -> Tuned {
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Tuned { output, said }
    }

    /// Checks exit status and what was said.
    #[track_caller]
    pub fn expect(self, status: i32, parts: &[&str]) -> Tuned {
        assert_eq!(self.output.status.code(), Some(status), "{}", self.said);
        for part in parts {
            assert!(self.said.contains(part), "`{part}` is missing in:\n{}", self.said);
        }
        self
    }
}
