//! Loads of operands: GM to L1 and L1 to L0.

use super::Problem;
use super::plan::{Loads, Panel, Reload, Tiles};
use super::side::Side;
use crate::sim::machine::Machine;
use crate::workload::{CubeSchedule, LoopOrder};

/// Cycles of the loads into L0A and L0B.
pub(super) fn l0_loads(p: &Problem, s: &CubeSchedule, t: &Tiles) -> [f64; 2] {
    let machine = &p.machine;
    let load = |extent: f64, depth: u32, rate: f64| {
        let loads = (t.k / f64::from(depth)).ceil();
        extent * t.k * p.in_bytes / rate + loads * machine.constants.l0_load_cycles
    };
    let [a, b] = l0_fills(s, t);
    let extent = |tile: u32, all: f64, along: f64| if p.short_edges { all / along } else { f64::from(tile) };
    let (m, n) = (extent(s.l0.m, t.m, t.along_m), extent(s.l0.n, t.n, t.along_n));
    [a * load(m, s.l0.k_a, machine.l0_a_rate / p.traits.a_load), b * load(n, s.l0.k_b, machine.l0_b_rate)]
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

/// How both operands lie in memory when the cube starts.
pub(super) type Sides<'a> = [&'a Side; 2];

/// The loads into L1 of a kernel that keeps what it can. Walking along m first keeps B's panel while A's pass, where
/// it holds all of k.
pub(super) fn kept(p: &Problem, s: &CubeSchedule, t: &Tiles, [a_side, b_side]: Sides) -> (Loads, Loads) {
    let m_first = s.order == LoopOrder::MFirst;
    let reload = |panel: &Panel, own: f64, outer: bool| match () {
        () if panel.full => Reload::Once,
        () if panel.whole_k(t.k) && (outer || own <= 1.0) => Reload::Group,
        () => Reload::Pair,
    };
    let (a, b) = panels(s, t);
    let (a_groups, b_groups) = ((t.along_m / a.tiles).ceil(), (t.along_n / b.tiles).ceil());
    let a_way = Way { groups: [a_groups, b_groups], reload: reload(&a, a_groups, !m_first), once: false };
    let b_way = Way { groups: [b_groups, a_groups], reload: reload(&b, b_groups, m_first), once: false };
    // One B for all products is loaded once where all of it stays.
    let b_way = Way { once: p.b_shared && b_way.transfers(&b, t.k) <= 1.0, ..b_way };
    both(p, s, t, [(a_side, &a, &a_way), (b_side, &b, &b_way)])
}

/// The loads into L1 of a kernel that keeps nothing from one L0C tile to the next.
pub(super) fn anew(p: &Problem, s: &CubeSchedule, t: &Tiles, [a_side, b_side]: Sides) -> (Loads, Loads) {
    let (a, b) = panels(s, t);
    let (a, b) = (Panel { tiles: 1.0, full: false, ..a }, Panel { tiles: 1.0, full: false, ..b });
    let way = |groups| Way { groups, reload: Reload::Pair, once: false };
    let (a_way, b_way) = (way([t.along_m, t.along_n]), way([t.along_n, t.along_m]));
    both(p, s, t, [(a_side, &a, &a_way), (b_side, &b, &b_way)])
}

/// How often an operand's panels come to L1.
struct Way {
    /// Groups of L0 tiles that a panel holds, along the operand's own axis and the other one.
    groups: [f64; 2],
    reload: Reload,
    once: bool,
}

impl Way {
    /// Transfers for one product.
    fn transfers(&self, panel: &Panel, k: f64) -> f64 {
        let [own, other] = self.groups;
        match self.reload {
            Reload::Once | Reload::Group => own,
            Reload::Pair => own * other * pieces(panel, k),
        }
    }
}

fn pieces(panel: &Panel, k: f64) -> f64 {
    (k / panel.k).ceil().max(1.0)
}

fn panels(s: &CubeSchedule, t: &Tiles) -> (Panel, Panel) {
    (Panel::new(s.l1_a, t.k, t.along_m), Panel::new(s.l1_b, t.k, t.along_n))
}

type Operand<'a> = (&'a Side, &'a Panel, &'a Way);

fn both(p: &Problem, s: &CubeSchedule, t: &Tiles, [a, b]: [Operand; 2]) -> (Loads, Loads) {
    let a_extent = (a.1.tiles * f64::from(s.l0.m)).min(t.m);
    let b_extent = (b.1.tiles * f64::from(s.l0.n)).min(t.n);
    (loads(p, t, a, a_extent, p.m), loads(p, t, b, b_extent, p.n))
}

fn loads(p: &Problem, t: &Tiles, (side, panel, way): Operand, extent: f64, whole: f64) -> Loads {
    let (first, bytes) = side.transfer(extent, panel.k, [extent >= whole, panel.k >= p.k], &p.machine);
    let products = if way.once { 1.0 } else { t.products };
    let transfers = way.transfers(panel, t.k) * products;
    Loads {
        instructions: transfers / panel.batch.min(products),
        cycles: transfers * first,
        bytes: transfers * bytes,
        first,
        reload: way.reload,
        pieces: if way.reload == Reload::Pair { pieces(panel, t.k) } else { 1.0 },
        tiles_in_panel: panel.tiles,
        once: way.once,
    }
}

/// Cores that may read one panel at the same time without waiting for each other: CANN cuts products into L2 tiles so that
/// no more do (`l2NTileBlock`'s rule, 24 cores).
const READERS: f64 = 6.0;

impl Loads {
    /// Has so many cores read the same panel at the same time: L2 serves those that ask for one line in turn.
    pub fn shared_by(&mut self, cores: f64, machine: &Machine) {
        let longer = (cores / READERS).max(1.0).powf(machine.constants.reader_exponent);
        self.cycles *= longer;
        self.first *= longer;
    }

    /// The same operand, brought for the first product and kept for all that follow.
    pub fn once(self, t: &Tiles) -> Loads {
        let share = 1.0 / t.products;
        Loads {
            instructions: (self.instructions * share).max(1.0),
            cycles: self.cycles * share,
            bytes: self.bytes * share,
            once: true,
            ..self
        }
    }
}
