//! Where records go, and what is told of a gain the second time.

use super::{Place, SURE, model};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file below a directory, by its path in it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![directory.to_owned()];
    while let Some(next) = ahead.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { ahead.push(path) } else { found.push(path.strip_prefix(directory).unwrap().to_owned()) }
        }
    }
    found.sort();
    found
}

fn records(directory: &Path) -> Vec<PathBuf> {
    files(directory).into_iter().filter(|path| path.parent().is_some_and(|p| p.ends_with("unified_bank"))).collect()
}

/// A tuning of a network that gains for sure, without a bank that is named.
fn tune(place: &Place, bank: Option<&Path>, arguments: &[&str]) -> super::Answer {
    let quick = ["--job_type=2", "--backend=simulator", "--max_tuning_count=60", "--model", SURE];
    let mut command = place.command(&[&quick, arguments].concat());
    command.env_remove("TUNE_BANK_PATH");
    if let Some(bank) = bank {
        command.env("TUNE_BANK_PATH", bank);
    }
    super::Answer::of(command.output().unwrap())
}

#[test]
fn simulated_records_go_to_the_work_path_and_the_line_that_has_cann_read_them_is_told() {
    let place = Place::new();
    let answer = tune(&place, None, &["--output=out/"]).expect(0, &[]);
    let own = place.path("out/aoe_bank");
    assert!(!records(&own).is_empty(), "{answer:#?}");
    assert!(records(&place.path("home")).is_empty(), "CANN's live bank stays as it is");
    let line = answer.stdout.lines().find_map(|line| line.trim().strip_prefix("export TUNE_BANK_PATH=")).unwrap();
    assert!(answer.stdout.contains("op_compiler_cache_mode=force"), "what hides the records: {answer:#?}");
    assert_eq!(line, format!("'{}'", own.display()), "as a shell takes it, with the space in its path");
    let page = fs::read_to_string(place.path("out/report.html")).unwrap();
    assert!(page.contains("export TUNE_BANK_PATH="), "the page says it too");
    // The second run finds them, whether they are named or lie there, and counts from CANN's default again.
    let gains = || -> Value {
        let report: Value = serde_json::from_slice(&fs::read(place.path("out/report.json")).unwrap()).unwrap();
        report["gains"].clone()
    };
    for bank in [None, Some(own.as_path())] {
        let before = gains();
        let again = tune(&place, bank, &["--output=out/"]).expect(0, &[]);
        assert!(again.stdout.contains("already in the bank") && again.stdout.contains("Your bank"), "{again:#?}");
        let (us, now) = (|value: &Value| value.as_f64().unwrap(), gains());
        assert!((us(&now["over_default"]["before_us"]) - us(&before["over_default"]["before_us"])).abs() < 1e-6);
        assert!((us(&now["with_your_bank_us"]) - us(&before["over_default"]["after_us"])).abs() < 1e-6, "{now:#}");
        assert!(us(&now["over_default"]["after_us"]) <= us(&before["over_default"]["after_us"]) + 1e-6, "{now:#}");
    }
}

#[test]
fn install_puts_simulated_records_where_cann_looks_by_itself() {
    let place = Place::new();
    let answer = tune(&place, None, &["--install"]).expect(0, &[]);
    assert!(answer.stdout.contains("op_compiler_cache_mode=force"), "what hides the records: {answer:#?}");
    assert!(!records(&place.path("home/Ascend")).is_empty(), "{answer:#?}");
    assert!(!place.path("work/aoe_bank").exists() && !answer.stdout.contains("export"), "{answer:#?}");
}

