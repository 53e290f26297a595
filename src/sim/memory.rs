//! What all cores share: L2 and device memory.

use super::constants::{HBM_EFFICIENCY, L2_USABLE};
use crate::soc::Soc;

/// Rates of the shared paths, bytes per microsecond.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    l2_per_core: f64,
    hbm: f64,
    l2_bytes: f64,
}

impl Shared {
    pub(super) fn new(soc: &Soc) -> Shared {
        Shared {
            l2_per_core: soc.l2_rate * soc.cube_freq_mhz,
            hbm: soc.hbm_gb_s * 1e3 * HBM_EFFICIENCY,
            l2_bytes: soc.l2_size as f64 * L2_USABLE,
        }
    }

    /// Microseconds that `moved` bytes over L2, of which `distinct` are different ones, keep the shared
    /// paths of `cores` cores busy. Operands that fit L2 were left there by their producer.
    pub(super) fn us(&self, moved: f64, distinct: f64, cores: f64) -> f64 {
        let missed = (distinct - self.l2_bytes).max(0.0);
        (moved / (self.l2_per_core * cores)).max(missed / self.hbm)
    }
}
