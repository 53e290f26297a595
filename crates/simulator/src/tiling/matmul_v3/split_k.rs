//! Split of K inside each core: partial results are added up in memory.

use super::draft::Draft;
use super::math::{cd, max, min, product, up};
use super::problem::{LONGEST_INNER, Problem};
use super::rules::Rule;

/// Sets the form that keeps three blocks of A ("MK"): 128 x 128 x 256 bytes.
pub(super) fn keep_a(q: &Problem, d: &mut Draft) {
    (d.bm, d.bn, d.bk) = (128, 128, 256 / q.es);
    (d.depth_a, d.depth_b, d.step_m, d.step_n) = (9, 6, 3, 1);
    (d.step_ka, d.step_kb, d.order) = (3, 3, 1);
}

/// Sets the form that keeps three blocks of B ("NK").
pub(super) fn keep_b(q: &Problem, d: &mut Draft) {
    keep_a(q, d);
    (d.depth_a, d.depth_b, d.step_m, d.step_n, d.order) = (6, 9, 1, 3, 0);
}

/// The single-core split-K template, where CANN has a reason for it.
pub(super) fn single_core(q: &Problem, d: &mut Draft, l2_failed: bool) -> bool {
    let Some(reason) = reason(q, d, l2_failed) else {
        return false;
    };
    let mut t = *d;
    t.rule(reason);
    keep_a(q, &mut t);
    if !q.bias {
        if product([cd(q.m, 384), cd(q.n, 3072)]) < q.u {
            (t.depth_a, t.depth_b, t.step_m, t.step_ka, t.step_kb) = (8, 8, 2, 4, 4);
        }
        if q.m < 384 || q.n < 384 {
            (t.depth_a, t.depth_b, t.step_m, t.step_ka, t.step_kb) = (8, 8, 1, 4, 4);
        }
    }
    extents(q, &mut t);
    let k1536 = reason == Rule::SplitK1536;
    let few_columns = q.fp32 && q.n <= 64 && q.m >= 1920 && (27392..65535).contains(&q.k) && !q.ta && q.tb;
    if !few_columns && !k1536 && wasteful(q, &t) {
        return false;
    }
    let (few_m, few_n) = (k1536 && q.m == 384, k1536 && q.n == 384 && q.m != 384);
    if few_m || (256 < t.single_m && t.single_m <= 384 && (!q.fp32 || q.x256(q.n))) {
        keep_a(q, &mut t);
    }
    if few_n {
        keep_b(q, &mut t);
    }
    t.single_k = t.step_ka * t.bk;
    t.db_l0c = 2;
    t.used = min(product([cd(q.m, t.single_m), cd(q.n, t.single_n)]), q.u);
    t.digits = digit(q, &t, few_columns || few_n, few_m);
    *d = t;
    true
}

fn reason(q: &Problem, d: &Draft, l2_failed: bool) -> Option<Rule> {
    let Problem { m, k, n, .. } = *q;
    let long = (m >= 49152 && n == 384) || (n >= 49152 && m == 384);
    if k == 1536
        && !q.a_nz
        && m.is_multiple_of(128)
        && n.is_multiple_of(128)
        && long
        && product([m, n, 4 * 100]) <= q.p.l2.saturating_mul(65)
    {
        return Some(Rule::SplitK1536);
    }
    if q.hf32 && !q.x256(n) && m * n < 4_194_304 {
        return None;
    }
    if k >= 27392 {
        return Some(Rule::SplitKLong);
    }
    if l2_failed && m * k >= 5 * 384 * 384 && n >= 1024 && m >= 384 && k >= 384 && m * n >= 1024 * 384 * q.u {
        return Some(Rule::SplitKL2Fail);
    }
    let far = |x: u64, y: u64| x.is_multiple_of(8192) && y >= 6144;
    if q.ta && !q.tb && q.x256(n) && k >= 11000 && (far(m, n) || far(n, m)) {
        return Some(Rule::SplitKStride);
    }
    let middle = 1280..=8192;
    let both_along_k = !q.ta && q.tb && q.es == 2 && !q.a_nz && !q.b_nz && k.is_multiple_of(16384);
    if both_along_k && middle.contains(&m) && middle.contains(&n) && q.u == 24 && !d.nd2nz_b {
        return Some(Rule::SplitKConflict);
    }
    None
}

/// The least factor of the number of cores that is not below `n`; above it, a multiple of it.
fn factor(q: &Problem, n: u64) -> u64 {
    if n > q.u {
        return n / q.u * q.u + if n % q.u > q.u / 2 { q.u } else { 0 };
    }
    let mut f = max(n, 1);
    while !q.u.is_multiple_of(f) {
        f += 1;
    }
    f
}

/// Deals M and N over the cores.
fn extents(q: &Problem, d: &mut Draft) {
    let (m_align, n_align) = (if q.ta { 256 } else { 32 } / q.es, 256 / q.es);
    let parts = |m_count: u64, n_count: u64| {
        let m = min(up(cd(q.m, m_count), m_align), q.m);
        let n = up(cd(q.n, n_count), n_align);
        (m, n, product([cd(q.m, m), cd(q.n, n)]))
    };
    let (mut m_count, mut n_count) = (cd(q.m, 128 * d.step_m), factor(q, cd(q.n, 3072)));
    let (mut best, mut columns) = (None, u64::MAX);
    if product([m_count, n_count]) >= q.u {
        m_count = max(q.u / n_count, 1);
        let first = parts(m_count, n_count);
        (best, columns) = (Some(first), first.1);
    }
    n_count = max(q.u / m_count, 1);
    // The columns of the last deal end the search, whether or not that one is kept.
    while n_count <= q.u && best.is_none_or(|(.., tasks)| tasks < q.u) && columns >= 1024 {
        n_count = factor(q, n_count);
        let next = parts(q.u / n_count, n_count);
        columns = next.1;
        if best.is_none_or(|(.., tasks)| next.2 > tasks) {
            best = Some(next);
        }
        n_count += 1;
    }
    if let Some((m, n, _)) = best {
        (d.single_m, d.single_n) = (m, n);
    }
}

/// Whether too little of what the cores could do is work, or a core's columns are few.
fn wasteful(q: &Problem, d: &Draft) -> bool {
    let work = u128::from(q.m) * u128::from(q.n) * 100;
    let slots = u128::from(d.single_m) * u128::from(d.single_n) * u128::from(q.u);
    d.single_n < 512
        || work < slots * 70
        || (q.x256(q.n) && (896..=2048).contains(&q.n) && (d.single_n <= 640 || work < slots * 85))
}

/// The ones digit: which of the three kernels.
fn digit(q: &Problem, d: &Draft, for_five: bool, keeps_a: bool) -> u32 {
    let rewritten = d.nd2nz_a || d.nd2nz_b;
    if for_five && !rewritten {
        return 5;
    }
    let extents = if rewritten { [q.outer_a(), q.outer_b()] } else { [q.inner_a(), q.inner_b()] };
    let own_copy = q.es == 2
        && q.n.is_multiple_of(128)
        && !keeps_a
        && !q.bias
        && extents.iter().all(|&e| e <= LONGEST_INNER)
        && (rewritten || !q.b_nz);
    if own_copy { 6 } else { 2 }
}
