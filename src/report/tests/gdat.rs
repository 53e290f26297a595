//! Reports of gradient tuning.

use super::*;
use crate::graph::DataType;
use crate::report::html::pages;
use crate::report::{gdat_timeline, result};
use crate::sim::collective::AllReduce;
use crate::tune::gdat::{Case, Cluster, Contention, Found, GdatOutcome, Gradient, Plan, Scale, Training};

fn training() -> Training {
    let gradient = |at: u64| Gradient {
        node: format!("grad{at}"),
        all_reduce: format!("reduce{at}"),
        dtype: DataType::Float,
        bytes: 1000 * (at + 1),
        group: "hccl_world_group".into(),
    };
    Training {
        gradients: (0..4).map(gradient).collect(),
        times_ns: vec![10_000, 5_000, 5_000, 5_000],
        rest_us: 2.0,
        from_begin: true,
        hash: 42,
    }
}

pub fn gradients() -> GdatOutcome {
    let training = training();
    let cost = AllReduce { start_us: 1.0, us_per_byte: 0.002 };
    let case = |ends: &[usize]| Case {
        plan: Plan::new(&training.step(), cost, Contention::default(), ends),
        algorithms: Vec::new(),
        cost,
    };
    let scale = |devices| Scale { devices, nodes: devices / 8, before: case(&[4]), after: case(&[2, 4]) };
    GdatOutcome {
        tuning: tuning(true, Duration::from_millis(400)),
        cluster: Cluster::default(),
        contention: Contention::default(),
        most_segments: 8,
        found: Some(Found {
            is_of_others: false,
            kernels: Vec::new(),
            status: BankStatus::Added,
            before: case(&[4]),
            after: case(&[2, 4]),
            is_optimum: true,
            from_bank: Some(case(&[3, 4])),
            equal: Vec::new(),
            scaling: [8, 4096].into_iter().map(scale).collect(),
            sets: training.sets(),
            training: training.clone(),
        }),
        unmeasured: Vec::new(),
    }
}

/// Of a tuning that was cancelled.
fn cancelled() -> GdatOutcome {
    GdatOutcome { found: None, tuning: tuning(false, Duration::from_millis(400)), ..gradients() }
}

/// The same with every second gradient in another group.
pub fn of_two_groups() -> GdatOutcome {
    let mut outcome = gradients();
    let found = outcome.found.as_mut().unwrap();
    for gradient in found.training.gradients.iter_mut().skip(1).step_by(2) {
        gradient.group = "other".into();
    }
    found.sets = found.training.sets();
    let (step, cost) = (found.training.step(), found.after.cost);
    let case = |ends: &[Vec<usize>]| Case {
        plan: Plan::of(&step, cost, Contention::default(), ends),
        algorithms: Vec::new(),
        cost,
    };
    (found.before, found.after, found.from_bank) = (case(&[vec![2], vec![2]]), case(&[vec![1, 2], vec![2]]), None);
    found.scaling = vec![Scale { devices: 8, nodes: 1, before: found.before.clone(), after: found.after.clone() }];
    outcome
}

/// The section of the result file.
fn section(outcome: &GdatOutcome) -> Value {
    let result: Value = serde_json::from_str(&result(Tuned::Gradients(outcome)).unwrap()).unwrap();
    result[1]["GDAT"].clone()
}

#[test]
fn the_result_has_each_split_with_its_segments_and_times() {
    let section = section(&gradients());
    // 3,000 bytes from 15 us on: 7 us; 7,000 bytes from 25 us on, when the backward pass has 2 us left: 15 us.
    let after = &section["split_after_tune"];
    assert_eq!((&after["by_idx"], &after["by_size"]), (&json!([1, 3]), &json!([30.0, 70.0])));
    assert_eq!((&after["performance(ms)"], &after["trailing_time(ms)"]), (&json!(0.04), &json!(0.013)));
    let first = json!({
        "end(ms)": 0.022, "first": 0, "last": 1, "ready(ms)": 0.015, "size(byte)": 3000, "start(ms)": 0.015, "time(ms)": 0.007
    });
    assert_eq!(after["segments"][0], first);
    assert_eq!((&section["gradient_num"], &section["modelhash"]), (&json!(4), &json!("42")));
    // What CANN makes of the bank, and not the best: that takes a call of the user's.
    assert_eq!(section["trailing_time_after_tune(ms)"], json!(0.015));
    assert_eq!(section["model_performance_improvement"], json!("9.52%"), "46 us are 9.5 % more than 42");
    assert_eq!((&section["scaling"][1]["devices"], &section["scaling"][1]["segments"]), (&json!(4096), &json!(2)));
    assert_eq!(section["repo_summary"]["repo_add_num"], json!(1));
    for absent in ["is_optimum", "sets"] {
        assert_eq!((&section[absent], &after[absent]), (&Value::Null, &Value::Null), "{absent}");
    }
}

