//! L2 tiles: groups of blocks whose operands stay in L2.

use super::draft::{Draft, L2Grid};
use super::math::{cd, max, min, up};
use super::problem::Problem;
use super::rules::Rule;

/// Bytes of operands that tiling aims at, on a part with [`REFERENCE`] of L2.
const AIM: u64 = 100;
/// L2 of the larger 910B. Both in MB, for only their ratio counts.
const REFERENCE: u64 = 192;

/// Bytes of operands of one tile that tiling aims at.
pub(in crate::tiling) fn budget(q: &Problem) -> u64 {
    q.p.l2.saturating_mul(AIM) / REFERENCE
}

/// What came of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tiling) enum L2Search {
    /// All operands fit.
    One,
    /// Tiles were found.
    Tiled,
    /// None was found.
    Failed,
}

/// One axis cut into tiles.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    /// Extent of a tile.
    size: u64,
    /// Blocks of the last tile.
    last: u64,
    /// Rounds in which the cores take a line of the last tile.
    rounds: u64,
}

impl Cut {
    /// `extent` in so many tiles.
    fn new(extent: u64, base: u64, tiles: u64, u: u64) -> Cut {
        let size = up(cd(extent, tiles), base);
        let last = cd((extent - 1) % size + 1, base);
        Cut { size, last, rounds: cd(u, last) }
    }

    /// Tiles of `extent` where each has about `units` blocks.
    fn count(extent: u64, base: u64, units: u64) -> u64 {
        max(extent / (base * units), 1)
    }
}

/// Cuts of the inner axis that a part of up to so many cores has without allocation.
const FEW: usize = 64;

/// Looks for L2 tiles and sets the grid where there is one.
pub(in crate::tiling) fn search(q: &Problem, d: &mut Draft) -> L2Search {
    let budget = budget(q);
    if q.bytes() <= budget {
        d.rule(Rule::OneL2Tile);
        d.l2 = L2Grid { m_tiles: 1, n_tiles: 1, m_block: cd(q.m, d.bm), n_block: cd(q.n, d.bn) };
        return L2Search::One;
    }
    let along_n = d.bn >= d.bm;
    let best = if along_n {
        tiles(q, budget, (q.n, d.bn), (q.m, d.bm), q.ta)
    } else {
        tiles(q, budget, (q.m, d.bm), (q.n, d.bn), !q.tb)
    };
    let Some((outer, inner)) = best else {
        d.l2 = L2Grid::DERIVED;
        return L2Search::Failed;
    };
    d.rule(Rule::L2Tiles);
    let (m_size, n_size) = if along_n { (inner, outer) } else { (outer, inner) };
    grid(q, d, cd(m_size, d.bm), cd(n_size, d.bn));
    L2Search::Tiled
}

/// Sets tiles of so many blocks.
pub(in crate::tiling) fn grid(q: &Problem, d: &mut Draft, m_block: u64, n_block: u64) {
    let (m_block, n_block) = (max(m_block, 1), max(n_block, 1));
    d.l2 = L2Grid {
        m_tiles: cd(q.m, m_block.saturating_mul(d.bm)),
        n_tiles: cd(q.n, n_block.saturating_mul(d.bn)),
        m_block,
        n_block,
    };
}

/// Extents of the best tile along the outer and the inner axis (extent, block). `bad`: rows of the inner axis'
/// operand are short in memory.
fn tiles(q: &Problem, budget: u64, outer: (u64, u64), inner: (u64, u64), bad: bool) -> Option<(u64, u64)> {
    let (x, y) = if q.u == 20 { (5, 4) } else { (min(q.u, 6), min(q.u, 3)) };
    let z = if bad { y } else { x };
    let (mut stack, mut heap) = ([Cut::default(); FEW], Vec::new());
    let cuts: &mut [Cut] = if q.u as usize <= FEW {
        &mut stack
    } else {
        heap.resize(q.u as usize, Cut::default());
        &mut heap
    };
    let cuts = inner_cuts(q, inner, z, cuts);
    let (mut found, mut best, mut before) = (None, (u64::MAX, u64::MAX), 0);
    for units in (max(q.u / x, 1)..=q.u).rev() {
        // Fewer units are as many tiles or more; of as many, the answer is the same.
        let count = Cut::count(outer.0, outer.1, units);
        if count == before {
            continue;
        }
        before = count;
        let cut = Cut::new(outer.0, outer.1, count, q.u);
        if cut.last * x < q.u || cut.rounds > best.0 {
            continue;
        }
        for inner in cuts {
            if inner.rounds > best.1 || cut.rounds > best.0 {
                continue;
            }
            let inputs = (cut.size + inner.size).saturating_mul(q.k).saturating_mul(q.es);
            if inputs.saturating_add((cut.size * inner.size).saturating_mul(q.cs)) <= budget {
                best = (cut.rounds, inner.rounds);
                found = Some((cut.size, inner.size));
            }
        }
    }
    found
}

/// The distinct cuts of the inner axis that keep enough cores busy, fewest tiles first.
fn inner_cuts<'a>(q: &Problem, (extent, base): (u64, u64), limit: u64, cuts: &'a mut [Cut]) -> &'a [Cut] {
    let (mut length, mut before) = (0, 0);
    for units in (max(q.u / limit, 1)..=q.u).rev() {
        let count = Cut::count(extent, base, units);
        if count == before {
            continue;
        }
        before = count;
        let cut = Cut::new(extent, base, count, q.u);
        if cut.last * limit >= q.u && length < cuts.len() {
            cuts[length] = cut;
            length += 1;
        }
    }
    &cuts[..length]
}
