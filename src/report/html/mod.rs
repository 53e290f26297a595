//! `report.html`: one page that needs nothing else, made from the full report alone.
//!
//! | file | holds |
//! |---|---|
//! | `data` | what the page takes from the report |
//! | `text`, `axes`, `bars` | names and numbers, scales, tables with bars |
//! | `headline`, `gradients`, `operators`, `earlier`, `shares`, `convergence`, `scopes`, `roofline`, `measured`, `bank` | one section each |
//! | `sequence` | the launches of a subgraph, for `scopes` |
//!
//! The page loads nothing: its policy forbids it, styles are inline and drawings are SVG. Whatever a report
//! says is escaped by `maud`, and cleaned and shortened by `text`.

mod axes;
mod bank;
mod bars;
mod convergence;
mod data;
mod earlier;
mod gradients;
mod headline;
mod measured;
mod operators;
mod roofline;
mod scopes;
mod sequence;
mod shares;
mod text;

use crate::status::{Error, Result};
use data::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;

/// What the page may load: nothing but its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The layout of reports that is read.
const LAYOUT: u32 = super::full::LAYOUT;

/// The page of a full report; `path` names the report in errors. The same report gives the same bytes.
///
/// Fails with [`Error::File`] for what is no report, or one of a later layout.
pub fn page(report: &str, path: &Path) -> Result<String> {
    #[derive(serde::Deserialize)]
    struct Version {
        layout: u32,
    }
    let no_report = |error: serde_json::Error| Error::file("read", path, format!("not a report of a tuning: {error}"));
    let Version { layout } = serde_json::from_str(report).map_err(no_report)?;
    if layout != LAYOUT {
        let reason = format!("its layout is {layout}, this version of libaoe knows {LAYOUT}");
        return Err(Error::file("read", path, reason));
    }
    let report: Report = serde_json::from_str(report).map_err(no_report)?;
    Ok(document(&report).into_string())
}

fn document(report: &Report) -> Markup {
    // A tuning of gradients looks at no operator; of a recording not even the kernels are known.
    let of_job: &[_] = match &report.gradients {
        Some(_) if report.runs.is_none() => &[("gradients", "Gradients")],
        Some(_) => &[("gradients", "Gradients"), ("time", "Time"), ("roofline", "Roofline")],
        None => &[
            ("operators", "Operators"),
            ("time", "Time"),
            ("convergence", "Search"),
            ("scopes", "Fusion"),
            ("roofline", "Roofline"),
        ],
    };
    let links = of_job.iter().chain(&[("backend", "Measured by"), ("bank", "Bank")]);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (headline::title(report)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (headline::headline(report))
                nav aria-label="Sections" { @for (id, name) in links { a href={ "#" (id) } { (name) } } }
                main {
                    @if let Some(gradients) = &report.gradients {
                        (gradients::gradients(gradients))
                        @if report.runs.is_some() {
                            (shares::shares(report))
                            (roofline::roofline(report))
                        }
                    } @else {
                        (operators::operators(report))
                        (shares::shares(report))
                        (convergence::convergence(report))
                        (scopes::scopes(report))
                        (roofline::roofline(report))
                    }
                    (earlier::earlier(report))
                    (measured::measured(report))
                    (bank::bank(report))
                }
                footer { "Made by libaoe " (report.version) " from report.json, which has every number." }
            }
        }
    }
}
