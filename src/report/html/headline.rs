//! The first lines: what was tuned, what was gained, who says so.

use super::bars::pair;
use super::data::{Counts, Report};
use super::gradients::trailing;
use super::text::time;
use crate::backend::simulator::Simulator;
use maud::{Markup, html};

/// The section.
pub fn headline(report: &Report) -> Markup {
    let trials: u64 = report.kernels.iter().fold(0, |sum, kernel| sum.saturating_add(kernel.trials));
    let launches: u64 = report.kernels.iter().fold(0, |sum, kernel| sum.saturating_add(kernel.count));
    let us = [report.before_us, report.after_us];
    let what = if report.gradients.is_some() { "one training step" } else { "one run of the network" };
    html! {
        header #headline {
            p .over { "Tuning of a network for " (report.soc.name()) }
            h1 { (report.graph) }
            div .hero {
                p .gain { strong { (report.improvement) } " " span { "faster" } }
                div {
                    p .times { (time(us[0])) " → " strong { (time(us[1])) } " for " (what) }
                    div .tall { (pair(us, us[0].max(us[1]))) }
                }
            }
            (judge(report))
            @if !report.finished {
                p .warning { "The tuning was interrupted: this is how far it had come. What was found by then is in the bank." }
            }
            dl .facts {
                @if !report.kernels.is_empty() {
                    (fact("operators", &format!("{} distinct, {launches} launches", report.kernels.len())))
                    (fact("candidates measured", &trials.to_string()))
                }
                @if let Some(gradients) = &report.gradients {
                    (fact("gradients", &gradients.tensors.len().to_string()))
                    (fact("gradient bank", &recorded(&report.summary)))
                }
                @if let Some([before, after]) = trailing(report) {
                    (fact("exchange behind the backward pass", &format!("{} → {}", time(before), time(after))))
                }
                @if let Some(subgraphs) = &report.subgraphs {
                    (fact("launches of a run", &format!("{} → {}", subgraphs.traffic_before.launches, subgraphs.traffic_after.launches)))
                    (fact("subgraphs", &recorded(&subgraphs.summary)))
                }
                @if !report.kernels.is_empty() { (fact("operator bank", &recorded(&report.summary))) }
                (fact("tuning took", &time(report.tuning_time_s * 1e6)))
            }
        }
    }
}

/// Whose times these are, said where nobody can miss it.
fn judge(report: &Report) -> Markup {
    let is_simulated = report.backend.name.as_str() == Simulator::NAME;
    html! {
        @if is_simulated {
            p .badge.simulated { strong { "Predicted, not measured." } " All times are the built-in simulator's; no device ran these kernels." }
        } @else {
            p .badge.measured { strong { "Measured by " (report.backend.name) "." } " " (report.backend.detail) }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// What became of the records of a bank.
pub fn recorded(counts: &Counts) -> String {
    let parts = [
        (counts.added, "added"),
        (counts.updated, "updated"),
        (counts.reserved, "kept"),
        (counts.unsatisfied, "left at CANN's default"),
    ];
    let said: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}
