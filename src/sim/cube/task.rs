//! What the busiest core does: all its products, in closed form.

use super::side::Side;
use super::{FRACTAL, Problem, up};
use crate::sim::machine::norm;
use crate::workload::{CubeSchedule, L1Tile, LoopOrder};

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
    /// Part of it that turns fractals into rows, which does not keep L0C.
    pub rows: f64,
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

/// Extents of one core task and the number of tiles in it.
pub(super) struct Tiles {
    pub m: f64,
    pub n: f64,
    pub k: f64,
    /// L0 tiles along m and n.
    pub along_m: f64,
    pub along_n: f64,
    /// Products that the busiest core works through, rounds of tasks included.
    pub products: f64,
    /// Core tasks of the whole kernel.
    pub tasks: f64,
    pub active: f64,
}

impl Tiles {
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
            products: (tasks / used).ceil() * batch,
            tasks,
            active: tasks.min(used),
        }
    }

    fn count(&self) -> f64 {
        self.along_m * self.along_n
    }
}

/// An operand's way into L1 for one product.
pub(super) struct Loads {
    /// Transfers; those that one instruction joins count once.
    pub instructions: f64,
    pub cycles: f64,
    pub bytes: f64,
    /// Cycles of the first transfer.
    pub first: f64,
}

/// One operand's panel in L1.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub k: f64,
    /// L0 tiles along m or n.
    pub tiles: f64,
    batch: f64,
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

