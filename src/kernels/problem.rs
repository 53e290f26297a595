//! A kernel with what it was predicted to take, and what it took.

use crate::sim::calibration::{Group, Point};

/// Means of one problem in several profiles, and launches of it in one, that are farther apart than this factor contradict each
/// other.
pub(super) const CONTRADICTION: f64 = 1.5;

/// Mean error of a class below which the model has it right: what a profile does not tell of kernels, such as an activation that is
/// fused into one, makes as much.
pub(super) const RIGHT: f64 = 0.02;

/// One distinct problem of the profiles.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub group: Group,
    /// Its workload as text.
    pub workload: String,
    /// Its operator's type, with those fused into it.
    pub op_type: String,
    pub model_us: f64,
    pub launches: u64,
    /// Mean microseconds of a launch, one for each profile that has it.
    pub measured_us: Vec<f64>,
    /// The same of two halves of the launches of the first profile that has more than one.
    pub halves: Option<[f64; 2]>,
    /// How far apart launches of one profile are, as a factor: the most of all profiles.
    pub spread: f64,
    /// Bytes that its case says it finds in device memory.
    pub missed_bytes: Option<f64>,
    /// Blocks that it ran in, where its profile tells.
    pub block_dim: Option<u64>,
}

impl Problem {
    /// Of several profiles the geometric mean.
    pub(super) fn point(&self) -> Point {
        let logs: f64 = self.measured_us.iter().map(|us| us.ln()).sum();
        Point { model_us: self.model_us, measured_us: (logs / self.measured_us.len() as f64).exp() }
    }

    pub(super) fn contradicts(&self) -> bool {
        let high = self.measured_us.iter().copied().fold(0.0, f64::max);
        let low = self.measured_us.iter().copied().fold(f64::INFINITY, f64::min);
        high > low * CONTRADICTION
    }

    /// Whether launches of one profile contradict each other.
    pub(super) fn is_scattered(&self) -> bool {
        self.spread > CONTRADICTION
    }
}

/// A share as text.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
