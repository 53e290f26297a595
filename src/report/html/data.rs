//! What the page takes from the full report. Fields are documented in `docs/results.md`.

mod kernels;

pub use kernels::{Candidate, Cube, Kernel, L1, Layout, Predicted, Tiling, Timeline, Winner};

use super::text::{Line, Name};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// Reads a time, a rate or a size. No tuning gives those that are cut off here, and sums of the others stay numbers.
fn measure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?.min(1e30);
    Ok(if value > 1e-12 { value } else { 0.0 })
}

/// The full report.
#[derive(Debug, Deserialize)]
pub struct Report {
    #[serde(deserialize_with = "measure")]
    pub after_us: f64,
    pub backend: Backend,
    pub bank: Bank,
    #[serde(deserialize_with = "measure")]
    pub before_us: f64,
    #[serde(default)]
    pub dynamic: Vec<LeftOut>,
    /// Runs of the same folder before.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
    pub finished: bool,
    /// Absent in reports of old, and of gradients.
    pub gains: Option<Gains>,
    pub gradients: Option<Gradients>,
    pub graph: Name,
    pub improvement: Name,
    pub kernels: Vec<Kernel>,
    pub options: BTreeMap<Name, Line>,
    pub profiles: Option<Profiles>,
    pub roofs: Option<Roofs>,
    pub runs: Option<Runs>,
    pub seed: Option<u64>,
    pub soc: Soc,
    pub subgraphs: Option<Subgraphs>,
    pub summary: Counts,
    pub tuned_model: Option<TunedModel>,
    #[serde(rename = "tuning_time(s)")]
    pub tuning_time_s: f64,
    #[serde(default)]
    pub unmapped: Vec<Unmapped>,
    pub version: Name,
}

