//! The distinct operators of a report: their tilings, what these hold, and what is known of their times.

use super::measure;
use crate::report::html::text::{Line, Name, Text};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub struct Kernel {
    pub after: Tiling,
    #[serde(deserialize_with = "measure")]
    pub after_us: f64,
    pub before: Tiling,
    #[serde(deserialize_with = "measure")]
    pub before_us: f64,
    /// The best that were measured; absent in reports of old.
    #[serde(default)]
    pub candidates: Vec<Candidate>,
    pub count: u64,
    /// Where its default comes from; absent in reports of old.
    pub default: Option<Name>,
    pub failed_trials: u64,
    pub held_after: Option<Layout>,
    pub held_before: Option<Layout>,
    #[serde(default)]
    pub improvements: Vec<(f64, f64)>,
    pub known_trials: u64,
    pub nodes: Vec<Node>,
    pub op_type: Name,
    pub predicted_after: Option<Predicted>,
    pub predicted_before: Option<Predicted>,
    pub read_by: Option<Name>,
    pub status: Name,
    pub stop: Option<Name>,
    pub timeline: Option<Timeline>,
    pub trials: u64,
    pub unsure: Option<Unsure>,
    pub workload: Line,
}

#[derive(Debug, Deserialize)]
pub struct Node {
    /// Long enough to tell two nodes apart that the page shortens.
    pub name: Text<512>,
}

/// A tiling in its canonical form, or what is none.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Tiling {
    Cube(Box<Cube>),
    Vector(Vector),
    Other(Unknown),
}

/// Something else. Two of it are never known to be equal.
#[derive(Debug, Deserialize)]
pub struct Unknown(#[allow(dead_code, reason = "read to pass over it")] IgnoredAny);

impl PartialEq for Unknown {
    fn eq(&self, _: &Unknown) -> bool {
        false
    }
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Cube {
    pub buffers: Buffers,
    pub cores: Cores,
    pub l0: L0,
    pub l1_a: L1,
    pub l1_b: L1,
    #[serde(default)]
    pub l2: L2,
    #[serde(default)]
    pub order: Name,
    #[serde(default)]
    pub output: Name,
    pub single: Single,
    #[serde(default)]
    pub split_k: Name,
    pub used_cores: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Buffers {
    pub l0_a: u64,
    pub l0_b: u64,
    pub l0_c: u64,
    pub l1_a: u64,
    pub l1_b: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Cores {
    pub batch: u64,
    pub k: u64,
    pub m: u64,
    pub n: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct L0 {
    pub k_a: u64,
    pub k_b: u64,
    pub m: u64,
    pub n: u64,
}

/// The whole panel, or a piece.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum L1 {
    Panel { batch: u64, k: u64, tiles: u64 },
    Word(Name),
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct L2 {
    pub m_block: u64,
    pub m_tiles: u64,
    pub n_block: u64,
    pub n_tiles: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Single {
    pub batch: u64,
    pub k: u64,
    pub m: u64,
    pub n: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
pub struct Vector {
    pub cores: u64,
    pub double_buffer: bool,
    pub template: Name,
    pub ub_tile_bytes: u64,
}

/// A tiling and microseconds of one run.
#[derive(Debug, Deserialize)]
pub struct Candidate {
    pub schedule: Tiling,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
}

/// What seems better and is not sure to be.
#[derive(Debug, Deserialize)]
pub struct Unsure {
    #[serde(flatten)]
    pub candidate: Candidate,
    pub decided_by: Line,
    pub held: Option<Layout>,
    pub predicted: Option<Predicted>,
}

/// What a tiling lays into the cores.
#[derive(Debug, Deserialize)]
pub struct Layout {
    pub blocks: u64,
    pub blocks_of_busiest: u64,
    pub buffers: BTreeMap<Name, Buffer>,
    pub cores: u64,
}

#[derive(Debug, Deserialize)]
pub struct Buffer {
    pub bytes: u64,
    pub size: u64,
}

/// What the performance model says of one launch.
#[derive(Debug, Deserialize)]
pub struct Predicted {
    #[serde(deserialize_with = "measures")]
    pub cycles: BTreeMap<Name, f64>,
    #[serde(deserialize_with = "measures")]
    pub moved: BTreeMap<Name, f64>,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
}

/// The timeline of the busiest core.
#[derive(Debug, Deserialize)]
pub struct Timeline {
    #[serde(deserialize_with = "measures")]
    pub phases: BTreeMap<Name, f64>,
    pub pipes: BTreeMap<Name, Name>,
    #[serde(deserialize_with = "measure")]
    pub us: f64,
    #[serde(deserialize_with = "measures")]
    pub waits: BTreeMap<Name, f64>,
}

/// A tiling with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Winner<'a> {
    pub tiling: &'a Tiling,
    pub held: Option<&'a Layout>,
    pub predicted: Option<&'a Predicted>,
    /// Of one launch.
    pub us: f64,
}

/// [`measure`] of each.
fn measures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Name, f64>, D::Error> {
    #[derive(Deserialize)]
    struct Measured(#[serde(deserialize_with = "measure")] f64);
    let map: BTreeMap<Name, Measured> = BTreeMap::deserialize(deserializer)?;
    Ok(map.into_iter().map(|(name, Measured(value))| (name, value)).collect())
}

impl Kernel {
    /// Name of its first node.
    pub fn name(&self) -> &str {
        self.nodes.first().map_or("", |node| node.name.as_str())
    }

    /// Times of all launches before and after.
    pub fn total_us(&self) -> [f64; 2] {
        [self.before_us, self.after_us].map(|us| us * self.count as f64)
    }

    /// The best of it: the tiling after, or what is not sure to be better.
    pub fn winner(&self) -> Winner<'_> {
        match &self.unsure {
            Some(Unsure { candidate, held, predicted, .. }) => Winner {
                tiling: &candidate.schedule,
                held: held.as_ref(),
                predicted: predicted.as_ref(),
                us: candidate.us,
            },
            None => Winner {
                tiling: &self.after,
                held: self.held_after.as_ref(),
                predicted: self.predicted_after.as_ref(),
                us: self.after_us,
            },
        }
    }

    /// Whether the best tiling is another than before.
    pub fn is_changed(&self) -> bool {
        *self.winner().tiling != self.before
    }
}
