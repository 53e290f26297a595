//! Steps along k that L1 holds of a block.

use super::super::Problem;
use super::Block;
use crate::tiling::Platform;

/// `stepKa` and `stepKb`; depths are twice that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    pub a: u64,
    pub b: u64,
    pub exact: bool,
}

/// Bytes of k that a step should be multiples of: half a cache line's burst.
const BURST: u64 = 256;

/// The steps: half of L1 for each side, then whole bursts, then multiples of each other.
pub(super) fn steps(p: &Problem, part: &Platform, block: Block, base_k: u64) -> Steps {
    let side = |base: u64| p.bytes(base.saturating_mul(base_k)).max(1);
    let (of_a, of_b) = (side(block.m), side(block.n));
    let mut depth_a = part.l1 / 2 / of_a;
    let mut depth_b = part.l1 / 2 / of_b;
    let beside = block.n * (if p.bias { 4 } else { 0 } + if p.channel_scale { 8 } else { 0 });
    if depth_a * of_a + depth_b * of_b + beside > part.l1 {
        if depth_a >= depth_b { depth_a /= 2 } else { depth_b /= 2 }
    }
    let row = p.bytes(base_k).max(1);
    let [mut a, mut b] = [depth_a / 2, depth_b / 2].map(|step| in_bursts(step.max(1), row, p.k));
    let most = match block.m.min(block.n) {
        0..64 => 1,
        64..128 => 2,
        _ => u64::MAX,
    };
    (a, b) = multiples(a, b, most);
    // An operand whose k is outer is read in whole rows however few steps are kept.
    let (a_outer, b_outer) = (p.trans_a && !p.a_nz, !p.trans_b && !p.b_nz);
    let fits = |a: u64, b: u64| 2 * (a * of_a + b * of_b) + beside <= part.l1;
    let mut exact = true;
    match (a_outer, b_outer) {
        // Which of the two is doubled, if any, is not said.
        (true, true) => (a, b, exact) = (a.min(2), b.min(2), false),
        (true, false) => (a, b, exact) = shortened(a, b, fits),
        (false, true) => (b, a, exact) = shortened(b, a, |b, a| fits(a, b)),
        (false, false) => {}
    }
    Steps { a, b, exact }
}

/// At most two steps of one side; the other twice as deep where it is short, fits, and it pays. When it pays is not known:
/// here, where steps of the first were cut. The last says whether the answer does not turn on it.
fn shortened(outer: u64, other: u64, fits: impl Fn(u64, u64) -> bool) -> (u64, u64, bool) {
    let short = outer.min(2);
    let may_be_deeper = other <= 4 && fits(short, 2 * other);
    (short, if may_be_deeper && short < outer { 2 * other } else { other }, !may_be_deeper)
}

/// The most steps of at most `step` whose bytes are whole bursts; a short k has at most one.
fn in_bursts(step: u64, row: u64, k: u64) -> u64 {
    if k <= 512 {
        return step.min(BURST / row).max(1);
    }
    if step * row <= BURST {
        return step;
    }
    (1..=step).rev().find(|s| (s * row).is_multiple_of(BURST)).unwrap_or(step)
}

/// The larger as a multiple of the smaller, at most so many times.
fn multiples(a: u64, b: u64, most: u64) -> (u64, u64) {
    let times = |long: u64, short: u64| (long / short.max(1)).clamp(1, most).saturating_mul(short);
    if a >= b { (times(a, b), b) } else { (a, times(b, a)) }
}
