//! One operand that serves the whole batch stays in L1.

use super::rules::Rule;
use super::{State, Template};
use crate::tiling::matmul_v3::math::{cd, max, min, product, up};

/// L1 that is left to the other operand.
const OTHER: u64 = 64 << 10;

/// Keeps A or B in L1 where it is alone without a batch, is small and meets much of the other.
pub(super) fn operand(s: &mut State) {
    let (q, batches) = (&s.q, s.batches);
    let alone = (batches.a == 1) != (batches.b == 1);
    let much = |bytes: u64, count: u64| bytes >= q.p.l1.saturating_mul(q.u) || count >= 4 * q.u;
    let half = q.p.l1 / 2;
    let c0 = 32 / q.es;
    let fractals = |outer: u64, inner: u64| product([up(outer, 16), up(inner, c0), q.es]);
    let bytes = |count: u64, extent: u64| product([count, extent, q.k, q.es]);
    if alone && batches.a == 1 && fractals(q.outer_a(), q.inner_a()) <= half && much(bytes(batches.b, q.n), batches.b) {
        keep(s, true);
    } else if batches.b == 1
        && (alone || !q.ta)
        && fractals(q.outer_b(), q.inner_b()) <= half
        && much(bytes(batches.a, q.m), batches.a)
    {
        keep(s, false);
    }
}

/// One side of the block.
#[derive(Clone, Copy)]
struct Side {
    extent: u64,
    base: u64,
    step: u64,
    step_k: u64,
}

fn keep(s: &mut State, a: bool) {
    s.rules.add(if a { Rule::FullA } else { Rule::FullB });
    s.template = if a { Template::FullA } else { Template::FullB };
    s.d.digits = if a { 10 } else { 20 };
    let (q, d) = (&s.q, &mut s.d);
    let of_a = Side { extent: q.m, base: d.bm, step: d.step_m, step_k: d.step_ka };
    let of_b = Side { extent: q.n, base: d.bn, step: d.step_n, step_k: d.step_kb };
    let (mut kept, mut other) = if a { (of_a, of_b) } else { (of_b, of_a) };
    let mut bk = d.bk;
    let padded = |base: u64, bk: u64| product([up(kept.extent, base), up(q.k, bk), q.es]);
    let mut base = kept.base;
    while padded(base, bk).saturating_add(OTHER) > q.p.l1 && (base > 16 || bk > 16) {
        if base > 16 {
            base = up(base / 2, 16);
        } else {
            bk = max(up(bk / 2, 16), 16);
        }
        // Whether CANN halves the block or its depth first is not known.
        s.public = false;
    }
    kept.base = base;
    (kept.step, kept.step_k) = (cd(kept.extent, base), cd(q.k, bk));
    let held = product([kept.step, kept.step_k, base, bk, q.es]);
    let fits = |o: &Side| held.saturating_add(product([2, o.step, o.step_k, o.base, bk, q.es])) <= q.p.l1;
    while !fits(&other) && other.step > 1 {
        other.step -= 1;
    }
    while !fits(&other) && other.step_k > 1 {
        other.step_k -= 1;
    }
    while !fits(&other) && other.base > 16 {
        other.base -= 16;
    }
    let whole_k = other.step_k * bk >= q.k;
    let single = product([other.step, other.base, if whole_k { 2 } else { 1 }]);
    let depths = (kept.step * kept.step_k, 2 * other.step * other.step_k);
    let (of_a, of_b) = if a { (kept, other) } else { (other, kept) };
    let of_kept = kept.extent;
    (d.single_m, d.single_n) = if a { (of_kept, single) } else { (single, of_kept) };
    (d.depth_a, d.depth_b) = if a { depths } else { (depths.1, depths.0) };
    (d.bm, d.step_m, d.step_ka) = (of_a.base, of_a.step, of_a.step_k);
    (d.bn, d.step_n, d.step_kb) = (of_b.base, of_b.step, of_b.step_k);
    (d.bk, d.single_k) = (bk, q.k);
    d.used = min(product([s.batches.c, cd(q.m, d.single_m), cd(q.n, d.single_n)]), q.u);
    d.db_l0c_by_size(q);
}
