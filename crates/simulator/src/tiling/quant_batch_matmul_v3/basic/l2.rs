//! Groups of tasks whose operands stay in L2.

use super::super::Problem;
use super::Block;
use crate::tiling::Platform;

/// Tasks of one L2 tile along both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct L2 {
    pub m_block: u64,
    pub n_block: u64,
    pub exact: bool,
}

/// Bytes of one operand from which there are L2 tiles whatever L2's size.
const LARGE: u64 = 128 << 20;
/// Bytes up to which an operand is not cut.
const WHOLE: u64 = 15 << 20;
/// Tasks of the largest grid, and its rows.
const MOST_TASKS: u64 = SIDE * SIDE;
const SIDE: u64 = 25;
/// Cores that may read the same panel.
const MOST_CLASHES: u64 = 6;

/// A grid that was looked at.
#[derive(Clone, Copy)]
struct Grid {
    m: u64,
    n: u64,
    cores: u64,
    clashes: u64,
}

/// The L2 tiles of a product; one of all tasks where the operands stay in L2 anyway.
pub(super) fn tiles(p: &Problem, part: &Platform, block: Block) -> L2 {
    let (m_tasks, n_tasks) = (p.m.div_ceil(block.m).max(1), p.n.div_ceil(block.n).max(1));
    let all = L2 { m_block: m_tasks, n_block: n_tasks, exact: true };
    let share = if p.mix { 110 } else { 100 };
    let budget = part.l2 / 192 * share;
    let result = p.m.saturating_mul(p.n).saturating_mul(p.out_bytes);
    if p.all_bytes() < budget && [p.a_bytes(), p.b_bytes(), result].iter().all(|&bytes| bytes < LARGE) {
        return all;
    }
    let (whole_m, whole_n) = (p.a_bytes() <= WHOLE, p.b_bytes() <= WHOLE);
    if whole_m && whole_n {
        // Neither side is cut: there is one grid.
        return all;
    }
    let (m_most, m_least) = if whole_m { (m_tasks, m_tasks) } else { (m_tasks.min(SIDE), 1) };
    let mut best: Option<Grid> = None;
    for m in (m_least..=m_most).rev() {
        let (n_most, n_least) =
            if whole_n { (n_tasks, n_tasks) } else { ((MOST_TASKS / m.max(1)).clamp(1, n_tasks), 1) };
        for n in (n_least..=n_most).rev() {
            if let Some(grid) = valid(part.cores.max(1), [m_tasks, n_tasks], [m, n])
                && best.is_none_or(|b| grid.cores >= b.cores && grid.clashes <= b.clashes)
            {
                best = Some(grid);
            }
        }
    }
    // In which order CANN walks the grids and how it counts clashes is not known.
    best.map_or(L2 { exact: false, ..all }, |grid| L2 { m_block: grid.m, n_block: grid.n, exact: false })
}

/// A grid with its cores and clashes, where its last tiles are nearly whole and its cores do not crowd.
fn valid(cores: u64, tasks: [u64; 2], grid: [u64; 2]) -> Option<Grid> {
    let nearly_whole = |tasks: u64, tile: u64| (tasks - 1) % tile + 1 >= (4 * tile).div_ceil(5);
    let [m, n] = grid;
    let used = m.saturating_mul(n).min(cores);
    let clashes = used.div_ceil(m).max(used.div_ceil(n));
    let good = nearly_whole(tasks[0], m) && nearly_whole(tasks[1], n) && clashes <= MOST_CLASHES;
    good.then_some(Grid { m, n, cores: used, clashes })
}
