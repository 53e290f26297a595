//! The command line as its users meet it: what it prints, where, and with which exit status.

use crate::answer::Answer;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

mod formats;
mod ge_graphs;
mod gradients;
mod one_headline;
mod one_price;
mod places;
mod reload;
mod resnet50;
mod results;
mod search;
mod shard;
mod volumes;

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

    /// Tunes with as many measurements as find gains that are sure.
    fn tune_surely(&self, arguments: &[&str]) -> Answer {
        let quick = ["--job_type=2", "--backend=simulator", "--max_tuning_count=100"];
        self.run(&[&quick, arguments].concat())
    }

    /// The tuned model of a network in the workspace.
    fn air_of(&self, network: &str) -> Vec<u8> {
        let jobs = std::fs::read_dir(self.path("work/aoe_workspace")).unwrap().map(|entry| entry.unwrap());
        let name = |job: &std::fs::DirEntry| job.file_name().into_string().unwrap();
        let job = jobs.map(|job| (name(&job), job.path())).find(|(name, _)| name.starts_with(network)).unwrap();
        std::fs::read(job.1.join("tunespace/result").join(format!("{}_tune.air", job.0))).unwrap()
    }

    /// The result files written so far.
    fn results(&self) -> Vec<Value> {
        self.results_in("work")
    }

    /// The result files in a directory.
    fn results_in(&self, directory: &str) -> Vec<Value> {
        let files = std::fs::read_dir(self.path(directory)).unwrap().map(|entry| entry.unwrap().path());
        let is_result =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("aoe_result"));
        let results = files.filter(is_result);
        results.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
    }
}

