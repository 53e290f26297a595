//! What a user's own device taught of a part: corrections of predicted times, class by class of kernel.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Classes of kernels that are corrected together: fewer than those of intervals, because few rows must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Products and convolutions, with vector work on their results or without.
    Cube,
    /// Attention as one kernel.
    Attention,
    /// Vector work on each element or along an axis.
    Vector,
    /// Data movement, by index or not.
    Movement,
    /// What the model prices as the movement of its data for want of anything better.
    Approximated,
}

impl Group {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Cube => "cube",
            Group::Attention => "attention",
            Group::Vector => "vector",
            Group::Movement => "movement",
            Group::Approximated => "approximated",
        }
    }
}

/// A monotone correction: `t^(1 - weight) * (factor * t + constant_us)^weight`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// What predicted times are multiplied by.
    pub factor: f64,
    /// Microseconds that every kernel takes besides, 0 or more.
    pub constant_us: f64,
    /// How much of it counts, 0 to 1: the rest is the model as it was.
    pub weight: f64,
}

impl Correction {
    /// The corrected time of a kernel that is predicted to take `time_us`.
    pub fn time_us(&self, time_us: f64) -> f64 {
        time_us.powf(1.0 - self.weight) * (self.factor * time_us + self.constant_us).powf(self.weight)
    }

    /// Whether it is one that a fit gives: a longer time stays a longer one.
    pub fn is_sound(&self) -> bool {
        let Correction { factor, constant_us, weight } = *self;
        factor.is_finite()
            && factor > 0.0
            && constant_us.is_finite()
            && constant_us >= 0.0
            && (0.0..=1.0).contains(&weight)
    }
}

/// A calibration by name, as results tell which one corrected their times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectedBy {
    /// Its file.
    pub file: String,
    /// The part that it was made on.
    pub part: String,
    /// The day on which it was made.
    pub date: String,
}

impl std::fmt::Display for CorrectedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, {})", self.file, self.part, self.date)
    }
}

/// The correction of a kernel that the profiles hold themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Own {
    /// The correction.
    pub correction: Correction,
    /// Bytes of its operands that lay in device memory when it was measured; `None` where its kind tells.
    pub missed_bytes: Option<f64>,
    /// Blocks that it ran in when it was measured; `None` where the profile did not tell.
    pub block_dim: Option<u64>,
}

/// The corrections of one calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrections {
    /// The calibration file that they are from.
    pub file: PathBuf,
    /// The part that it was made on.
    pub part: String,
    /// The day on which it was made.
    pub date: String,
    /// Group by group; none where it has nothing to say.
    pub groups: BTreeMap<Group, Correction>,
    /// Those of single kernels, by the text of their workload: kernels that the profiles hold themselves.
    pub problems: BTreeMap<String, Own>,
}

impl Corrections {
    /// The calibration by name.
    pub fn named(&self) -> CorrectedBy {
        let Corrections { file, part, date, .. } = self;
        CorrectedBy { file: file.display().to_string(), part: part.clone(), date: date.clone() }
    }
}
