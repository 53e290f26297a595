//! Reports of gradient tuning.

use super::*;
use crate::graph::DataType;
use crate::report::html::page;
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

fn gradients() -> GdatOutcome {
    let training = training();
    let cost = AllReduce { start_us: 1.0, us_per_byte: 0.002 };
    let case = |ends: &[usize]| Case {
        plan: Plan::new(&training.step(), cost, Contention::default(), ends),
        algorithms: Vec::new(),
        cost,
    };
    let scale = |devices| Scale { devices, nodes: devices / 8, before: case(&[4]), after: case(&[2, 4]) };
    GdatOutcome {
        graph: "net".into(),
        backend: Description { name: "simulator".into(), detail: "model 1".into(), noisy: false },
        soc: "Ascend910B2".into(),
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
        unmapped: Vec::new(),
        unmeasured: Vec::new(),
        elapsed: Duration::from_millis(400),
        finished: true,
    }
}

fn page_of(outcome: &GdatOutcome) -> String {
    let report = full_report(Tuned::Gradients(outcome), &context(Path::new("."))).unwrap();
    page(&report, Path::new("report.json")).unwrap()
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
    let page = page_of(&GdatOutcome { found: None, finished: false, ..gradients() });
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
        let page = page(&report.to_string(), Path::new("report.json")).unwrap();
        assert!(!page.contains("NaN") && !page.contains("inf\"") && !page.contains("width=\"-"), "{page}");
    }
}

#[test]
fn the_summary_counts_the_exchanges() {
    let summary: Value = serde_json::from_str(&summary::summary(Tuned::Gradients(&gradients())).unwrap()).unwrap();
    assert_eq!((&summary["total_ops"], &summary["tuned_ops"]), (&json!(4), &json!(4)));
    let gain = summary["performance_improvement"].as_str().unwrap();
    assert_eq!(summary["top_improved_ops"], json!([{"improvement": gain, "op": "reduce0"}]));
    assert_ne!(gain, "0.00%");
}
