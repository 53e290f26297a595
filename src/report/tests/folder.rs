//! The results folder holds what the last tuning found, whole, and nothing of anyone else is lost.

use super::*;
use crate::output_file::{Patience, Publication};
use crate::status::Error;
use crate::workload::{Operand, Vector};
use std::fs;

fn written(path: &Path, outcome: &OpatOutcome) {
    let context = context(path);
    let tuned = Tuned::Operators(None, outcome);
    let (folder, mut publication) = (Folder::at(path).unwrap(), Publication::new());
    folder.prepare(&mut publication, tuned, &full_report(tuned, &context).unwrap(), &context).unwrap();
    folder.publish(publication, &Patience::default()).unwrap();
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_folder_holds_a_summary_the_report_and_a_file_for_each_type_of_operator() {
    let dir = tempfile::tempdir().unwrap();
    let mut outcome = outcome(true);
    let product = MatMul { batch: 4, dtype: crate::graph::DataType::Bfloat16, ..MatMul::new(64, 64, 64) };
    outcome.cases[2].workload = Workload::MatMul(product);
    written(dir.path(), &outcome);
    assert_eq!(names(dir.path()), ["op_tuning", "report.html", "report.json", "summary.json"]);
    let mut summary = json(&dir.path().join("summary.json"));
    let gains = summary.as_object_mut().unwrap().remove("gains").unwrap();
    assert_eq!(gains["over_default"]["improvement"], "43.71%");
    let expected = json!({
        "after_us": 233.126,
        "before_us": 335.031,
        "began": "",
        "finished": true,
        "graph": "net",
        "performance_improvement": "43.71%",
        "top_improved_ops": [{"improvement": "118.71%", "op": "b"}, {"improvement": "35.35%", "op": "a"}],
        "total_ops": 6,
        "tuned_ops": 3,
        "tuning_time": "1.2s",
    });
    let report = json(&dir.path().join("report.json"));
    assert_eq!(summary["performance_improvement"], report["improvement"]);
    assert_eq!(summary, Value::Object(expected.as_object().unwrap().clone()));
    let operators = dir.path().join("op_tuning");
    assert_eq!(names(&operators), ["MatMulV2_bf16.json", "MatMulV2_fp16.json"]);
    let products = json(&operators.join("MatMulV2_fp16.json"));
    assert_eq!((&products["op_type"], &products["dtype"]), (&json!("MatMulV2"), &json!("fp16")));
    assert_eq!(products["kernels"][0], report["kernels"][0]);
    assert_eq!(products["before_us"], json!(2.0 * 134.0 + 58.781 + 1.25));
    assert_eq!(report["kernels"][0]["improvements"], json!([[0, 134.0], [7, 99.0]]));
}

#[test]
fn a_later_tuning_replaces_its_own_files_and_leaves_those_of_others() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), &outcome(true));
    let operators = dir.path().join("op_tuning");
    let foreign = [("notes.json", "{}"), ("MatMulV3_fp32.json", r#"{"op_type": "Add"}"#), ("Add_fp16.txt", "")];
    for (name, text) in foreign {
        fs::write(operators.join(name), text).unwrap();
    }
    let mut other = outcome(true);
    for case in &mut other.cases {
        let operand = Operand::new([64], crate::graph::DataType::Float);
        let (inputs, outputs) = (vec![operand.clone()], vec![operand]);
        case.workload = Workload::Vector(Vector { op_type: "Relu".into(), inputs, outputs });
        case.nodes.iter_mut().for_each(|node| node.op_type = "../Re lu".into());
    }
    written(dir.path(), &other);
    assert_eq!(names(&operators), ["---Re-lu_fp32.json", "Add_fp16.txt", "MatMulV3_fp32.json", "notes.json"]);
}

#[test]
fn a_report_without_operators_leaves_no_folder_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut none = outcome(true);
    none.cases.clear();
    written(dir.path(), &none);
    assert_eq!(names(dir.path()), ["report.html", "report.json", "summary.json"]);
    written(dir.path(), &outcome(true));
    written(dir.path(), &none);
    assert_eq!(names(dir.path()), ["report.html", "report.json", "summary.json"], "those of an earlier tuning go");
}