/// A product that gains surely: CANN's default for it is public.
const SURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/stand_ins/product.onnx");

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
    for part in ["simulator", " before, ", "Slowest operators", "Conv2D"] {
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
fn an_error_says_its_status_where_a_program_asks_for_it() {
    let place = Place::new();
    std::fs::write(place.path("no.onnx"), "no model").unwrap();
    let net = model("resnet50.onnx");
    let cases: [(&[&str], i32, &str); 6] = [
        (&["kernels", "no.onnx"], 1, "7 AOE_ERROR_INVALID_GRAPH"),
        (&["kernels", &net, "--soc_version=Ascend1"], 2, "11 AOE_ERROR_INVALID_OPTION_ATTR"),
        (&["kernels", &net, "--no_such_option"], 2, "11 AOE_ERROR_INVALID_OPTION_ATTR"),
        (&["llm", "nowhere.json"], 1, "1004 AOE_ERROR_IO"),
        // Commands of banks go on after an error, and tell it themselves.
        (&["bank", "show", "nowhere.json"], 2, "1004 AOE_ERROR_IO"),
        (&["--model", &net, "--job_type=4"], 1, "8 AOE_ERROR_NON_OPTIMIZE_GRAPH"),
    ];
    for (arguments, status, told) in cases {
        let asked = place.command(arguments).env("AOE_STATUS_LINE", "1").output().unwrap();
        let answer = Answer::of(asked).expect(status, &["[ERROR] "]);
        assert!(answer.stderr.ends_with(&format!("\n[STATUS] {told}\n")), "{answer:#?}");
        let answer = place.run(arguments).expect(status, &["[ERROR] "]);
        assert!(!answer.stderr.contains("[STATUS]"), "{answer:#?}");
    }
}

/// A result file without what the clock, the network's name and the place have put into it.
fn timeless(mut result: Value) -> Value {
    for section in ["OPAT", "SGAT"] {
        for field in ["bank", "run_with"] {
            if let Some(place) = result[1].pointer_mut(&format!("/{section}/gains/worth_measuring/{field}")) {
                *place = Value::Null;
            }
        }
    }
    result[0]["basic"].as_object_mut().unwrap().retain(|key, _| key != "tuning_time(s)" && key != "tuning_name");
    result
}

#[test]
fn a_tuned_model_is_written_where_it_is_asked_for_and_tunes_to_the_same_result() {
    let place = Place::new();
    std::fs::copy(model("resnet50.onnx"), place.path("net.onnx")).unwrap();
    let answer = place.tune(&["-m", "net.onnx", "--output=out/net.om"]).expect(0, &[]);
    for file in ["out/net.air", "out/net.om"] {
        let path = place.path(file);
        assert!(path.is_file() && answer.stdout.contains(path.to_str().unwrap()), "{answer:#?}");
    }
    assert!(answer.stdout.contains("no compiled kernels"), "{answer:#?}");
    assert!(!place.path("work/aoe_workspace").exists());
    let expected = timeless(place.results().remove(0));
    for arguments in [["--framework=1", "out/net.air"], ["--progress_bar=off", "out/net.om"]] {
        let again = Place::new();
        let file = place.path(arguments[1]);
        again.tune(&[arguments[0], "-m", file.to_str().unwrap()]).expect(0, &[]);
        assert_eq!(timeless(again.results().remove(0)), expected, "{arguments:?}");
        // What was tuned once more lies where CANN puts it, the same byte for byte.
        let workspace = again.path("work/aoe_workspace");
        let run = std::fs::read_dir(&workspace).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
        assert!(run.starts_with("net_20"), "{run}");
        let stem = workspace.join(&run).join("tunespace/result").join(format!("{run}_tune"));
        for suffix in ["air", "om"] {
            let [first, second] =
                [place.path("out/net"), stem.clone()].map(|stem| std::fs::read(stem.with_extension(suffix)).unwrap());
            assert!(first == second, "{suffix} after {arguments:?}");
        }
    }
}

#[test]
fn single_operators_are_tuned_from_their_description() {
    let place = Place::new();
    let tensor = |dims: &str| format!(r#"{{"format": "ND", "shape": [{dims}], "type": "float16"}}"#);
    let op = |name: &str, inputs: &[&str], output: &str| {
        let inputs: Vec<_> = inputs.iter().map(|dims| tensor(dims)).collect();
        format!(r#"{{"op": "{name}", "input_desc": [{}], "output_desc": [{}]}}"#, inputs.join(","), tensor(output))
    };
    let text =
        format!("[{}, {}]", op("MatMulV2", &["512,1024", "1024,1000"], "512,1000"), op("Relu", &["4096"], "4096"));
    std::fs::write(place.path("ops.json"), text).unwrap();
    let answer = place.tune(&["--singleop=ops.json", "--output=out/"]).expect(0, &[]);
    assert!(answer.stdout.starts_with("ops process finished."), "{answer:#?}");
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("out/report.json")).unwrap()).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    assert!(kernels.iter().all(|kernel| kernel["trials"].as_u64() > Some(0)), "{kernels:#?}");
    let names: Vec<_> = kernels.iter().map(|kernel| &kernel["nodes"][0]["name"]).collect();
    assert_eq!(names, ["0_MatMulV2_1_2_512_1024_1_2_1024_1000_1_2_512_1000", "1_Relu_1_2_4096_1_2_4096"]);
    std::fs::write(place.path("bad.json"), "[{\"op\": \"Add\"}]").unwrap();
    place.tune(&["--singleop=bad.json"]).expect(1, &["bad", "input_desc"]);
    place.tune(&["--singleop=ops.json", "-m", "x"]).expect(2, &["exclude"]);
}

#[test]
fn graphs_that_cann_dumped_are_tuned_from_their_directory_whatever_their_names() {
    let place = Place::new();
    let resnet = model("resnet50.onnx");
    place.tune(&["-m", &resnet, "--output=net.air"]).expect(0, &[]);
    std::fs::create_dir(place.path("dumps")).unwrap();
    std::fs::rename(place.path("net.air"), place.path("dumps/Conv2D_0")).unwrap();
    std::fs::rename(place.path("net.om"), place.path("dumps/net.om")).unwrap();
    std::fs::write(place.path("dumps/notes"), "").unwrap();
    let answer = place.tune(&["--model_path=dumps"]).expect(0, &["notes: not a model", "net.om: an om file"]);
    assert!(answer.stdout.starts_with("[Aoe]Conv2D_0 Tuning process finished."), "{answer:#?}");
    place.tune(&["--model_path=dumps", "--output=one.om"]).expect(2, &["--output must be a directory"]);
}

#[test]
fn a_tuning_starts_from_the_output_or_the_bank_of_an_earlier_one() {
    let place = Place::new();
    let model = SURE;
    place.tune_surely(&["-m", model, "--output=first/"]).expect(0, &[]);
    // Files of trials: one for each operator of which something was measured anew.
    let kept = |bank: &str| {
        let own = place.path(bank).join("Ascend910B2/unified_bank/.aoe");
        let kinds = std::fs::read_dir(own).into_iter().flatten().map(|entry| entry.unwrap().path());
        let trials = kinds.filter(|path| path.extension().is_some_and(|e| e == "trials"));
        trials.map(|path| std::fs::read_dir(path).unwrap().count()).sum::<usize>()
    };
    let first = kept("bank");
    assert!(first > 0);
    std::fs::rename(place.path("bank"), place.path("old")).unwrap();
    for (index, base) in ["old", "old/Ascend910B2/unified_bank"].into_iter().enumerate() {
        std::fs::create_dir(place.path("bank")).unwrap();
        let answer = place.tune_surely(&["-m", model, "--base_result", base]).expect(0, &[]);
        assert!(answer.stdout.contains(" earlier measurements of "), "{answer:#?}");
        // What the old bank added the new one adds, and nothing was measured that would be kept.
        assert_eq!(place.results().len(), index + 1);
        let summary = |directory: &str| {
            let mut files = std::fs::read_dir(place.path(directory)).unwrap().map(|entry| entry.unwrap().path());
            let file = files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("aoe_result_opat_"));
            let result: Value = serde_json::from_slice(&std::fs::read(file.unwrap()).unwrap()).unwrap();
            result[1]["OPAT"]["repo_summary"].clone()
        };
        assert_eq!(summary("work"), summary("first"));
        assert_eq!(kept("bank"), 0);
        std::fs::remove_dir_all(place.path("bank")).unwrap();
    }
    // The results are whole: wherever they are taken, they have what the bank had.
    let moved = TempDir::new().unwrap();
    let moved = moved.path().join("results");
    std::fs::rename(place.path("first"), &moved).unwrap();
    std::fs::create_dir(place.path("bank")).unwrap();
    place.tune_surely(&["-m", model, "--base_result", moved.to_str().unwrap()]).expect(0, &[]);
    assert_eq!(kept("bank"), 0);
    std::fs::remove_dir_all(place.path("bank")).unwrap();
    std::fs::remove_dir_all(moved.join("aoe_bank")).unwrap();
    std::fs::rename(&moved, place.path("first")).unwrap();
    std::fs::rename(place.path("old"), place.path("bank")).unwrap();
    place.tune_surely(&["-m", model, "--base_result=first"]).expect(0, &[]);
    assert_eq!(kept("bank"), first);
    place.tune_surely(&["-m", model, "--base_result=home"]).expect(2, &["base_result", "home"]);
}

