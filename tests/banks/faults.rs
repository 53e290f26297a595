//! Every allocation and every file operation of a tuning fails once: the tuning succeeds or says what was wrong, what its result
//! file tells of is in the bank, nothing hangs, and the next tuning finds all as if nothing had been.
//!
//! `LIBAOE_TEST_FAULTS` says at how many places of each kind of call (2; 0 for at every one).

use crate::cc;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PLACES: &str = "LIBAOE_TEST_FAULTS";
/// A tuning takes far less; one that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// Kinds of calls, and what each of them does when it is its turn: an error's number, or `short`.
#[rustfmt::skip]
const FAULTS: &[(&str, &[&str])] = &[
    ("malloc", &["12"]), ("open", &["24", "13", "4"]), ("read", &["5", "short", "4"]),
    ("write", &["28", "short", "4", "5"]), ("sync", &["5", "28"]), ("rename", &["28", "5", "13"]), ("truncate", &["28"]),
    ("mkdir", &["28", "13"]), ("remove", &["13"]), ("lock", &["4", "37", "11"]), ("stat", &["5", "2"]), ("list", &["5"]),
];

/// Two products that gain surely, and two convolutions, whose default is an estimate, with a sum behind them.
pub const OPERATORS: &str = r#"graph { name: "small"
  op { name: "a" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "ND" shape { dim: [16, 7168] } }
       attr { key: "index" value { i: 3 } } }
  op { name: "b" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "ND" shape { dim: [7168, 512] } }
       attr { key: "index" value { i: 4 } } }
  op { name: "product" type: "MatMulV3" input: "a:0" input: "b:0" output_desc { } }
  op { name: "c" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "ND" shape { dim: [32, 7168] } }
       attr { key: "index" value { i: 5 } } }
  op { name: "other" type: "MatMulV3" input: "c:0" input: "b:0" output_desc { } }
  op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "NCHW" shape { dim: [1, 64, 56, 56] } } }
  op { name: "v" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "NCHW" shape { dim: [64, 64, 3, 3] } }
       attr { key: "index" value { i: 1 } } }
  op { name: "w" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "NCHW" shape { dim: [64, 64, 3, 3] } }
       attr { key: "index" value { i: 2 } } }
  op { name: "first" type: "Conv2D" input: "x:0" input: "v:0" output_desc { }
       attr { key: "strides" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } }
       attr { key: "pads" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } } }
  op { name: "relu" type: "Relu" input: "first:0" output_desc { } }
  op { name: "second" type: "Conv2D" input: "relu:0" input: "w:0" output_desc { }
       attr { key: "strides" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } }
       attr { key: "pads" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } } }
  op { name: "sum" type: "Add" input: "second:0" input: "x:0" output_desc { } }
}"#;

/// Elementwise work and a mean, of which CANN makes more kernels than it takes.
pub const MEAN: &str = r#"graph { name: "small"
  op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT16 layout: "ND" shape { dim: [64, 1024] } } }
  op { name: "gate" type: "Sigmoid" input: "x:0" output_desc { } }
  op { name: "gated" type: "Mul" input: "gate:0" input: "x:0" output_desc { } }
  op { name: "mean" type: "ReduceMeanD" input: "gated:0" output_desc { }
       attr { key: "axes" value { list { i: 1 val_type: VT_LIST_INT } } } attr { key: "keep_dims" value { b: true } } }
  op { name: "relu" type: "Relu" input: "mean:0" output_desc { } }
  op { name: "out" type: "Mul" input: "relu:0" input: "gated:0" output_desc { } }
}"#;

/// A tuning that is done over and over.
struct Tuning {
    place: TempDir,
    arguments: Vec<String>,
    shim: PathBuf,
}

/// How a tuning ended.
struct Ended {
    status: ExitStatus,
    said: String,
}

impl Tuning {
    /// `None` (said aloud) without a C compiler.
    fn new(arguments: &[&str], files: &[(&str, String)]) -> Option<Tuning> {
        let place = TempDir::with_prefix("faults-").unwrap();
        let shim = place.path().join("faults.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/banks/faults.c");
        cc::run(cc::shared_library("gnu99", &shim).arg(source))?;
        for (name, content) in files {
            fs::write(place.path().join(name), content).unwrap();
        }
        Some(Tuning { place, arguments: arguments.iter().map(|&a| a.to_owned()).collect(), shim })
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("run")
    }

    fn clear(&self) {
        let _ = fs::remove_dir_all(self.folder());
        fs::create_dir_all(self.folder().join("bank")).unwrap();
    }

