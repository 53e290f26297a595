//! Reports say what AOE's say, and can be recomputed.

mod folder;
mod gdat;
mod model;
mod page;
mod runs;
mod sgat;

use super::*;
use crate::backend::Description;
use crate::bank::RecordReader;
use crate::search::StopReason;
use crate::sim::interval::Interval;
use crate::tune::{BankStatus, CaseOutcome, Improvement, OpatOutcome, SkippedKernel, Timed, Tuned, TunedNode, Tuning};
use crate::workload::{MatMul, Schedule, Vector, VectorSchedule, VectorTemplate, Workload};
use serde_json::{Value, json};
use std::time::Duration;

fn schedule(cores: u32) -> Schedule {
    let template = VectorTemplate::Flat;
    Schedule::Vector(VectorSchedule { cores, ub_tile_bytes: 4096, double_buffer: true, template })
}

pub(super) fn case(index: usize, names: &[&str], before_us: f64, after_us: f64, status: BankStatus) -> CaseOutcome {
    CaseOutcome {
        index,
        nodes: names
            .iter()
            .map(|n| TunedNode {
                name: (*n).into(),
                variant: 0,
                id: crate::graph::NodeId(0),
                op_type: "MatMulV2".into(),
                launches: 1,
            })
            .collect(),
        workload: Workload::MatMul(MatMul::new(16 * index as u64 + 16, 64, 64)),
        before_us,
        after_us,
        before: schedule(1),
        after: schedule(2),
        banked: None,
        default: crate::workload::DefaultOrigin::Estimated,
        doubt: Some(Interval { low: 0.9, high: 1.25 }),
        unsure: None,
        reader: RecordReader::RuntimeBank,
        measured_alone: true,
        status,
        backend: "simulator".into(),
        trials: 10,
        known_trials: 0,
        base_trials: 0,
        failed_trials: 1,
        improvements: vec![Improvement { trial: 0, us: before_us }, Improvement { trial: 7, us: after_us }],
        best: vec![Timed { schedule: schedule(2), us: after_us }, Timed { schedule: schedule(4), us: after_us * 1.5 }],
        stop: Some(StopReason::Budget),
    }
}

/// What a tuning tells that took so long.
pub(super) fn tuning(finished: bool, elapsed: Duration) -> Tuning {
    Tuning {
        graph: "net".into(),
        backend: Description { name: "simulator".into(), detail: "model 1".into(), noisy: false, is_simulated: true },
        soc: "Ascend910B2".into(),
        calibration: None,
        unmapped: Vec::new(),
        gears: Vec::new(),
        elapsed,
        finished,
        lost: None,
        unsaved: None,
        saved: usize::MAX,
    }
}

pub(super) fn outcome(finished: bool) -> OpatOutcome {
    OpatOutcome {
        asked: Vec::new(),
        base: None,
        to_measure: None,
        tuning: Tuning {
            unmapped: vec![SkippedKernel {
                name: "x".into(),
                origin_type: "Foo".into(),
                priced: crate::lower::Priced::None,
                reason: None,
            }],
            ..tuning(finished, Duration::from_micros(1_234_567))
        },
        seed: 7,
        cases: vec![
            case(0, &["a", "a2"], 134.0, 99.0, BankStatus::Added),
            case(1, &["b"], 58.781, 26.876, BankStatus::Updated),
            case(2, &["c"], 5.0, 5.0, BankStatus::Reserved),
            case(3, &["d"], 1.25, 1.25, BankStatus::Unsatisfied),
            case(4, &["e"], 2.0, 2.0, BankStatus::NotTuned),
        ],
    }
}

fn context(work_path: &Path) -> Context {
    let bank = BankPaths { custom: "/bank".into(), also_read: vec!["/below".into()] };
    Context { soc: Some(Soc::find("Ascend910B2").unwrap()), ..Context::new(work_path, "chosen by default", &bank) }
}

#[test]
fn improvement_divides_by_after_and_rounds() {
    let pairs = [
        (134.0, 99.0, "35.35%"),
        (58.781, 26.876, "118.71%"),
        (16.71, 15.71, "6.37%"),
        (72.055, 72.046, "0.01%"),
        (113.588_725, 113.236_731, "0.31%"),
        (1.0, 1.0, "0.00%"),
        (1.0, 1.000_000_1, "0.00%"),
        (5.0, 0.0, "0.00%"),
    ];
    for (before, after, expected) in pairs {
        assert_eq!(improvement(before, after), expected, "{before} -> {after}");
    }
}

