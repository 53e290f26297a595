//! `aoe llm` and `aoe --profile` as their users meet them: reports, records, exit statuses.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// A small model of Qwen3's kind.
fn config() -> Value {
    json!({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936})
}

/// Runs `aoe` with a bank of its own below `folder`.
fn aoe(folder: &Path, arguments: &[&str]) -> Output {
    let bank = folder.join("bank");
    std::fs::create_dir_all(&bank).unwrap();
    std::fs::write(folder.join("config.json"), config().to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
    command.args(arguments).current_dir(folder).env_clear().env("TUNE_BANK_PATH", bank).output().unwrap()
}

const LOAD: [&str; 6] =
    ["llm", "config.json", "--soc_version=Ascend910B2", "--batch=1,16", "--prompt=500..2000", "--trials=40"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    LOAD.iter().chain(more).copied().collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_folder_gets_the_report_that_is_printed_and_the_bank_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let output = aoe(folder.path(), &with(&["--output=out/"]));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = std::fs::read_to_string(folder.path().join("out/report.txt")).unwrap();
    assert!(words(&output).starts_with(&text), "{}", words(&output));
    for part in [
        "Weights: 0.75 B parameters, 1.5 GB in bfloat16",
        "Time to the first token",
        "Time for each output token",
        "Products:",
        "tensor_parallel=2",
        "quantization=w8a8",
        "without weights in FRACTAL_NZ",
        "twice the batch",
        "without graph mode",
        "without fused kernels",
        "block size of the cache:",
        "`tuning_config` of GroupedMatmul:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path().join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report["figures"]["prefill"].as_array().unwrap().len(), 6);
    for product in report["products"].as_array().unwrap() {
        assert!(product["after_us"].as_f64() <= product["before_us"].as_f64());
        assert!(product["recorded"] == false || product["op"] == "MatMulV3", "{product}");
        assert_eq!(product["reach"] == "no_bank", product.get("lever").is_some());
        // What was found gains surely where its interval says so, and then alone it is recorded.
        if let Some([low, high]) =
            product["gain"]["interval_us"].as_array().map(|ends| [0, 1].map(|at| ends[at].as_f64().unwrap()))
        {
            let gain = product["gain"]["us"].as_f64().unwrap();
            assert!(low < gain && gain < high && gain > 0.0, "{product}");
            assert_eq!(product["recorded"] == true, product["reach"] == "bank" && low > 0.0, "{product}");
        }
        // The name stands in `op` alone.
        assert!(!product["work"].as_str().unwrap().contains("MatMul"), "{product}");
    }
    let largest = |field: &str| {
        let asking = report["products"].as_array().unwrap().iter().filter(|product| product["reach"] == "bank");
        asking.filter_map(|product| product["gain"][field].as_f64()).fold(0.0, f64::max)
    };
    assert_eq!(report["records"]["largest"]["us"].as_f64(), Some(largest("us")), "{}", report["records"]);
    assert!(text.contains("What the records give: ") && text.contains("the largest gain is "), "{text}");
    let recorded = report["products"].as_array().unwrap().iter().any(|product| product["recorded"] == true);
    assert_eq!(text.contains("with records"), recorded, "{text}");
    assert_eq!(recorded, !report["files"].as_array().unwrap().is_empty());
    // What was recorded is what the next run starts from.
    let again = aoe(folder.path(), &with(&["--json"]));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    let sum = |report: &Value| {
        let products = report["products"].as_array().unwrap().iter().filter(|product| product["reach"] == "bank");
        products.map(|product| product["before_us"].as_f64().unwrap()).sum::<f64>()
    };
    assert!(if recorded { sum(&again) < sum(&report) } else { sum(&again) <= sum(&report) });
}

#[test]
fn a_lever_has_a_row_for_every_batch_and_length_and_costs_what_its_deployment_does() {
    let folder = tempfile::tempdir().unwrap();
    let report = |more: &[&'static str]| -> Value {
        serde_json::from_slice(&aoe(folder.path(), &with(more)).stdout).expect("the report is JSON")
    };
    let [here, there] = [report(&["--json"]), report(&["--json", "--tensor_parallel=2"])];
    let rows = |report: &Value, name: &str| -> Vec<Value> {
        let rows = report["levers"].as_array().unwrap().iter();
        rows.filter(|row| row["name"] == name)
            .cloned()
            .map(|mut row| {
                row["name"] = Value::Null;
                row
            })
            .collect()
    };
    let as_is = rows(&here, "as it is");
    assert_eq!(as_is.len(), 2 * 3, "batches and lengths");
    for row in &as_is {
        let of_row = |figure: &&Value, length: &str| figure["batch"] == row["batch"] && figure[length] == row[length];
        let find = |kind: &str, length: &str| {
            here["figures"][kind].as_array().unwrap().iter().find(|figure| of_row(figure, length)).unwrap().clone()
        };
        assert_eq!(row["ttft"], find("prefill", "prompt")["ttft"]);
        assert_eq!(row["tpot"], find("decode", "context")["tpot"]);
    }
    assert_eq!(rows(&here, "tensor_parallel=2"), rows(&there, "as it is"));
    let both = report(&["--json", "--tensor_parallel=4", "--quantization=w8a8"]);
    assert_eq!(rows(&here, "tensor_parallel=4 quantization=w8a8"), rows(&both, "as it is"));
    assert_eq!(rows(&here, "without fused kernels"), rows(&report(&["--json", "--fused=false"]), "as it is"));
    assert_eq!(rows(&here, "step_tokens=4096"), rows(&report(&["--json", "--step_tokens=4096"]), "as it is"));
    let halved: Vec<Value> = rows(&here, "half the batch").iter().map(|row| row["batch"].clone()).collect();
    assert_eq!(halved, [8, 8, 8], "of a batch of one there is no half");
}

#[test]
fn a_part_without_the_third_version_of_products_gets_no_record_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["--soc_version=Ascend910A", "--soc_version=Ascend310P3", "--soc_version=Ascend310B1"] {
        let arguments =
            ["llm", "config.json", part, "--dtype=fp16", "--batch=1", "--prompt=2048", "--trials=40", "--json"];
        let output = aoe(folder.path(), &arguments);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        assert!(report["files"].as_array().unwrap().is_empty() && report["to_measure"].as_array().unwrap().is_empty());
        assert!(report["products"].as_array().unwrap().iter().all(|product| product["op"] == "MatMulV2"), "{report}");
        assert!(report["notes"].to_string().contains("not published"), "{}", report["notes"]);
    }
}

#[test]
fn weights_and_caches_that_do_not_fit_are_said_to() {
    let folder = tempfile::tempdir().unwrap();
    let text = |more: &[&'static str]| words(&aoe(folder.path(), more));
    let large = text(&["llm", "config.json", "--trials=0", "--batch=1,128", "--prompt=8192"]);
    // 64 GB hold some 500,000 tokens of 114,688 bytes.
    let marked: Vec<&str> = large.lines().filter(|line| line.ends_with("no room")).collect();
    assert!(marked.len() == 2 && marked.iter().all(|line| line.trim_start().starts_with("128")), "{large}");
    let mut deep = config();
    deep["num_hidden_layers"] = 4000.into();
    std::fs::create_dir_all(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep/config.json"), deep.to_string()).unwrap();
    let deep = text(&["llm", "deep", "--trials=0", "--batch=1", "--prompt=128"]);
    assert!(deep.contains("which do not fit") && deep.contains("Note: the weights do not fit"), "{deep}");
}

#[test]
fn numbers_of_tokens_are_chosen_for_so_many_records_and_the_loss_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = aoe(folder.path(), &with(&["--records=4", "--step_tokens=2048", "--json"]));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    for range in ["range", "range_if_true"].map(|name| &report[name]).into_iter().filter(|range| !range.is_null()) {
        let us = |field: &str| range[field].as_f64().unwrap();
        assert!(range["tokens"].as_array().unwrap().len() <= 4, "{range}");
        assert!(range["looked_at"] == 128 && range["keys"] == 128, "every multiple of 16 up to 2048: {range}");
        assert!(us("every_us") <= us("chosen_us") && us("chosen_us") <= us("default_us"), "{range}");
        assert!((us("loss") - (us("chosen_us") / us("every_us") - 1.0)).abs() < 1e-9, "{range}");
    }
    assert!(report["range"].is_object());
    let gain = |range: &Value| range["default_us"].as_f64().unwrap() - range["chosen_us"].as_f64().unwrap();
    if report["range_if_true"].is_object() {
        assert!(gain(&report["range_if_true"]) >= gain(&report["range"]), "what is not sure adds to what is");
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let run = |threads: &'static str| {
        let folder = tempfile::tempdir().unwrap();
        let report: Value = serde_json::from_slice(&aoe(folder.path(), &with(&["--json", threads])).stdout).unwrap();
        let mut report = report;
        for folders in ["files", "to_measure"] {
            report[folders] = Value::Null;
        }
        report.to_string()
    };
    assert_eq!(run("--parallel=1"), run("--parallel=3"));
}

#[test]
fn every_case_is_one_that_the_simulator_prices() {
    let folder = tempfile::tempdir().unwrap();
    let cases = words(&aoe(folder.path(), &with(&["--cases"])));
    let mut parts = aoe::simulate::Parts::new(None, Vec::new(), None).unwrap();
    assert!(cases.lines().count() > 50);
    for case in cases.lines() {
        let answer = aoe::simulate::answer(case, &mut parts);
        assert!(answer.contains("time_us"), "{case}: {answer}");
    }
}

#[test]
fn mistakes_are_named_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, status, named) in [
        (with(&["--tensor_parallel=3"]), 2, "16 query heads"),
        (with(&["--expert_parallel=2"]), 2, "no experts"),
        (with(&["--batch=0"]), 2, "batch"),
        (with(&["--context=x"]), 2, "context"),
        (with(&["--step_tokens=1"]), 2, "step_tokens"),
        (vec!["llm", "config.json", "--soc_version=Ascend310P3"], 2, "take fp16"),
        (vec!["llm", "config.json", "--soc_version=Ascend910B9"], 2, "Ascend910B9"),
        (vec!["llm", "nowhere.json"], 1, "nowhere.json"),
        (vec!["llm"], 2, "CONFIG"),
        (vec!["--profile=nowhere.csv"], 1, "nowhere.csv"),
        (vec!["--profile=nowhere.csv", "--model=a.onnx"], 2, "model"),
    ] {
        let output = aoe(folder.path(), &arguments);
        assert!(
            output.status.code() == Some(status) && said(&output).contains(named),
            "{arguments:?}: {}",
            said(&output)
        );
    }
    assert_eq!(std::fs::read_dir(folder.path().join("bank")).unwrap().count(), 0);
}

