//! Legal tilings of an operator as a search space, and the tiling that CANN would choose by default.

mod cube;
mod policy;
#[cfg(test)]
mod samples;
mod vector;

pub use policy::default_policy;

use crate::search::Domain;
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Schedule, Workload};

/// All tilings of one workload on one SoC, as value indices.
#[derive(Debug, Clone)]
pub struct OperatorSpace {
    workload: Workload,
    soc: Soc,
    sizes: Vec<u32>,
}

impl OperatorSpace {
    /// The space of a workload.
    pub fn new(workload: &Workload, soc: &Soc) -> Result<OperatorSpace> {
        Ok(OperatorSpace { workload: workload.clone(), soc: soc.clone(), sizes: Vec::new() })
    }

    /// The schedule of a configuration; `None` when it is not legal.
    pub fn schedule(&self, configuration: &[u32]) -> Option<Schedule> {
        let _ = (configuration, &self.workload, &self.soc);
        None
    }

    /// The configuration of a schedule, when the space contains it.
    pub fn configuration(&self, schedule: &Schedule) -> Option<Vec<u32>> {
        let _ = schedule;
        None
    }
}

impl Domain for OperatorSpace {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        self.schedule(configuration).is_some()
    }
}
