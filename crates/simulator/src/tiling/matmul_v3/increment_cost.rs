//! The cost model of the basic-block search: cycles of the slowest core.

use super::math::{cd, max, min, product};
use super::rules::Rule;
use std::cmp::Ordering;

/// Fractals in L1.
pub(super) const L1: u64 = 1024;

/// A tiling that the search tries.
#[derive(Debug, Clone, Copy)]
pub(in crate::tiling) struct Candidate {
    /// A core's share of the rows, and of the columns.
    pub rows: u64,
    pub columns: u64,
    pub m_l1: u64,
    pub n_l1: u64,
    pub k_a: u64,
    pub k_b: u64,
    pub m0: u64,
    pub n0: u64,
    pub k0: u64,
    /// What CANN calls the way to it.
    pub rule: Option<Rule>,
}

/// A product in fractals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fractals {
    pub m: u64,
    pub k: u64,
    pub n: u64,
    /// An extent is no multiple of 16.
    pub unaligned: bool,
}

/// What a candidate costs, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub(in crate::tiling) struct Cost {
    cycles: u64,
    /// Fractal products of an L0 step.
    volume: u64,
    /// Fractals loaded by all cores.
    reload: u64,
    /// Fractals of L0C in use.
    l0c: u64,
    /// Cores along M that get work.
    pub m_dim: u64,
    /// Cores along N that get work.
    pub n_dim: u64,
    /// A has two buffers in L1.
    pub double_a: bool,
    /// B has two buffers in L1.
    pub double_b: bool,
}

impl Cost {
    /// Cycles of the slowest core.
    pub const fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Least is best.
    pub fn order(&self) -> (u64, u64, u64, u64) {
        (self.cycles, self.volume, self.reload, u64::MAX - self.l0c)
    }
}

/// Cycles until the first packet of a load arrives.
pub(super) const LATENCY: u64 = 210;

/// How much of an operand stays in L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// All that the core needs.
    All,
    /// All of K, one strip at a time.
    WholeK,
    /// A piece of K.
    Part,
}

impl Kept {
    const fn of(whole_k: bool, strips: u64) -> Kept {
        match (whole_k, strips) {
            (true, 1) => Kept::All,
            (true, _) => Kept::WholeK,
            (false, _) => Kept::Part,
        }
    }
}

/// Cycles to load so many runs of so many fractals out of rows of `inner`.
fn load(mut blocks: u64, mut run: u64, inner: u64) -> u64 {
    if (2..=8).contains(&run) && run == inner {
        run *= blocks;
        blocks = 1;
    }
    let bytes = run * 32;
    let packets = bytes / 512 + bytes % 512 / 256 + bytes % 256 / 128 + u64::from(!bytes.is_multiple_of(128));
    blocks * packets * 8 + LATENCY
}

/// What the candidate costs; nothing where it wastes too much, does not fit L1, or takes more than `most` cycles.
pub(super) fn cost(s: &Fractals, c: &Candidate, most: u64) -> Option<Cost> {
    let strips = (cd(c.rows, c.m_l1), cd(c.columns, c.n_l1));
    let (rows, columns) = (min(strips.0 * c.m_l1, s.m), min(strips.1 * c.n_l1, s.n));
    let (m_dim, n_dim) = (cd(s.m, rows), cd(s.n, columns));
    // In hundredths: padding of 35 % is too much, or of 200 % where extents are no whole fractals.
    let limit = if s.unaligned { 300 } else { 135 };
    if 100 * c.m_l1 * strips.0 * m_dim >= limit * s.m || 100 * c.n_l1 * strips.1 * n_dim >= limit * s.n {
        return None;
    }
    // However loads and work overlap, every L0 step is computed.
    if product([cd(rows, c.m0), cd(columns, c.n0), cd(s.k, c.k0), step(c)]) > most {
        return None;
    }
    let (a_size, b_size) = (product([c.m_l1, c.k_a]), product([c.n_l1, c.k_b]));
    if a_size.saturating_add(b_size) > L1 {
        return None;
    }
    let (a, b) = (Kept::of(c.k_a >= s.k, strips.0), Kept::of(c.k_b >= s.k, strips.1));
    let (double_a, double_b) = doubled(a, b, a_size, b_size);
    let (cycles, [a_loads, b_loads]) = cycles(s.k, c, [rows, columns], [a, b], [double_a, double_b]);
    let whole = |size: u64, loads: u64| product([s.k, size, loads]);
    Some(Cost {
        cycles,
        volume: c.m0 * c.k0 * c.n0,
        reload: whole(s.m, product([a_loads, n_dim])).saturating_add(whole(s.n, product([b_loads, m_dim]))),
        l0c: c.m0 * c.n0 * if 2 * c.m0 * c.n0 <= 128 { 2 } else { 1 },
        m_dim,
        n_dim,
        double_a,
        double_b,
    })
}

