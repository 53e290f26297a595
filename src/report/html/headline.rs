//! The first lines: what was tuned, what was gained, who says so.

use super::bars::pair;
use super::gradients::trailing;
use super::text::{percent, time};
use crate::report::counted;
use crate::report::counts::RepoSummary;
use crate::report::gains::{Gains, Over};
use crate::report::model::Report;
use maud::{Markup, html};

/// Operators that could not be measured and are told one by one.
const FAILED: usize = 5;

/// The section.
pub fn headline(report: &Report<'_>) -> Markup {
    let trials: usize = report.kernels.iter().fold(0, |sum, kernel| sum.saturating_add(kernel.trials));
    let launches: usize = report.kernels.iter().fold(0, |sum, kernel| sum.saturating_add(kernel.count));
    let us = [report.before_us, report.after_us];
    html! {
        header #headline {
            p .over { "Tuning of a network for " (report.soc.name()) }
            h1 { (report.graph) }
            (Gain::of(report).hero())
            (judge(report))
            @if !report.finished {
                p .warning { "The tuning was interrupted: this is how far it had come. What was found by then is in the bank." }
            }
            @if !report.dynamic.is_empty() {
                p .warning { (report.dynamic.len()) " kernels of the network are not in these times: nothing tells their sizes or how often they run. They are named below." }
            }
            @for failed in report.gains.iter().flat_map(|gains| gains.failed.iter().take(FAILED)) {
                p .warning { (failed.op) " could not be measured and counts with CANN's default: " (failed.reason) }
            }
            @if let Some(more) = report.gains.as_ref().and_then(|gains| gains.failed.len().checked_sub(FAILED)).filter(|more| *more > 0) {
                p .warning { (more) " more could not be measured; report.json names them." }
            }
            @let (moved, untimed): (Vec<_>, Vec<_>) = report.unmapped.iter().partition(|node| node.is_timed());
            @if !untimed.is_empty() {
                p .warning { (untimed.len()) " kernels of the network are not in these times: it is not known how they work. They are named below." }
            }
            @if !moved.is_empty() {
                p .warning { "Of " (moved.len()) " kernels these times have the movement of their data: their own work is not modelled. They are named below." }
            }
            dl .facts {
                @if !report.kernels.is_empty() {
                    (fact("operators", &format!("{} distinct, {launches} launches", report.kernels.len())))
                    (fact("candidates measured", &trials.to_string()))
                }
                @for (name, text) in report.gains.iter().flat_map(gain_facts) { (fact(&name, &text)) }
                @if let Some(gradients) = &report.gradients {
                    (fact("gradients", &gradients.tensors.len().to_string()))
                    (fact("gradient bank", &recorded(&report.summary)))
                }
                @if report.gradients.is_some() {
                    (fact("nine of ten gains lie in", "not known"))
                    (fact("one training step", &format!("{:.3} → {:.3} ms, {} faster", us[0] / 1e3, us[1] / 1e3, report.improvement)))
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

/// Where the gain lies, beside the headline.
fn gain_facts(gains: &Gains<'_>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let limit = gains.reached.map(|[reached, wanted]| format!("{reached} of {wanted} operators were reached"));
    facts.extend(limit.map(|told| ("time limit".to_owned(), told)));
    let interval = match &gains.over_default.interval {
        Some([least, most]) => format!("{least} to {most}"),
        None => "not known".to_owned(),
    };
    facts.push(("nine of ten gains lie in".to_owned(), interval));
    facts.extend(gains.gears.iter().map(|gear| {
        let Over { before_us, after_us, improvement, .. } = &gear.over;
        (gear.name.to_string(), format!("{improvement}, {} → {}", time(*before_us), time(*after_us)))
    }));
    for (reader, of) in &gains.readers {
        let said = format!(
            "{} by {}, {} already in the bank",
            time(of.saved_us),
            counted(of.added as u64, "new record", "new records"),
            of.already_in_bank
        );
        facts.push((format!("read from CANN's {}", reader.replace('_', " ")), said));
    }
    facts.extend(gains.with_your_bank_us.map(|us| ("before, with your bank".to_owned(), time(us))));
    let estimated = gains.over_estimated.before_us - gains.over_estimated.after_us;
    facts.extend((estimated > 0.0).then(|| ("of it over estimated defaults".to_owned(), time(estimated))));
    let (own_form, not_sure, to_measure) = (&gains.own_form, &gains.not_sure, &gains.worth_measuring);
    for (name, count, saved_us) in [
        ("only libaoe reads", own_form.count, own_form.saved_us),
        ("not sure, not counted", not_sure.count, not_sure.saved_us),
        ("of it to measure", to_measure.count, to_measure.saved_us),
    ] {
        let kinds = || counted(count as u64, "kind of kernel", "kinds of kernels");
        facts.extend((count > 0).then(|| (name.to_owned(), format!("{} of {}", time(saved_us), kinds()))));
    }
    facts
}

/// What a tuning is for, before and after.
struct Gain {
    times_us: [f64; 2],
    /// How much of it, as the page says it largest.
    text: String,
    /// What the times are of.
    of: &'static str,
}

impl Gain {
    fn of(report: &Report<'_>) -> Gain {
        match trailing(report).filter(|[before, after]| after < before) {
            // What gradient tuning is for, and a small part of the step.
            Some([before, after]) => Gain {
                times_us: [before, after],
                text: format!("{} less", percent(before - after, before)),
                of: "behind the backward pass",
            },
            None => Gain {
                times_us: [report.before_us, report.after_us],
                text: format!("{} faster", report.improvement),
                of: if report.gradients.is_some() {
                    "for one training step"
                } else {
                    "for one run of the network, with what CANN reads"
                },
            },
        }
    }

    fn hero(&self) -> Markup {
        let [before, after] = self.times_us;
        let (number, word) = self.text.rsplit_once(' ').unwrap_or((&self.text, ""));
        html! {
            div .hero {
                p .gain { strong { (number) } " " span { (word) } }
                div {
                    p .times { (time(before)) " → " strong { (time(after)) } " " (self.of) }
                    div .tall { (pair(self.times_us, before.max(after))) }
                }
            }
        }
    }
}

/// The page in a few words: the network and what was gained.
pub fn title(report: &Report<'_>) -> String {
    let Gain { text, of, .. } = Gain::of(report);
    let of = if report.gradients.is_some() { format!(" {of}") } else { String::new() };
    format!("{}: {text}{of}", report.graph)
}

/// Whose times these are, said where nobody can miss it.
fn judge(report: &Report<'_>) -> Markup {
    let is_simulated = report.backend.is_simulated();
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
pub fn recorded(counts: &RepoSummary) -> String {
    let parts = [
        (counts.add, "added"),
        (counts.update, "updated"),
        (counts.reserved, "kept"),
        (counts.unsatisfied, "left at CANN's default"),
    ];
    let said: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}
