//! The report as types that are written and read back: the session writes [`Report`] as `report.json`, and the page and
//! the command line are made of what [`Report::read`] answers. `docs/results.md` describes each field.

pub use super::counts::RepoSummary;
pub use super::gains::{Failed, Gains, Gear, Left, Lever, Over, Reader, Sum, WorthMeasuring};
pub use super::gdat::{EqualSplit, Gradients, ScaleUs, SetSplit, SplitUs, Tensor, Unmeasured};
pub use super::kernel::{Kernel, Node};
pub use super::sections::ResultFile;
pub use super::sgat::{Moved, Subgraphs};
pub use super::status::Status;

use super::earlier::Earlier;
use super::runs::Runs;
use super::sections::Section;
use super::{OmWriter, Tuned, TunedModel};
use crate::backend::simulator::Simulator;
use crate::graph::infer::Cause;
use crate::lower::Priced;
use crate::sim::Roofs;
use crate::soc::Soc;
use crate::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Number of this layout; raised when a field changes its meaning or goes.
pub const LAYOUT: u32 = 1;

/// The report. Times are microseconds, not rounded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report<'a> {
    /// Time of the network with what CANN will take.
    pub after_us: f64,
    pub(super) aoe_result: Vec<Section<'a>>,
    /// What became of what was asked for by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    /// Who measured.
    pub backend: Backend<'a>,
    /// Where records are kept.
    pub bank: Bank<'a>,
    /// What came of the earlier tuning that this one started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base<'a>>,
    /// Time of the network with CANN's defaults.
    pub before_us: f64,
    /// Times and gains apart by how sure the default is.
    #[serde(default)]
    pub(super) defaults: BTreeMap<Cow<'static, str>, OfOrigin>,
    /// What was left out because nothing tells its sizes.
    #[serde(default)]
    pub dynamic: Vec<Unsized<'a>>,
    /// Runs that ended in the same folder before, the newest first.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(super) earlier: Cow<'a, [Earlier]>,
    /// Whether all was tuned.
    pub finished: bool,
    /// Time with all that was found, also in records that CANN does not read.
    #[serde(default)]
    pub(super) found_us: f64,
    /// What becomes of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<Gains<'a>>,
    /// What became of the gradients, where they were tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradients: Option<Gradients<'a>>,
    /// Name of the network.
    pub graph: Cow<'a, str>,
    pub(super) improvement: String,
    /// The distinct operators, in the order of the graph.
    pub kernels: Vec<Kernel<'a>>,
    pub(super) layout: u32,
    /// The options of the tuning, by name.
    pub options: Cow<'a, BTreeMap<String, String>>,
    /// The profiles, where they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Profiles<'a>>,
    /// What no kernel exceeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) roofs: Option<Roofs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<Cow<'a, Runs>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<u64>,
    pub(super) soc: SocPart<'a>,
    /// What became of the subgraphs, where they were tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subgraphs: Option<Subgraphs<'a>>,
    /// Counts of operators, or of subgraphs where only these were tuned.
    pub summary: RepoSummary,
    /// The tuned model for each further gear, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned_gears: Vec<Files<'a>>,
    /// The tuned model, once it is written; of several gears the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuned_model: Option<Files<'a>>,
    /// Duration in seconds.
    #[serde(rename = "tuning_time(s)")]
    pub tuning_time_s: f64,
    /// Nodes of which it is not known how they work.
    #[serde(default)]
    pub unmapped: Vec<Unmapped<'a>>,
    pub(super) version: Cow<'static, str>,
}

impl Report<'static> {
    /// Reads a report of this version or an earlier one; `path` names it in errors. A field that is not known here is
    /// passed over.
    ///
    /// Fails with [`Error::File`] for what is no report, or one of a later layout.
    pub fn read(text: &str, path: &Path) -> Result<Report<'static>> {
        #[derive(Deserialize)]
        struct Version {
            layout: u32,
        }
        let no_report =
            |error: serde_json::Error| Error::file("read", path, format!("not a report of a tuning: {error}"));
        // What a later layout changed may not be read at all.
        let Version { layout } = serde_json::from_str(text).map_err(no_report)?;
        if !(1..=LAYOUT).contains(&layout) {
            let reason = format!("its layout is {layout}, this version of libaoe knows {LAYOUT}");
            return Err(Error::file("read", path, reason));
        }
        serde_json::from_str(text).map_err(no_report)
    }
}

