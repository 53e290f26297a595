//! The runs of one folder side by side.

use super::bars::pair;
use super::text::time;
use crate::report::earlier::Earlier;
use crate::report::model::Report;
use maud::{Markup, html};

/// The section; nothing where there was no run before.
pub fn earlier(report: &Report<'_>) -> Markup {
    let runs: Vec<Run<'_>> = std::iter::once(Run::own(report)).chain(report.earlier.iter().map(Run::from)).collect();
    let longest_us = runs.iter().flat_map(|run| run.us).fold(0.0, f64::max);
    html! {
        @if !report.earlier.is_empty() {
            section #runs {
                h2 { "Runs of this folder" }
                p { "Each run's own page lies in " code { "runs/" } "; this page is of the newest that came to something." }
                div .scroll tabindex="0" role="region" aria-label="Runs of this folder" {
                    table .bars {
                        thead {
                            tr {
                                th scope="col" { "began" } th scope="col" { "network" }
                                th .chart scope="col" { span .key.before { "CANN's default" } " " span .key.after { "what CANN takes" } }
                                th .number scope="col" { "CANN's default" } th .number scope="col" { "what CANN takes" }
                                th .number scope="col" { "gain" } th .number scope="col" { "90 %" }
                            }
                        }
                        tbody { @for run in &runs { (row(run, longest_us)) } }
                    }
                }
            }
        }
    }
}

/// A run as a row tells it.
struct Run<'a> {
    began: String,
    graph: &'a str,
    us: [f64; 2],
    gain: &'a str,
    interval: Option<&'a [String; 2]>,
}

impl<'a> Run<'a> {
    /// The one that the page is of.
    fn own(report: &'a Report<'_>) -> Run<'a> {
        Run {
            began: "this one".to_owned(),
            graph: &report.graph,
            us: [report.before_us, report.after_us],
            gain: &report.improvement,
            interval: report.gains.as_ref().and_then(|gains| gains.over_default.interval.as_ref()),
        }
    }
}

impl<'a> From<&'a Earlier> for Run<'a> {
    fn from(run: &'a Earlier) -> Run<'a> {
        Run {
            began: format!("{}{}", run.began, if run.is_part { " (ended early)" } else { "" }),
            graph: &run.graph,
            us: [run.before_us, run.after_us],
            gain: &run.improvement,
            interval: run.interval.as_ref(),
        }
    }
}

fn row(run: &Run<'_>, longest_us: f64) -> Markup {
    html! {
        tr {
            th scope="row" { (run.began) }
            td { (run.graph) }
            td .chart { (pair(run.us, longest_us)) }
            td .number { (time(run.us[0])) }
            td .number { (time(run.us[1])) }
            td .number { (run.gain) }
            td .number { @if let Some([least, most]) = run.interval { (least) " to " (most) } }
        }
    }
}