#[test]
fn a_profile_is_tuned_and_stands_beside_the_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n\
        a,MatMulV3,100.0,\"1000,3000;3000,1111\",FLOAT16;FLOAT16,ND;ND,\"1000,1111\",FLOAT16,ND\n\
        b,SwiGlu,5.0,\"16,3200\",DT_BF16,ND,\"16,1600\",DT_BF16,ND\n";
    std::fs::write(folder.path().join("kernel_details.csv"), rows).unwrap();
    let arguments =
        ["--profile=kernel_details.csv", "--soc_version=Ascend910B2", "--max_tuning_count=60", "--output=out/"];
    let output = aoe(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(words(&output).contains("105 us measured") && !words(&output).contains("-0 "), "{}", words(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path().join("out/report.json")).unwrap()).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!((&kernels[0]["op"], &kernels[1]["op"]), (&"MatMulV3".into(), &"SwiGlu".into()));
    assert!(report["calibration"]["SwiGlu"]["factor"].as_f64().unwrap() > 0.0);
    // Two launches teach nothing, and that is said.
    assert!(words(&output).contains("calibrates nothing"), "{}", words(&output));
    assert!(report["not_learned"].is_string() && !folder.path().join("out/calibration.json").exists());
}

#[test]
fn a_profile_calibrates_the_simulator_as_aoe_calibrate_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = "Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n".to_owned();
    // Every kernel far slower than predicted, and each launched four times alike.
    for rows_of in (1..=12).map(|i| 512 * i) {
        for _ in 0..4 {
            let us = f64::from(rows_of) / 20.0;
            writeln!(rows, "b,SwiGlu,{us},\"{rows_of},3200\",DT_BF16,ND,\"{rows_of},1600\",DT_BF16,ND").unwrap();
        }
    }
    std::fs::write(folder.path().join("kernel_details.csv"), rows).unwrap();
    let part = "--soc_version=Ascend910B2";
    let output = aoe(folder.path(), &["--profile=kernel_details.csv", part, "--output=out/"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(words(&output).contains("calibrates the simulator"), "{}", words(&output));
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let report: Value = serde_json::from_str(&text("out/report.json")).unwrap();
    for kernel in report["kernels"].as_array().unwrap() {
        let us = |field: &str| kernel[field].as_f64().unwrap();
        let off = |predicted: f64| (predicted / us("measured_us") - 1.0).abs();
        assert!(off(us("calibrated_us")) < off(us("predicted_us")), "{kernel}");
    }
    let learned = aoe(folder.path(), &["calibrate", "kernel_details.csv", part, "--output=own.json"]);
    assert_eq!(learned.status.code(), Some(0), "{}", said(&learned));
    assert_eq!(text("out/calibration.json"), text("own.json"));
    let with_it = ["--profile=kernel_details.csv", part, "--calibration=out/calibration.json"];
    assert!(words(&aoe(folder.path(), &with_it)).contains("a calibration is given"));
}

#[test]
fn parts_of_a_sweep_together_tune_what_the_whole_does() {
    // What a product came to, records among it: gains of so few per cent are not sure by prediction.
    let tuned = |output: &Output| {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let products = report["products"].as_array().unwrap().clone();
        let told = |p: &Value| ["op", "work", "after_us", "unsure_us", "recorded"].map(|field| p[field].to_string());
        (report["notes"].to_string(), products.iter().map(told).collect::<Vec<_>>())
    };
    let whole = tempfile::tempdir().unwrap();
    let (_, mut expected) = tuned(&aoe(whole.path(), &with(&["--json"])));
    let mut joined = Vec::new();
    for shard in ["--shard=1/3", "--shard=2/3", "--shard=3/3"] {
        let part = tempfile::tempdir().unwrap();
        let (notes, products) = tuned(&aoe(part.path(), &with(&["--json", shard])));
        assert!(notes.contains(&format!("only part {}", &shard[8..])), "{notes}");
        assert!(!products.is_empty());
        joined.extend(products);
    }
    expected.sort();
    joined.sort();
    assert_eq!(joined, expected);
}
