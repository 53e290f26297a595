//! Where the time goes: by operator type, and by what the kernels wait for.

use super::bars::{Row, table, top};
use super::text::{percent, shortened, time};
use crate::profile::Engine;
use crate::report::figures::gain;
use crate::report::model::Report;
use crate::report::runs::{Launched, Runs};
use crate::sim::Bound;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Types in rows of their own.
const TOP: usize = 12;

/// What a kernel may wait for: the classes of the page.
const BOUNDS: [(&str, &str); 7] = [
    ("cube", "Cube unit"),
    ("vector", "Vector unit"),
    ("move", "Transfers inside the cores (MTE, fixpipe)"),
    ("memory", "L2 and device memory"),
    ("exchange", "Links to other devices"),
    ("latency", "Start and fill of the kernel"),
    ("unknown", "Not known"),
];
/// CANN's name of what runs an exchange.
const COMMUNICATION: &str = Engine::Communication.task_type();

/// The section.
pub fn shares(report: &Report<'_>) -> Markup {
    html! {
        section #time {
            h2 { "Where the time goes" }
            @match &report.runs {
                Some(runs) if runs.moments().iter().any(|run| !run.is_empty()) => {
                    h3 { "By type of operator" }
                    (table(["type", "launches"], &top(by_type(runs), TOP, "types")))
                    h3 { "By what bounds the kernel" }
                    p { "What each kernel waits for most, by the performance model, weighed by the kernel's time." }
                    (by_bound(runs))
                    @if let Some(note) = note(report) { p .note { (note) } }
                }
                _ => p .none { "The times of the kernels are not known one by one." },
            }
        }
    }
}

/// What the runs hold, where one may think otherwise.
fn note(report: &Report<'_>) -> Option<&'static str> {
    if report.gradients.is_some() {
        return Some("Exchanges run beside the backward pass: together, all this takes longer than the step.");
    }
    let whole = report.finished && report.backend.is_simulated();
    let both = report.subgraphs.is_some() && !report.kernels.is_empty();
    (both && !whole).then_some("Before: the kernels of the network with the strategies of subgraphs that CANN reads.")
}

fn by_type(runs: &Runs) -> Vec<Row> {
    let mut types: BTreeMap<Option<&str>, ([u64; 2], [f64; 2])> = BTreeMap::new();
    for (at, run) in runs.moments().into_iter().enumerate() {
        for launched in run {
            let (count, us) = types.entry(launched.op_type.as_deref()).or_default();
            count[at] = count[at].saturating_add(launched.count);
            us[at] += launched.us;
        }
    }
    let row = |(name, (count, us)): (Option<&str>, ([u64; 2], [f64; 2]))| Row {
        label: name.map_or_else(|| "many short kernels".to_owned(), |name| shortened(name, 32)),
        title: name.map_or_else(String::new, str::to_owned),
        note: if count[0] == count[1] { count[0].to_string() } else { format!("{} → {}", count[0], count[1]) },
        us,
        gain: gain(us[0], us[1]),
    };
    types.into_iter().map(row).collect()
}

/// What a kernel waits for, as a class of the page.
pub fn class(launched: &Launched) -> &'static str {
    match launched.bound {
        _ if launched.task_type == COMMUNICATION => "exchange",
        Some(Bound::Cube) => "cube",
        Some(Bound::Vector) => "vector",
        Some(Bound::Mte1 | Bound::Mte2 | Bound::Mte3 | Bound::Fixpipe) => "move",
        Some(Bound::Memory) => "memory",
        Some(Bound::Latency) => "latency",
        None => "unknown",
    }
}

/// What the colours stand for.
pub fn legend() -> Markup {
    html! { p .legend { @for (class, name) in BOUNDS { span class={ "key " (class) } { (name) } " " } } }
}

fn by_bound(runs: &Runs) -> Markup {
    let mut us = [[0.0; 2]; BOUNDS.len()];
    for (at, run) in runs.moments().into_iter().enumerate() {
        for launched in run {
            let place = BOUNDS.iter().position(|(name, _)| *name == class(launched));
            us[place.unwrap_or(BOUNDS.len() - 1)][at] += launched.us;
        }
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
                    @for ((class, name), us) in BOUNDS.iter().zip(us).filter(|(_, us)| us[0] + us[1] > 0.0) {
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
            @for ((class, name), start, us) in pieces.filter(|(_, _, us)| **us > 0.0) {
                rect class=(class) x=(format!("{start:.3}")) y="0" height="10" width=(format!("{:.3}", us * scale)) {
                    title { (name) ": " (time(*us)) }
                }
            }
        }
    }
}
