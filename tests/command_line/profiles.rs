//! Profiles as users get them: from the command line, and what CANN's own reader makes of them.

use aoe::frontend::{self, ModelOptions};
use aoe::session::{self, Flow};
use aoe::status::Error;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/models/resnet50.onnx");

const TRAINING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/training/resnet50.air");

/// A directory of its own for each test.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::Builder::new().prefix("aoe profiles ").tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Tunes the network with few measurements.
    fn tune(&self, arguments: &[&str]) -> Output {
        self.run(&[&["--max_tuning_count=8", &format!("--model={MODEL}")], arguments].concat())
    }

    /// Tunes the gradients of the training graph, on a network that is slow enough to leave some behind.
    fn tune_gradients(&self, arguments: &[&str]) -> Output {
        let model = format!("--model={TRAINING}");
        self.run(&[&["--job_type=4", "--framework=1", "--soc_version=Ascend910B2", &model], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(["--backend=simulator", "--tuned_model=off"]).args(arguments);
        command.current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.0.path()).env("ASCEND_WORK_PATH", self.0.path()).env("TUNE_BANK_PATH", self.0.path());
        command.output().unwrap()
    }

    /// Everything in it but the banks.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.into_string().unwrap()).filter(|name| !name.starts_with("Ascend")).collect()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The one entry of a directory whose name begins so.
fn only(directory: &Path, prefix: &str) -> PathBuf {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let names = entries.map(|entry| entry.unwrap().path());
    let found: Vec<_> = names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

fn reader(profile: &Path, name: &str) -> csv::Reader<std::fs::File> {
    let output = profile.join("mindstudio_profiler_output");
    // The time in the names of all of them is that of any.
    let any = only(&output, "ge_").with_extension("csv").file_name().unwrap().to_str().unwrap().to_owned();
    csv::Reader::from_path(output.join(any.replace("ge_", &format!("{name}_")))).unwrap()
}

fn table(profile: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    reader(profile, name).deserialize().map(|row| row.unwrap()).collect()
}

/// Sum of the durations of all tasks in milliseconds.
fn milliseconds(profile: &Path) -> f64 {
    let of = |row: BTreeMap<String, String>| row["Task Duration(us)"].parse::<f64>().unwrap();
    table(profile, "op_summary").into_iter().map(of).sum::<f64>() / 1e3
}

#[test]
fn both_profiles_lie_beside_the_result_and_say_the_same() {
    for (job, kind) in [("2", "OPAT"), ("1", "SGAT")] {
        let place = Place::new();
        let output = place.tune(&["--soc_version=Ascend310P3", "--job_type", job, "--profiling_mode=true"]);
        assert!(output.status.success(), "{}", said(&output));
        let result = only(place.0.path(), "aoe_result_");
        let result: Value = serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap();
        let baseline = &result[1][kind]["model_baseline_performance(ms)"];
        // Afterwards the network runs with what CANN reads, and with nothing else that was found.
        let after_us = &result[1][kind]["gains"]["over_default"]["after_us"];
        for (moment, told) in [("before", baseline.as_f64().unwrap()), ("after", after_us.as_f64().unwrap() / 1e3)] {
            let directory = place.path("profiling").join(format!("{moment}_tuning"));
            let profile = only(&directory, "PROF_000001_");
            assert!(said(&output).contains(profile.to_str().unwrap()), "{}", said(&output));
            let summed = milliseconds(&profile);
            // Each task is rounded to a nanosecond.
            let tasks = table(&profile, "task_time").len() as f64;
            assert!((told - summed).abs() < tasks * 1e-6, "{kind} {moment}: {told} {summed}");
        }
    }
}

#[test]
fn what_cann_does_not_read_is_in_no_profile() {
    let place = Place::new();
    let output = place.tune(&["--soc_version=Ascend310P3", "--output=results/"]);
    assert!(output.status.success(), "{}", said(&output));
    let of = |moment: &str| only(&place.path("results/profiling").join(moment), "PROF_");
    let (before, after) = (of("before_tuning"), of("after_tuning"));
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("results/report.json")).unwrap()).unwrap();
    let taken = &report["gains"]["over_default"];
    for (profile, field) in [(&before, "before_us"), (&after, "after_us")] {
        let (told, tasks) = (taken[field].as_f64().unwrap(), table(profile, "task_time").len() as f64);
        assert!((told - milliseconds(profile) * 1e3).abs() < tasks * 1e-3, "{field}: {told}");
    }
    // Subgraphs are found here, whose strategies lie in our own form: the network is launched as before.
    assert!(report["found_us"].as_f64() < report["before_us"].as_f64());
    let launched = |profile: &Path| table(profile, "task_time").len();
    assert_eq!(launched(&before), launched(&after));
    let fused = table(&after, "fusion_op");
    assert!(fused.iter().any(|row| row["Original Ops"].contains(';')));
}

