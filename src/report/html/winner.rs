//! The tiling that a row of the page tells of, with what is known of it.

use crate::report::explain::{Layout, Predicted};
use crate::report::kernel::Kernel;
use crate::workload::{CubeSchedule, L2Tiling, LoopOrder, Schedule};
use std::collections::BTreeMap;

/// A tiling with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Winner<'a> {
    pub tiling: &'a Schedule,
    pub held: Option<&'a Layout>,
    pub predicted: Option<&'a Predicted>,
    /// Of one launch.
    pub us: f64,
}

impl<'a> Winner<'a> {
    /// The best of a kernel: the tiling after, or what is not sure to be better.
    pub fn of(kernel: &'a Kernel<'_>) -> Winner<'a> {
        match &kernel.unsure {
            Some(unsure) => Winner {
                tiling: &unsure.candidate.schedule,
                held: unsure.held.as_ref(),
                predicted: unsure.predicted.as_ref(),
                us: unsure.candidate.us,
            },
            None => Winner {
                tiling: &kernel.after,
                held: kernel.held_after.as_ref(),
                predicted: kernel.predicted_after.as_ref(),
                us: kernel.after_us,
            },
        }
    }

    /// Whether it is another tiling than before.
    pub fn is_changed(&self, kernel: &Kernel<'_>) -> bool {
        !is_alike(self.tiling, &kernel.before)
    }
}

/// Whether two tilings are the same to the page, which knows neither the order of L2's tiles nor what of a record no
/// other field expresses.
pub fn is_alike(a: &Schedule, b: &Schedule) -> bool {
    let shown = |s: &CubeSchedule| CubeSchedule {
        l2: L2Tiling { order: LoopOrder::default(), ..s.l2 },
        unmodelled: BTreeMap::new(),
        ..s.clone()
    };
    match (a, b) {
        (Schedule::Cube(a), Schedule::Cube(b)) => shown(a) == shown(b),
        (a, b) => a == b,
    }
}
