//! What a kernel does with a schedule: the plan that the closed form sums up and the event schedule goes through.
//! Each kernel's file makes its own.

use super::{FRACTAL, Problem, up};
use crate::workload::{CubeSchedule, L1Tile};

/// When an operand's panel is brought to L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) enum Reload {
    /// Once for each product.
    Once,
    /// Once for each group of L0 tiles along the operand's own axis.
    Group,
    /// For each pair of groups, piece by piece along k.
    Pair,
}

/// Extents of one core task and the number of tiles in it.
pub(super) struct Tiles {
    pub m: f64,
    pub n: f64,
    pub k: f64,
    /// L0 tiles along m and n.
    pub along_m: f64,
    pub along_n: f64,
    /// Products that the busiest core works through: rounds of tasks, and pieces of k that leave L0C one by one.
    pub products: f64,
    /// Core tasks of the whole kernel.
    pub tasks: f64,
    /// Products of m x n x k in all.
    pub pieces: f64,
    pub active: f64,
}

impl Tiles {
    /// Tasks over batch, m, n and k, dealt to the cores in turn.
    pub fn new(p: &Problem, s: &CubeSchedule) -> Tiles {
        let (l0_m, l0_n) = (f64::from(s.l0.m), f64::from(s.l0.n));
        let extent = |single: u64, whole: f64, step: f64| (single as f64).min(up(whole, step));
        let (m, n) = (extent(s.single.m, p.m, FRACTAL), extent(s.single.n, p.n, FRACTAL));
        let (batch, k) = (extent(s.single.batch, p.batch, 1.0), up(extent(s.single.k, p.k, p.k0), p.k0));
        let tasks = (p.batch / batch).ceil() * (p.m / m).ceil() * (p.n / n).ceil() * (p.k / k).ceil();
        let used = f64::from(s.used_cores);
        Tiles {
            along_m: (m / l0_m).ceil(),
            along_n: (n / l0_n).ceil(),
            m: up(m, FRACTAL),
            n: up(n, FRACTAL),
            k: up(k, p.k0),
            products: p.tasks_a_core(tasks, used) * batch,
            tasks,
            pieces: tasks * batch,
            active: tasks.min(used),
        }
    }

    /// L0C tiles of one product.
    pub fn count(&self) -> f64 {
        self.along_m * self.along_n
    }
}

/// An operand's way into L1 on the busiest core.
pub(super) struct Loads {
    /// Transfers; those that one instruction joins count once.
    pub instructions: f64,
    pub cycles: f64,
    pub bytes: f64,
    /// Cycles of the first transfer.
    pub first: f64,
    /// When a panel is loaded, and in how many pieces along k.
    pub reload: Reload,
    pub pieces: f64,
    /// L0 tiles that one panel holds.
    pub tiles_in_panel: f64,
    /// Loaded for the first product only.
    pub once: bool,
}

/// One operand's panel in L1.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub k: f64,
    /// L0 tiles along m or n.
    pub tiles: f64,
    pub batch: f64,
    pub full: bool,
}

impl Panel {
    pub fn new(tile: L1Tile, k: f64, tiles: f64) -> Panel {
        match tile {
            L1Tile::Full(_) => Panel { k, tiles, batch: 1.0, full: true },
            L1Tile::Panel(p) => Panel {
                k: f64::from(p.k).min(k),
                tiles: f64::from(p.tiles).min(tiles),
                batch: f64::from(p.batch),
                full: false,
            },
        }
    }

    /// Holds all of k at once.
    pub fn whole_k(&self, k: f64) -> bool {
        self.full || self.k >= k
    }
}

/// When the cube may write an L0C tile's buffer anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum L0cRelease {
    /// When all of the tile has left.
    Tile,
    /// Fractal by fractal, behind fixpipe (the unit flag): the next tile's first step follows it even into one buffer.
    Fractal,
}

/// The way of results out of L0C.
pub(super) struct Drain {
    /// Bytes of an element as it leaves.
    pub element_bytes: f64,
    /// Least cycles in which fixpipe reads a row of an L0 tile out of L0C.
    pub row_cycles: f64,
    pub release: L0cRelease,
    pub l0_c_buffers: u8,
}

/// What vector cores and barriers add. Microseconds.
#[derive(Default)]
pub(super) struct Passes {
    /// Before the cube cores start.
    pub head: f64,
    /// Beside them.
    pub beside: f64,
    /// After them.
    pub tail: f64,
    /// Vector cores' work in all of that.
    pub vec: f64,
    /// Bytes that they read and write.
    pub read: f64,
    pub written: f64,
}

/// What a kernel does with a schedule.
pub(super) struct Plan {
    pub tiles: Tiles,
    pub a: Loads,
    pub b: Loads,
    pub drain: Drain,
    pub passes: Passes,
    /// Microseconds of device memory's traffic while the cube works, but for what is cold when the kernel starts.
    pub memory: f64,
    /// Bytes of A and B that the cube cores find in device memory because nothing has brought them to L2 before.
    pub cold: [f64; 2],
}