/// A result without the section of ours, which tests of its own look at.
fn without_gains(result: &str, section: &str) -> String {
    let mut result: Value = serde_json::from_str(result).unwrap();
    let told = result[1][section].as_object_mut().unwrap().remove("gains").unwrap();
    assert!(told["over_default"]["improvement"].is_string(), "{told}");
    counts::to_text(&result).unwrap()
}

#[test]
fn a_finished_tuning_reads_as_aoe_writes_it() {
    let expected = r#"[
    {
        "basic": {
            "tuning_name": "net",
            "tuning_time(s)": 1.235
        }
    },
    {
        "OPAT": {
            "model_baseline_performance(ms)": 0.335031,
            "model_performance_improvement": "43.71%",
            "model_result_performance(ms)": 0.233126,
            "opat_tuning_result": "tuning successful",
            "repo_modified_operators": [
                {
                    "op_name": "a",
                    "op_type": "MatMulV2",
                    "tune_performance": {
                        "Schedule": {
                            "default": "estimated",
                            "measured_by": "simulator",
                            "performance_after_interval(us)": [
                                79.2,
                                110.0
                            ],
                            "performance_after_tune(us)": 99.0,
                            "performance_before_tune(us)": 134.0,
                            "performance_improvement": "35.35%",
                            "read_by": "runtime_bank",
                            "update_mode": "add"
                        }
                    }
                },
                {
                    "op_name": "b",
                    "op_type": "MatMulV2",
                    "tune_performance": {
                        "Schedule": {
                            "default": "estimated",
                            "measured_by": "simulator",
                            "performance_after_interval(us)": [
                                21.501,
                                29.862
                            ],
                            "performance_after_tune(us)": 26.876,
                            "performance_before_tune(us)": 58.781,
                            "performance_improvement": "118.71%",
                            "read_by": "runtime_bank",
                            "update_mode": "update"
                        }
                    }
                }
            ],
            "repo_summary": {
                "repo_add_num": 1,
                "repo_hit_num": 2,
                "repo_reserved_num": 1,
                "repo_unsatisfied_num": 1,
                "repo_update_num": 1,
                "total_num": 4
            }
        }
    }
]
"#;
    assert_eq!(without_gains(&result(Tuned::Operators(None, &outcome(true))).unwrap(), "OPAT"), expected);
}

fn opat_section(outcome: &OpatOutcome) -> (Value, Value) {
    let result: Value = serde_json::from_str(&result(Tuned::Operators(None, outcome)).unwrap()).unwrap();
    (result[0]["basic"].clone(), result[1]["OPAT"].clone())
}

#[test]
fn an_interrupted_tuning_has_no_result_yet() {
    let (basic, opat) = opat_section(&outcome(false));
    assert_eq!(opat["opat_tuning_result"], "tuning incomplete");
    for absent in ["model_performance_improvement", "model_result_performance(ms)", "tuning_failed_operators"] {
        assert_eq!(opat.get(absent), None, "{absent}");
    }
    assert_eq!(basic.get("tuning_time(s)"), None);
    assert_eq!(opat["repo_modified_operators"].as_array().map(Vec::len), Some(2));
}

#[test]
fn failed_operators_are_named_and_count_nowhere() {
    let mut outcome = outcome(true);
    outcome.cases[3].status = BankStatus::Failed("no such kernel".into());
    let (_, opat) = opat_section(&outcome);
    assert_eq!(opat["opat_tuning_result"], "tuning failed");
    assert_eq!(opat["tuning_failed_operators"], json!(["d"]));
    assert_eq!(opat["repo_summary"]["total_num"], 3);
}

#[test]
fn a_fused_operator_has_several_types() {
    let mut outcome = outcome(true);
    let part = outcome.cases[0].workload.clone();
    let relu = Workload::Vector(Vector { op_type: "Relu".into(), inputs: Vec::new(), outputs: Vec::new() });
    outcome.cases[0].workload = Workload::Fused(vec![part, relu]);
    let (_, opat) = opat_section(&outcome);
    assert_eq!(opat["repo_modified_operators"][0]["op_type"], json!(["MatMulV2", "Relu"]));
}

#[test]
fn an_operator_bears_the_type_that_cann_launches_it_by() {
    let mut outcome = outcome(true);
    let case = &mut outcome.cases[0];
    // A batch that folds into the rows is one product, and its node is none.
    case.nodes.iter_mut().for_each(|node| node.op_type = "BatchMatMulV2".into());
    case.reader = RecordReader::OwnForm;
    assert_ne!(case.workload.op_type(), "BatchMatMulV2");
    let full: Value =
        serde_json::from_str(&full_report(Tuned::Operators(None, &outcome), &context(Path::new("."))).unwrap())
            .unwrap();
    assert_eq!(full["kernels"][0]["op_type"], "BatchMatMulV2");
    assert_eq!(full["gains"]["left"][0]["op_type"], "BatchMatMulV2");
    let files = operators::op_tuning(&outcome, None).unwrap();
    assert!(files.iter().any(|(name, _)| name.starts_with("BatchMatMulV2_")), "{files:?}");
}