#[test]
fn a_tuning_starts_from_the_output_of_both_jobs_and_says_what_it_took_of_it() {
    let place = Place::new();
    let model = model("resnet50.onnx");
    let both = ["-m", &model, "--backend=simulator", "--max_tuning_count=4", "--profiling_mode=false"];
    let mut first = place.command(&[&both[..], &["--output=first"]].concat());
    // The bank lies in the folder, records of subgraphs beside it.
    first.env_remove("TUNE_BANK_PATH");
    Answer::of(first.output().unwrap()).expect(0, &[]);
    assert!(place.path("first/aoe_bank").is_dir());
    for base in ["first", "first/aoe_bank"] {
        let answer = place.tune(&["-m", &model, "--base_result", base, "--output=again"]).expect(0, &[]);
        let told = answer.stdout.lines().find(|line| line.starts_with("Base ")).unwrap_or_default();
        assert!(told.contains("unified_bank: ") && told.contains(" earlier measurements of "), "{answer:#?}");
        std::fs::remove_dir_all(place.path("bank")).unwrap();
        std::fs::create_dir(place.path("bank")).unwrap();
    }
    let part = "--soc_version=Ascend310P3";
    place.tune(&["-m", &model, "--output=other", part]).expect(0, &[]);
    let other = place.tune(&["-m", &model, "--base_result=other", part]).expect(0, &[]);
    assert!(other.stdout.contains("nothing of it was used"), "the bank has it all: {other:#?}");
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
    place.tune_surely(&["-m", SURE]).expect(0, &[]);
    let added = place.results()[0][1]["OPAT"]["repo_summary"]["repo_add_num"].clone();
    assert!(added.as_u64().unwrap() > 0);
    std::fs::remove_dir_all(place.path("work")).unwrap();
    place.tune_surely(&["-m", SURE]).expect(0, &[]);
    let summary = &place.results()[0][1]["OPAT"]["repo_summary"];
    // What the first run left at CANN's default may profit from what it kept for others.
    assert_eq!(summary["repo_hit_num"], added);
}

