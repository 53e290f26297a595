//! The array that CANN's result file is: one object for each section, those of one job after the other.

use super::counts::{Basic, basic, to_text};
use super::{aoe, gdat, sgat};
use crate::status::Result;
use crate::tune::OpatOutcome;
use crate::tune::gdat::GdatOutcome;
use crate::tune::sgat::SgatOutcome;
use serde::{Deserialize, Serialize};

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

/// CANN's result as JSON, indented by four as its own writer does.
pub fn opat_result(outcome: &OpatOutcome) -> Result<String> {
    to_text(&of_operators(outcome))
}

/// The sections of CANN's result; where nothing was tunable there is no OPAT section.
pub fn of_operators(outcome: &OpatOutcome) -> Vec<Section<'_>> {
    let basic = basic(&outcome.graph, outcome.finished.then_some(outcome.elapsed));
    let mut sections = vec![Section::Basic { basic }];
    if !(outcome.finished && outcome.cases.is_empty()) {
        sections.push(Section::Opat { opat: aoe::opat(outcome) });
    }
    sections
}

/// CANN's result as JSON, indented by four as its own writer does.
pub fn sgat_result(outcome: &SgatOutcome) -> Result<String> {
    to_text(&of_subgraphs(outcome))
}

/// The sections of CANN's result.
pub fn of_subgraphs(outcome: &SgatOutcome) -> Vec<Section<'_>> {
    let basic = basic(&outcome.graph, outcome.finished.then_some(outcome.elapsed));
    let mut sections = vec![Section::Basic { basic }];
    if !(outcome.finished && outcome.subgraphs.is_empty()) {
        sections.push(Section::Sgat { sgat: sgat::sgat(outcome) });
    }
    sections
}

/// The result as JSON, indented by four as CANN's are.
pub fn gdat_result(outcome: &GdatOutcome) -> Result<String> {
    to_text(&of_gradients(outcome))
}

/// The sections of the result.
pub fn of_gradients(outcome: &GdatOutcome) -> Vec<Section<'_>> {
    let basic = basic(&outcome.graph, outcome.finished.then_some(outcome.elapsed));
    vec![Section::Basic { basic }, Section::Gdat { gdat: Box::new(gdat::gdat(outcome)) }]
}
