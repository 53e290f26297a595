//! Subgraph tuning reads as AOE writes it.

use super::{Tuned, context, full_report, outcome, result, tuning, without_gains};
use crate::report::figures::truncated_improvement;
use crate::tune::BankStatus;
use crate::tune::sgat::{Place, Plan, PlanGroup, SgatOutcome, SubgraphOutcome, Traffic};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn plan(us: f64, launches: u64) -> Plan {
    let groups = vec![PlanGroup { parts: launches, scopes: vec![vec!["a".into(), "b".into()]] }];
    Plan { us, traffic: Traffic { launches, bytes: 4096.0, from_memory: 1024.0 }, groups }
}

fn subgraph(index: usize, count: usize, times: [f64; 2], status: BankStatus) -> SubgraphOutcome {
    let place = |at: usize| Place { variant: 0, first: format!("s{index}.{at}"), kernels: 0..2 };
    SubgraphOutcome {
        banked_us: None,
        is_read_by_cann: true,
        index,
        places: (0..count).map(place).collect(),
        op_types: vec!["Conv2D".into(), "Relu".into()],
        names: vec!["a".into(), "b".into()],
        edges: vec![[0, 1]],
        repo_key: format!("1339278811189941329{index}"),
        before: plan(times[0], 1),
        after: plan(times[1], 2),
        taken_us: times[1],
        status,
    }
}

pub fn subgraphs(finished: bool) -> SgatOutcome {
    SgatOutcome {
        tuning: tuning(finished, Duration::from_millis(2500)),
        gears_before_us: Vec::new(),
        subgraphs: vec![
            subgraph(0, 2, [5600.486, 3610.442], BankStatus::Added),
            subgraph(1, 1, [5584.34, 3573.203], BankStatus::Updated),
            subgraph(2, 1, [100.0, 100.0], BankStatus::Unsatisfied),
            subgraph(3, 1, [7.0, 7.0], BankStatus::NotTuned),
        ],
    }
}

#[test]
fn percentages_are_cut_off_as_in_aoe_s_samples() {
    for (before, after, expected) in [
        (5.600_486, 3.610_442, "55.11%"),
        (5.58434, 3.573_203, "56.28%"),
        (4.58434, 2.573_203, "78.15%"),
        (1.5, 1.0, "50.00%"),
        (1.29, 1.0, "29.00%"),
        (1.0, 1.0, "0.00%"),
        (1.0, 1.000_01, "0.00%"),
        (5.0, 0.0, "0.00%"),
    ] {
        assert_eq!(truncated_improvement(before, after), expected, "{before} -> {after}");
    }
}

#[test]
fn a_finished_tuning_reads_as_aoe_writes_it() {
    let expected = r#"[
    {
        "basic": {
            "tuning_name": "net",
            "tuning_time(s)": 2.5
        }
    },
    {
        "SGAT": {
            "model_baseline_performance(ms)": 16.892312,
            "model_performance_improvement": "54.98%",
            "model_result_performance(ms)": 10.901087,
            "repo_modified_subgraphs": {
                "add_repo_subgraphs": [
                    {
                        "performance_after_tune(ms)": 3.610442,
                        "performance_before_tune(ms)": 5.600486,
                        "performance_improvement": "55.11%",
                        "read_by": "subgraph_bank",
                        "repo_key": "13392788111899413290"
                    }
                ],
                "update_repo_subgraphs": [
                    {
                        "performance_after_tune(ms)": 3.573203,
                        "performance_before_tune(ms)": 5.58434,
                        "performance_improvement": "56.28%",
                        "read_by": "subgraph_bank",
                        "repo_key": "13392788111899413291"
                    }
                ]
            },
            "repo_summary": {
                "repo_add_num": 1,
                "repo_hit_num": 1,
                "repo_reserved_num": 0,
                "repo_unsatisfied_num": 1,
                "repo_update_num": 1,
                "total_num": 3
            }
        }
    }
]
"#;
    let text = without_gains(&result(Tuned::Subgraphs(&subgraphs(true))).unwrap(), "SGAT");
    assert_eq!(text, expected.replace("54.98%", &truncated_improvement(16.892_312, 10.901_087)));
}

#[test]
fn an_interrupted_tuning_claims_no_result() {
    let text = result(Tuned::Subgraphs(&subgraphs(false))).unwrap();
    for absent in ["tuning_time", "model_performance_improvement", "model_result_performance"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

#[test]
fn the_full_report_tells_of_both_jobs_and_of_who_priced_what() {
    let (subgraphs, operators) = (subgraphs(true), outcome(true));
    let report =
        |tuned| -> Value { serde_json::from_str(&full_report(tuned, &context(Path::new("."))).unwrap()).unwrap() };
    let both = report(Tuned::Operators(Some(&subgraphs), &operators));
    let section = &both["subgraphs"];
    assert_eq!(section["priced_by"], "model 1");
    assert_eq!(section["traffic_before"]["launches"], 5);
    assert_eq!(section["traffic_after"]["launches"], 10);
    assert_eq!(section["distinct"][0]["count"], 2);
    assert_eq!(section["distinct"][0]["after"]["groups"], json!([{"parts": 2, "scopes": [["a", "b"]]}]));
    let sections: Vec<_> = both["aoe_result"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s.as_object().unwrap().keys().next().unwrap().clone())
        .collect();
    assert_eq!(sections, ["basic", "SGAT", "basic", "OPAT"]);
    let (before, after) = (both["before_us"].as_f64().unwrap(), both["after_us"].as_f64().unwrap());
    // Times are reported to the nanosecond.
    assert!((before - subgraphs.before_us()).abs() < 6e-4, "CANN's default is that of the first job");
    let saved = operators.before_us() - operators.taken_us();
    assert!((after - subgraphs.after_us() + saved).abs() < 6e-4, "what both save adds up");
    let told = &both["aoe_result"][3]["OPAT"];
    let baseline = told["model_baseline_performance(ms)"].as_f64().unwrap();
    assert!((1e3 * baseline - before).abs() < 6e-4, "CANN's file has the same time before: {baseline}");

    let mut begun = outcome(true);
    begun.tuning.finished = false;
    begun.cases.truncate(1);
    let begun_report = report(Tuned::Operators(Some(&subgraphs), &begun));
    let saved = begun.before_us() - begun.after_us();
    let before = begun_report["before_us"].as_f64().unwrap();
    assert!((before - subgraphs.before_us()).abs() < 6e-4, "the other operators count as they are");
    assert!((begun_report["after_us"].as_f64().unwrap() - subgraphs.after_us() + saved).abs() < 6e-4);

    let mut measured = outcome(true);
    measured.tuning.backend.name = "ascend".into();
    let measured_report = report(Tuned::Operators(Some(&subgraphs), &measured));
    assert_eq!(measured_report["before_us"].as_f64(), Some(measured.before_us()), "a device's times stay its own");

    let alone = report(Tuned::Subgraphs(&subgraphs));
    assert_eq!((&alone["kernels"], &alone["summary"]["total_num"]), (&json!([]), &json!(3)));
    assert!(alone.get("seed").is_none());
}