#[test]
fn a_result_before_the_end_has_counts_alone() {
    let section = section(&cancelled());
    assert_eq!(section.as_object().unwrap().keys().collect::<Vec<_>>(), ["repo_summary"]);
    assert_eq!(section["repo_summary"]["total_num"], json!(0));
}

#[test]
fn several_sets_have_lists_of_their_own_and_segments_name_theirs() {
    let outcome = of_two_groups();
    let section = section(&outcome);
    let after = &section["split_after_tune"];
    assert_eq!(
        (&after["by_idx"], &after["by_size"], &section["split_from_bank"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let set = |group: &str, by_idx: Value, by_size: Value| json!({"by_idx": by_idx, "by_size": by_size, "data_type": "float32", "gradient_num": 2, "group": group});
    let sets =
        json!([set("hccl_world_group", json!([0, 1]), json!([25.0, 75.0])), set("other", json!([1]), json!([100.0]))]);
    assert_eq!(after["sets"], sets);
    let segments = after["segments"].as_array().unwrap().iter();
    let places: Vec<_> = segments.map(|s| ["set", "first", "last"].map(|key| s[key].as_u64().unwrap())).collect();
    assert_eq!(places, [[0, 0, 0], [0, 2, 2], [1, 1, 3]], "gradients are counted over all sets");

    let report: Value =
        serde_json::from_str(&full_report(Tuned::Gradients(&outcome), &context(Path::new("."))).unwrap()).unwrap();
    let split = &report["gradients"]["split_after"];
    assert_eq!(
        (&split["by_idx"], &split["sets"], &split["by_size"]),
        (&json!([0, 2, 3]), &sets, &json!([10.0, 30.0, 60.0]))
    );
    assert_eq!(report["gradients"]["is_optimum"], json!(true));
}

#[test]
fn a_split_that_may_not_be_the_best_says_so() {
    let mut outcome = gradients();
    outcome.found.as_mut().unwrap().is_optimum = false;
    assert_eq!(section(&outcome)["is_optimum"], json!(false));
}

/// The events of the timeline.
fn events(outcome: &GdatOutcome) -> Vec<Value> {
    let text = gdat_timeline(outcome.found.as_ref().unwrap(), outcome.contention).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
}

/// Begin and length of these events on a device, in microseconds.
fn times(events: &[Value], device: u64, name: &str) -> Vec<(String, f64)> {
    let wanted = |e: &&Value| e["ph"] == "X" && e["pid"].as_u64().unwrap() & 31 == device && e["name"] == name;
    let time = |e: &Value| (e["ts"].as_str().unwrap().to_owned(), e["dur"].as_f64().unwrap());
    events.iter().filter(wanted).map(time).collect()
}

#[test]
fn the_timeline_has_every_gradient_and_every_segment_where_the_plan_has_them() {
    let events = events(&gradients());
    let at = |device: u64, name: &str| times(&events, device, name);
    let one = |ts: &str, dur: f64| vec![(ts.to_owned(), dur)];
    assert_eq!((at(1, "until grad0"), at(1, "until grad3")), (one("0.000", 10.0), one("20.000", 5.0)));
    assert_eq!(at(1, "backward"), one("25.000", 2.0), "what no gradient waits for");
    assert_eq!(at(1, "hcom_allReduce__0"), one("15.000", 7.0));
    assert_eq!(at(1, "hcom_allReduce__1"), one("25.000", 15.0));
    assert_eq!((at(0, "hcom_allReduce__0"), at(0, "hcom_allReduce__1")), (one("25.000", 21.0), vec![]));
    assert_eq!(at(1, "Computing"), one("0.000", 27.0));
    assert_eq!(at(1, "Communication"), [("15.000".to_owned(), 7.0), ("25.000".to_owned(), 15.0)]);
    assert_eq!(at(1, "Communication(Not Overlapped)"), one("27.000", 13.0));
    let labels: Vec<_> =
        events.iter().filter(|e| e["name"] == "process_labels").map(|e| &e["args"]["labels"]).collect();
    assert!(labels.contains(&&json!("NPU 0 (before tuning)")) && labels.contains(&&json!("NPU 1 (after tuning)")));
}

#[test]
fn each_group_has_a_row_of_its_own_in_the_timeline() {
    let events = events(&of_two_groups());
    let rows: Vec<_> =
        events.iter().filter_map(|e| e["args"]["name"].as_str()).filter(|n| n.starts_with("Group")).collect();
    assert_eq!(rows, ["Group 0 Communication", "Group 1 Communication"].repeat(2));
    let segments = events
        .iter()
        .filter(|e| e["name"].as_str().unwrap().starts_with("hcom_") && e["pid"].as_u64().unwrap() & 31 == 1);
    let told: Vec<_> = segments.map(|e| (e["tid"].as_u64().unwrap(), e["args"]["group"].as_str().unwrap())).collect();
    assert_eq!(told, [(0, "hccl_world_group"), (0, "hccl_world_group"), (1, "other")]);
}

fn page_of(outcome: &GdatOutcome) -> String {
    let report = full_report(Tuned::Gradients(outcome), &context(Path::new("."))).unwrap();
    pages(&report, Path::new("report.json")).unwrap().first
}

#[test]
fn the_page_shows_the_splits_and_no_section_on_operators() {
    let outcome = gradients();
    let page = page_of(&outcome);
    for id in ["headline", "gradients", "backend", "bank"] {
        assert!(page.contains(&format!(" id=\"{id}\"")), "{id}");
    }
    for id in ["operators", "time", "convergence", "scopes", "roofline"] {
        assert!(!page.contains(&format!(" id=\"{id}\"")) && !page.contains(&format!("\"#{id}\"")), "{id}");
    }
    // One rectangle for the computing of each moment, one for what of a segment runs beside it, one for what behind.
    let count = |text: &str| page.matches(text).count();
    assert_eq!((count("rect class=\"move\""), count("rect class=\"vector\""), count("rect class=\"cube\"")), (2, 3, 2));
    for text in ["[3]", "[1, 3]", "[2, 3]", "[30, 70]", "what CANN takes from the bank", ">4096<"] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
}

#[test]
fn an_interrupted_tuning_says_that_nothing_is_known() {
    let page = page_of(&cancelled());
    assert!(page.contains("not known yet") && page.contains("was interrupted"), "{page}");
}

#[test]
fn numbers_that_no_tuning_gives_are_drawn_as_well_as_they_can_be() {
    let text = full_report(Tuned::Gradients(&gradients()), &context(Path::new("."))).unwrap();
    for number in ["0", "-5", "1e308", "1e-308"] {
        let mut report: Value = serde_json::from_str(&text).unwrap();
        let number: Value = serde_json::from_str(number).unwrap();
        for split in ["split_after", "split_before"] {
            report["gradients"][split]["end_us"] = number.clone();
            report["gradients"][split]["backward_us"] = number.clone();
            for segment in report["gradients"][split]["segments"].as_array_mut().unwrap() {
                segment["end_us"] = number.clone();
            }
        }
        let page = pages(&report.to_string(), Path::new("report.json")).unwrap().first;
        assert!(!page.contains("NaN") && !page.contains("inf\"") && !page.contains("width=\"-"), "{page}");
    }
}

#[test]
fn the_summary_counts_the_exchanges() {
    let summary: Value =
        serde_json::from_str(&summary::summary(Tuned::Gradients(&gradients()), &context(Path::new("."))).unwrap())
            .unwrap();
    assert_eq!((&summary["total_ops"], &summary["tuned_ops"]), (&json!(4), &json!(4)));
    let gain = summary["performance_improvement"].as_str().unwrap();
    assert_eq!(summary["top_improved_ops"], json!([{"improvement": gain, "op": "reduce0"}]));
    assert_ne!(gain, "0.00%");
}

#[test]
fn exchanges_for_which_the_bank_had_the_split_are_not_counted_as_tuned() {
    let mut outcome = gradients();
    outcome.found.as_mut().unwrap().status = BankStatus::Reserved;
    let summary: Value =
        serde_json::from_str(&summary::summary(Tuned::Gradients(&outcome), &context(Path::new("."))).unwrap()).unwrap();
    assert_eq!((&summary["total_ops"], &summary["tuned_ops"]), (&json!(4), &json!(0)));
    assert_eq!(summary["top_improved_ops"], json!([]));
}

#[test]
fn the_page_names_a_variable_only_where_cann_needs_it() {
    let page_at = |custom: &str| {
        let bank = BankPaths { custom: custom.into(), also_read: Vec::new() };
        let context = Context { bank, ..context(Path::new(".")) };
        let report = full_report(Tuned::Gradients(&gradients()), &context).unwrap();
        pages(&report, Path::new("report.json")).unwrap().first
    };
    let default = page_at("/home/me/Ascend/latest/data/aoe/custom/graph/Ascend910B2");
    assert!(default.contains("looks there by itself") && !default.contains("TUNE_BANK_PATH"), "{default}");
    let chosen = page_at("/bank");
    assert!(!chosen.contains("looks there by itself") && chosen.contains("TUNE_BANK_PATH"), "{chosen}");
}