#[test]
fn reports_of_which_one_has_no_place_leave_those_of_the_earlier_tuning() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), &outcome(true));
    let before = fs::read(dir.path().join("summary.json")).unwrap();
    let (context, other) = (context(dir.path()), outcome(false));
    let (folder, mut publication) = (Folder::at(dir.path()).unwrap(), Publication::new());
    fs::remove_file(dir.path().join("report.html")).unwrap();
    fs::create_dir(dir.path().join("report.html")).unwrap();
    let tuned = Tuned::Operators(None, &other);
    let report = full_report(tuned, &context).unwrap();
    let error = folder.prepare(&mut publication, tuned, &report, &context).unwrap_err();
    assert!(error.to_string().contains("report.html"), "{error}");
    folder.publish(publication, &Patience::default()).unwrap();
    assert_eq!(fs::read(dir.path().join("summary.json")).unwrap(), before);
    assert_eq!(names(&dir.path().join("op_tuning")), ["MatMulV2_fp16.json"]);
}

#[test]
fn subgraphs_alone_are_summed_up_by_their_kernels() {
    let subgraphs = sgat::subgraphs(true);
    let summary: Value =
        serde_json::from_str(&summary::summary(Tuned::Subgraphs(&subgraphs), &context(Path::new("."))).unwrap())
            .unwrap();
    assert_eq!((&summary["total_ops"], &summary["tuned_ops"]), (&json!(10), &json!(6)));
    assert_eq!(summary["top_improved_ops"][0]["op"], "s1.0");
}

#[test]
fn what_is_in_the_way_is_named_before_anything_is_written() {
    for way in ["file", "summary.json/x", "report.json/x", "report.html/x"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        if way == "file" {
            fs::write(&path, "").unwrap();
        } else {
            fs::create_dir_all(path.join(way)).unwrap();
        }
        let error = Folder::at(&path).unwrap_err();
        assert!(matches!(error, Error::File { .. }) && error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("op_tuning"), "").unwrap();
    let message = Folder::at(dir.path()).unwrap_err().to_string();
    assert!(message.contains("op_tuning is no directory"), "{message}");
}

#[test]
fn runs_of_one_folder_stay_side_by_side_and_an_empty_one_replaces_no_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let run = |outcome: &OpatOutcome, began: &str| {
        let folder = Folder::at(dir.path()).unwrap();
        let (began, earlier) = (began.into(), folder.earlier());
        let context = Context { began, earlier, folder: Some(folder.clone()), ..context(dir.path()) };
        let (tuned, mut publication) = (Tuned::Operators(None, outcome), Publication::new());
        folder.prepare(&mut publication, tuned, &full_report(tuned, &context).unwrap(), &context).unwrap();
        folder.publish(publication, &Patience::default()).unwrap();
        json(&dir.path().join("report.json"))
    };
    let first = run(&outcome(true), "20260101_000000001");
    assert_eq!(first.get("earlier"), None);
    let mut better = outcome(true);
    better.cases[0].after_us = 90.0;
    let second = run(&better, "20260101_000000002");
    let told = &second["earlier"][0];
    assert_eq!((&told["began"], &told["improvement"]), (&json!("20260101_000000001"), &first["improvement"]));
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("Runs of this folder") && page.contains("20260101_000000001"));
    let mut empty = outcome(false);
    empty.cases.clear();
    assert_eq!(run(&empty, "20260101_000000003"), second, "the good report stays");
    let runs = dir.path().join("runs");
    assert_eq!(names(&runs).len(), 3);
    for began in names(&runs) {
        assert_eq!(names(&runs.join(&began)), ["report.html", "report.json", "summary.json"]);
    }
    let third = run(&outcome(true), "20260101_000000004");
    let began: Vec<_> = third["earlier"].as_array().unwrap().iter().map(|run| run["began"].as_str().unwrap()).collect();
    assert_eq!(began, ["20260101_000000003", "20260101_000000002", "20260101_000000001"], "the newest first");
}