#[test]
fn a_dry_run_tells_the_gain_and_leaves_nothing() {
    let place = Place::new();
    for (bank, arguments) in
        [(None, &["--dry-run", "--output=out/"][..]), (Some(place.path("bank")), &["--dry_run"][..])]
    {
        let answer = tune(&place, bank.as_deref(), arguments).expect(0, &[]);
        assert!(answer.stdout.contains("Gain ") && answer.stdout.contains("nothing was written"), "{answer:#?}");
        assert!(answer.stdout.contains("1 operator in ") && answer.stdout.contains("1 would be added"), "{answer:#?}");
        assert_eq!(files(place.dir.path()), Vec::<PathBuf>::new(), "{arguments:?}");
    }
}

#[test]
fn a_tuning_without_result_files_leaves_what_was_named_and_nothing_else() {
    let place = Place::new();
    let none = "--result_file=none";
    let answer = tune(&place, None, &[none]).expect(0, &[]);
    assert!(answer.stdout.contains("Gain ") && answer.stdout.contains("no record was written"), "{answer:#?}");
    assert_eq!(files(place.dir.path()), Vec::<PathBuf>::new(), "{answer:#?}");
    let answer = tune(&place, None, &[none, "--output=net.om"]).expect(0, &[]);
    let left: Vec<_> =
        files(place.dir.path()).into_iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect();
    assert!(left.len() == 2 && left.iter().all(|name| name.starts_with("net.")), "{left:?} {answer:#?}");
    let place = Place::new();
    let bank = place.path("bank");
    let answer = tune(&place, Some(&bank), &[none]).expect(0, &[]);
    assert!(!records(&bank).is_empty(), "{answer:#?}");
    assert!(files(place.dir.path()).iter().all(|path| place.path("").join(path).starts_with(&bank)), "{answer:#?}");
    for (option, told) in
        [("--output=out/", "`output` names a directory"), ("--profiling_mode=on", "profiling_options")]
    {
        tune(&place, None, &[none, option]).expect(2, &["EG0003", told]);
    }
}

#[test]
fn what_a_dry_run_needs_goes_also_where_it_is_killed_and_its_place_is_told_where_it_is_full() {
    let place = Place::new();
    let temporary = place.path("tmp");
    let dead = temporary.join("aoe-tuning-dead");
    fs::create_dir_all(&dead).unwrap();
    // Whoever is killed leaves his lock open.
    fs::write(dead.join(".aoe-owner"), "").unwrap();
    let run = |limit: &str, temporary: &Path| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit} exec \"$@\""), "sh", env!("CARGO_BIN_EXE_aoe"), SURE, "--job_type=2"]);
        command.args(["--backend=simulator", "--max_tuning_count=8", "--dry-run"]).current_dir(place.dir.path());
        command.env_clear().env("HOME", place.path("home")).env("PATH", "/usr/bin:/bin").env("TMPDIR", temporary);
        super::Answer::of(command.output().unwrap())
    };
    run("", &temporary).expect(0, &[]);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "that of the dead and its own");
    // No file may grow: as on a disk that is full.
    run("ulimit -f 1;", &temporary).expect(1, &["EG0011", "aoe-tuning-", "TMPDIR names another place"]);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    run("", &place.path("none")).expect(1, &["EG0010", "/none", "TMPDIR names another place"]);
}

#[test]
fn a_language_model_s_records_go_to_the_work_path_as_well() {
    let place = Place::new();
    let text = r#"{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
        "num_hidden_layers": 2, "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936}"#;
    fs::write(place.path("config.json"), text).unwrap();
    let run = |arguments: &[&str]| {
        let always = ["llm", "config.json", "--batch=1", "--prompt=512", "--trials=60"];
        let mut command = place.command(&[&always, arguments].concat());
        command.env_remove("TUNE_BANK_PATH");
        super::Answer::of(command.output().unwrap()).expect(0, &[])
    };
    let dry = run(&["--dry-run"]);
    assert_eq!(files(place.dir.path()), [Path::new("config.json")], "{dry:#?}");
    let answer = run(&["--output=out"]);
    assert!(records(&place.path("home")).is_empty());
    let written = !records(&place.path("out/aoe_bank")).is_empty();
    assert_eq!(answer.stdout.contains("export TUNE_BANK_PATH="), written, "{answer:#?}");
}

