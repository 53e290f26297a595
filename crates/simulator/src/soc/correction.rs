//! What a user's own device taught of a part: corrections of predicted times, class by class of kernel.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// The shortest predicted time that it was learned from: shorter ones are corrected by the factor that this one is, not by a
    /// constant that nothing so short has shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_us: f64,
}

/// Whether a field of the file may be left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Correction {
    /// The corrected time of a kernel that is predicted to take `time_us`.
    pub fn time_us(&self, time_us: f64) -> f64 {
        let of = |us: f64| us.powf(1.0 - self.weight) * (self.factor * us + self.constant_us).powf(self.weight);
        if time_us < self.from_us { time_us / self.from_us * of(self.from_us) } else { of(time_us) }
    }

    /// Whether it is one that a fit gives: a longer time stays a longer one.
    pub fn is_sound(&self) -> bool {
        let Correction { factor, constant_us, weight, from_us } = *self;
        factor.is_finite()
            && factor > 0.0
            && constant_us.is_finite()
            && constant_us >= 0.0
            && (0.0..=1.0).contains(&weight)
            && from_us.is_finite()
            && from_us >= 0.0
    }
}

/// A measured kernel, as what it says of those of its type that take about as long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Near {
    /// What it is predicted to take, in microseconds.
    pub model_us: f64,
    /// What it took over what its class's correction makes of that, within [`Near::FARTHEST`].
    pub factor: f64,
}

impl Near {
    /// Logarithm of the largest and the smallest factor. Half a unit keeps a longer predicted time a longer one: what kernels say
    /// fades by a factor e in time to 1/e, and two that contradict each other most are one unit apart.
    pub const FARTHEST: f64 = 0.5;
    /// Kernels of the same time that count as much as the belief that the type is as its class.
    const BELIEF: f64 = 1.0;

    /// Whether it is one that a profile gives.
    pub fn is_sound(&self) -> bool {
        let logarithm = self.factor.ln();
        // The file's decimals may round up.
        self.model_us.is_finite() && self.model_us > 0.0 && logarithm.abs() <= Near::FARTHEST + 1e-9
    }

    /// What kernels of a type make of one that is predicted to take `model_us`, as a factor.
    pub fn factor<'a>(of: impl Iterator<Item = &'a Near>, model_us: f64) -> f64 {
        let mut sums = [0.0, Near::BELIEF];
        for near in of {
            let weight = (near.model_us / model_us).min(model_us / near.model_us);
            sums = [sums[0] + weight * near.factor.ln(), sums[1] + weight];
        }
        (sums[0] / sums[1]).exp()
    }
}

/// All that a calibration says of one kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Applied {
    /// Its own correction, or that of its class.
    pub whole: Option<Correction>,
    /// Kernels of its type, where it has no correction of its own.
    pub near: Option<Arc<[Near]>>,
}

impl Applied {
    /// The corrected time of a kernel that is predicted to take `model_us`.
    pub fn time_us(&self, model_us: f64) -> f64 {
        let time_us = self.whole.map_or(model_us, |whole| whole.time_us(model_us));
        self.near.as_ref().map_or(time_us, |near| time_us * Near::factor(near.iter(), model_us))
    }
}

impl From<Option<Correction>> for Applied {
    fn from(whole: Option<Correction>) -> Applied {
        Applied { whole, near: None }
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
    /// Kernels of each type that the profiles hold, for others of that type; none where they say nothing of these.
    pub types: BTreeMap<Group, BTreeMap<String, Arc<[Near]>>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_predicted_time_stays_a_longer_one_however_kernels_contradict_each_other() {
        let far = Near::FARTHEST.exp();
        let near: Vec<Near> = (0..40)
            .map(|at| Near { model_us: 10.0 * 1.001_f64.powi(at), factor: if at < 20 { far } else { 1.0 / far } })
            .collect();
        let applied = Applied { whole: None, near: Some(near.into()) };
        let times: Vec<f64> = (0..4000).map(|at| applied.time_us(8.0 * 1.0002_f64.powi(at))).collect();
        assert!(times.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn what_is_shorter_than_all_that_was_measured_gets_no_constant() {
        let correction = Correction { factor: 1.0, constant_us: 3.0, weight: 1.0, from_us: 4.0 };
        let times = [1.0, 3.99, 4.0, 40.0].map(|us| correction.time_us(us));
        assert_eq!([times[0], times[2], times[3]], [1.75, 7.0, 43.0]);
        assert!(times[1] < times[2]);
    }

    #[test]
    fn kernels_count_for_those_that_take_about_as_long() {
        let near = [Near { model_us: 10.0, factor: 1.5 }; 4];
        let factor = |us: f64| Near::factor(near.iter(), us);
        assert!(
            factor(10.0) > 1.35 && factor(20.0) < factor(10.0) && factor(1e4) < 1.01 && factor(5.0) == factor(20.0)
        );
        assert_eq!(Near::factor([].iter(), 10.0), 1.0);
    }
}
