//! What cube work moves and computes on all cores together.

use super::task::{Tiles, l0_fills, l1_loads};
use super::{FRACTAL, Problem};
use crate::sim::Counts;
use crate::workload::CubeSchedule;

impl Problem {
    /// The counts behind [`Problem::times`], from the same sums: those of the busiest core, for as many tasks as
    /// there are.
    pub(in crate::sim) fn counts(&self, s: &CubeSchedule) -> Counts {
        let t = Tiles::new(self, s);
        let (a, b) = l1_loads(self, s, &t);
        let whole = |busiest: f64| busiest * t.tasks / (t.tasks / f64::from(s.used_cores)).ceil();
        let [fills_a, fills_b] = l0_fills(s, &t);
        let l0_bytes = |fills: f64, extent: u32| whole(fills * f64::from(extent) * t.k * self.in_bytes);
        let results = whole(t.products * t.m * t.n);
        let steps = results / (FRACTAL * FRACTAL) * (t.k / self.k0) * self.padding;
        Counts {
            mac_cycles: steps * self.step_cycles,
            gm_to_l1: whole(a.bytes + b.bytes),
            l1_to_l0_a: l0_bytes(fills_a, s.l0.m),
            l1_to_l0_b: l0_bytes(fills_b, s.l0.n),
            l0_c_to_gm: results * self.out_bytes,
            ..Counts::default()
        }
    }
}