#[test]
fn every_type_that_is_asked_for_by_name_has_an_outcome() {
    let place = Place::new();
    let types = r#"// what the guide asks for
{"tune_ops_type": ["Softmax", "LayerNorm", "Transpose", "Cast", "Relu", "MaxPol"]}"#;
    fs::write(place.path("ops.json"), types).unwrap();
    let answer =
        place.tune(&["-m", &model("bert_base.onnx"), "--tune_ops_file=ops.json", "--output=out/"]).expect(0, &[]);
    let report: Value = serde_json::from_slice(&fs::read(place.path("out/report.json")).unwrap()).unwrap();
    let asked = report["asked"].as_object().unwrap();
    assert_eq!(asked.len(), 6, "{asked:#?}");
    for (what, outcome) in asked {
        let outcome = outcome.as_str().unwrap();
        assert!(!outcome.is_empty() && answer.stdout.contains(&format!("{what}: {outcome}")), "{answer:#?}");
    }
    assert_eq!(asked["MaxPol"], "is not in this network");
    // Where the network has nothing of it at all, the nearest is named.
    fs::write(place.path("ops.json"), r#"{"tune_ops_type": ["SoftmaxV"]}"#).unwrap();
    place
        .tune(&["-m", &model("bert_base.onnx"), "--tune_ops_file=ops.json"])
        .expect(1, &["SoftmaxV", "did you mean `SoftmaxV2`"]);
}

#[test]
fn what_does_nothing_for_a_job_is_said_and_files_that_are_named_must_exist() {
    let place = Place::new();
    let net = model("resnet50.onnx");
    let idle =
        ["-m", net.as_str(), "--virtual_type=1", "--ip=1.2.3.4", "--Fop_format", "--Fnonhomo_split", "--dry-run"];
    place.tune(&idle).expect(0, &["virtual_type", "ip", "Fop_format", "Fnonhomo_split", "without effect"]);
    place
        .tune(&["-m", &net, "--measuring_timeout=3", "--dry-run"])
        .expect(0, &["measures on no device", "measuring_timeout"]);
    let converter = place.tune(&["-m", &net, "--device=5", "--dry-run"]).expect(0, &[]);
    assert!(!converter.stderr.contains("without effect"), "{converter:#?}");
    for (job, named) in [("1", "base_result"), ("2", "reload"), ("2", "measure_program"), ("4", "base_result")] {
        let (job, option) = (format!("--job_type={job}"), format!("--{named}=none"));
        place.run(&["-m", &net, &job, &option]).expect(2, &["EG0003", named, "`none` is not there"]);
    }
    place.tune(&["-m", &net, "--keep_dtype=none.cfg"]).expect(2, &["keep_dtype", "none.cfg", "not a file"]);
    place.tune(&["-m", &net, "--precision_mode=force_fp61"]).expect(2, &["did you mean `force_fp16`"]);
}

#[test]
fn a_value_or_command_that_is_mistyped_is_answered_with_the_nearest() {
    let place = Place::new();
    let net = model("resnet50.onnx");
    for (option, meant) in [
        ("--backend=simulater", "`simulator`"),
        ("--log=warn", "`warning`"),
        ("--precision_mode=fp16", "`force_fp16`"),
        ("--soc_version=Ascnd310P", "near it are Ascend310, Ascend310P1"),
        ("--soc_set=cube_freq=3", "`cube_freq_mhz`"),
    ] {
        place.run(&["-m", &net, "--dry-run", option]).expect(2, &[meant]);
    }
    fs::copy(&net, place.path("resnet50.onnx")).unwrap();
    place
        .run(&["resnet51.onnx"])
        .expect(1, &["EG0011", "cannot open file resnet51.onnx", "did you mean `resnet50.onnx`"]);
    place.run(&["none.onnx"]).expect(1, &["EG0011", "cannot open file none.onnx: No such file"]);
    let help = place.run(&["help", "--job_type"]).expect(0, &[]);
    assert!(help.stdout.starts_with("--job_type"), "{help:#?}");
    place.run(&["bnk", "show", "x"]).expect(2, &["`bnk`", "did you mean `aoe bank`?"]);
    place.run(&["compar", "a", "b"]).expect(2, &["did you mean `aoe compare`?"]);
    place.run(&["one.onnx", "two.onnx"]).expect(2, &["one model at a time"]);
}

#[test]
fn an_attribute_that_is_nearly_called_as_one_of_its_operator_is_warned_of() {
    let place = Place::new();
    let described = |name: &str| {
        format!(r#"output_desc {{ name: "{name}" dtype: DT_FLOAT16 shape {{ dim: 64 dim: 64 }} layout: "ND" }}"#)
    };
    let axes = r#"attr { key: "axess" value { list { i: 0 val_type: VT_LIST_INT } } }"#;
    let (x, y) = (described("x"), described("y"));
    let text = format!(
        r#"name: "g" graph {{ name: "g" op {{ name: "x" type: "Data" {x} }}
           op {{ name: "soft" type: "SoftmaxV2" input: "x:0" {axes} {y} }} }}"#
    );
    fs::write(place.path("graph.txt"), text).unwrap();
    place
        .tune(&["-m", "graph.txt", "--dry-run", "--log=warning"])
        .expect(1, &["`soft` (SoftmaxV2)", "`axess`", "did you mean `axes`?"]);
}

