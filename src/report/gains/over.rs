//! Times before and after, what is gained, and between what it lies.

use super::found::Found;
use crate::report::figures::{improvement, microseconds};
use serde::{Deserialize, Serialize};

/// A gain over CANN's defaults. Times are microseconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Over {
    /// Time with what CANN will take.
    pub after_us: f64,
    /// Time with CANN's defaults.
    pub before_us: f64,
    /// The gain, for example `12.34%`.
    pub improvement: String,
    /// What nine of ten times lie the gain between; `None` where a record has times that were never measured together.
    /// The errors of all records are taken to go the same way, which is the widest that it can be.
    pub interval: Option<[String; 2]>,
    /// The ends of the time after; the shorter first.
    pub(in crate::report) interval_us: Option<[f64; 2]>,
}

impl Over {
    /// What these save of the time before.
    pub fn of(before_us: f64, taken: &[&Found<'_>]) -> Over {
        let saved: f64 = taken.iter().map(|one| one.saved_us()).sum();
        let after_us = before_us - saved;
        let end = |at: usize| -> Option<f64> {
            let saved = taken.iter().map(|one| Some(one.saved_interval_us()?[at]));
            Some(before_us - saved.sum::<Option<f64>>()?)
        };
        let interval_us = end(1).zip(end(0)).map(|(shortest, longest)| [shortest, longest]);
        // To the nanosecond, as in CANN's result: the improvement must be the same in both.
        let gain = |after: f64| improvement(microseconds(before_us), microseconds(after));
        Over {
            after_us,
            before_us,
            improvement: gain(after_us),
            interval: interval_us.map(|[shortest, longest]| [gain(longest), gain(shortest)]),
            interval_us,
        }
    }
}