/// Who measured the kernels.
#[derive(Debug, Serialize, Deserialize)]
pub struct Backend<'a> {
    pub(super) detail: Cow<'a, str>,
    /// `simulator`, `ascend`, or a plugin's.
    pub name: Cow<'a, str>,
    pub(super) noisy: bool,
    /// Why it was chosen.
    pub note: Cow<'a, str>,
}

impl Backend<'_> {
    /// Whether its times are predictions: no other backend may have the simulator's name.
    pub fn is_simulated(&self) -> bool {
        self.name == Simulator::NAME
    }
}

/// The earlier tuning that one started from (`base_result`).
#[derive(Debug, Serialize, Deserialize)]
pub struct Base<'a> {
    /// Its bank.
    pub bank: Cow<'a, str>,
    /// Distinct operators of which it has measurements that the bank of this tuning has not.
    pub operators: usize,
    /// These measurements.
    pub trials: usize,
}

/// Where records are kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bank<'a> {
    pub(super) also_read: Vec<Cow<'a, str>>,
    /// Where they are written.
    pub custom: Cow<'a, str>,
    /// Whether nothing was written there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Whether CANN looks there by itself.
    #[serde(default)]
    pub(super) is_default: bool,
    /// What `TUNE_BANK_PATH` has to name for CANN to read it, where it lies in the work path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Cow<'a, str>>,
}

/// The folders of the profiles.
#[derive(Debug, Serialize, Deserialize)]
pub struct Profiles<'a> {
    /// After tuning.
    pub after: Cow<'a, str>,
    /// Before it.
    pub before: Cow<'a, str>,
}

/// The files of the tuned model.
#[derive(Debug, Serialize, Deserialize)]
pub struct Files<'a> {
    /// GE's IR.
    pub air: Cow<'a, str>,
    /// What they hold.
    pub content: String,
    /// The same compiled by GE, or in the om container.
    pub om: Cow<'a, str>,
    /// `libaoe`, or the library in which GE was found.
    pub(super) om_by: Cow<'a, str>,
}

/// The SoC's name, or its whole description where the caller gave it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SocPart<'a> {
    /// Its name.
    Name(Cow<'a, str>),
    /// Its description, changed fields included.
    Description(Box<Cow<'a, Soc>>),
}

impl<'a> Files<'a> {
    pub(super) fn of(model: &'a TunedModel, tuned: Tuned<'_>) -> Files<'a> {
        Files {
            air: model.air.to_string_lossy(),
            content: model.content(tuned),
            om: model.om.to_string_lossy(),
            om_by: match &model.om_by {
                OmWriter::Libaoe(_) => "libaoe".into(),
                OmWriter::Ge(library) => library.to_string_lossy(),
            },
        }
    }
}

impl SocPart<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            SocPart::Name(name) => name,
            SocPart::Description(soc) => &soc.name,
        }
    }
}

/// A node of which it is not known how it works.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unmapped<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its type in the framework.
    pub origin_type: Cow<'a, str>,
    /// `movement` where the movement of its data counts; `none` where no time does.
    #[serde(default)]
    pub priced: Cow<'static, str>,
    /// Why the framework's operator is none of Ascend's, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
}

impl Unmapped<'_> {
    /// Whether the movement of its data counts in the network's times.
    pub fn is_timed(&self) -> bool {
        self.priced == Priced::Movement.name()
    }
}

/// A node that was left out because nothing tells its sizes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unsized<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its type in the framework.
    pub origin_type: Cow<'a, str>,
    /// Why.
    pub reason: Option<Cause>,
    /// The node from which it has no sizes.
    #[serde(default)]
    pub source: Cow<'a, str>,
    /// The type of that node.
    #[serde(default)]
    pub source_type: Cow<'a, str>,
    /// Why the operator of that node stayed the framework's, where its reader said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
}

/// Times of the kernels whose defaults are of one origin.
#[derive(Debug, Serialize, Deserialize)]
pub struct OfOrigin {
    pub(super) after_us: f64,
    pub(super) before_us: f64,
    pub(super) improvement: String,
}
