//! The command line as its users meet it: what it prints, where, and with which exit status.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

#[path = "cli/search.rs"]
mod search;

/// A directory of its own for each test, with a space in its path, and an environment without CANN's variables.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: tempfile::Builder::new().prefix("aoe cli ").tempdir().unwrap() };
        for name in ["home", "bank", "work"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(arguments).current_dir(self.dir.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path("home")).env("ASCEND_WORK_PATH", self.path("work"));
        command.env("TUNE_BANK_PATH", self.path("bank"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Tunes with few measurements.
    fn tune(&self, arguments: &[&str]) -> Answer {
        let quick = ["--job_type=2", "--backend=simulator", "--max_tuning_count=8"];
        self.run(&[&quick, arguments].concat())
    }

    /// The result files written so far.
    fn results(&self) -> Vec<Value> {
        let files = std::fs::read_dir(self.path("work")).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
    }
}

#[derive(Debug)]
struct Answer {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    #[track_caller]
    fn of(output: Output) -> Answer {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let answer = Answer { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
        answer
    }

    /// Fails unless the exit status is this one and stderr says all of these.
    #[track_caller]
    fn expect(self, status: i32, said: &[&str]) -> Answer {
        assert_eq!(self.status, Some(status), "{self:#?}");
        for words in said {
            assert!(self.stderr.contains(words), "stderr lacks {words}: {self:#?}");
        }
        self
    }
}

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models").join(name).to_str().unwrap().to_owned()
}

#[test]
fn tuning_a_model_prints_canns_lines_and_where_the_files_lie() {
    let place = Place::new();
    let answer = place.tune(&["--model", &model("resnet50.onnx"), "--framework=5"]).expect(0, &[]);
    let lines: Vec<_> = answer.stdout.lines().collect();
    assert!(lines[0].starts_with("resnet50 process finished. Performance improved by "), "{answer:#?}");
    assert!(lines[0].ends_with('%') && lines[1] == "Aoe process finished", "{answer:#?}");
    for part in ["simulator", "ms before", "Slowest operators", "Conv2D"] {
        assert!(answer.stdout.contains(part), "{part}: {answer:#?}");
    }
    let named = |label: &str| {
        let line = answer.stdout.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
        PathBuf::from(line.trim())
    };
    assert!(named("Result ").is_file() && named("Result ").starts_with(place.path("work")), "{answer:#?}");
    assert!(named("Bank ").is_dir() && named("Bank ").starts_with(place.path("bank")), "{answer:#?}");
}

#[test]
fn the_improvement_printed_is_that_of_the_result_file() {
    let place = Place::new();
    let answer = place.tune(&["-m", &model("resnet50.onnx")]).expect(0, &[]);
    let results = place.results();
    let gain = results[0][1]["OPAT"]["model_performance_improvement"].as_str().unwrap();
    assert!(answer.stdout.lines().next().unwrap().ends_with(&format!("improved by {gain}")), "{answer:#?}");
}

#[test]
fn a_second_run_reads_what_the_first_wrote_into_the_bank() {
    let place = Place::new();
    place.tune(&["-m", &model("resnet50.onnx")]).expect(0, &[]);
    let added = place.results()[0][1]["OPAT"]["repo_summary"]["repo_add_num"].clone();
    assert!(added.as_u64().unwrap() > 0);
    std::fs::remove_dir_all(place.path("work")).unwrap();
    place.tune(&["-m", &model("resnet50.onnx")]).expect(0, &[]);
    let summary = &place.results()[0][1]["OPAT"]["repo_summary"];
    // What the first run left at CANN's default may profit from what it kept for others.
    assert_eq!(summary["repo_hit_num"], added);
}

#[test]
fn each_model_of_a_directory_is_tuned_and_a_broken_one_is_named() {
    let place = Place::new();
    let models = place.path("models");
    std::fs::create_dir(&models).unwrap();
    for name in ["c.onnx", "a.onnx"] {
        std::fs::copy(model("resnet50.onnx"), models.join(name)).unwrap();
    }
    std::fs::write(models.join("b.onnx"), "no model").unwrap();
    std::fs::write(models.join("notes.txt"), "").unwrap();
    let answer = place.tune(&["--model_path=models"]).expect(1, &["b.onnx", "1 of 3 models", "notes.txt"]);
    let done: Vec<_> = answer.stdout.lines().filter(|line| line.starts_with("[Aoe]")).collect();
    assert_eq!(done, ["[Aoe]a Tuning process finished.", "[Aoe]c Tuning process finished."]);
    assert_eq!(place.results().len(), 2);
}

#[test]
fn a_directory_of_good_models_ends_with_canns_line_and_a_table() {
    let place = Place::new();
    std::fs::create_dir(place.path("models")).unwrap();
    std::fs::copy(model("resnet50.onnx"), place.path("models/net one.onnx")).unwrap();
    let answer = place.tune(&["--model_path=models"]).expect(0, &[]);
    let lines: Vec<_> = answer.stdout.lines().collect();
    assert_eq!(lines[0], "[Aoe]net one Tuning process finished.");
    assert!(lines[1].starts_with("[Aoe]Aoe process finished,cost time ") && lines[1].ends_with("s."), "{answer:#?}");
    assert!(lines[2].starts_with("model") && lines[3].starts_with("net one"), "{answer:#?}");
}

#[test]
fn what_cannot_be_tuned_is_named_and_nothing_is_called_finished() {
    let place = Place::new();
    let resnet = model("resnet50.onnx");
    std::fs::write(place.path("empty.onnx"), "").unwrap();
    for (arguments, status, said) in [
        (&["--model=none.onnx", "-j", "2"][..], 1, &["EG0011", "none.onnx"][..]),
        (&["--model=empty.onnx", "-j", "2"], 1, &["empty.onnx"]),
        (&["--model=work", "-j", "2"], 1, &["work"]),
        (&["--model_path=none", "-j", "2"], 1, &["EG0010", "none"]),
        (&["--model", &resnet], 2, &["EG0000", "--job_type is mandatory"]),
        (&["-j", "2"], 2, &["EG0000", "--model=FILE"]),
        (&[], 2, &["EG0000", "aoe -h"]),
        (&["--model", &resnet, "--job_type=9"], 2, &["EG0003", "job_type", "`9`"]),
        (&["--model", &resnet, "--job-tpye=2"], 2, &["EG0000", "--job-tpye", "--job_type"]),
        (&["--model", &resnet, "-j", "2", "--input_shape=nosuch:1,2"], 2, &["EG0003", "nosuch"]),
        (&["--model", &resnet, "-j", "2", "--soc_version=Ascend1"], 2, &["EG0003", "Ascend1"]),
        (&["--model", &resnet, "-j", "1"], 1, &["not supported"]),
        (&["--model", &resnet, "-j", "gdat"], 1, &["not supported"]),
        (&["--singleop=op.json", "-j", "2"], 1, &["singleop", "not supported"]),
        (&["--model", &resnet, "-j", "2", "--backend=ascend"], 1, &["EG0012", "ascend"]),
        (&["--model", &resnet, "-j", "2", "--config=none.json"], 1, &["EG0011", "none.json"]),
    ] {
        let answer = place.run(arguments).expect(status, said);
        assert!(answer.stderr.starts_with("[ERROR] ") && answer.stdout.is_empty(), "{answer:#?}");
    }
    assert!(place.results().is_empty(), "a result was left behind");
}

#[test]
fn a_configuration_file_gives_options_and_its_mistakes_are_named() {
    let place = Place::new();
    let config = place.path("options.json");
    let resnet = model("resnet50.onnx");
    let good = r#"{"job_type": "subgraph", "max_tuning_count": 8, "target_metric": "throughput"}"#;
    std::fs::write(&config, good).unwrap();
    place.run(&["--config=options.json", "--model", &resnet]).expect(1, &["not supported"]);
    place.run(&["--config=options.json", "--model", &resnet, "-j", "operator"]).expect(0, &[]);
    std::fs::write(&config, r#"{"job_tpye": 2}"#).unwrap();
    place.run(&["--config=options.json", "--model", &resnet]).expect(2, &["EG0001", "options.json", "`job_tpye`"]);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_an_error() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let mut command = place.command(&[]);
    command.arg(OsStr::from_bytes(b"--model=caf\xe9.onnx"));
    Answer::of(command.output().unwrap()).expect(2, &["EG0000", "argument 1", "--model=caf"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    for arguments in [&["soc"][..], &["--help"], &["-m", &model("resnet50.onnx"), "-j", "2", "--max_tuning_count=8"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(arguments).stdout(writer).output().unwrap();
        Answer::of(output).expect(0, &[]);
    }
    assert_eq!(place.results().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_fail_the_run() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let place = Place::new();
    let output = place.command(&["soc"]).stdout(full).output().unwrap();
    Answer::of(output).expect(1, &["standard output"]);
}

#[test]
fn the_help_and_the_version_are_results() {
    let place = Place::new();
    let help = place.run(&["--help"]).expect(0, &[]);
    assert!(help.stdout.contains("--job_type") && help.stderr.is_empty(), "{help:#?}");
    let version = place.run(&["--version"]).expect(0, &[]);
    assert_eq!(version.stdout.trim(), format!("aoe {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_soc_that_is_shown_can_be_tuned_for() {
    let place = Place::new();
    let shown = place.run(&["soc", "ascend910b4"]).expect(0, &[]);
    std::fs::write(place.path("my soc.json"), shown.stdout.replace("Ascend910B4", "AscendMine")).unwrap();
    let answer = place.tune(&["--soc_version=my soc.json", "-m", &model("resnet50.onnx")]).expect(0, &[]);
    assert!(answer.stdout.contains("AscendMine"), "{answer:#?}");
}

/// A search this long outlives the signal, which is sent once the tuning says that it began.
#[cfg(unix)]
#[test]
fn an_interrupt_saves_what_was_found_and_says_so() {
    let place = Place::new();
    let arguments = ["-m", &model("bert_base.onnx"), "-j", "2", "--max_tuning_count=1000000", "--backend=simulator"];
    let mut command = place.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("distinct operators") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "ended before it began: {said}");
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}\n{stdout}");
    assert!(said.contains("cancelled") && !stdout.contains("Aoe process finished"), "{said}\n{stdout}");
    let results = place.results();
    assert_eq!(results[0][1]["OPAT"]["opat_tuning_result"], "tuning incomplete");
}
