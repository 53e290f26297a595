//! What cube work moves and computes on all cores together.

use super::loads::l0_fills;
use super::plan::{Loads, Plan};
use super::{FRACTAL, Problem};
use crate::sim::Counts;
use crate::workload::CubeSchedule;

impl Problem {
    /// The counts behind [`Problem::times`], from the same sums: those of the busiest core, for as many tasks as
    /// there are.
    pub(in crate::sim) fn counts(&self, s: &CubeSchedule) -> Counts {
        let Plan { tiles: t, a, b, drain, passes, .. } = self.plan(s);
        let whole = |busiest: f64| busiest * t.pieces / t.products;
        let loaded = |loads: &Loads| if loads.once { loads.bytes * t.active } else { whole(loads.bytes) };
        let [fills_a, fills_b] = l0_fills(s, &t);
        let l0_bytes = |fills: f64, extent: u32| whole(fills * f64::from(extent) * t.k * self.in_bytes);
        let results = whole(t.products * t.m * t.n);
        let steps = results / (FRACTAL * FRACTAL) * (t.k / self.k0) * self.padding;
        Counts {
            mac_cycles: steps * self.step_cycles,
            gm_to_l1: loaded(&a) + loaded(&b),
            l1_to_l0_a: l0_bytes(fills_a, s.l0.m),
            l1_to_l0_b: l0_bytes(fills_b, s.l0.n),
            l0_c_to_gm: results * drain.element_bytes,
            gm_to_ub: passes.read,
            ub_to_gm: passes.written,
        }
    }
}
