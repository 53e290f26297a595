//! What `aoe report` makes a page of: any bytes as report.json, and reports of tunings with any of their values changed,
//! left out or doubled. A page, or a fault; never a panic, and no number that is none.
//!
//! Run with `cargo +nightly fuzz run report_page`.
#![no_main]

use aoe::report::pages;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;

/// Reports of an operator and subgraph tuning, and of a gradient tuning, cut short.
static REPORTS: LazyLock<Vec<Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../reports.json")).expect("the reports are JSON"));

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
    let Some((&which, edits)) = data.split_first() else { return };
    let mut report = REPORTS[usize::from(which) % REPORTS.len()].clone();
    for edit in edits.chunks_exact(3).take(16) {
        let mut place = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % count(&report);
        change(&mut report, &mut place, edit[2]);
    }
    check(&report.to_string());
});

fn check(report: &str) {
    let Ok(pages) = pages(report, Path::new("report.json")) else { return };
    for page in [Some(pages.first), pages.more].into_iter().flatten() {
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "a whole page");
        for none in ["=\"NaN", "=\"inf", "=\"-inf", "width=\"-"] {
            assert!(!page.contains(none), "{none}");
        }
        // The page's own, and the JSON that it reads.
        assert!(page.matches("<script").count() <= 2, "a script of someone else's");
    }
}

/// Values in a value, itself one of them.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value at a place, counted from the outermost one inwards; whether it was there.
fn change(value: &mut Value, place: &mut usize, how: u8) -> bool {
    if *place == 0 {
        *value = changed(value, how);
        return true;
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, place, how)),
        Value::Object(fields) => fields.values_mut().any(|field| change(field, place, how)),
        _ => false,
    }
}

fn changed(value: &Value, how: u8) -> Value {
    match (how % 16, value) {
        (0, _) => Value::Null,
        (1, _) => json!(0),
        (2, _) => json!(-1.5),
        (3, _) => json!(1e308),
        (4, _) => json!(5e-324),
        (5, _) => json!(u64::MAX),
        (6, _) => json!("<script>&\"'\u{0}\u{202e}\u{1f600}"),
        (7, _) => json!("x".repeat(3000)),
        (8, _) => json!([]),
        (9, _) => json!({}),
        (10, Value::Array(items)) => items.iter().chain(items).cloned().collect(),
        (11, Value::Array(items)) => items.iter().rev().skip(1).cloned().collect(),
        (12, Value::Object(fields)) => fields.iter().skip(1).map(|(key, field)| (key.clone(), field.clone())).collect(),
        (13, Value::Number(number)) => json!(-number.as_f64().unwrap_or(0.0)),
        (14, _) => json!([value.clone()]),
        (_, Value::String(text)) => json!(format!("{text}{text}")),
        (how, _) => json!(f64::from(how)),
    }
}
