//! How each search came to its best.

use super::axes::{Log, place};
use super::labels::apart;
use super::text::{power, time};
use crate::report::figures::gain;
use crate::report::kernel::Kernel;
use crate::report::model::Report;
use maud::{Markup, html};
use std::fmt::Write;

/// Searches that are drawn.
const DRAWN: usize = 12;
/// Searches in the table.
const LISTED: usize = 48;
/// Size of a chart, and the room around its plot: left, top, right, bottom.
const SIZE: [f64; 2] = [320.0, 170.0];
const ROOM: [f64; 4] = [54.0, 12.0, 12.0, 34.0];

/// The section.
pub fn convergence(report: &Report<'_>) -> Markup {
    let mut searched: Vec<&Kernel<'_>> = report.kernels.iter().filter(|kernel| is_search(kernel)).collect();
    let saved = |kernel: &Kernel| kernel.total_us()[0] - kernel.total_us()[1];
    searched.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
    let labels = [38, 44].map(|most| apart(searched.iter().map(|kernel| kernel.name()), most));
    html! {
        section #convergence {
            h2 { "How the search converged" }
            @if searched.is_empty() {
                p .none { "No search was run: no operator was tuned, or the bank knew all of them." }
            } @else {
                p { "Best time known of one launch against candidates measured, of the operators that gained most. The dashed line is the time before." }
                div .multiples { @for (kernel, label) in searched.iter().zip(&labels[0]).take(DRAWN) { (chart(kernel, label)) } }
                (table(&searched, &labels[1]))
            }
        }
    }
}

fn is_search(kernel: &Kernel<'_>) -> bool {
    let is_time = |&(_, us): &(usize, f64)| us > 0.0 && us.is_finite();
    kernel.trials > 0 && !kernel.improvements.is_empty() && kernel.improvements.iter().all(is_time)
}

fn chart(kernel: &Kernel<'_>, name: &str) -> Markup {
    let steps = &kernel.improvements;
    let (first, last) = (steps[0].1, steps[steps.len() - 1].1);
    let [left, top, right, bottom] = ROOM;
    let [width, height] = SIZE;
    let trials = Log::over([1.0, kernel.trials as f64].into_iter(), left, width - right);
    let (low, high) =
        steps.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), step| (low.min(step.1), high.max(step.1)));
    let span = if high > low { high - low } else { high };
    let at = |us: f64| top + (high - us) / span * (height - top - bottom);
    let end = trials.at(kernel.trials as f64);
    let mut path = format!("M{} {}", place(trials.at(1.0)), place(at(first)));
    for (trial, us) in steps {
        let _ = write!(path, "H{}V{}", place(trials.at((*trial).max(1) as f64)), place(at(*us)));
    }
    let _ = write!(path, "H{}", place(end));
    let label = format!("{name}: {} to {} in {} candidates", time(first), time(last), kernel.trials);
    html! {
        figure .multiple {
            figcaption { (name) span { (gain(kernel.before_us, kernel.after_us)) } }
            svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) {
                title { (label) }
                @for tick in trials.ticks() {
                    @let x = place(trials.at(10_f64.powi(tick)));
                    line .grid x1=(x) x2=(x) y1=(top) y2=(height - bottom) {}
                    text .tick x=(x) y=(height - bottom + 14.0) text-anchor="middle" { (power(tick)) }
                }
                line .reference x1=(left) x2=(width - right) y1=(place(at(first))) y2=(place(at(first))) {}
                text .tick x=(left - 5.0) y=(place(at(first) + 4.0)) text-anchor="end" { (time(first)) }
                @if (at(last) - at(first)).abs() > 12.0 {
                    text .tick x=(left - 5.0) y=(place(at(last) + 4.0)) text-anchor="end" { (time(last)) }
                }
                path .curve d=(path) {}
                circle .after cx=(place(end)) cy=(place(at(last))) r="3" {}
                text .axis x=(f64::midpoint(left, width - right)) y=(height - 4.0) text-anchor="middle" { "candidates measured" }
            }
        }
    }
}

fn table(searched: &[&Kernel<'_>], labels: &[String]) -> Markup {
    html! {
        details {
            summary { "The searches in numbers" }
            div .scroll {
                table {
                    thead {
                        tr {
                            th { "operator" } th .number { "measured" } th .number { "of them failed" } th .number { "known before" }
                            th .number { "best found at" } th .number { "before" } th .number { "after" } th { "ended by" }
                        }
                    }
                    tbody {
                        @for (kernel, label) in searched.iter().zip(labels).take(LISTED) {
                            tr {
                                th scope="row" { (label) }
                                td .number { (kernel.trials) }
                                td .number { (kernel.failed_trials) }
                                td .number { (kernel.known_trials) }
                                td .number { (kernel.improvements.last().map_or(0, |step| step.0)) }
                                td .number { (time(kernel.before_us)) }
                                td .number { (time(kernel.after_us)) }
                                td { @if let Some(stop) = &kernel.stop { (stop) } }
                            }
                        }
                    }
                }
            }
            @if searched.len() > LISTED { p .note { (searched.len() - LISTED) " more are in report.json." } }
        }
    }
}
