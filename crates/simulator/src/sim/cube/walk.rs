//! The busiest core's loop over blocks, for the event schedule: how often each pipe works and how long each
//! time, from the same sums as the closed form.

use super::loads::l0_loads;
use super::plan::{L0cRelease, Loads, Plan, Reload};
use super::task::Task;
use super::{Problem, Times};
use crate::workload::{CubeSchedule, LoopOrder};

/// One operand's way to the cube. Times are microseconds.
#[derive(Debug, Clone)]
pub(in crate::sim) struct Operand {
    pub reload: Reload,
    /// L0 tiles along the operand's axis, and how many of them one panel holds.
    pub tiles: u64,
    pub tiles_in_panel: u64,
    /// Pieces along k.
    pub pieces: u64,
    /// One B for all products, loaded for the first of them only.
    pub first_product_only: bool,
    /// One transfer to L1, and its bytes.
    pub load_us: f64,
    pub load_bytes: f64,
    /// The part of a cube step's loads to L0.
    pub l0_us: f64,
    /// Buffers in L1 and L0.
    pub l1_buffers: usize,
    pub l0_buffers: usize,
}

/// The loop over blocks. Times are microseconds.
#[derive(Debug, Clone)]
pub(in crate::sim) struct Walk {
    pub products: u64,
    /// Walks along m first.
    pub m_first: bool,
    /// Cube steps of one L0C tile, and the time of each.
    pub steps: u64,
    pub mac_us: f64,
    pub a: Operand,
    pub b: Operand,
    pub l0_c_buffers: usize,
    /// A tile's first step follows fixpipe into the same buffer, fractal by fractal.
    pub by_fractal: bool,
    /// One tile's way out of L0C.
    pub fixpipe_us: f64,
    /// What fixpipe waits for the tile's last steps before that.
    pub wait_us: f64,
    pub vec_us: f64,
    pub mte3_us: f64,
    /// Vector cores before the loop, beside each tile, and after the loop.
    pub head_us: f64,
    pub beside_us: f64,
    pub tail_us: f64,
    /// Issue of one tile.
    pub scalar_us: f64,
    /// From issuing the first transfer to its first byte; a transfer without a second buffer waits for it too.
    pub latency_us: f64,
    /// Core tasks of the kernel, and the cores that work on them.
    pub tasks: u64,
    pub active: u64,
}

impl Walk {
    /// Tiles of L0C in all products.
    pub fn tiles(&self) -> u64 {
        self.products.saturating_mul(self.a.tiles).saturating_mul(self.b.tiles)
    }
}

impl Problem {
    /// Microseconds before the last of so many cores works.
    pub(in crate::sim) fn start_us(&self, cores: f64) -> f64 {
        self.machine.start_us(cores)
    }

    /// The loop that [`Problem::times`] prices.
    pub(in crate::sim) fn walk(&self, s: &CubeSchedule) -> (Walk, Times) {
        let s = &*self.in_fractals(s);
        let plan = self.plan(s);
        let task = Task::new(self, s, &plan);
        let Plan { tiles: t, a, b, drain, passes, .. } = &plan;
        let us = |cycles: f64| cycles / self.machine.mhz;
        let steps = (t.k / f64::from(s.l0.k_a)).ceil().max(1.0);
        // A part of a product is walked as a whole one that costs as much.
        let products = t.products.ceil();
        let (tiles, part) = (products * t.count(), t.products / products);
        let [a_l0, b_l0] = l0_loads(self, s, t);
        // What issuing the transfers costs, per instruction.
        let issue = (task.mte2 - a.cycles - b.cycles) / (a.instructions + b.instructions);
        let operand = |along: f64, loads: &Loads, l0: f64, buffers: [u8; 2]| {
            let transfers = (loads.cycles / loads.first).max(1.0);
            let own = issue * loads.instructions / transfers + loads.first;
            Operand {
                reload: loads.reload,
                tiles: along as u64,
                tiles_in_panel: loads.tiles_in_panel as u64,
                pieces: loads.pieces as u64,
                first_product_only: loads.once,
                load_us: us(part * own.max(loads.bytes / transfers / self.machine.l2_rate)),
                load_bytes: part * loads.bytes / transfers,
                l0_us: us(l0 / tiles / steps),
                l1_buffers: usize::from(buffers[0]),
                l0_buffers: usize::from(buffers[1]),
            }
        };
        let walk = Walk {
            products: products as u64,
            m_first: s.order == LoopOrder::MFirst,
            steps: steps as u64,
            mac_us: us(task.mac / tiles / steps),
            a: operand(t.along_m, a, a_l0, [s.buffers.l1_a, s.buffers.l0_a]),
            b: operand(t.along_n, b, b_l0, [s.buffers.l1_b, s.buffers.l0_b]),
            l0_c_buffers: usize::from(drain.l0_c_buffers),
            by_fractal: drain.release == L0cRelease::Fractal,
            fixpipe_us: us((task.fixpipe - task.wait) / tiles),
            wait_us: us(task.wait / tiles),
            vec_us: us(task.vec / tiles),
            mte3_us: us(task.mte3 / tiles),
            head_us: passes.head,
            beside_us: passes.beside / tiles,
            tail_us: passes.tail,
            scalar_us: us(task.scalar / tiles),
            latency_us: us(self.machine.constants.gm_latency),
            tasks: t.tasks as u64,
            active: t.active as u64,
        };
        (walk, self.times(s))
    }
}