#[test]
fn a_bank_file_that_cannot_be_opened_stops_the_tuning_before_it_measures() {
    // What no user may open for writing, whatever the rights: a directory.
    for (job, file) in [
        ("1", "bank/ascend910b2_l2cache_aoe.json"),
        ("2", "bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"),
        ("1,2", "bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"),
    ] {
        let place = Place::new();
        std::fs::create_dir_all(place.path(file)).unwrap();
        let (job, model) = (format!("--job_type={job}"), format!("--model={}", model("bert_base.onnx")));
        let answer = place.run(&["--backend=simulator", "--framework=5", "--soc_version=Ascend910B2", &job, &model]);
        let name = file.rsplit('/').next().unwrap();
        answer.expect(1, &["EC0011: custom_file_dir: cannot be opened to read and write", name]);
        let measured = place.results().iter().any(|result| result.to_string().contains("before"));
        assert!(!measured, "{:?}", place.results());
    }
}

#[test]
fn the_bank_of_an_installed_cann_is_read_below_the_users_and_never_written() {
    let place = Place::new();
    place.tune_surely(&["-m", SURE]).expect(0, &[]);
    let added = place.results()[0][1]["OPAT"]["repo_summary"]["repo_add_num"].clone();
    // What was found becomes what an installation ships: its bank files, without what lies beside them.
    let built_in = place.path("cann/opp/built-in/data/op/Ascend910B2/unified_bank");
    std::fs::create_dir_all(&built_in).unwrap();
    let bank_files = |directory: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_file());
        let mut files: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        files.sort();
        files
    };
    for (path, content) in bank_files(&place.path("bank/Ascend910B2/unified_bank")) {
        std::fs::write(built_in.join(path.file_name().unwrap()), content).unwrap();
    }
    let shipped = bank_files(&built_in);
    assert!(!shipped.is_empty());
    for folder in ["bank", "work"] {
        std::fs::remove_dir_all(place.path(folder)).unwrap();
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    let arguments = ["--job_type=2", "--backend=simulator", "--max_tuning_count=60", "-m", SURE];
    let mut command = place.command(&arguments);
    command.env("ASCEND_HOME_PATH", place.path("cann"));
    Answer::of(command.output().unwrap()).expect(0, &[]);
    let summary = &place.results()[0][1]["OPAT"]["repo_summary"];
    assert_eq!(summary["repo_hit_num"], added);
    assert_eq!(bank_files(&built_in), shipped);
    assert!(!built_in.join(".aoe").exists());
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
        (&["-j", "2"], 2, &["EG0000", "--model=FILE"]),
        (&["--model", &resnet, "--job_type=9"], 2, &["EG0003", "job_type", "`9`"]),
        (&["--model", &resnet, "--job-tpye=2"], 2, &["EG0000", "--job-tpye", "--job_type"]),
        (&["--model", &resnet, "-j", "2", "--input_shape=nosuch:1,2"], 2, &["EG0003", "nosuch"]),
        (&["--model", &resnet, "-j", "2", "--soc_version=Ascend1"], 2, &["EG0003", "Ascend1"]),
        (
            &["--model", &resnet, "-j", "1", "--reload", "--backend=simulator"],
            2,
            &["EG0003", "reload", "aoe_workspace"],
        ),
        (&["--model", &resnet, "-j", "gdat"], 1, &["nothing to tune", "no HcomAllReduce", "job_type 1 or 2"]),
        (&["--singleop=op.json", "-j", "2"], 1, &["EG0011", "op.json"]),
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
    let good =
        "// what is tuned\n{\"job_type\": \"subgraph\", \"max_tuning_count\": 8, \"target_metric\": \"latency\"}";
    std::fs::write(&config, good).unwrap();
    let answer = place.run(&["--config=options.json", "--model", &resnet]).expect(0, &[]);
    assert!(answer.stdout.contains("Subgraphs") && !answer.stdout.contains("operators"), "{answer:#?}");
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
    let mine = shown.stdout.replace("Ascend910B4", "AscendMine");
    std::fs::write(place.path("my soc.json"), &mine).unwrap();
    assert_eq!(place.run(&["soc", "my soc.json"]).expect(0, &[]).stdout, mine);
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

#[test]
fn without_a_job_type_subgraphs_are_tuned_and_then_the_operators_that_they_leave() {
    let place = Place::new();
    // CANN's own fusions leave little to be won; in this network something.
    let resnet = model("resnet50.onnx");
    let common = ["--backend=simulator", "--soc_version=Ascend310P3", "--max_tuning_count=4", "-m", &resnet];
    let answer = place.run(&common).expect(0, &[]);
    assert!(answer.stdout.contains("Subgraphs") && answer.stdout.contains("Slowest operators"), "{answer:#?}");
    let sections = |name: &str| place.results().into_iter().filter(|r| r[1].get(name).is_some()).count();
    assert_eq!([sections("SGAT"), sections("OPAT")], [1, 1]);
    let bank = std::fs::read_to_string(place.path("bank/ascend310p3_l2cache_aoe.json")).unwrap();
    assert!(bank.starts_with("{\"version\": \"2.1\"}\n{\"feature\""), "{}", &bank[..80]);
    let air = place.air_of("resnet50");
    for attribute in ["fusion_scope", "_aoe_ub_pass", "_aoe_tiling"] {
        assert!(air.windows(attribute.len()).any(|window| window == attribute.as_bytes()), "{attribute}");
    }
    // Known now; the option names another bank, which knows nothing.
    let again = place.run(&[&["-j", "1"], &common[..]].concat()).expect(0, &[]);
    assert!(again.stdout.contains(" 0 added to the bank"), "{again:#?}");
    let option = format!("--ge.mdl_bank_path={}", place.path("other").display());
    let other = place.run(&[&["-j", "1", &option], &common[..]].concat()).expect(0, &[]);
    assert!(!other.stdout.contains(" 0 added to the bank") && place.path("other").is_dir(), "{other:#?}");
}

#[test]
fn the_main_job_has_a_name_too() {
    let place = Place::new();
    let quick = ["tune", "--job_type=2", "--backend=simulator", "--max_tuning_count=8"];
    let answer = place.run(&[&quick[..], &["-m", &model("resnet50.onnx")]].concat()).expect(0, &[]);
    assert!(answer.stdout.contains("resnet50 process finished."), "{answer:#?}");
    place.run(&["tune", "--job_type=2"]).expect(2, &["no model"]);
    assert!(place.run(&["tune"]).expect(0, &[]).stdout.contains("aoe help TOPIC"));
}
