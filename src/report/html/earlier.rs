//! The runs of one folder side by side.

use super::data::{Earlier, Report};
use super::text::time;
use maud::{Markup, html};

/// The section; nothing where there was no run before.
pub fn earlier(report: &Report) -> Markup {
    html! {
        @if !report.earlier.is_empty() {
            section #runs {
                h2 { "Runs of this folder" }
                p { "Each run's own page lies in " code { "runs/" } "; this page is of the newest that came to something." }
                div .wide {
                    table .plain {
                        thead { tr { th { "began" } th { "network" } th { "CANN's default" } th { "what CANN takes" } th { "gain" } th { "90 %" } } }
                        tbody {
                            tr { td { "this one" } td { (report.graph) } td { (time(report.before_us)) } td { (time(report.after_us)) } td { (report.improvement) } td { (own_interval(report)) } }
                            @for run in &report.earlier { (row(run)) }
                        }
                    }
                }
            }
        }
    }
}

fn own_interval(report: &Report) -> String {
    report
        .gains
        .as_ref()
        .and_then(|gains| gains.over_default.interval.as_ref())
        .map_or_else(String::new, |[least, most]| format!("{least} to {most}"))
}

fn row(run: &Earlier) -> Markup {
    let part = if run.is_part { " (ended early)" } else { "" };
    let interval = run.interval.as_ref().map_or_else(String::new, |[least, most]| format!("{least} to {most}"));
    html! {
        tr {
            td { (run.began) (part) }
            td { (run.graph) }
            td { (time(run.before_us)) }
            td { (time(run.after_us)) }
            td { (run.improvement) }
            td { (interval) }
        }
    }
}
