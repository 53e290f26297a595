//! The basic tiling: one block a task over all of K, by a search over lists of blocks.

mod better;
mod l1;
mod l2;
mod lists;

use super::Problem;
use super::problem::up;
use crate::tiling::Platform;
use crate::tiling::matmul_v3;
use better::{Found, Search};

/// An L0 block in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub m: u64,
    pub n: u64,
}

/// The block from which the search starts.
const START: Block = Block { m: 128, n: 256 };
/// Accumulators of a block: 128 KiB of L0C.
const MOST_RESULTS: u64 = 32768;
/// Depths of a block in bytes, deepest first.
const DEPTHS: [u64; 6] = [1024, 512, 256, 128, 64, 32];
/// Bytes of L0A and L0B.
const L0: u64 = 64 << 10;

/// What the basic tiling chose, and whether rules that are known only roughly had a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Basic {
    pub tiling: matmul_v3::Tiling,
    pub rule: &'static str,
    /// What is not known and had a say: of the block, of the steps in L1, of the groups for L2.
    pub open: [Option<&'static str>; 3],
}

/// The basic tiling of a product, with few rows by a B in `FRACTAL_NZ` as `decode` has it.
pub(super) fn tile(p: &Problem, part: &Platform, decode: bool) -> Basic {
    let found = if decode { Found::known(decode_block(p, part), "qbmm.block.decode-nz") } else { search(p, part) };
    let mut block = found.block;
    let base_k = DEPTHS.into_iter().find(|depth| 2 * block.m.max(block.n) * depth <= L0 * 8 / p.bits).unwrap_or(32);
    if p.trans_a && p.b_nz {
        block.n = block.n.min(32);
    }
    let steps = l1::steps(p, part, block, base_k);
    let l2 = l2::tiles(p, part, block);
    let [m_tasks, n_tasks] = [p.m.div_ceil(block.m).max(1), p.n.div_ceil(block.n).max(1)];
    let field = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let double = 8 * block.m * block.n <= part.l0_c && block.n <= 128;
    let tiling = matmul_v3::Tiling {
        used_core_num: field(m_tasks.saturating_mul(n_tasks).min(part.cores.max(1))),
        single_core_m: field(block.m),
        single_core_n: field(block.n),
        single_core_k: field(p.k),
        base_m: field(block.m),
        base_n: field(block.n),
        base_k: field(base_k),
        depth_a1: field(2 * steps.a),
        depth_b1: field(2 * steps.b),
        step_m: 1,
        step_n: 1,
        iterate_order: 0,
        step_ka: field(steps.a),
        step_kb: field(steps.b),
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: if double { 2 } else { 1 },
        l2_m_tile_cnt: field(m_tasks.div_ceil(l2.m_block)),
        l2_n_tile_cnt: field(n_tasks.div_ceil(l2.n_block)),
        l2_m_tile_block: field(l2.m_block),
        l2_n_tile_block: field(l2.n_block),
        l2_iterate_order: 0,
        tiling_enable: 0,
    };
    let open = [(found.exact, "qbmm.block.first-round"), (steps.exact, "qbmm.l1.doubled"), (l2.exact, "qbmm.l2.walk")];
    Basic { tiling, rule: found.rule, open: open.map(|(exact, rule)| (!exact).then_some(rule)) }
}

/// The block of few rows: all of them, by even columns.
fn decode_block(p: &Problem, part: &Platform) -> Block {
    let cores = part.cores.max(1);
    // 0.8 of the cores, in fifths.
    let fills = |n: u64| (4 * cores..=5 * cores).contains(&p.n.div_ceil(n).saturating_mul(5));
    let even = up(p.n.div_ceil(cores), 32).clamp(32, 512);
    let n = [256, 512].into_iter().find(|&n| p.m > 16 && fills(n)).unwrap_or(even);
    Block { m: up(p.m.max(1), 16), n }
}

/// Walks the lists, rows outermost, from small blocks to large ones.
fn search(p: &Problem, part: &Platform) -> Found {
    let (of_m, of_n) = lists::lists(p);
    let mut search = Search::new(p, part, START);
    let widest = if p.bias { 256 } else { 512 };
    let mut before = None;
    for &m in of_m {
        if before.is_some_and(|previous| p.m <= previous) {
            break;
        }
        before = Some(m);
        for &n in of_n {
            if p.k <= 2048 && matches!(n, 160 | 192 | 320) {
                continue;
            }
            let block = Block {
                m: m.min(up(p.m.max(1), if p.trans_a { 32 } else { 16 })),
                n: n.min(up(p.n.max(1), if p.trans_b { 16 } else { 32 })),
            };
            if block.m * block.n <= MOST_RESULTS && block.n <= widest {
                search.meet(block);
            }
        }
    }
    search.found()
}

#[cfg(test)]
mod tests;