impl Task {
    pub fn new(p: &Problem, s: &CubeSchedule) -> Task {
        let t = Tiles::new(p, s);
        let machine = &p.machine;
        let c = &machine.constants;
        let tiles = t.products * t.count();
        let steps = tiles * (t.k / f64::from(s.l0.k_a)).ceil();
        let mac = t.products * t.m / FRACTAL * t.n / FRACTAL * (t.k / p.k0) * p.step_cycles * p.padding
            + steps * machine.mmad_cycles;
        let [l0_a, l0_b] = l0_loads(p, s, &t);
        let mte1 = l0_a + l0_b;
        let (a, b) = l1_loads(p, s, &t);
        let mte2 = a.cycles + b.cycles + (a.instructions + b.instructions) * machine.transfer_cycles;
        let l2 = (a.bytes + b.bytes) / machine.l2_rate;
        let result = t.products * t.m * t.n;
        let [fixpipe, vec, mte3] = machine.drain(result * 4.0, result * p.out_bytes);
        let output = fixpipe.max(vec).max(mte3);
        // Each row of a plain result leaves an L0 tile on its own, while the cube works on the next fractals.
        let rows = if p.plain_result { t.products * t.m * t.along_n * c.result_row_cycles } else { 0.0 };

        // A pipe without a second buffer waits for the one that empties it.
        let alone = |single: u8, loads: &Loads| {
            if single == 1 && loads.instructions > 1.0 { loads.cycles + loads.instructions * c.gm_latency } else { 0.0 }
        };
        let behind_l1 = alone(s.buffers.l1_a, &a) + alone(s.buffers.l1_b, &b) + mte1;
        let several = steps > 1.0;
        let stays_b = f64::from(s.l0.k_b) >= t.k && t.along_n * t.products <= 1.0;
        let behind_l0 = if several && s.buffers.l0_a == 1 { l0_a } else { 0.0 }
            + if several && s.buffers.l0_b == 1 && !stays_b { l0_b } else { 0.0 };
        let behind_l0c = if s.buffers.l0_c == 1 { output * (tiles - 1.0) / tiles } else { 0.0 };
        let cube = mac + behind_l0 + behind_l0c;
        let scalar = tiles * c.tile_cycles;
        let steady = norm([cube, mte1, mte2, l2, behind_l1, output + rows, scalar]);
        let fill = c.gm_latency + a.first + b.first + (mte1 + mac) / steps;
        Task {
            mac,
            mte1,
            mte2,
            l2,
            fixpipe: fixpipe + rows,
            rows,
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

/// Cycles of the loads into L0A and L0B.
pub(super) fn l0_loads(p: &Problem, s: &CubeSchedule, t: &Tiles) -> [f64; 2] {
    let machine = &p.machine;
    let load = |l0_extent: u32, depth: u32, rate: f64| {
        let loads = (t.k / f64::from(depth)).ceil();
        f64::from(l0_extent) * t.k * p.in_bytes / rate + loads * machine.constants.l0_load_cycles
    };
    let [a, b] = l0_fills(s, t);
    [a * load(s.l0.m, s.l0.k_a, machine.l0_a_rate), b * load(s.l0.n, s.l0.k_b, machine.l0_b_rate)]
}

/// Times that an L0 tile of each operand is brought in for all of k. An operand whose L0 tile holds all of k stays
/// there while the other's tiles pass; the kernel keeps the one that saves more.
pub(super) fn l0_fills(s: &CubeSchedule, t: &Tiles) -> [f64; 2] {
    let is_whole = |depth: u32| (t.k / f64::from(depth)).ceil() <= 1.0;
    let tiles = t.count();
    // Decided by sizes and not by this part's rates, because the kernel's code decides it: a slower path must
    // not change what is kept. L0B's path is half as wide as L0A's on most parts.
    let saved_a = if is_whole(s.l0.k_a) { (tiles - t.along_m) * f64::from(s.l0.m) } else { 0.0 };
    let saved_b = if is_whole(s.l0.k_b) { 2.0 * (tiles - t.along_n) * f64::from(s.l0.n) } else { 0.0 };
    let fills = match () {
        () if saved_a > 0.0 && saved_a >= saved_b => [t.along_m, tiles],
        () if saved_b > 0.0 => [tiles, t.along_n],
        () => [tiles, tiles],
    };
    fills.map(|fills| fills * t.products)
}

/// The loads into L1. Walking along m first keeps B's panel while A's pass, where it holds all of k.
pub(super) fn l1_loads(p: &Problem, s: &CubeSchedule, t: &Tiles) -> (Loads, Loads) {
    let (a, b) = (Panel::new(s.l1_a, t.k, t.along_m), Panel::new(s.l1_b, t.k, t.along_n));
    let (a_groups, b_groups) = ((t.along_m / a.tiles).ceil(), (t.along_n / b.tiles).ceil());
    let again = |panel: &Panel, own: f64, other: f64, outer: bool| {
        let whole = panel.whole_k(t.k);
        if panel.full || (whole && (outer || own <= 1.0)) { own } else { own * other * (t.k / panel.k).ceil().max(1.0) }
    };
    let m_first = s.order == LoopOrder::MFirst;
    let a_transfers = again(&a, a_groups, b_groups, !m_first);
    let b_transfers = again(&b, b_groups, a_groups, m_first);
    let a_extent = (a.tiles * f64::from(s.l0.m)).min(t.m);
    let b_extent = (b.tiles * f64::from(s.l0.n)).min(t.n);
    let whole_m = a_extent >= p.m;
    let whole_n = b_extent >= p.n;
    // One B for all products is loaded once where all of it stays.
    let b_products = if p.b_shared && b_transfers <= 1.0 { 1.0 } else { t.products };
    (
        loads(p, &p.a, &a, a_extent, a_transfers, t.products, [whole_m, a.k >= p.k]),
        loads(p, &p.b, &b, b_extent, b_transfers, b_products, [whole_n, b.k >= p.k]),
    )
}

fn loads(
    p: &Problem,
    side: &Side,
    panel: &Panel,
    extent: f64,
    transfers: f64,
    products: f64,
    whole: [bool; 2],
) -> Loads {
    let (first, bytes) = side.transfer(extent, panel.k, whole, &p.machine);
    let transfers = transfers * products;
    Loads {
        instructions: transfers / panel.batch.min(products),
        cycles: transfers * first,
        bytes: transfers * bytes,
        first,
    }
}