#[test]
fn with_a_time_limit_the_largest_operators_come_first_and_the_rest_is_counted() {
    let place = Place::new();
    let arguments = ["--job_type=2", "--backend=simulator", "--tuning_time_limit=6", "--tuning_parallel_num=1"];
    let net = ["--max_tuning_count=1000000", "--algorithm=random", "--output=out/", "-m"];
    let answer = place.run(&[&arguments[..], &net, &[model("bert_base.onnx").as_str()]].concat()).expect(0, &[]);
    let report: Value = serde_json::from_slice(&fs::read(place.path("out/report.json")).unwrap()).unwrap();
    let of = |kernel: &Value, field: &str| kernel[field].as_f64().unwrap();
    let searched = report["kernels"].as_array().unwrap().iter().filter(|kernel| !kernel["stop"].is_null());
    let mut searched: Vec<&Value> = searched.collect();
    searched.sort_by(|a, b| (of(b, "before_us") * of(b, "count")).total_cmp(&(of(a, "before_us") * of(a, "count"))));
    let [reached, wanted] = [0, 1].map(|at| report["gains"]["reached"][at].as_u64().unwrap());
    assert!(reached >= 1 && reached < wanted && wanted == searched.len() as u64, "{reached} of {wanted}");
    assert!(of(searched[0], "trials") > 0.0, "the largest is among them: {:#?}", searched[0]);
    let told = format!("{reached} of {wanted} operators were reached");
    assert!(answer.stdout.contains(&told), "{answer:#?}");
    assert!(answer.stdout.contains(&format!("{reached} of {wanted} operators in ")), "no other was tuned: {answer:#?}");
    // What nobody looked at is not said to be best as it is.
    let page = fs::read_to_string(place.path("out/report.html")).unwrap();
    assert!(page.contains(&told) && page.contains(">not reached<"), "the page says it too");
}

