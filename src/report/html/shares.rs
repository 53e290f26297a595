//! Where the time goes: by operator type, and by what the kernels wait for.

use super::bars::{Row, table, top};
use super::data::{Kernel, Report};
use super::text::{Name, percent, time};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Types in rows of their own.
const TOP: usize = 12;

/// What a kernel may wait for: the classes of the page, each with the model's bounds that it stands for.
const BOUNDS: [(&str, &str, &[&str]); 6] = [
    ("cube", "Cube unit", &["cube"]),
    ("vector", "Vector unit", &["vector"]),
    ("move", "Transfers inside the cores (MTE, fixpipe)", &["mte1", "mte2", "mte3", "fixpipe"]),
    ("memory", "L2 and device memory", &["memory"]),
    ("latency", "Start and fill of the kernel", &["latency"]),
    ("unknown", "Not known", &[]),
];

/// The section.
pub fn shares(report: &Report) -> Markup {
    html! {
        section #time {
            h2 { "Where the time goes" }
            @if report.kernels.is_empty() {
                p .none { "Operators were not tuned in this run, so their times are not known one by one; " code { "--job_type=1,2" } " tunes both." }
            } @else {
                h3 { "By type of operator" }
                (table(["type", "launches"], &top(by_type(&report.kernels), TOP, "types")))
                h3 { "By what bounds the kernel" }
                p { "What each kernel waits for most, by the performance model, weighed by the kernel's time." }
                (by_bound(&report.kernels))
                @if report.subgraphs.is_some() {
                    p .note { "Before: the kernels that subgraph tuning left, with the tilings that they had." }
                }
            }
        }
    }
}

fn by_type(kernels: &[Kernel]) -> Vec<Row> {
    let mut types: BTreeMap<&Name, (u64, [f64; 2])> = BTreeMap::new();
    for kernel in kernels {
        let (count, sum) = types.entry(&kernel.op_type).or_default();
        *count = count.saturating_add(kernel.count);
        sum.iter_mut().zip(kernel.total_us()).for_each(|(sum, us)| *sum += us);
    }
    let row = |(name, (count, us)): (&Name, (u64, [f64; 2]))| Row {
        label: name.short(32),
        title: name.to_string(),
        note: count.to_string(),
        us,
    };
    types.into_iter().map(row).collect()
}

fn class(bound: Option<&Name>) -> usize {
    let named = |bound: &Name| BOUNDS.iter().position(|(_, _, names)| names.contains(&bound.as_str()));
    bound.and_then(named).unwrap_or(BOUNDS.len() - 1)
}

fn by_bound(kernels: &[Kernel]) -> Markup {
    let mut us = [[0.0; 2]; BOUNDS.len()];
    for kernel in kernels {
        let [before, after] = kernel.total_us();
        us[class(kernel.bound_before.as_ref())][0] += before;
        us[class(kernel.bound.as_ref())][1] += after;
    }
    let whole = us.iter().fold([0.0; 2], |sum, us| [sum[0] + us[0], sum[1] + us[1]]);
    let longest = whole[0].max(whole[1]);
    let moments = ["before", "after"];
    html! {
        figure {
            @for (at, moment) in moments.into_iter().enumerate() {
                div .stack {
                    span { (moment) }
                    (stack(&us.map(|us| us[at]), longest, moment))
                    span .number { (time(whole[at])) }
                }
            }
        }
        div .scroll {
            table {
                thead { tr { th { "bound" } th .number { "before" } th .number { "share" } th .number { "after" } th .number { "share" } } }
                tbody {
                    @for ((class, name, _), us) in BOUNDS.iter().zip(us).filter(|(_, us)| us[0] + us[1] > 0.0) {
                        tr {
                            th scope="row" { span class={ "key " (class) } { (name) } }
                            @for (us, whole) in us.into_iter().zip(whole) {
                                td .number { (time(us)) }
                                td .number { (percent(us, whole)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One bar whose pieces are the classes.
fn stack(us: &[f64], longest: f64, moment: &str) -> Markup {
    let scale = if longest > 0.0 { 100.0 / longest } else { 0.0 };
    let pieces = BOUNDS.iter().zip(us).scan(0.0, |end, (bound, us)| {
        let start = *end;
        *end += us * scale;
        Some((bound, start, us))
    });
    html! {
        svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={ "Time " (moment) " by bound; the table below has the numbers" } {
            @for ((class, name, _), start, us) in pieces.filter(|(_, _, us)| **us > 0.0) {
                rect class=(class) x=(format!("{start:.3}")) y="0" height="10" width=(format!("{:.3}", us * scale)) {
                    title { (name) ": " (time(*us)) }
                }
            }
        }
    }
}
