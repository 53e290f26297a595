//! What an operator's tuning starts from: what runs today, and what a new tiling has to beat.

use super::tuner::{Tuner, ended};
use crate::backend::{Measure, Measurement};
use crate::status::Result;
use crate::workload::Schedule;

/// What a new tiling has to beat.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reference {
    /// A tiling.
    Tiling(Schedule),
    /// What CANN runs without a tiling of ours.
    Untuned,
}

impl Reference {
    /// Measures it.
    pub fn measure(&self, measure: &mut dyn Measure) -> Measurement {
        match self {
            Reference::Tiling(schedule) => measure.measure(schedule),
            Reference::Untuned => measure
                .untuned()
                .unwrap_or_else(|| Measurement::Failed { reason: "nothing runs without a tiling here".to_owned() }),
        }
    }
}

/// What runs today.
pub(super) struct Baseline {
    /// Its tiling; where CANN chooses one itself, the one that it should choose by all that is known of it.
    pub schedule: Schedule,
    /// Its time; 0 where it failed.
    pub us: f64,
    /// Whether it is the bank's.
    pub in_bank: bool,
    /// Time of CANN's default; `None` where only the bank's tiling runs, or nothing does.
    pub default_us: Option<f64>,
    /// What a new tiling has to beat: this, or CANN's own choice where that is faster.
    pub reference: Reference,
    /// Why it could not be measured, where it could not.
    pub failure: Option<String>,
}

impl Baseline {
    /// A baseline without a time.
    pub fn unknown(default: Schedule) -> Baseline {
        let reference = Reference::Tiling(default.clone());
        Baseline { reference, schedule: default, us: 0.0, in_bank: false, default_us: None, failure: None }
    }
}

/// What CANN would run today and its time: the bank's tiling where there is one that runs, else what it chooses
/// itself; where that cannot be measured as such, the default policy's tiling stands for it.
///
/// Fails where the backend can measure nothing more.
pub(super) fn baseline(
    measure: &mut dyn Measure,
    known: Option<&Schedule>,
    default: &Schedule,
    tuner: &Tuner<'_>,
) -> Result<Baseline> {
    let mut why = String::new();
    let mut time = |measurement: Measurement| match measurement {
        Measurement::Time { us } => Ok(Some(us)),
        Measurement::Failed { reason } => {
            why = reason;
            Ok(None)
        }
        Measurement::Ended { reason } => Err(ended(reason, tuner.backend, tuner.interrupt)),
    };
    let recorded = match known {
        Some(schedule) => time(measure.measure(schedule))?.map(|us| (schedule, us)),
        None => None,
    };
    let untuned = measure.untuned().map(&mut time).transpose()?;
    let default_us = match (&recorded, untuned) {
        (_, Some(untuned)) => untuned,
        (Some((schedule, us)), None) if *schedule == default => Some(*us),
        (_, None) => time(measure.measure(default))?,
    };
    let in_bank = recorded.is_some();
    let found = match (recorded, untuned) {
        (Some((schedule, us)), Some(Some(untuned))) if untuned < us => Some((schedule.clone(), us, Reference::Untuned)),
        (Some((schedule, us)), _) => Some((schedule.clone(), us, Reference::Tiling(schedule.clone()))),
        (None, Some(untuned)) => untuned.map(|us| (default.clone(), us, Reference::Untuned)),
        (None, None) => default_us.map(|us| (default.clone(), us, Reference::Tiling(default.clone()))),
    };
    Ok(match found {
        Some((schedule, us, reference)) => Baseline { schedule, us, in_bank, default_us, reference, failure: None },
        None => Baseline {
            failure: Some(format!("the baseline cannot be measured: {why}")),
            ..Baseline::unknown(default.clone())
        },
    })
}