#[test]
fn two_runs_are_compared_and_a_loss_fails_a_pipeline() {
    let place = Place::new();
    place.run(&["compare", "a/report.html", "b"]).expect(2, &["a/report.html"]);
    for (count, output) in [("1", "--output=a/"), ("60", "--output=b/")] {
        let count = format!("--max_tuning_count={count}");
        let always = ["--job_type=2", "--backend=simulator", "--profiling_mode=false", "-m"];
        place.run(&[&always, &[SURE, count.as_str(), output][..]].concat()).expect(0, &[]);
    }
    let better = place.run(&["compare", "a", "b", "--fail-below=1"]).expect(0, &[]);
    assert!(better.stdout.contains("faster") && better.stdout.contains("0 slower"), "{better:#?}");
    place.run(&["compare", "b", "a", "--fail-below=-1"]).expect(1, &["--fail-below"]);
    place.run(&["compare", "b/report.html", "a"]).expect(0, &[]);
    let json = place.run(&["compare", "a/report.json", "b/report.json", "--json"]).expect(0, &[]);
    let told: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(told["gain"].as_f64() > Some(0.0) && told["kind"] == "a report");
    place.run(&["compare", "a", "home"]).expect(2, &[]);
    // A bank that nothing was recorded in, as a tuning leaves it that finds nothing, is a bank.
    fs::create_dir_all(place.path("empty/Ascend910B2/unified_bank/.aoe")).unwrap();
    fs::write(place.path("empty/Ascend910B2/unified_bank/.aoe/lock"), "").unwrap();
    let added = place.run(&["compare", "empty", "bank"]).expect(0, &[]);
    assert!(added.stdout.contains("1 new, 0 gone"), "{added:#?}");
    place.run(&["compare", "none", "a"]).expect(2, &["EG0011", "none"]);
    place.run(&["compare", "a", "bank"]).expect(2, &["of one kind"]);
}

/// Where records go whose gain is not sure: BERT-base on a 910B4 has some.
const APART: &str = "work/aoe_bank_to_measure";
const PART: &str = "--soc_version=Ascend910B4";

#[test]
fn records_to_measure_lie_apart_and_are_told_of_and_never_counted_where_they_are_named_or_merged() {
    let place = Place::new();
    let net = model("bert_base.onnx");
    let answer = place.tune_surely(&["-m", &net, PART]).expect(0, &[]);
    let result = place.results().remove(0);
    let told = &result[1]["OPAT"];
    assert_eq!(
        (&told["repo_summary"]["repo_add_num"], &told["model_performance_improvement"]),
        (&0.into(), &"0.00%".into())
    );
    let apart = &told["gains"]["worth_measuring"];
    assert!(apart["count"].as_u64() > Some(0) && apart["saved_us"].as_f64() > Some(0.0), "{apart}");
    let line = apart["run_with"].as_str().unwrap();
    assert_eq!(line, format!("export TUNE_BANK_PATH='{}'", place.path(APART).display()));
    assert!(answer.stdout.contains(line), "{answer:#?}");
    assert_eq!(apart["bank"], place.path(APART).to_str().unwrap());
    assert!(records(&place.path("bank")).is_empty(), "CANN's bank gets none");
    let found = |root: &Path| records(root).iter().map(|path| fs::read(root.join(path)).unwrap()).collect::<Vec<_>>();
    let first = found(&place.path(APART));
    assert!(!first.is_empty());
    // Again, and installing: the same answer, and nothing where CANN looks.
    fs::rename(place.path("work"), place.path("earlier")).unwrap();
    place.tune_surely(&["-m", &net, PART, "--install"]).expect(0, &[]);
    assert_eq!(super::timeless(place.results().remove(0)), super::timeless(result.clone()));
    assert_eq!(found(&place.path(APART)), first);
    assert!(records(&place.path("bank")).is_empty() && records(&place.path("home")).is_empty());
    // Once they are brought over, CANN runs them, and a prediction is still no gain.
    let into = format!("--into={}", place.path("bank").display());
    place.run(&["bank", "merge", APART, &into]).expect(0, &[]);
    let merged = place.tune_surely(&["-m", &net, PART]).says(0, &["Your bank"]);
    let results = place.results();
    let mut told = results.iter().map(|result| &result[1]["OPAT"]);
    let told = told.find(|told| !told["gains"]["with_your_bank_us"].is_null()).unwrap();
    assert_eq!(told["model_performance_improvement"], "0.00%", "{merged:#?}");
    let with = told["gains"]["with_your_bank_us"].as_f64().unwrap();
    let saved = apart["saved_us"].as_f64().unwrap();
    let before = told["gains"]["over_default"]["before_us"].as_f64().unwrap();
    assert!((before - with - saved).abs() < 1e-6 * before, "{before} - {with} is not {saved}");
    fs::remove_dir_all(place.path("work")).unwrap();
    fs::create_dir(place.path("work")).unwrap();
    place.tune_surely(&["-m", &net, PART, "--dry-run"]).expect(0, &[]);
    assert!(!place.path(APART).exists());
}

