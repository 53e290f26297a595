//! The operator's own base block and what L1 holds of it.

use super::rules::Rule;
use super::{Bias, State};
use crate::tiling::matmul_v3::Draft;
use crate::tiling::matmul_v3::Problem as Product;
use crate::tiling::matmul_v3::math::{cd, dn, fl, last_pow2, max, min, next_pow2, product, up};

/// Bytes of one of two buffers of L0A or L0B, and accumulators of a block.
pub(super) const L0: u64 = 32768;

/// Replaces the block of one product, unless that is a large one of whole sides or L2 tiles were cut for it.
pub(super) fn block(s: &mut State) {
    let (q, d) = (&s.q, &s.d);
    let whole = |side: u64| side == 128 || side == 256;
    if (q.m >= 256 && q.n > 256 && whole(d.bm) && whole(d.bn)) || s.l2_tiled {
        return;
    }
    s.rules.add(Rule::OwnBlock);
    let (mut bm, mut bn) = cut(q, 1);
    if q.es == 2 {
        let (half_m, half_n) = cut(q, 2);
        let tasks = |bm, bn| product([cd(q.m, bm), cd(q.n, bn), s.batches.c]);
        let filled = |tasks: u64| tasks as f64 / up(tasks, q.u) as f64;
        let (whole, half) = (filled(tasks(bm, bn)), filled(tasks(half_m, half_n)));
        let load = |bm: u64, bn: u64| 1.0 / bm as f64 + 1.0 / bn as f64;
        if (whole < 0.6 && half > whole) || load(half_m, half_n) < load(bm, bn) {
            s.rules.add(Rule::HalfBlock);
            (bm, bn) = (half_m, half_n);
        }
    }
    (s.d.bm, s.d.bn) = (bm, bn);
    s.d.bk = depth_of_block(q, bm, bn);
}

/// The deepest K step of a block that L0A and L0B hold twice, no deeper than K.
pub(super) fn depth_of_block(q: &Product, bm: u64, bn: u64) -> u64 {
    max(min(dn(L0 / q.es / max(bm, bn), 16), up(q.k, 16)), 16)
}

/// The block for limits divided by `part`.
fn cut(q: &Product, part: u64) -> (u64, u64) {
    let es = q.es;
    let bm = if q.ta {
        let start = max(min(next_pow2(q.m), 2048 / es / part), 16);
        halved(q.m, start, max(L0 / es / min(q.n, 512), 32))
    } else {
        let most = if q.k >= 32 { 1024 } else { 2048 } / (es * part);
        up(cd(q.m, cd(q.m, most)), 16)
    };
    let most = if q.tb && q.k >= 32 { 1024 } else { 2048 } / es / part;
    let start = max(min(next_pow2(q.n), most), 16);
    let bn = halved(q.n, start, max(min(L0 / es / bm, 512 / es), 32));
    (bm, min(last_pow2(L0 / bm), bn))
}

/// Halves a side down to `least` until it divides the extent; else the one that pads the extent least, the largest
/// of such.
pub(super) fn halved(extent: u64, start: u64, least: u64) -> u64 {
    let (mut best, mut padded, mut side) = (start, u64::MAX, start);
    while side >= max(least, 1) {
        if extent.is_multiple_of(side) {
            return side;
        }
        if up(extent, side) < padded {
            (best, padded) = (side, up(extent, side));
        }
        side /= 2;
    }
    best
}

/// Half of L1 for each operand, in fours of blocks; tasks end where the product does.
pub(super) fn l1(s: &mut State) {
    s.rules.add(Rule::BatchL1);
    let q = &s.q;
    let mut room = q.p.l1;
    if s.bias != Bias::None {
        room = room.saturating_sub(1024);
        s.d.bn = min(s.d.bn, 256);
    }
    let d: &mut Draft = &mut s.d;
    let depth = |base: u64| max(2, dn(fl(room / 2 / q.es, base * d.bk), 4));
    let (a, b) = (depth(d.bm) / 2, depth(d.bn) / 2);
    (d.step_ka, d.step_kb) = if a >= b { (a / b * b, b) } else { (a, b / a * a) };
    (d.depth_a, d.depth_b) = (2 * d.step_ka, 2 * d.step_kb);
    (d.step_m, d.step_n) = (1, 1);
    one_block(s);
}

/// A task is one block, no larger than the product, over all of K.
pub(super) fn one_block(s: &mut State) {
    (s.d.single_m, s.d.single_n, s.d.single_k) = (min(s.q.m, s.d.bm), min(s.q.n, s.d.bn), s.q.k);
}