#[test]
fn keys_are_in_alphabetical_order_everywhere() {
    let full = full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap();
    let sorted: BTreeMap<String, Value> = serde_json::from_str(&full).unwrap();
    let names: Vec<_> =
        full.lines().filter_map(|l| l.strip_prefix("    \"")).filter_map(|l| l.split('"').next()).collect();
    assert_eq!(names, sorted.keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_network_s_times_are_the_sums_of_its_kernels() {
    let full: Value =
        serde_json::from_str(&full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap())
            .unwrap();
    for time in ["before_us", "after_us"] {
        let kernels = full["kernels"].as_array().unwrap().iter();
        let sum: f64 = kernels.map(|k| k[time].as_f64().unwrap() * k["count"].as_f64().unwrap()).sum();
        assert!((sum - full[time].as_f64().unwrap()).abs() < 1e-9, "{time}");
        let section = &full["aoe_result"][1]["OPAT"];
        let name = if time == "before_us" { "model_baseline_performance(ms)" } else { "model_result_performance(ms)" };
        assert!((section[name].as_f64().unwrap() * 1e3 - sum).abs() < 1e-3, "{name}");
    }
}

#[test]
fn the_full_report_names_what_produced_it() {
    let full: Value =
        serde_json::from_str(&full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap())
            .unwrap();
    assert_eq!(
        full["backend"],
        json!({"name": "simulator", "detail": "model 1", "noisy": false, "note": "chosen by default"})
    );
    assert_eq!(
        (&full["soc"]["name"], &full["seed"], &full["bank"]["custom"]),
        (&json!("Ascend910B2"), &json!(7), &json!("/bank"))
    );
    assert_eq!(full["unmapped"], json!([{"name": "x", "origin_type": "Foo", "priced": "none"}]));
    let kernel = &full["kernels"][0];
    assert_eq!(kernel["nodes"][1], json!({"name": "a2", "op_type": "MatMulV2"}));
    assert_eq!(
        (&kernel["status"], &kernel["stop"], &kernel["trials"]),
        (&json!("added"), &json!("budget"), &json!(10))
    );
}

#[test]
fn the_file_is_whole_at_every_moment_and_ends_with_the_result() {
    let directory = tempfile::tempdir().unwrap();
    let work_path = directory.path().join("new");
    let mut file = ResultFile::create(&context(&work_path), "opat", None).unwrap();
    let read = |file: &ResultFile| std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(read(&file), "[]\n");
    assert!(
        file.update(|| result(Tuned::Operators(None, &outcome(false)))).unwrap(),
        "the first outcome is written whatever it costs"
    );
    assert_eq!(read(&file), result(Tuned::Operators(None, &outcome(false))).unwrap());
    file.finish(|| result(Tuned::Operators(None, &outcome(true)))).unwrap();
    assert_eq!(read(&file), result(Tuned::Operators(None, &outcome(true))).unwrap());
    let path = file.path().to_owned();
    drop(file);
    assert_eq!(std::fs::read_dir(&work_path).unwrap().count(), 1, "no temporary file is left");
    assert!(path.exists());
}

#[test]
fn what_is_made_of_an_outcome_beside_the_file_counts_as_writing_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = ResultFile::create(&context(directory.path()), "opat", None).unwrap();
    let text = || Ok("[1]".to_owned());
    assert!(file.update(text).unwrap());
    // Ten times as long has to pass before the next.
    file.count(Duration::from_secs(3600));
    assert!(!file.update(|| unreachable!("an hour of writing is followed by ten of tuning")).unwrap());
    file.finish(text).unwrap();
}

#[test]
fn sessions_that_begin_together_have_files_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let context = context(directory.path());
    let files: Vec<_> = (0..20).map(|_| ResultFile::create(&context, "opat", None).unwrap()).collect();
    let paths: std::collections::BTreeSet<_> = files.iter().map(|f| f.path().to_owned()).collect();
    assert_eq!(paths.len(), files.len());
    drop(files);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "what was never tuned leaves no file");
}

#[test]
fn a_work_path_that_cannot_be_used_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = ResultFile::create(&context(&file.join("work")), "sgat", None).unwrap_err().to_string();
    assert!(error.contains("file/work"), "{error}");
}