    /// Tunes; panics where that takes too long.
    fn run(&self, fault: &[(&str, &str)]) -> Ended {
        let (folder, said) = (self.folder(), self.place.path().join("said"));
        let out = fs::File::create(&said).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(&self.arguments).arg("--work_path=work").current_dir(&folder);
        command.env("TUNE_BANK_PATH", folder.join("bank")).env("HOME", &folder).env_remove("ASCEND_WORK_PATH");
        command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
        if !fault.is_empty() {
            command.env("LD_PRELOAD", &self.shim).envs(fault.iter().copied());
        }
        let (mut child, began) = (command.spawn().unwrap(), Instant::now());
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > LONGEST {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{fault:?}: it hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Ended { status, said: String::from_utf8_lossy(&fs::read(said).unwrap()).into_owned() }
    }

    /// Every file below the folder, with its content, by its path.
    fn files(&self, below: &str) -> BTreeMap<String, Vec<u8>> {
        let (root, mut found) = (self.folder().join(below), BTreeMap::new());
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read(path).unwrap());
                }
            }
        }
        found
    }

    /// The files of the bank, without what lies beside the records.
    fn bank(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.files("bank");
        files.retain(|name, _| !name.split('/').any(|part| part.starts_with('.')));
        files
    }

    /// What the result files tell of that the bank does not have, or that is not as it should be.
    fn complaint(&self) -> Option<String> {
        let bank = self.bank();
        let text = |part: &str| {
            let named = bank.iter().filter(|(name, _)| name.to_lowercase().contains(part));
            named.map(|(_, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>()
        };
        for (name, content) in self.files("work").iter().filter(|(name, _)| name.contains("aoe_result_")) {
            let Ok(result) = serde_json::from_slice::<Value>(content) else {
                return Some(format!("{name} is no JSON"));
            };
            let sections = result.as_array().cloned().unwrap_or_default();
            let list = |pointer: &str| {
                let found = sections.iter().find_map(|section| section.pointer(pointer)?.as_array().cloned());
                found.unwrap_or_default()
            };
            let mut told: BTreeMap<String, usize> = BTreeMap::new();
            for operator in list("/OPAT/repo_modified_operators") {
                // A fused operator has the types of its pieces, and a record by the first.
                let op_type = &operator["op_type"];
                let op_type = op_type.as_str().or_else(|| op_type[0].as_str()).unwrap();
                *told.entry(format!("_{}", op_type.to_lowercase())).or_default() += 1;
            }
            for (part, count) in told {
                let there = text(&part).matches("\"knowledge\"").count();
                if there < count {
                    return Some(format!("{name} tells of {count} records of {part}, and the bank has {there}"));
                }
            }
            for subgraph in list("/SGAT/repo_modified_subgraphs/add_repo_subgraphs") {
                let key = subgraph["repo_key"].as_str().unwrap();
                if !text("_l2cache").contains(key) {
                    return Some(format!("{name} tells of subgraph {key}, which the bank does not have"));
                }
            }
            let gradients = sections.iter().find_map(|section| section.pointer("/GDAT/repo_summary/repo_add_num"));
            if gradients.is_some_and(|count| count == 1) && !text("gradient_fusion").contains("modelhash") {
                return Some(format!("{name} tells of gradients, which the bank does not have"));
            }
        }
        None
    }

    /// Bytes of each file of the bank.
    fn sizes(&self) -> BTreeMap<String, usize> {
        self.bank().into_iter().map(|(name, content)| (name, content.len())).collect()
    }

    /// One fault, and a tuning after it; answers whether the first one failed.
    fn fault(&self, kind: &str, does: &str, at: u64, whole: &BTreeMap<String, usize>) -> bool {
        let fault = [("FAULT_CLASS", kind), ("FAULT_DOES", does), ("FAULT_AT", &at.to_string())];
        self.clear();
        let Ended { status, said } = self.run(&fault);
        let aborted = kind == "malloc" && status.signal() == Some(6) && said.contains("memory allocation of");
        assert!(aborted || matches!(status.code(), Some(0 | 1)), "{fault:?}: {status}\n{said}");
        assert!(status.code() != Some(1) || said.contains("[ERROR] "), "{fault:?}: it does not say why\n{said}");
        assert!(!said.contains("panicked"), "{fault:?}\n{said}");
        if let Some(complaint) = self.complaint() {
            panic!("{fault:?}: {complaint}\n{said}");
        }
        let again = self.run(&[]);
        assert!(again.status.success(), "after {fault:?}:\n{}", again.said);
        assert_eq!(self.complaint(), None, "after {fault:?}");
        // It may have found more, with trials that the first one lost.
        let sizes = self.sizes();
        for (name, size) in whole {
            let is_there = sizes.get(name).is_some_and(|&there| there * 10 >= size * 9);
            assert!(is_there, "after {fault:?}: {sizes:?}, not {whole:?}");
        }
        !status.success()
    }

    /// How often the tuning calls each kind, allocations beside system calls.
    fn counted(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for class in ["malloc", "open"] {
            self.clear();
            let count = self.place.path().join("count");
            let counted = self.run(&[("FAULT_CLASS", class), ("FAULT_COUNT", count.to_str().unwrap())]);
            assert!(counted.status.success(), "{}", counted.said);
            for line in fs::read_to_string(count).unwrap().lines() {
                let (name, number) = line.split_once(' ').unwrap();
                let number: u64 = number.parse().unwrap();
                counts.entry(name.to_owned()).and_modify(|most: &mut u64| *most = number.max(*most)).or_insert(number);
            }
        }
        counts
    }

    /// Faults at so many places of each kind of call.
    fn sweep(&self) {
        self.clear();
        let whole = self.run(&[]);
        assert!(whole.status.success(), "{}", whole.said);
        let whole = self.sizes();
        assert!(whole.values().sum::<usize>() > 0 && self.complaint().is_none(), "nothing is found that could be lost");
        let counts = self.counted();
        let places: u64 = std::env::var(PLACES).ok().and_then(|text| text.parse().ok()).unwrap_or(2);
        let (mut tried, mut failed) = (0, 0);
        for (turn, (kind, does)) in FAULTS.iter().enumerate() {
            let calls = counts[*kind];
            // Allocations are too many for every one; the others are not.
            let most = if *kind == "malloc" { calls.min(300) } else { calls };
            let count = if places == 0 { most } else { places.min(most) };
            let does: &[&str] = if places == 0 { does } else { &does[turn % does.len()..][..1] };
            for does in does {
                for place in 0..count {
                    let at = 1 + (calls * (2 * place + 1)) / (2 * count);
                    tried += 1;
                    failed += u64::from(self.fault(kind, does, at, &whole));
                }
            }
        }
        println!("{tried} faults, of which {failed} ended the tuning; calls: {counts:?}");
        assert!(failed > 0 && failed < tried, "{failed} of {tried}: the faults do not arrive");
    }
}

fn operators() -> Option<Tuning> {
    let arguments = ["-j", "2", "-f", "1", "--backend=simulator", "--soc_version=Ascend910B2", "--max_tuning_count=60"];
    Tuning::new(&[&arguments[..], &["--model=../net.txt"]].concat(), &[("net.txt", OPERATORS.into())])
}

fn subgraphs() -> Option<Tuning> {
    let arguments = ["-j", "1", "-f", "1", "--backend=simulator", "--soc_version=Ascend310P3"];
    Tuning::new(&[&arguments[..], &["--model=../net.txt"]].concat(), &[("net.txt", MEAN.into())])
}

fn gradients() -> Option<Tuning> {
    let mut summary = String::from(
        "No,gradient_size(byte),data_type,graph_id,group_name,gradient_node_name,trace_node_name,allreduce_node_name\n",
    );
    let mut profile = String::from("loop,modelName,opName,opType,taskStartTime,taskEndTime\n");
    for i in 0..12 {
        let size = 100_000 * (12 - i);
        writeln!(summary, "{},{size},float32,3,hccl_world_group,g{i},ar{i}_TensorRedirect,ar{i}", i + 1).unwrap();
    }
    for run in 0..5 {
        for i in 0..12 {
            let start = 10_000_000 * run + 100_500 * i;
            writeln!(profile, "{run},3,ar{i}_TensorRedirect,TensorRedirect,{start},{}", start + 500).unwrap();
        }
    }
    let arguments = ["-j", "4", "--soc_version=Ascend910A", "--gradient_summary=../summary.csv"];
    let files = [("summary.csv", summary), ("profile.csv", profile)];
    Tuning::new(&[&arguments[..], &["--gradient_profile=../profile.csv"]].concat(), &files)
}

#[test]
fn a_tuning_of_operators_bears_every_fault_once() {
    let Some(tuning) = operators() else { return };
    tuning.sweep();
}

#[test]
fn a_tuning_of_subgraphs_bears_every_fault_once() {
    let Some(tuning) = subgraphs() else { return };
    tuning.sweep();
}

#[test]
fn a_tuning_of_gradients_bears_every_fault_once() {
    let Some(tuning) = gradients() else { return };
    tuning.sweep();
}

/// The campaign is live: what it looks for it finds where it is planted.
#[test]
fn a_record_that_is_told_of_and_lost_is_found_out() {
    for tuning in [operators(), subgraphs()].into_iter().flatten() {
        tuning.clear();
        tuning.run(&[]);
        assert_eq!(tuning.complaint(), None);
        for (name, _) in tuning.bank() {
            fs::write(tuning.folder().join("bank").join(name), "").unwrap();
        }
        let complaint = tuning.complaint().expect("the loss is seen");
        assert!(complaint.contains("tells of"), "{complaint}");
    }
}

/// Finds of subgraphs and of gradients go where there is room, as those of operators do.
#[test]
fn what_a_full_bank_does_not_take_lies_in_the_results() {
    for tuning in [subgraphs(), gradients()].into_iter().flatten() {
        tuning.clear();
        let bank = tuning.folder().join("bank");
        let full = [("FAULT_CLASS", "write"), ("FAULT_DOES", "28"), ("FAULT_BELOW", bank.to_str().unwrap())];
        let Ended { status, said } = tuning.run(&full);
        assert_eq!(status.code(), Some(1), "{said}");
        for part in ["aoe_bank_unsaved", "aoe bank merge --into", "No space left on device"] {
            assert!(said.contains(part), "`{part}` is missing in: {said}");
        }
        assert!(tuning.bank().is_empty(), "the disk was full");
        let saved = tuning.files("work").into_keys().filter(|name| name.starts_with("aoe_bank_unsaved/")).count();
        assert!(saved > 0, "{:?}", tuning.files("work").keys());
        assert_eq!(tuning.complaint(), None, "no result file tells of what is not in the bank");
    }
}