/// A number in a table, whatever its writer put behind it.
fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = row.get(column).unwrap_or_else(|| panic!("no column {column}: {row:?}"));
    text.trim().parse().unwrap_or_else(|_| panic!("{column} is {text:?}"))
}

/// Microseconds that the rows of one kind take in a timeline's overlap of computing and communication.
fn overlap(profile: &Path, name: &str) -> f64 {
    let text = std::fs::read(only(&profile.join("mindstudio_profiler_output"), "msprof_")).unwrap();
    let events: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let layer = events.iter().find(|event| event["args"]["name"] == "Overlap Analysis").unwrap()["pid"].clone();
    let bars = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == layer && event["name"] == name);
    bars.map(|bar| bar["dur"].as_f64().unwrap()).sum()
}

#[test]
fn the_profiles_of_a_training_step_are_those_of_its_splits() {
    let place = Place::new();
    let output = place.tune_gradients(&["--output=results/"]);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("results/report.json")).unwrap()).unwrap();
    // CANN runs what the bank holds, if that is a record and shorter than hccl's default, else the default.
    let end = |split: &str| report["gradients"][split]["end_us"].as_f64().unwrap();
    let [before, after] = ["split_before", "split_from_bank"].map(end);
    match report["gradients"]["status"].as_str().unwrap() {
        "added" => assert!(after < before, "{before} {after}"),
        status => assert_eq!((status, after.to_bits()), ("unsatisfied", before.to_bits())),
    }
    let gain = format!("improved by {:.2}%", 100.0 * (1.0 - after / before));
    assert!(said(&output).contains(&gain), "{gain}: {}", said(&output));
    let of = |moment: &str| only(&place.path("results/profiling").join(moment), "PROF_");
    for (moment, field) in [("before_tuning", "split_before"), ("after_tuning", "split_from_bank")] {
        let (profile, split) = (of(moment), &report["gradients"][field]);
        let told = |name: &str| split[name].as_f64().unwrap();
        let segments = split["segments"].as_array().unwrap();
        let is_near = |a: f64, b: f64| assert!((a - b).abs() < 0.01, "{moment}: {a} {b}");
        // The iteration ends with the last segment, and its backward pass where the split says so.
        let step = table(&profile, "step_trace").remove(0);
        is_near(number(&step, "Iteration End(us)"), told("end_us"));
        is_near(number(&step, "BP End(us)"), told("backward_us"));
        is_near(number(&step, "Iteration Refresh(us)"), told("trailing_us"));
        let output = profile.join("mindstudio_profiler_output");
        let columns = reader(&profile, "step_trace").headers().unwrap().len();
        assert_eq!(columns, 10 + 2 * segments.len());
        // Every segment is an exchange, in the tables and in the timelines.
        let tasks = table(&profile, "op_summary");
        let exchanges: Vec<_> = tasks.iter().filter(|task| task["Task Type"] == "COMMUNICATION").collect();
        assert_eq!(exchanges.len(), segments.len());
        let communicating: f64 = segments
            .iter()
            .zip(&exchanges)
            .map(|(segment, task)| {
                let [start, end] = ["start_us", "end_us"].map(|name| segment[name].as_f64().unwrap());
                is_near(number(task, "Task Start Time(us)"), start);
                is_near(number(task, "Task Duration(us)"), end - start);
                end - start
            })
            .sum();
        let statistic = table(&profile, "communication_statistic").remove(0);
        assert_eq!(number(&statistic, "Count") as usize, segments.len());
        is_near(number(&statistic, "Total Time(us)"), communicating);
        let hccl: Vec<Value> = serde_json::from_slice(&std::fs::read(only(&output, "hccl_")).unwrap()).unwrap();
        let bars: Vec<_> = hccl.iter().filter(|event| event["ph"] == "X").collect();
        let bytes = |bar: &Value| bar["args"]["count"].as_u64().map(|count| count * 4);
        assert!(bars.iter().zip(segments).all(|(bar, segment)| bytes(bar) == segment["bytes"].as_u64()));
        assert_eq!((&bars[0]["args"]["rank_size"], &bars[0]["args"]["alg_type"]), (&8.into(), &"ring".into()));
        // Computing never waits; what it does not hide of the exchanges is what trails.
        is_near(overlap(&profile, "Computing"), told("backward_us"));
        is_near(overlap(&profile, "Communication"), communicating);
        is_near(overlap(&profile, "Communication(Not Overlapped)"), told("trailing_us"));
        let computing = tasks.iter().filter(|task| task["Task Type"] != "COMMUNICATION");
        assert!(
            (computing.map(|task| number(task, "Task Duration(us)")).sum::<f64>() - told("backward_us")).abs() < 1.0
        );
    }
}

