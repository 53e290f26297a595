//! The results folder that `--output` names.

use super::{Place, model};
use aoe::report::model::Report;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_directory_takes_every_report_and_they_agree() {
    let place = Place::new();
    let answer = place.tune(&["-m", &model("resnet50.onnx"), "--output=out/"]).expect(0, &[]);
    let out = place.path("out");
    let [summary, report] = ["summary.json", "report.json"].map(|name| json(&out.join(name)));
    let gain = summary["performance_improvement"].as_str().unwrap();
    assert!(answer.stdout.starts_with(&format!("resnet50 process finished. Performance improved by {gain}")));
    assert_eq!(report["improvement"].as_str(), Some(gain));
    let products = json(&out.join("op_tuning/Conv2D_fp16.json"));
    let listed = report["kernels"].as_array().unwrap().iter().filter(|kernel| kernel["op_type"] == "Conv2D");
    assert_eq!(products["kernels"].as_array().unwrap().len(), listed.count());
    assert!(!place.path("work/aoe_workspace").exists());
    // The page is the report's, whoever makes it.
    let page = fs::read(out.join("report.html")).unwrap();
    assert!(answer.stdout.contains(out.join("report.html").to_str().unwrap()), "{answer:#?}");
    fs::remove_file(out.join("report.html")).unwrap();
    place.run(&["report", "out"]).expect(0, &[]);
    assert!(fs::read(out.join("report.html")).unwrap() == page);
}

#[test]
fn reports_of_the_bundled_networks_are_read_and_written_again_as_they_were() {
    let training = "examples/training/resnet50.air";
    for (model, jobs) in [(&*model("resnet50.onnx"), "1,2"), (&model("bert_base.onnx"), "1,2"), (training, "4")] {
        let place = Place::new();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
        let framework = if jobs == "4" { "--framework=1" } else { "--framework=5" };
        let arguments = ["--max_tuning_count=2", "--backend=simulator", framework, "--output=out/", "--job_type", jobs];
        place.run(&[&arguments[..], &["-m", model.to_str().unwrap()]].concat()).expect(0, &[]);
        let path = place.path("out/report.json");
        let text = fs::read_to_string(&path).unwrap();
        let report = Report::read(&text, &path).unwrap();
        assert_eq!(serde_json::to_value(&report).unwrap(), json(&path));
    }
}

#[test]
fn a_report_that_is_none_is_named_and_the_page_stays() {
    let place = Place::new();
    fs::create_dir(place.path("out")).unwrap();
    place.run(&["report", "out"]).expect(1, &["out/report.json"]);
    fs::write(place.path("out/report.html"), "as it was").unwrap();
    for (text, said) in
        [("", "not a report"), ("{}", "layout"), (r#"{"layout": 99}"#, "99"), (r#"{"layout": 1}"#, "missing field")]
    {
        fs::write(place.path("out/report.json"), text).unwrap();
        place.run(&["report", "out"]).expect(1, &["out/report.json", said]);
    }
    fs::write(place.path("out/report.json"), b"\xff").unwrap();
    place.run(&["report", "out"]).expect(1, &["UTF-8"]);
    assert_eq!(fs::read_to_string(place.path("out/report.html")).unwrap(), "as it was");
    place.run(&["report"]).expect(2, &["DIR"]);
}

#[test]
fn each_model_of_a_directory_has_a_folder_of_its_own_and_all_serve_as_base() {
    let place = Place::new();
    fs::create_dir(place.path("models")).unwrap();
    for name in ["a.onnx", "b.onnx"] {
        fs::copy(model("resnet50.onnx"), place.path("models").join(name)).unwrap();
    }
    place.tune(&["--model_path=models", "--output=out/"]).expect(0, &[]);
    for name in ["a", "b"] {
        let report = json(&place.path("out").join(name).join("report.json"));
        assert_eq!(report["graph"], name);
    }
    fs::rename(place.path("bank"), place.path("old")).unwrap();
    fs::create_dir(place.path("bank")).unwrap();
    place.tune(&["-m", "models/a.onnx", "--base_result=out"]).expect(0, &[]);
}

#[test]
fn output_that_cannot_be_written_is_named_before_anything_is_tuned() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    fs::create_dir_all(place.path("out/summary.json")).unwrap();
    fs::create_dir_all(place.path("net.om")).unwrap();
    for (output, culprit) in
        [("file/", "file"), ("file/net.om", "file/net.air"), ("out/", "out/summary.json"), ("net.air", "net.om")]
    {
        let answer = place.tune(&["-m", &model("resnet50.onnx"), "--output", output]).expect(1, &[culprit, "EG001"]);
        assert_eq!(answer.stdout, "", "{output}");
        assert!(!place.path("bank/Ascend910B2").exists(), "{output}");
    }
    assert_eq!(place.results().len() + place.results_in("out").len(), 0);
}