/// Which operands have two buffers in L1: what stays has one, and the other two if they fit.
fn doubled(a: Kept, b: Kept, a_size: u64, b_size: u64) -> (bool, bool) {
    let (twice_a, twice_b) = (2 * a_size + b_size <= L1, a_size + 2 * b_size <= L1);
    match (a == Kept::All, b == Kept::All) {
        (true, true) => (false, false),
        (true, false) => (false, twice_b),
        (false, true) => (twice_a, false),
        (false, false) if 2 * (a_size + b_size) <= L1 => (true, true),
        (false, false) => (twice_a, !twice_a && twice_b),
    }
}

/// Cycles of an L0 step: its products, or what brings its operands.
fn step(c: &Candidate) -> u64 {
    max(c.m0 * c.k0 * c.n0, max(c.m0 * c.k0 * 2 + 26, c.k0 * c.n0 * 4 + 26))
}

/// Cycles of a core with so many rows and columns, and how often it loads all it needs of A and of B.
fn cycles(k: u64, c: &Candidate, [rows, columns]: [u64; 2], kept: [Kept; 2], double: [bool; 2]) -> (u64, [u64; 2]) {
    let steps = |l1: u64, l0: u64| if l1 == l0 { 1 } else { cd(l1, l0) };
    let (m_steps, n_steps) = (steps(c.m_l1, c.m0), steps(c.n_l1, c.n0));
    let (a, b) = (load(m_steps * c.m0 * 16, c.k_a, k), load(n_steps * c.n0 * 16, c.k_b, k));
    let mad = step(c);
    let (mo, no) = (cd(rows, c.m0), cd(columns, c.n0));
    // Each form needs a few of these, and divisions are what all of this spends its time on.
    let m_strips = || cd(rows, c.m0 * m_steps);
    let n_strips = || cd(columns, c.n0 * n_steps);
    let work = |depth: u64| product([cd(depth, c.k0), mad]);
    let (all_k, a_k, b_k) = (|| work(k), || work(c.k_a), || work(c.k_b));
    let (a_pieces, b_pieces) = (|| cd(k, c.k_a), || cd(k, c.k_b));
    let overlap = |load: u64, work: u64, double: bool| if double { max(load, work) } else { load.saturating_add(work) };
    let plus = u64::saturating_add;
    match kept {
        [Kept::All, Kept::All] => (plus(a + b, product([mo, no, all_k()])), [1, 1]),
        [Kept::All, Kept::WholeK] => (plus(a, product([n_strips(), plus(b, product([mo, n_steps, all_k()]))])), [1, 1]),
        [Kept::All, Kept::Part] => (plus(a, product([mo, no, b_pieces(), overlap(b, b_k(), double[1])])), [1, mo]),
        [Kept::WholeK, Kept::All] => {
            let strip = plus(product([a, no]), product([no, m_steps, all_k()]));
            (plus(b, product([m_strips(), strip])), [no, 1])
        }
        [Kept::Part, Kept::All] => (plus(b, product([mo, no, a_pieces(), overlap(a, a_k(), double[0])])), [no, 1]),
        [Kept::WholeK, Kept::WholeK] => {
            let strip = plus(a, product([n_strips(), m_steps, plus(b, product([n_steps, all_k()]))]));
            (product([m_strips(), strip]), [1, m_strips() * m_steps])
        }
        [Kept::WholeK, Kept::Part] => {
            let strip = plus(a, product([no, m_steps, b_pieces(), max(b, b_k())]));
            (product([m_strips(), strip]), [1, mo])
        }
        [Kept::Part, Kept::WholeK] => {
            let strip = plus(b, product([mo, n_steps, a_pieces(), max(a, a_k())]));
            (product([n_strips(), strip]), [no, 1])
        }
        [Kept::Part, Kept::Part] => {
            let pieces = match c.k_a.cmp(&c.k_b) {
                Ordering::Equal => product([a_pieces(), max(a + b, a_k())]),
                Ordering::Greater => product([a_pieces(), plus(a, product([cd(c.k_a, c.k_b), max(b, b_k())]))]),
                Ordering::Less => product([b_pieces(), plus(b, product([cd(c.k_b, c.k_a), max(a, a_k())]))]),
            };
            (product([mo, no, pieces]), [no, mo])
        }
    }
}
