//! Templates that keep an operand in L1: full A, full B, and full B with the copy-out of vector cores.

use super::draft::{Draft, L2Grid};
use super::math::{cd, dn, fl, min, product, up};
use super::problem::{Problem, READ_AS_IT_LIES};
use super::rules::Rule;

/// Full B whose result leaves through the workspace (1020, 2020).
pub(super) fn b_copy_out(q: &Problem, d: &mut Draft) -> bool {
    let Problem { m, k, n, es, cs, u, .. } = *q;
    let lines = 256 / cs;
    let unaligned = !(n * cs).is_multiple_of(256) && lines % n != 0;
    let tiny = n < 32 / es && k < 32 / es;
    if n >= 256 || k > 256 || !unaligned || m < u.saturating_mul(512) || tiny {
        return false;
    }
    if cs == 2 && (!(q.x256(k) || k < 256 / es) || q.ta) {
        return false;
    }
    let mut t = *d;
    t.bn = up(n, 16);
    t.bm = dn(min(q.p.l0_c / (4 * t.bn), q.p.ub / 256 / cs), 128);
    t.bk = dn(min(fl(q.half_l0() / es, t.bm), q.half_l0() / es / t.bn), 16);
    if t.bm == 0 || t.bk == 0 {
        return false;
    }
    t.step_kb = cd(k, t.bk);
    t.depth_b = t.step_kb;
    let rest = (q.p.l1_given() / es).saturating_sub(t.depth_b * t.bn * t.bk);
    t.step_ka = min(rest / (t.bm * t.bk), t.depth_b);
    t.depth_a = t.step_ka;
    if t.step_ka == 0 {
        return false;
    }
    if t.step_ka >= 8 {
        (t.step_ka, t.depth_a) = (4, 8);
    }
    (t.single_m, t.single_n, t.single_k) = (t.bm, t.bn, k);
    if cs == 2 {
        t.nd2nz_a = false;
    }
    t.nd2nz_b = false;
    let as_fractals = q.fp32 && k.is_multiple_of(32 / es) && n <= 192 && !t.nd2nz_a && !q.ta;
    t.rule(if as_fractals { Rule::CopyOutNz } else { Rule::CopyOut });
    t.rule(Rule::L2AsAtFirst);
    t.digits = if as_fractals { 2020 } else { 1020 };
    *d = t;
    true
}

/// Full A (10).
pub(super) fn a(q: &Problem, d: &mut Draft) -> bool {
    let Problem { m, k, n, .. } = *q;
    let tiny = q.plain_fp32() && m <= 64 && n <= 64 && k >= 6144 && m >= 8;
    let room = q.p.l1_given().saturating_sub(2 * 16 * 256 * 4 + if q.bias { 64 } else { 0 });
    let fits = product([up(m, 16), up(k, 8), 4]) <= room;
    if !q.fp32 || q.ta || !q.tb || tiny || m > 16 || n <= 16 || n > q.u.saturating_mul(16) {
        return false;
    }
    if k < 4096 || !(k * q.es).is_multiple_of(512) || !fits {
        return false;
    }
    d.rule(Rule::FullA);
    (d.bm, d.bn, d.bk) = (16, 16, 256);
    (d.step_ka, d.step_kb) = (cd(k, 256), 1);
    (d.depth_a, d.depth_b) = (d.step_ka, 2);
    (d.single_m, d.single_n, d.single_k) = (m, 16, k);
    d.db_l0c = 2;
    d.l2 = L2Grid { m_tiles: 1, n_tiles: 1, m_block: 1, n_block: cd(n, 16) };
    d.order = 1;
    d.digits = 10;
    true
}

/// Full B (20).
pub(super) fn b(q: &Problem, d: &mut Draft) -> bool {
    let Problem { m, k, n, es, .. } = *q;
    let c0 = 32 / es;
    let listed = READ_AS_IT_LIES.contains(&n) && (!q.tb || READ_AS_IT_LIES.contains(&(k * es)));
    let narrow_a = q.fp32 && q.outer_a() >= 72368 && 1 < q.inner_a() && q.inner_a() <= c0;
    let tall = m > 16 * n.max(k) && k <= 256;
    let bias = if q.bias { 4 * d.bn } else { 0 };
    let fractals = product([up(q.outer_b(), 16), up(q.inner_b(), c0), es]);
    let half = fractals.saturating_add(bias) < q.p.l1_given() / 2;
    if tall && ((listed && !d.nd2nz_b) || (narrow_a && half)) {
        return b_tall(q, d, if q.tb { 16 } else { c0 });
    }
    special(q, d)
}

fn b_tall(q: &Problem, d: &mut Draft, unit: u64) -> bool {
    d.step_m = 1;
    d.bn = up(min(q.n, d.bn), unit);
    d.step_n = cd(q.n, d.bn);
    (d.step_ka, d.step_kb) = (cd(q.k, d.bk), cd(q.k, d.bk));
    (d.depth_a, d.depth_b) = (2 * d.step_ka, d.step_n * d.step_kb);
    let need = |bm: u64| {
        let blocks = d.depth_a * bm + d.depth_b * d.bn;
        product([d.bk, q.es, blocks]).saturating_add(if q.bias { d.bn * q.es } else { 0 })
    };
    if need(16) > q.p.l1_given() {
        d.rule(Rule::FullBRefused);
        return false;
    }
    let mut bm = d.bm;
    while bm > 16 && need(bm) > q.p.l1_given() {
        bm /= 2;
    }
    d.rule(Rule::FullB);
    d.bm = bm;
    (d.single_m, d.single_n) = (2 * bm, q.n);
    d.db_l0c_by_size(q);
    d.l2 = L2Grid { m_tiles: 1, n_tiles: 1, m_block: cd(q.m, d.single_m), n_block: 1 };
    d.order = 1;
    d.digits = 20;
    true
}

/// One shape of products whose last round would be nearly empty.
fn special(q: &Problem, d: &mut Draft) -> bool {
    let plain = !q.ta && q.tb && !q.a_nz && !q.b_nz && !q.bias;
    if q.es != 2 || q.n != 512 || q.k != 512 || !(30848..=98048).contains(&q.m) || !plain {
        return false;
    }
    let last = cd(q.m, 128) % 12;
    let fits = match q.m / 128 % 12 {
        0 => last == 1,
        6 => last != 7,
        1..=5 => true,
        _ => false,
    };
    if !fits {
        return false;
    }
    d.rule(Rule::FullBSpecial);
    (d.bm, d.bn) = (128, 256);
    (d.single_m, d.single_n) = (up(cd(q.m, 12), 128), 256);
    (d.step_ka, d.step_kb) = (cd(512, d.bk), cd(512, d.bk));
    (d.depth_a, d.depth_b) = (2 * d.step_ka, d.step_kb);
    d.db_l0c_by_size(q);
    d.digits = 20;
    true
}
