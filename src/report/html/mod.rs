//! `report.html`: one page that needs nothing else, made from the full report alone.
//!
//! | file | holds |
//! |---|---|
//! | `clean` | makes texts and numbers of the report ones that a page can show |
//! | `winner` | the tiling that a row tells of |
//! | `text`, `axes`, `bars` | names and numbers, scales, tables with bars |
//! | `labels` | short names that are told apart |
//! | `headline`, `gradients`, `operators`, `earlier`, `network`, `shares`, `convergence`, `scopes`, `roofline`, `measured`, `bank` | one section each |
//! | `table`, `tilings` | the rows of `operators` |
//! | `details`, `why` | what these rows open into |
//! | `sequence` | the launches of a subgraph, for `scopes` |
//! | `page.js` | sorts, filters and opens the rows; without it the page is whole but for what they open into |
//!
//! The page loads nothing: its policy forbids it, styles are inline and drawings are SVG; the one script that runs is
//! named by its hash. Whatever a report says is escaped by `maud`, or is JSON without `<`, and is cleaned and shortened
//! by `text`.

mod axes;
mod bank;
mod bars;
mod clean;
mod convergence;
mod details;
mod earlier;
mod gradients;
mod headline;
mod labels;
mod measured;
mod network;
mod operators;
mod roofline;
mod scopes;
mod sequence;
mod shares;
mod table;
mod text;
mod tilings;
mod why;
mod winner;

use super::model::Report;
use crate::status::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;
use table::Rows;

/// What the page may load: nothing but its own style, and the script with this hash.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-HASH'; base-uri 'none'; form-action 'none'";
/// The script.
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script in base 64; a test tells what it has to be.
const SCRIPT_HASH: &str = "o7+CMmQlIikPnWGlojPbXZF6eeu2jlPAy321gVdCraM=";

/// How the last line of each page begins.
pub const MADE_BY: &str = "Made by libaoe";

/// The files of a report to look at.
#[derive(Debug)]
pub struct Pages {
    /// `report.html`.
    pub first: String,
    /// `report_more.html`: operators that have no room in the first.
    pub more: Option<String>,
}

/// The pages of a full report; `path` names the report in errors. The same report gives the same bytes.
///
/// Fails with [`Error::File`](crate::status::Error::File) for what is no report, or one of a later layout.
pub fn pages(report: &str, path: &Path) -> Result<Pages> {
    let mut report = Report::read(report, path)?;
    clean::clean(&mut report);
    let rows = Rows::of(&report.kernels);
    let more = (rows.has_more() && report.gradients.is_none()).then(|| second(&report, &rows).into_string());
    Ok(Pages { first: first(&report, &rows).into_string(), more })
}

/// A page with this between its head and its end.
fn document(report: &Report<'_>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY.replace("HASH", SCRIPT_HASH));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (headline::title(report)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (body)
                footer { (MADE_BY) " " (report.version) " from report.json, which has every number." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The sections of the first page by their ids, as its links name them.
fn links(report: &Report<'_>) -> Vec<(&'static str, &'static str)> {
    let mut links = match &report.gradients {
        // A tuning of gradients looks at no operator; of a recording not even the kernels are known.
        Some(_) if report.runs.is_none() => vec![("gradients", "Gradients")],
        Some(_) => vec![("gradients", "Gradients"), ("time", "Time"), ("roofline", "Roofline")],
        None => vec![
            ("operators", "Operators"),
            ("network", "Timeline"),
            ("time", "Time"),
            ("convergence", "Search"),
            ("scopes", "Fusion"),
            ("roofline", "Roofline"),
        ],
    };
    links.extend((!report.earlier.is_empty()).then_some(("runs", "Runs")));
    links.extend([("backend", "Measured by"), ("bank", "Bank")]);
    links
}

fn first(report: &Report<'_>, rows: &Rows<'_>) -> Markup {
    let body = html! {
        (headline::headline(report))
        nav aria-label="Sections" { @for (id, name) in links(report) { a href={ "#" (id) } { (name) } } }
        main {
            @if let Some(gradients) = &report.gradients {
                (gradients::gradients(gradients))
                @if report.runs.is_some() {
                    (shares::shares(report))
                    (roofline::roofline(report))
                }
            } @else {
                (operators::operators(report, rows))
                (network::network(report))
                (shares::shares(report))
                (convergence::convergence(report))
                (scopes::scopes(report))
                (roofline::roofline(report))
            }
            (earlier::earlier(report))
            (measured::measured(report))
            (bank::bank(report))
        }
    };
    document(report, &body)
}

/// The operators that the first page has no room for.
fn second(report: &Report<'_>, rows: &Rows<'_>) -> Markup {
    let body = html! {
        header { p .over { "More operators of" } h1 { (report.graph) } p { a href="report.html" { "Back to the report" } } }
        main { section #operators { h2 { "Operators that take less time" } (rows.table(true)) } }
    };
    document(report, &body)
}
