//! Exchange between devices, as a share of what the link between two devices carries.

use super::Times;
use crate::soc::Soc;
use crate::workload::{Collective, CollectiveKind};

/// Gigabytes (10^9) per second between two devices of one server, one direction: HCCS of the 910
/// generations, 30 GB/s a link (product data).
const LINK_GB_S: f64 = 30.0;
/// Microseconds that an exchange takes beyond its bytes: planning constant of public models.
const START_US: f64 = 10.0;

/// An exchange reduced to its time.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    us: f64,
}

impl Problem {
    pub(super) fn new(w: &Collective, soc: &Soc) -> Problem {
        // Reducing moves each byte twice (reduce-scatter, then all-gather) in a ring.
        let passes = if w.kind == CollectiveKind::AllReduce { 2.0 } else { 1.0 };
        let link = w.bytes as f64 * passes / (LINK_GB_S * 1e3);
        let memory = w.bytes as f64 * (passes + 1.0) / (soc.hbm_gb_s * 1e3);
        Problem { us: START_US + link.max(memory) }
    }

    pub(super) fn times(&self) -> Times {
        Times { shared: self.us, total: self.us, ..Times::default() }
    }
}
