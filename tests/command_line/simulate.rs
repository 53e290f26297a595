//! `aoe simulate` as its users meet it: streams, files, exit statuses.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const CASE: &str = r#"{"id":1,"op":"MatMul","m":512,"k":512,"n":512}"#;

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::Builder::new().prefix("aoe sim ").tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.arg("simulate").args(arguments).current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn feed(&self, arguments: &[&str], cases: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(cases.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answers(text: &[u8]) -> Vec<Value> {
    std::str::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn expect(output: &Output, status: i32, words: &[&str]) {
    assert_eq!(output.status.code(), Some(status), "{}", said(output));
    for word in words {
        assert!(said(output).contains(word), "{word}: {}", said(output));
    }
}

#[test]
fn cases_pass_from_stream_to_stream_and_bad_ones_are_counted() {
    let place = Place::new();
    let output = place.feed(&["--soc_version=Ascend910B4"], &format!("{CASE}\nnonsense\n\n{CASE}\n"));
    expect(&output, 0, &["1 of 3 cases"]);
    let answers = answers(&output.stdout);
    assert_eq!(answers.len(), 3);
    assert!(answers[0]["time_us"].as_f64().unwrap() > 0.0 && answers[0] == answers[2], "{answers:?}");
    for pipe in ["mac", "mte1", "mte2", "fixpipe", "vec", "mte3"] {
        assert!(answers[0]["pipes"][pipe].is_number(), "{pipe}");
    }
    assert!(answers[0]["bound"].is_string() && answers[0]["schedule"]["l0"].is_object());
    assert!(answers[1]["id"].is_null() && answers[1]["error"].as_str().unwrap().starts_with("line 2: "));
}

#[test]
fn a_file_is_written_whole_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let input = place.file("cases.jsonl", CASE);
    let run =
        || place.run(&["--soc_version", "Ascend910B2", "--input", input.to_str().unwrap(), "--output=pred.jsonl"]);
    expect(&run(), 0, &[]);
    let first = std::fs::read(place.path("pred.jsonl")).unwrap();
    assert_eq!(answers(&first).len(), 1);
    std::fs::set_permissions(place.path("pred.jsonl"), std::fs::Permissions::from_mode(0o640)).unwrap();
    expect(&run(), 0, &[]);
    assert_eq!(std::fs::read(place.path("pred.jsonl")).unwrap(), first, "the same bytes every time");
    assert_eq!(std::fs::metadata(place.path("pred.jsonl")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(place.names(), ["cases.jsonl", "pred.jsonl"]);
}

#[test]
fn the_input_is_never_the_output() {
    let place = Place::new();
    place.file("cases.jsonl", CASE);
    std::os::unix::fs::symlink("cases.jsonl", place.path("link")).unwrap();
    for output in ["cases.jsonl", "./cases.jsonl", "link"] {
        let output = place.run(&["--input=cases.jsonl", "--output", output]);
        expect(&output, 2, &["is the input too"]);
    }
    assert_eq!(std::fs::read_to_string(place.path("cases.jsonl")).unwrap(), CASE);
    assert_eq!(place.names(), ["cases.jsonl", "link"]);
}

#[test]
fn the_option_names_the_soc_before_the_case_does() {
    let place = Place::new();
    let cases = CASE.replace("\"op\"", "\"soc\":\"Ascend310P3\",\"op\"");
    let time = |arguments: &[&str]| answers(&place.feed(arguments, &cases).stdout)[0]["time_us"].as_f64().unwrap();
    assert!(time(&["--soc_version=Ascend910B2"]) < time(&[]));
    assert!(time(&["--soc_set=cube_freq_mhz=100", "--soc_set", "l2_rate=5"]) > time(&[]));
    place.file("part.json", r#"{"base": "Ascend310P3", "name": "slow", "cube_freq_mhz": 100}"#);
    assert!(time(&["--soc_version=part.json"]) > time(&[]));
}

#[test]
fn wrong_options_fail_before_anything_is_read_or_written() {
    let place = Place::new();
    place.file("cases.jsonl", CASE);
    for (arguments, words) in [
        (&["--soc_version=Ascend910B5"][..], &["Ascend910B4"][..]),
        (&["--soc_set=cube_freq=3"], &["cube_freq_mhz"]),
        (&["--soc_set=cube_freq_mhz=nan"], &["cube_freq_mhz"]),
        (&["--soc_set=cube_freq_mhz"], &["key=value"]),
        (&["--soc_version=missing.json"], &["missing.json"]),
        (&["--soc_version=Ascend910B2", "--aicore_num=99"], &["aicore_num"]),
        (&["--job_type=2"], &["does not belong"]),
        (&["stray"], &["stray"]),
    ] {
        let arguments = [arguments, &["--input=cases.jsonl", "--output=pred.jsonl"]].concat();
        let output = place.run(&arguments);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
        expect(&output, output.status.code().unwrap(), words);
    }
    assert_eq!(place.names(), ["cases.jsonl"]);
}

#[test]
fn streams_that_fail_are_named() {
    let place = Place::new();
    place.file("cases.jsonl", &format!("{CASE}\n").repeat(2000));
    expect(&place.run(&["--input=none.jsonl"]), 1, &["none.jsonl"]);
    expect(&place.run(&["--input=."]), 1, &["directory"]);
    expect(&place.run(&["--input=cases.jsonl", "--output=/"]), 1, &["directory"]);
    expect(&place.run(&["--input=cases.jsonl", "--output=none/pred.jsonl"]), 1, &["none/pred.jsonl"]);
    if Path::new("/dev/full").exists() {
        expect(&place.run(&["--input=cases.jsonl", "--output=/dev/full"]), 1, &["/dev/full", "No space"]);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(&["--input=cases.jsonl"]).stdout(full).output().unwrap();
        expect(&output, 1, &["standard output", "No space"]);
    }
    // A limit on the size of files stands for a full disk.
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" simulate --input=cases.jsonl --output=pred.jsonl";
    let shell = Path::new("/bin/sh");
    let output =
        Command::new(shell).args(["-c", limited, env!("CARGO_BIN_EXE_aoe")]).current_dir(place.0.path()).output();
    expect(&output.unwrap(), 1, &["pred.jsonl", "without any answer"]);
    assert_eq!(place.names(), ["cases.jsonl"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_work_without_a_word() {
    let place = Place::new();
    place.file("cases.jsonl", &format!("{CASE}\n").repeat(5000));
    let mut child =
        place.command(&["--input=cases.jsonl"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    expect(&output, 0, &[]);
    assert_eq!(said(&output), "");
}

#[test]
fn explanations_are_text_or_a_trace() {
    let place = Place::new();
    let text = place.feed(&["--explain"], CASE);
    expect(&text, 0, &[]);
    assert!(String::from_utf8(text.stdout).unwrap().contains("us by the model (bound: "));
    let trace = place.feed(&["--explain=trace", "--output=trace.json"], CASE);
    expect(&trace, 0, &[]);
    let trace: Value = serde_json::from_slice(&std::fs::read(place.path("trace.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 20);
    expect(&place.run(&["--explain=picture"]), 2, &["picture"]);
}

#[test]
fn a_soc_says_where_its_values_come_from() {
    let soc = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_aoe")).arg("soc").args(arguments).output().unwrap();
    let output = soc(&["ascend910b4", "--sources"]);
    expect(&output, 0, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let clock = text.lines().find(|line| line.starts_with("cube_freq_mhz")).unwrap();
    assert!(clock.contains("1650") && clock.contains("measured") && clock.contains("1500"), "{clock}");
    expect(&soc(&["--sources"]), 2, &["NAME"]);
}

#[test]
fn an_interrupt_leaves_no_unfinished_file() {
    let place = Place::new();
    let mut child = place.command(&["--output=pred.jsonl"]).stdin(Stdio::piped()).spawn().unwrap();
    // Waiting for the child would close its input, whose end is no interrupt.
    let input = child.stdin.take();
    // It waits for cases that do not come; the file is there once it listens for signals.
    while !place.names().iter().any(|name| name.starts_with(".aoe-")) {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// Products as rows of a profile that take `factor` times what is predicted.
fn profile(place: &Place, factor: f64) -> PathBuf {
    let sizes: Vec<u64> = (1..=12).map(|i| 256 * i).collect();
    let operand = |shape: [u64; 2]| format!(r#"{{"shape":{shape:?},"dtype":"float16","format":"ND"}}"#);
    let case = |m: &u64| {
        let (a, b, c) = (operand([*m, 512]), operand([512, 1024]), operand([*m, 1024]));
        // A profile is of a network, which has the weights in device memory.
        format!(r#"{{"op":"MatMulV2","inputs":[{a},{b}],"outputs":[{c}],"missed_bytes":1048576}}"#)
    };
    let cases: Vec<String> = sizes.iter().map(case).collect();
    let priced = answers(&place.feed(&["--soc_version=Ascend910B2"], &cases.join("\n")).stdout);
    let header = "Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";
    let row = |(m, answer): (&u64, &Value)| {
        let us = answer["time_us"].as_f64().unwrap() * factor;
        format!("a,MatMulV2,{us},\"{m},512;512,1024\",FLOAT16;FLOAT16,ND;ND,\"{m},1024\",FLOAT16,ND")
    };
    let rows = sizes.iter().zip(&priced).map(row);
    let text = std::iter::once(header.to_owned()).chain(rows).collect::<Vec<_>>().join("\n");
    place.file("kernel_details.csv", &text)
}

fn calibrate(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
    command.arg("calibrate").args(arguments).current_dir(place.0.path()).env_clear().stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn what_a_device_taught_corrects_its_part_and_is_named() {
    let place = Place::new();
    profile(&place, 2.0);
    let arguments = ["kernel_details.csv", "--soc_version=Ascend910B2", "--output=own.json"];
    expect(&calibrate(&place, &arguments), 0, &["cube: error 50.0 % before"]);
    place.file("case.jsonl", CASE);
    let one = |output: Output| answers(&output.stdout).remove(0);
    let plain = one(place.run(&["--soc_version=Ascend910B2", "--input=case.jsonl"]));
    let corrected = one(place.run(&["--soc_version=Ascend910B2", "--calibration=own.json", "--input=case.jsonl"]));
    let ratio = corrected["time_us"].as_f64().unwrap() / plain["time_us"].as_f64().unwrap();
    assert!((1.7..2.0).contains(&ratio), "{corrected}");
    assert!(plain.get("calibration").is_none());
    assert_eq!(
        (&corrected["calibration"]["class"], &corrected["calibration"]["model_us"]),
        (&"cube".into(), &plain["time_us"])
    );
    assert!(corrected["calibration"]["file"].as_str().unwrap().ends_with("own.json"));
    let mut command = place.command(&["--soc_version=Ascend910B2", "--input=case.jsonl"]);
    assert_eq!(one(command.env("AOE_CALIBRATION", "own.json").output().unwrap()), corrected);
    let other = place.run(&["--soc_version=Ascend910B4", "--calibration=own.json", "--input=case.jsonl"]);
    expect(&other, 2, &["calibration", "Ascend910B2", "Ascend910B4"]);
    expect(&place.run(&["--calibration=none.json", "--input=case.jsonl"]), 1, &["none.json"]);
}

#[test]
fn kernels_and_a_calibration_that_standard_output_does_not_take_are_no_success() {
    let place = Place::new();
    profile(&place, 2.0);
    for arguments in [&["kernels", DUMP][..], &["calibrate", "kernel_details.csv", "--soc_version=Ascend910B2"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(arguments).current_dir(place.0.path()).env_clear().stdin(Stdio::null());
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            expect(&command.stdout(full).output().unwrap(), 1, &["standard output", "No space"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        expect(&child.wait_with_output().unwrap(), 0, &[]);
    }
}

/// A product that the graph engine dumped.
const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/dumps/ge_proto_00000_MatMulV2.txt");

#[test]
fn a_calibration_beside_the_bank_counts_for_kernels_cases_and_tunings_alike() {
    let place = Place::new();
    profile(&place, 2.0);
    let bank = place.path("bank/Ascend910B2");
    std::fs::create_dir_all(&bank).unwrap();
    let output = "--output=bank/Ascend910B2/calibration.json";
    expect(&calibrate(&place, &["kernel_details.csv", "--soc_version=Ascend910B2", output]), 0, &[]);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(arguments).current_dir(place.0.path()).env_clear().stdin(Stdio::null());
        let output = command.env("TUNE_BANK_PATH", place.path("bank")).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        output.stdout
    };
    let case = String::from_utf8(run(&["kernels", DUMP, "--cases"])).unwrap();
    place.file("case.jsonl", &case);
    let answer = answers(&run(&["simulate", "--input=case.jsonl"])).remove(0);
    assert!(answer["time_us"].as_f64() > answer["calibration"]["model_us"].as_f64(), "{answer}");
    let listing: Value = serde_json::from_slice(&run(&["kernels", DUMP, "--json"])).unwrap();
    assert_eq!(listing["kernels"]["kernels"][0]["us"], answer["time_us"], "{listing}");
    run(&["--model", DUMP, "--job_type=2", "--backend=simulator", "--output=out/", "--progress_bar=off"]);
    let report = std::fs::read_to_string(place.path("out/report.json")).unwrap();
    assert!(report.contains("times corrected by") && report.contains("calibration.json"), "{report}");
}

#[test]
fn every_result_with_corrected_times_names_the_calibration() {
    let place = Place::new();
    profile(&place, 2.0);
    let part = "--soc_version=Ascend910B2";
    expect(&calibrate(&place, &["kernel_details.csv", part, "--output=own.json"]), 0, &[]);
    let own: Value = serde_json::from_str(&std::fs::read_to_string(place.path("own.json")).unwrap()).unwrap();
    let date = own["date"].as_str().unwrap();
    place.file(
        "config.json",
        r#"{"model_type":"qwen3","hidden_size":512,"intermediate_size":1024,"num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":8,"head_dim":64,"vocab_size":1024}"#,
    );
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.args(arguments).args([part, "--calibration=own.json"]).current_dir(place.0.path()).env_clear();
        let output = command.env("TUNE_BANK_PATH", place.path("bank")).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::create_dir_all(place.path("bank")).unwrap();
    let llm = ["llm", "config.json", "--batch=1", "--prompt=128", "--trials=0"];
    let kernels = ["kernels", DUMP];
    let profiled = ["--profile=kernel_details.csv", "--dry_run"];
    for words in [run(&kernels), run(&llm), run(&profiled)] {
        let named = words.lines().any(|line| line.contains("own.json (Ascend910B2, ") && line.contains(date));
        assert!(named, "{words}");
    }
    let is_named = |by: &Value| {
        let file = by["file"].as_str().unwrap_or_default();
        assert!(file.ends_with("own.json") && by["part"] == "Ascend910B2" && by["date"] == date, "{by}");
    };
    let json = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let file = |name: &str| json(&std::fs::read_to_string(place.path(name)).unwrap());
    is_named(&json(&run(&["kernels", DUMP, "--json"]))["kernels"]["calibration"]);
    is_named(&json(&run(&[llm.as_slice(), &["--json", "--output=llm/"]].concat()))["calibration"]);
    is_named(&file("llm/report.json")["calibration"]);
    run(&["--profile=kernel_details.csv", "--output=profiled/"]);
    is_named(&file("profiled/report.json")["corrected_by"]);
    run(&["--model", DUMP, "--job_type=2", "--backend=simulator", "--output=out/", "--progress_bar=off"]);
    let results =
        std::fs::read_dir(place.path("out")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let result = results.into_iter().find(|name| name.starts_with("aoe_result_opat_")).unwrap();
    is_named(&file(&format!("out/{result}"))[0]["basic"]["calibration"]);
}

#[test]
fn the_simulator_s_own_profile_teaches_nothing() {
    let place = Place::new();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/models/resnet50.onnx");
    let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
    command.args([
        "--model",
        model,
        "--job_type=2",
        "--backend=simulator",
        "--soc_version=Ascend910B2",
        "--output=out/",
    ]);
    command.args(["--profiling_mode=true", "--max_tuning_count=1", "--progress_bar=off"]);
    let output = command.current_dir(place.0.path()).env_clear().stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let output = calibrate(&place, &["out/profiling/before_tuning", "--soc_version=Ascend910B2", "--output=own.json"]);
    expect(&output, 1, &["no class of kernels gains", "right as it is"]);
    assert!(!place.path("own.json").exists());
}

#[test]
fn a_calibration_without_gain_is_refused_and_nothing_is_written() {
    let place = Place::new();
    profile(&place, 1.0);
    let output = calibrate(&place, &["kernel_details.csv", "--soc_version=Ascend910B2", "--output=own.json"]);
    expect(&output, 1, &["no class of kernels gains", "cube: no gain"]);
    assert_eq!(place.names(), ["kernel_details.csv"]);
    expect(&calibrate(&place, &[]), 2, &["PROFILE"]);
    expect(&calibrate(&place, &["nowhere.csv"]), 1, &["nowhere.csv"]);
}

#[test]
fn a_convolution_is_priced_alike_in_a_networks_formats_and_in_the_kernels() {
    let operand = |shape: &str, format: &str| format!(r#"{{"shape":{shape},"dtype":"float16","format":"{format}"}}"#);
    let case = |format: &str, [x, y]: [&str; 2], filter: String| {
        let [x, y] = [x, y].map(|shape| operand(shape, format));
        format!(r#"{{"op":"Conv2D","inputs":[{x},{filter}],"outputs":[{y}]}}"#)
    };
    let sizes = ["[1,32,16,16]", "[1,64,16,16]"];
    let cases = [
        case("NCHW", sizes, operand("[64,32,1,1]", "NCHW")),
        case("NC1HWC0", ["[1,2,16,16,16]", "[1,4,16,16,16]"], operand("[2,4,16,16]", "FRACTAL_Z")),
        case("ND", sizes, operand("[64,32,1,1]", "ND")),
    ];
    let output = Place::new().feed(&["--soc_version=Ascend910B2"], &cases.map(|case| case + "\n").concat());
    let answers = answers(&output.stdout);
    assert!(answers[0]["time_us"].as_f64().unwrap() > 0.0, "{}", answers[0]);
    assert_eq!(answers[0]["time_us"], answers[1]["time_us"]);
    // Nothing tells which axis is which.
    let error = answers[2]["error"].as_str().unwrap();
    assert!(["NCHW", "NC1HWC0", "FRACTAL_Z"].iter().all(|word| error.contains(word)), "{error}");
}