#[test]
fn a_results_folder_has_no_profiles_where_they_are_switched_off() {
    let place = Place::new();
    let output = place.tune(&["--job_type=1", "--profiling_mode=false", "--output=results/"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(place.path("results/report.json").is_file() && !place.path("results/profiling").exists());
}

#[test]
fn wrong_options_are_named_and_nothing_is_tuned() {
    let place = Place::new();
    std::fs::write(place.path("file"), "mine").unwrap();
    let blocked = format!(r#"{{"output":"{}"}}"#, place.path("file").display());
    for (options, status, words) in [
        ("{", 2, &["profiling_options", "JSON object"][..]),
        (r#"{"aic_metrics":"Pipes"}"#, 2, &["profiling_options", "aic_metrics", "Pipes"]),
        (r#"{"fp_point":"/layer1/layer1.0/relu/Rleu"}"#, 2, &["fp_point", "/layer1/layer1.0/relu/Relu"]),
        (&blocked, 1, &["write to directory", "file is no directory"]),
    ] {
        let output = place.tune(&["--job_type=2", "--profiling_mode=true", "--profiling_options", options]);
        assert_eq!(output.status.code(), Some(status), "{}", said(&output));
        assert!(words.iter().all(|word| said(&output).contains(word)), "{}", said(&output));
        assert_eq!(place.names(), ["file"], "nothing is begun");
    }
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"mine");
}

#[test]
fn a_tuning_that_is_cancelled_leaves_no_profile() {
    let place = Place::new();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let options = format!(r#"{{"output":"{}"}}"#, path("prof"));
    session::initialize([("backend", "simulator"), ("work_path", &path("work")), ("job_type", "2")]).unwrap();
    let session = session::session(session::create().unwrap()).unwrap();
    session.set_graph(Some(frontend::load_file(Path::new(MODEL), None, &ModelOptions::default()).unwrap())).unwrap();
    session.set_progress(Some(Box::new(|_| Flow::Cancel))).unwrap();
    let bank = path("bank");
    let options = [("profiling_mode", "true"), ("profiling_options", &options), ("ge.op_bank_path", &bank)];
    let outcome = session.tune(options);
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert!(!place.path("prof").exists());
}

/// Runs the reader, which `scripts/test` gets from Python's package index.
fn msprof_analyze(place: &Place, arguments: &[&str]) -> String {
    let output = Command::new("msprof-analyze").args(arguments).current_dir(place.0.path()).output();
    let output = output.expect("msprof-analyze is to be on PATH: scripts/need msprof-analyze, or pip install it");
    let text = said(&output);
    // Its exit status is 0 whatever happens.
    assert!(!text.contains("[ERROR]") && !text.contains("Traceback"), "{text}");
    text
}

#[test]
#[ignore = "needs msprof-analyze from PyPI; scripts/test installs it and runs this"]
fn msprof_analyze_advises_on_our_operators() {
    let place = Place::new();
    let options = r#"{"output":"prof"}"#;
    let output = place.tune(&["--job_type=2", "--profiling_mode=true", "--profiling_options", options]);
    assert!(output.status.success(), "{}", said(&output));
    let profile = only(&place.path("prof/after_tuning"), "PROF_");
    let report = place.path("report");
    let arguments = ["advisor", "computation", "-d", profile.to_str().unwrap(), "-o", report.to_str().unwrap()];
    msprof_analyze(&place, &[&arguments[..], &["-l", "en"]].concat());
    let page = std::fs::read_to_string(only(&report, "mstt_advisor_")).unwrap();
    // Which of our operators leave cores idle it finds by the block counts, our core counts and our types.
    for word in ["Block Dim", "24 ai core", "48 ai vector core", "Conv2D", "TransData"] {
        assert!(page.contains(word), "{word} is missing in {page}");
    }
    let sheet = only(&report.join("log"), "mstt_advisor_");
    assert!(std::fs::metadata(sheet).unwrap().len() > 1000);
}

#[test]
#[ignore = "needs msprof-analyze from PyPI; scripts/test installs it and runs this"]
fn msprof_analyze_finds_the_time_that_the_network_computes() {
    let place = Place::new();
    let options = r#"{"output":"prof"}"#;
    let output = place.tune(&["--job_type=2", "--profiling_mode=true", "--profiling_options", options]);
    assert!(output.status.success(), "{}", said(&output));
    let profiles = place.path("prof/after_tuning");
    let report = place.path("report");
    msprof_analyze(&place, &["cluster", "-m", "all", "-d", profiles.to_str().unwrap(), "-o", report.to_str().unwrap()]);
    let found = report.join("cluster_analysis_output/cluster_step_trace_time.csv");
    let rows: Vec<BTreeMap<String, String>> =
        csv::Reader::from_path(found).unwrap().deserialize().map(|row| row.unwrap()).collect();
    let computing: f64 = rows[0]["Computing"].parse().unwrap();
    let ours = milliseconds(&only(&profiles, "PROF_")) * 1e3;
    assert!((computing - ours).abs() < 0.1, "{computing} {ours}");
}

#[test]
#[ignore = "needs msprof-analyze from PyPI; scripts/test installs it and runs this"]
fn msprof_analyze_finds_what_of_the_exchange_computing_hides() {
    let place = Place::new();
    let output = place.tune_gradients(&["--output=results/"]);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("results/report.json")).unwrap()).unwrap();
    for (moment, field) in [("before_tuning", "split_before"), ("after_tuning", "split_from_bank")] {
        let (profiles, into) = (place.path("results/profiling").join(moment), place.path(moment));
        msprof_analyze(
            &place,
            &["cluster", "-m", "all", "-d", profiles.to_str().unwrap(), "-o", into.to_str().unwrap()],
        );
        let found = into.join("cluster_analysis_output/cluster_step_trace_time.csv");
        let rows: Vec<BTreeMap<String, String>> =
            csv::Reader::from_path(found).unwrap().deserialize().map(|row| row.unwrap()).collect();
        let split = &report["gradients"][field];
        let told = |name: &str| split[name].as_f64().unwrap();
        let segments = split["segments"].as_array().unwrap().iter();
        let exchanged: f64 = segments.map(|s| s["end_us"].as_f64().unwrap() - s["start_us"].as_f64().unwrap()).sum();
        for (column, us) in [
            ("Computing", told("backward_us")),
            ("Communication", exchanged),
            ("Communication(Not Overlapped)", told("trailing_us")),
            ("Overlapped", exchanged - told("trailing_us")),
        ] {
            assert!((number(&rows[0], column) - us).abs() < 0.1, "{moment}, {column}: {us} {:?}", rows[0]);
        }
    }
}

#[test]
fn keys_that_bring_nothing_are_named_once() {
    let place = Place::new();
    let options = r#"{"aicpu":"on","msproftx":"on","l2":"on"}"#;
    let output = place.tune(&["--job_type=1,2", "--profiling_mode=true", "--profiling_options", options]);
    assert!(output.status.success(), "{}", said(&output));
    let told = said(&output);
    assert_eq!(told.matches("profiling_options: aicpu, msproftx: only a device").count(), 1, "{told}");
}