/// The last line of `aoe bank check --json`.
fn checked(place: &Place, options: &[&str], status: i32) -> (Value, String) {
    let net = model("bert_base.onnx");
    let arguments = [&["bank", "check", net.as_str(), "--bank", APART, "--json"][..], options].concat();
    let answer = place.run(&arguments).expect(status, &[]);
    let last = answer.stdout.lines().last().unwrap();
    (serde_json::from_str(last).unwrap(), answer.stdout)
}

#[test]
fn a_check_finds_the_records_that_a_tuning_made_and_says_why_it_finds_no_others() {
    let place = Place::new();
    fs::create_dir(place.path(APART)).unwrap();
    let (empty, said) = checked(&place, &[PART], 1);
    assert_eq!(empty["hits"], 0);
    assert!(said.contains("there is no Ascend910B4_20_AiCore_matmul.json"), "{said}");
    fs::write(place.path("ops.json"), r#"{"tune_ops_name":["/m/encoder/layer.0/output/dense/MatMul"]}"#).unwrap();
    place.tune_surely(&["-m", &model("bert_base.onnx"), PART, "--tune_ops_file=ops.json"]).expect(0, &[]);
    let added = place.results()[0][1]["OPAT"]["gains"]["worth_measuring"]["count"].as_u64().unwrap();
    let (tuned, said) = checked(&place, &[PART], 1);
    let count = |of: &str| tuned[of].as_u64().unwrap();
    // One record serves all kernels that do the same, and they are more.
    assert!(count("hits") >= added && added > 0 && count("misses") > 0, "{tuned}");
    assert_eq!(count("hits") + count("misses"), empty["misses"].as_u64().unwrap());
    assert!(said.contains("the nearest record is of"), "{said}");
    // What is compiled otherwise than it was tuned finds nothing.
    let (other, _) = checked(&place, &[PART, "--precision_mode=must_keep_origin_dtype"], 1);
    assert_eq!(other["hits"], 0);
    // A results folder stands for the bank in it.
    fs::rename(place.path(APART), place.path("work/aoe_bank")).unwrap();
    let folder = place.run(&["bank", "check", &model("bert_base.onnx"), "--bank=work", "--json", PART]).expect(1, &[]);
    assert_eq!(serde_json::from_str::<Value>(folder.stdout.lines().last().unwrap()).unwrap()["hits"], tuned["hits"]);
    let table = place.run(&["bank", "check", &model("bert_base.onnx"), PART]).expect(1, &[]);
    assert!(table.stdout.contains(" find a record, ") && table.stdout.contains("miss"), "{table:#?}");
}

#[test]
fn records_that_no_cann_reads_are_not_offered_to_it() {
    let place = Place::new();
    fs::write(place.path("conv.air"), include_bytes!("graph_run_conv.air")).unwrap();
    let mut command = place.command(&["--model=conv.air", "--job_type=1", "--backend=simulator", "--output=out/"]);
    command.env_remove("TUNE_BANK_PATH");
    let answer = super::Answer::of(command.output().unwrap()).expect(0, &[]);
    assert!(answer.stdout.contains("has no record of this network that CANN reads"), "{answer:#?}");
    assert!(!answer.stdout.contains("export TUNE_BANK_PATH="), "{answer:#?}");
}
