//! What the busiest core does under a plan, in closed form.

use super::loads::l0_loads;
use super::plan::{L0cRelease, Loads, Plan};
use super::{FRACTAL, Problem};
use crate::sim::machine::norm_of;
use crate::workload::CubeSchedule;

/// MMAD instructions that stand in the cube's queue when fixpipe's begins to wait under the unit flag: the steps of
/// a panel of L1 (20-core trace: fixpipe counts 5,800 to 6,300 cycles for a tile of 128 x 256 whatever k is).
const QUEUED_STEPS: f64 = 8.0;

/// Cycles of the busiest core.
pub(super) struct Task {
    /// Cube steps, issue included.
    pub mac: f64,
    /// L1 to L0.
    pub mte1: f64,
    /// GM to L1.
    pub mte2: f64,
    /// L2's side of the same transfers.
    pub l2: f64,
    /// L0C to GM.
    pub fixpipe: f64,
    /// Part of it that fixpipe waits for the last steps of each tile: it is busy, and delays nothing.
    pub wait: f64,
    /// L0C to UB on cores where the vector unit drains L0C.
    pub vec: f64,
    /// UB to GM on such cores.
    pub mte3: f64,
    /// The scalar unit's issue of tiles.
    pub scalar: f64,
    /// All pipes together, in the steady state.
    pub steady: f64,
    /// Before the first MMAD.
    pub fill: f64,
    /// After the last.
    pub drain: f64,
    /// Cores that have work.
    pub active: f64,
}

impl Task {
    pub fn new(p: &Problem, s: &CubeSchedule, plan: &Plan) -> Task {
        let machine = &p.machine;
        let c = &machine.constants;
        let Plan { tiles: t, a, b, drain, .. } = plan;
        let tiles = t.products * t.count();
        let steps = tiles * (t.k / f64::from(s.l0.k_a)).ceil();
        let mac = t.products * t.m / FRACTAL * t.n / FRACTAL * (t.k / p.k0) * p.step_cycles * p.padding
            + steps * machine.mmad_cycles;
        let [l0_a, l0_b] = l0_loads(p, s, t);
        let mte1 = l0_a + l0_b;
        let mte2 = a.cycles + b.cycles + (a.instructions + b.instructions) * machine.transfer_cycles;
        let l2 = (a.bytes + b.bytes) / machine.l2_rate;
        let result = t.products * t.m * t.n;
        let [moved, vec, mte3] = machine.drain(result * 4.0, result * drain.element_bytes);
        let tile_rows = t.products * t.m * t.along_n;
        let fixpipe = moved.max(tile_rows * drain.row_cycles);
        let output = fixpipe.max(vec).max(mte3);

        // A pipe without a second buffer waits for the one that empties it.
        let alone = |single: u8, loads: &Loads| {
            if single == 1 && loads.instructions > 1.0 { loads.cycles + loads.instructions * c.gm_latency } else { 0.0 }
        };
        let behind_l1 = alone(s.buffers.l1_a, a) + alone(s.buffers.l1_b, b) + mte1;
        let several = steps > 1.0;
        let stays_b = f64::from(s.l0.k_b) >= t.k && t.along_n * t.products <= 1.0;
        let behind_l0 = if several && s.buffers.l0_a == 1 { l0_a } else { 0.0 }
            + if several && s.buffers.l0_b == 1 && !stays_b { l0_b } else { 0.0 };
        let behind_l0c = match drain.release {
            _ if drain.l0_c_buffers > 1 => 0.0,
            L0cRelease::Tile => output * (tiles - 1.0) / tiles * p.traits.l0_c_wait,
            // The next tile's first step follows fixpipe from fractal to fractal.
            L0cRelease::Fractal => (output / tiles - mac / steps).max(0.0) * (tiles - 1.0),
        };
        let wait = match drain.release {
            L0cRelease::Tile => 0.0,
            L0cRelease::Fractal => tiles * (QUEUED_STEPS * mac / steps).min(((mac - fixpipe) / tiles).max(0.0)),
        };
        let cube = mac + behind_l0 + behind_l0c;
        let scalar = tiles * c.tile_cycles;
        let steady = norm_of(p.traits.power, [cube, mte1, mte2, l2, behind_l1, output, scalar]);
        let fill = c.gm_latency + a.first + b.first + (mte1 + mac) / steps;
        Task {
            mac,
            mte1,
            mte2,
            l2,
            fixpipe: fixpipe + wait,
            wait,
            vec,
            mte3,
            scalar,
            steady,
            fill,
            drain: output / tiles,
            active: t.active,
        }
    }
}
