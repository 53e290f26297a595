//! The array that CANN's result file is: one object for each section, those of one job after the other.

use super::counts::{Basic, basic, to_text};
use super::{Tuned, aoe, gdat, sgat};
use crate::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The array of CANN's offline result: one object for each section.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Section<'a> {
    /// `{"basic": ..}`
    Basic {
        /// The tuning itself.
        basic: Basic<'a>,
    },
    /// `{"OPAT": ..}`
    Opat {
        /// The operators.
        #[serde(rename = "OPAT")]
        opat: aoe::Opat<'a>,
    },
    /// `{"GDAT": ..}`
    Gdat {
        /// The gradients.
        #[serde(rename = "GDAT")]
        gdat: Box<gdat::Gdat<'a>>,
    },
    /// `{"SGAT": ..}`
    Sgat {
        /// The subgraphs.
        #[serde(rename = "SGAT")]
        sgat: sgat::Sgat<'a>,
    },
}

/// A result file that is read back, CANN's own or ours.
#[derive(Debug)]
pub struct ResultFile {
    /// Microseconds of the network after; `None` where the tuning did not end.
    pub after_us: Option<f64>,
    /// Microseconds after of each operator whose record changed, by its name.
    pub operators_us: Vec<(String, f64)>,
}

impl ResultFile {
    /// What it says of its first job; `path` names it in errors.
    ///
    /// Fails with [`Error::File`] for what is no result of a tuning.
    pub fn read(text: &[u8], path: &Path) -> Result<ResultFile> {
        let sections: Vec<Section<'_>> = serde_json::from_slice(text)
            .map_err(|error| Error::file("read", path, format!("not a result of a tuning: {error}")))?;
        let of = |section: &Section<'_>| match section {
            Section::Basic { .. } => None,
            Section::Opat { opat } => {
                let operators_us = opat.operators_us().map(|(name, us)| (name.to_owned(), us)).collect();
                Some(ResultFile { after_us: opat.after_us(), operators_us })
            }
            Section::Sgat { sgat } => Some(ResultFile { after_us: sgat.after_us(), operators_us: Vec::new() }),
            Section::Gdat { gdat } => Some(ResultFile { after_us: gdat.after_us(), operators_us: Vec::new() }),
        };
        sections.iter().find_map(of).ok_or_else(|| Error::file("read", path, "holds no result of a tuning"))
    }
}

/// CANN's result file of the last job as JSON, indented by four as its own writer does.
pub fn result(tuned: Tuned<'_>) -> Result<String> {
    to_text(&last(tuned))
}

/// The sections of the jobs, one after the other. A job that found nothing tunable has none of its own.
pub fn of(tuned: Tuned<'_>) -> Vec<Section<'_>> {
    let earlier = if let Tuned::Operators(earlier, _) = tuned { earlier } else { None };
    let mut sections = earlier.map_or_else(Vec::new, |earlier| of(Tuned::Subgraphs(earlier)));
    sections.extend(last(tuned));
    sections
}

/// The sections of the last job. Its times are the network's, whatever was tuned before.
fn last(tuned: Tuned<'_>) -> Vec<Section<'_>> {
    let tuning = tuned.tuning();
    let basic = basic(tuning);
    let mut sections = vec![Section::Basic { basic }];
    match tuned {
        Tuned::Gradients(outcome) => sections.push(Section::Gdat { gdat: Box::new(gdat::gdat(outcome)) }),
        _ if tuning.finished && tuned.has_nothing() => {}
        Tuned::Subgraphs(outcome) => sections.push(Section::Sgat { sgat: sgat::sgat(outcome) }),
        Tuned::Operators(_, outcome) => sections.push(Section::Opat { opat: aoe::opat(tuned, outcome) }),
    }
    sections
}
