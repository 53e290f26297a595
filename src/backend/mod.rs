//! Who measures a candidate: the built-in simulator, an Ascend runtime, or a plug-in.

mod any_path;
pub mod ascend;
mod choice;
mod env;
mod gate;
mod opening;
pub mod plugin;
mod request;
pub mod simulator;

pub use choice::{DEFAULT_SOC, open};
pub use env::RuntimeEnv;
pub use request::{Choice, Measuring, Opened, Request};

use crate::sim::interval::Interval;
use crate::soc::Soc;
use crate::workload::{Schedule, Workload};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// What a backend is, for the report.
#[derive(Debug, Clone)]
pub struct Description {
    /// `simulator`, `ascend`, or the plug-in's own name.
    pub name: String,
    /// Version, device and whatever else a reader of the report needs to judge its times.
    pub detail: String,
    /// Whether repeated measurements differ.
    pub noisy: bool,
    /// Whether its times are predictions: nothing ran.
    pub is_simulated: bool,
}

/// How the measurement of one candidate ended. A failure concerns that candidate only.
#[derive(Debug, Clone, PartialEq)]
pub enum Measurement {
    /// Kernel time in microseconds.
    Time {
        /// Best estimate.
        us: f64,
    },
    /// The candidate could not be run.
    Failed {
        /// Why, with the backend's own code where there is one.
        reason: String,
    },
    /// The candidate was not measured and no other can be: the machine cannot measure any more, or the caller
    /// cancelled.
    Ended {
        /// Why.
        reason: String,
    },
}

/// Measures schedules of workloads. One backend serves many threads at once.
pub trait Backend: Send + Sync {
    /// What the backend is.
    fn describe(&self) -> Description;

    /// What measures one workload; another than [`Backend::describe`] where the backend leaves it to another.
    fn describe_for(&self, _workload: &Workload) -> Description {
        self.describe()
    }

    /// The SoC that is measured.
    fn soc(&self) -> &Soc;

    /// What nine of ten true ratios of the times of two schedules of a workload lie between, as multiples of the ratio
    /// that the backend gives. Where times scatter, [`Description::noisy`] says so and the scatter is measured.
    fn doubt(&self, _workload: &Workload) -> Interval {
        Interval::EXACT
    }

    /// The same of CANN's default and another schedule: wider where the default is an estimate that was not measured.
    fn doubt_over_default(&self, workload: &Workload) -> Interval {
        self.doubt(workload)
    }

    /// About how long one measurement takes, where that is known: what a search weighs its own time against.
    fn measuring_time(&self) -> Option<Duration> {
        None
    }

    /// Measurements that may run at a time, where more would disturb each other.
    fn parallel(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Prepares measuring one workload; the result is used by one thread.
    fn prepare<'a>(&'a self, workload: &Workload) -> crate::status::Result<Box<dyn Measure + 'a>>;

    /// Prepares measuring one workload as it stands in a network: the time is the mean over its launches. What
    /// cannot lay out L2 as the network would measures the workload by itself.
    fn prepare_within<'a>(
        &'a self,
        workload: &Workload,
        standings: &[Standing],
    ) -> crate::status::Result<Box<dyn Measure + 'a>> {
        let _ = standings;
        self.prepare(workload)
    }

    /// Whether [`Backend::prepare_within`] measures otherwise than [`Backend::prepare`].
    fn heeds_network(&self) -> bool {
        false
    }
}

/// Launches of a workload that find the same of their data in L2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Bytes that each finds in device memory; `None` where nothing but the workload's own size decides that.
    pub missed: Option<f64>,
    /// How many they are.
    pub launches: u64,
}

/// One workload made ready for measuring many schedules.
pub trait Measure {
    /// Why no schedule of this workload can be measured; `None` where they can.
    fn unmeasurable(&self) -> Option<&str> {
        None
    }

    /// Why no schedule of this workload can be measured where what runs without one can, by [`Measure::untuned`]; `None`
    /// for all others.
    fn fixed(&self) -> Option<&str> {
        None
    }

    /// Measures one schedule.
    fn measure(&mut self, schedule: &Schedule) -> Measurement;

    /// Candidates that are best handed over together, because one gets ready while another is measured.
    fn together(&self) -> usize {
        1
    }

    /// Measures several schedules; the answers are in their order.
    fn measure_all(&mut self, schedules: &[Schedule]) -> Vec<Measurement> {
        schedules.iter().map(|schedule| self.measure(schedule)).collect()
    }

    /// Measures what runs without any schedule of ours: what the installed CANN chooses. `None` where there is no
    /// such thing to measure.
    fn untuned(&mut self) -> Option<Measurement> {
        None
    }
}

/// Says what lies at the path of a library where that is neither a file nor nothing: the loader would wait at a pipe
/// for ever. It looks for plain names itself.
fn check_library(path: &Path) -> Result<(), String> {
    let is_path = path.as_os_str().as_encoded_bytes().contains(&b'/');
    match path.metadata() {
        Ok(found) if is_path && !found.is_file() => Err(format!("{} is not a regular file", path.display())),
        _ => Ok(()),
    }
}
