//! The headline counts what CANN runs and nothing else; all else is named.

use super::*;
use crate::bank::RecordReader;
use crate::report::tests::outcome;
use crate::tune::{BankStatus, OpatOutcome, Timed};
use serde_json::{Value, json};

fn gains(outcome: &OpatOutcome) -> Value {
    serde_json::to_value(Gains::of(Tuned::Operators(None, outcome)).unwrap()).unwrap()
}

fn us(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn only_records_that_cann_reads_count_in_the_headline() {
    let mut outcome = outcome(true);
    let all = gains(&outcome);
    outcome.cases[0].reader = RecordReader::OwnForm;
    let told = gains(&outcome);
    let saved = |told: &Value| us(&told["over_default"]["before_us"]) - us(&told["over_default"]["after_us"]);
    assert!((saved(&all) - 70.0 - 31.905).abs() < 1e-9, "{all}");
    assert!((saved(&told) - 31.905).abs() < 1e-9, "{told}");
    assert_eq!((&told["own_form"]["count"], us(&told["own_form"]["saved_us"])), (&json!(1), 70.0));
    assert_eq!((&told["left"][0]["op"], &told["left"][0]["why"]), (&json!("a"), &json!("own_form")));
    assert!(told["left"][0]["lever"]["what"].as_str().is_some_and(|what| !what.is_empty()));
    let (_, after) = Tuned::Operators(None, &outcome).times_us();
    assert!((after - us(&told["over_default"]["after_us"])).abs() < 1e-9, "the network's time says the same");
}

#[test]
fn the_interval_of_the_headline_spans_those_of_its_records() {
    let mut outcome = outcome(true);
    let told = gains(&outcome);
    let [shortest, longest] = [0, 1].map(|end| us(&told["over_default"]["interval_us"][end]));
    // What did not change is in no doubt.
    let (fixed, recorded) = (1.25 + 2.0, 2.0 * 99.0 + 26.876 + 5.0);
    assert!((shortest - recorded / 1.25 - fixed).abs() < 1e-6, "{shortest}");
    assert!((longest - recorded / 0.9 - fixed).abs() < 1e-6, "{longest}");
    outcome.cases[1].doubt = None;
    assert_eq!(gains(&outcome)["over_default"]["interval"], Value::Null, "one that nobody knows is not made up");
}

#[test]
fn what_only_the_estimate_of_the_default_leaves_in_doubt_counts_nowhere_and_has_the_line_that_runs_it() {
    let mut outcome = outcome(true);
    let sure = gains(&outcome)["over_default"].clone();
    let case = &mut outcome.cases[3];
    case.status = BankStatus::ToMeasure;
    case.unsure = Some(Timed { schedule: case.after.clone(), us: 1.0 });
    let told = gains(&outcome);
    let apart = &told["worth_measuring"];
    assert_eq!((&apart["count"], us(&apart["saved_us"])), (&json!(1), 0.25));
    assert_eq!((&apart["run_with"], &apart["bank"]), (&json!(""), &json!("")));
    assert_eq!(
        (&told["not_sure"]["count"], us(&told["not_sure"]["saved_us"])),
        (&json!(1), 0.25),
        "it is of what is not sure"
    );
    assert_eq!((&told["left"][0]["why"], &told["over_default"]), (&json!("to_measure"), &sure));
    outcome.to_measure = Some("/my work/apart".into());
    let told = gains(&outcome);
    assert_eq!(told["worth_measuring"]["run_with"], json!("export TUNE_BANK_PATH='/my work/apart'"));
    assert_eq!(told["worth_measuring"]["bank"], json!("/my work/apart"));
    let how = told["worth_measuring"]["decided_by"].as_str().unwrap();
    assert!(how.contains("aoe compare") && how.contains("aoe bank merge"), "{how}");
}

#[test]
fn what_is_not_sure_counts_nowhere_and_names_the_measurement_that_would_decide() {
    let mut outcome = outcome(true);
    let case = &mut outcome.cases[3];
    case.status = BankStatus::NotSure;
    case.unsure = Some(Timed { schedule: case.after.clone(), us: 1.0 });
    case.after = case.before.clone();
    let told = gains(&outcome);
    assert_eq!((&told["not_sure"]["count"], us(&told["not_sure"]["saved_us"])), (&json!(1), 0.25));
    let left = &told["left"][0];
    assert_eq!((&left["op"], &left["lever"]["kind"]), (&json!("d"), &json!("a measurement")));
    assert_eq!(told["over_default"], gains(&super::super::tests::outcome(true))["over_default"]);
}

#[test]
fn a_second_run_says_the_same_gain_and_that_the_bank_has_it() {
    let first = outcome(true);
    let mut second = outcome(true);
    for case in &mut second.cases[..2] {
        case.status = BankStatus::Reserved;
        case.banked = Some(Timed { schedule: case.after.clone(), us: case.after_us });
    }
    let [first, second] = [gains(&first), gains(&second)];
    assert_eq!(first["over_default"], second["over_default"]);
    assert_eq!(second["readers"]["runtime_bank"]["added"], json!(0));
    assert_eq!(second["with_your_bank_us"], second["over_default"]["after_us"]);
    assert_eq!(first.get("with_your_bank_us"), None);
}

#[test]
fn each_gear_is_told_by_itself_and_together_they_are_the_network() {
    let mut outcome = outcome(true);
    outcome.tuning.gears = vec!["batch=1".into(), "batch=4".into()];
    outcome.cases[0].nodes[1].variant = 1;
    outcome.cases[2].nodes[0].variant = 1;
    let told = gains(&outcome);
    let sum = |field: &str| -> f64 { (0..2).map(|gear| us(&told["gears"][gear][field])).sum() };
    for field in ["before_us", "after_us"] {
        assert!((sum(field) - us(&told["over_default"][field])).abs() < 1e-9, "{field}");
    }
    assert_eq!(told["gears"][1]["before_us"], json!(139.0));
}

#[test]
fn an_operator_that_failed_counts_with_its_default_and_is_named() {
    let mut outcome = outcome(true);
    outcome.cases[0].status = BankStatus::Failed("no such kernel".into());
    let told = gains(&outcome);
    assert_eq!(told["failed"], json!([{"counted_us": 268.0, "op": "a", "reason": "no such kernel"}]));
    assert!(us(&told["over_default"]["after_us"]) > 268.0);
}