/// What becomes of what was found.
#[derive(Debug, Deserialize)]
pub struct Gains {
    pub failed: Vec<Failed>,
    pub gears: Vec<Gear>,
    pub left: Vec<Left>,
    #[serde(deserialize_with = "measure")]
    pub left_us: f64,
    pub not_sure: Sum,
    pub over_default: Over,
    pub over_estimated: Over,
    pub own_form: Sum,
    pub readers: BTreeMap<Name, Reader>,
    pub with_your_bank_us: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Over {
    #[serde(deserialize_with = "measure")]
    pub after_us: f64,
    #[serde(deserialize_with = "measure")]
    pub before_us: f64,
    pub improvement: Name,
    pub interval: Option<[Name; 2]>,
}

#[derive(Debug, Deserialize)]
pub struct Gear {
    pub name: Name,
    #[serde(flatten)]
    pub over: Over,
}

#[derive(Debug, Deserialize)]
pub struct Sum {
    pub count: u64,
    #[serde(deserialize_with = "measure")]
    pub saved_us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Reader {
    pub added: u64,
    pub already_in_bank: u64,
    pub saved_us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Failed {
    pub op: Name,
    pub reason: Line,
}

#[derive(Debug, Deserialize)]
pub struct Left {
    pub lever: Lever,
    pub op: Name,
    pub op_type: Name,
    #[serde(deserialize_with = "measure")]
    pub saved_us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Lever {
    pub kind: Name,
    pub what: Line,
}

/// A run that ended in the same folder.
#[derive(Debug, Deserialize)]
pub struct Earlier {
    #[serde(deserialize_with = "measure")]
    pub after_us: f64,
    #[serde(deserialize_with = "measure")]
    pub before_us: f64,
    pub began: Name,
    pub graph: Name,
    pub improvement: Name,
    pub interval: Option<[Name; 2]>,
    pub is_part: bool,
}

#[derive(Debug, Deserialize)]
pub struct Backend {
    pub detail: Line,
    pub name: Name,
    pub note: Line,
}

#[derive(Debug, Deserialize)]
pub struct Bank {
    pub custom: Line,
    #[serde(default)]
    pub is_default: bool,
    pub root: Option<Line>,
}

#[derive(Debug, Deserialize)]
pub struct Profiles {
    pub after: Line,
    pub before: Line,
}

#[derive(Debug, Deserialize)]
pub struct TunedModel {
    pub air: Line,
    pub content: Line,
    pub om: Line,
}

#[derive(Debug, Deserialize)]
pub struct Unmapped {
    pub name: Name,
    pub origin_type: Name,
    #[serde(default)]
    priced: Name,
}

impl Unmapped {
    /// Whether its data counts in the network's times.
    pub fn is_timed(&self) -> bool {
        self.priced.as_str() == "movement"
    }
}

/// A node without known sizes.
#[derive(Debug, Deserialize)]
pub struct LeftOut {
    pub name: Name,
    pub origin_type: Name,
    #[serde(default)]
    pub reason: Name,
    #[serde(default)]
    pub source: Name,
    #[serde(default)]
    pub source_type: Name,
}

/// The SoC's name alone, or its description.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Soc {
    Name(Name),
    Described(SocFields),
}

#[derive(Debug, Deserialize)]
pub struct SocFields {
    pub name: Name,
    pub ai_core_cnt: u32,
    pub vector_core_cnt: u32,
    pub cube_freq_mhz: f64,
    pub l2_size: u64,
    pub hbm_gb_s: f64,
}

impl Soc {
    pub fn name(&self) -> &Name {
        match self {
            Soc::Name(name) => name,
            Soc::Described(soc) => &soc.name,
        }
    }
}

/// Rates for one microsecond.
#[derive(Debug, Deserialize)]
pub struct Roofs {
    #[serde(deserialize_with = "measure")]
    pub cube_16_bit: f64,
    #[serde(deserialize_with = "measure")]
    pub cube_8_bit: f64,
    #[serde(deserialize_with = "measure")]
    pub l2: f64,
    #[serde(deserialize_with = "measure")]
    pub memory: f64,
    #[serde(deserialize_with = "measure")]
    pub vector_16_bit: f64,
}

#[derive(Debug, Deserialize)]
pub struct Counts {
    #[serde(rename = "repo_add_num")]
    pub added: u64,
    #[serde(rename = "repo_reserved_num")]
    pub reserved: u64,
    #[serde(rename = "repo_unsatisfied_num")]
    pub unsatisfied: u64,
    #[serde(rename = "repo_update_num")]
    pub updated: u64,
}

/// What one run of the network launches.
#[derive(Debug, Deserialize)]
pub struct Runs {
    pub after: Vec<Launched>,
    pub before: Vec<Launched>,
    /// Absent in reports of old.
    #[serde(default)]
    pub sequence_after: Vec<Step>,
    #[serde(default)]
    pub sequence_before: Vec<Step>,
}

/// Launches that follow each other.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub count: u64,
    /// The one that takes most of the time, by its place in the list of its moment.
    pub kernel: Option<usize>,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
}

/// Kernels that are alike.
#[derive(Debug, Deserialize)]
pub struct Launched {
    pub bound: Option<Name>,
    pub count: u64,
    pub name: Option<Name>,
    pub op_type: Option<Name>,
    pub task_type: Name,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
    pub work: Option<Work>,
    pub workload: Option<Line>,
}

/// Of one launch.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Work {
    #[serde(deserialize_with = "measure")]
    pub bytes: f64,
    #[serde(deserialize_with = "measure")]
    pub cube_operations: f64,
    #[serde(deserialize_with = "measure")]
    pub vector_operations: f64,
}

#[derive(Debug, Deserialize)]
pub struct Subgraphs {
    pub bank: Option<Line>,
    pub distinct: Vec<Subgraph>,
    pub priced_by: Line,
    pub summary: Counts,
    pub traffic_after: Traffic,
    pub traffic_before: Traffic,
}

#[derive(Debug, Deserialize)]
pub struct Traffic {
    pub launches: u64,
}

#[derive(Debug, Deserialize)]
pub struct Subgraph {
    pub after: Strategy,
    pub before: Strategy,
    pub count: u64,
    #[serde(default)]
    pub edges: Vec<[u32; 2]>,
    #[serde(default)]
    pub names: Vec<String>,
    pub op_types: Vec<Name>,
    pub places: Vec<Name>,
    pub status: Name,
}

#[derive(Debug, Deserialize)]
pub struct Strategy {
    pub groups: Vec<Group>,
    pub launches: u64,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Group {
    pub parts: u64,
    pub scopes: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub struct Gradients {
    #[serde(default)]
    pub is_of_others: bool,
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    pub split_after: Option<Split>,
    pub split_before: Option<Split>,
    pub split_from_bank: Option<Split>,
    #[serde(default)]
    pub tensors: Vec<IgnoredAny>,
    pub timeline: Option<Line>,
}

#[derive(Debug, Deserialize)]
pub struct Split {
    #[serde(deserialize_with = "measure")]
    pub backward_us: f64,
    pub by_idx: Vec<u64>,
    pub by_size: Vec<f64>,
    #[serde(deserialize_with = "measure")]
    pub end_us: f64,
    pub segments: Vec<Segment>,
    /// Of gradients of several groups or types; else none.
    #[serde(default)]
    pub sets: Vec<IgnoredAny>,
    #[serde(deserialize_with = "measure")]
    pub trailing_us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Segment {
    #[serde(deserialize_with = "measure")]
    pub bytes: f64,
    #[serde(deserialize_with = "measure")]
    pub end_us: f64,
    pub first: u64,
    pub last: u64,
    #[serde(deserialize_with = "measure")]
    pub ready_us: f64,
    #[serde(deserialize_with = "measure")]
    pub start_us: f64,
}

#[derive(Debug, Deserialize)]
pub struct Scaling {
    #[serde(deserialize_with = "measure")]
    pub after_us: f64,
    #[serde(deserialize_with = "measure")]
    pub before_us: f64,
    pub by_idx: Vec<u64>,
    pub devices: u64,
    pub nodes: u64,
    #[serde(deserialize_with = "measure")]
    pub trailing_after_us: f64,
    #[serde(deserialize_with = "measure")]
    pub trailing_before_us: f64,
}

impl Runs {
    /// Before and after.
    pub fn moments(&self) -> [&[Launched]; 2] {
        [&self.before, &self.after]
    }
}

impl Subgraph {
    /// Name of the node that it begins with.
    pub fn name(&self) -> &str {
        self.places.first().map_or("", Name::as_str)
    }

    /// The node that it begins with.
    pub fn label(&self, most: usize) -> String {
        let name = self.places.first().map(|name| name.short(most)).unwrap_or_default();
        if self.count > 1 { format!("{name} ×{}", self.count) } else { name }
    }

    /// Times at all places before and after.
    pub fn total_us(&self) -> [f64; 2] {
        [self.before.us, self.after.us].map(|us| us * self.count as f64)
    }
}
