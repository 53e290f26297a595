//! What gradient tuning found: the plain data that reports are made from.

use super::cluster::{Cluster, Contention};
use super::gradients::{Set, Training};
use super::plan::Plan;
use crate::sim::collective::{Algorithm, AllReduce};
use crate::tune::{BankStatus, Tuning};

/// Result of gradient tuning.
#[derive(Debug, Clone)]
pub struct GdatOutcome {
    /// What every tuning tells; its backend is what the times of the gradients come from.
    pub tuning: Tuning,
    /// The devices that train together.
    pub cluster: Cluster,
    /// How computing and exchanging slow each other down there.
    pub contention: Contention,
    /// Segments at most.
    pub most_segments: usize,
    /// What was found; `None` while times are being found out, and after a cancel.
    pub found: Option<Found>,
    /// Kernels that the backend could not measure, with its reason; the simulator priced them.
    pub unmeasured: Vec<(String, String)>,
}

/// The splits, all by the same model.
#[derive(Debug, Clone)]
pub struct Found {
    /// The gradients.
    pub training: Training,
    /// Which of them may be exchanged together.
    pub sets: Vec<Set>,
    /// The kernels of forward and backward pass, in the order in which they run; none of a recording.
    pub kernels: Vec<KernelTime>,
    /// What this means for the bank.
    pub status: BankStatus,
    /// Whether what the bank keeps under the network's hash is of other gradients: CANN tells networks apart by the
    /// number and the types of their gradients alone.
    pub is_of_others: bool,
    /// hccl's default.
    pub before: Case,
    /// The best.
    pub after: Case,
    /// Whether no split ends before the best one; with very many sets not all ways can be followed.
    pub is_optimum: bool,
    /// What CANN's graph compiler makes of the bank as it is now; hccl's default where it has no entry or makes nothing of
    /// it. `None` with several sets: what it makes of one entry for all of them is not known.
    pub from_bank: Option<Case>,
    /// Equal segments: by number and by bytes, for each number of segments of a set.
    pub equal: Vec<Equal>,
    /// The same gradients on other numbers of devices.
    pub scaling: Vec<Scale>,
}

/// How long a kernel of the graph takes where nothing is exchanged beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTime {
    /// Its place among the kernels of the graph.
    pub kernel: usize,
    /// Time of one launch in microseconds.
    pub us: f64,
    /// Whether the simulator says so; else a device measured it.
    pub is_simulated: bool,
}

/// A split as it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What happens when.
    pub plan: Plan,
    /// How the sum is made on each level of the cluster, the innermost first.
    pub algorithms: Vec<Algorithm>,
    /// Time of an exchange.
    pub cost: AllReduce,
}

/// An equal split.
#[derive(Debug, Clone, PartialEq)]
pub struct Equal {
    /// Whether segments have equal bytes; else equal numbers of gradients.
    pub by_size: bool,
    /// How it runs.
    pub case: Case,
}

/// The gradients on so many devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The devices.
    pub devices: u64,
    /// In so many nodes.
    pub nodes: u64,
    /// hccl's default.
    pub before: Case,
    /// The best.
    pub after: Case,
}

impl Found {
    /// How CANN runs the step with the bank as it is now; by hccl's default where that is not known.
    pub fn taken(&self) -> &Case {
        self.from_bank.as_ref().unwrap_or(&self.before)
    }

    /// Whether the step ends later by what CANN makes of the bank than by hccl's default, which it takes without one.
    pub fn bank_is_worse(&self) -> bool {
        self.from_bank.as_ref().is_some_and(|case| case.plan.end_us > self.before.plan.end_us)
    }
}

impl GdatOutcome {
    /// Time of the step by hccl's default, and as CANN runs it with the bank, in microseconds; 0 until it is known.
    pub fn times_us(&self) -> (f64, f64) {
        self.found.as_ref().map_or((0.0, 0.0), |found| (found.before.plan.end_us, found.taken().plan.end_us))
    }

    /// Time of the step with the best split, which CANN runs where it is told to.
    pub fn best_us(&self) -> f64 {
        self.found.as_ref().map_or(0.0, |found| found.after.plan.end_us)
    }
}
