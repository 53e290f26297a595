//! The results folder that `--output` names.

use super::{Place, model};
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
        [("file/", "file"), ("file/net", "file/net.air"), ("out/", "out/summary.json"), ("net", "net.om")]
    {
        let answer = place.tune(&["-m", &model("resnet50.onnx"), "--output", output]).expect(1, &[culprit, "EG001"]);
        assert_eq!(answer.stdout, "", "{output}");
        assert!(!place.path("bank/Ascend910B2").exists(), "{output}");
    }
    assert_eq!(place.results().len() + place.results_in("out").len(), 0);
}
