//! Split of K over the cores, with partial results summed in a fixed order.

use super::draft::Draft;
use super::math::{cd, max, min, product, up};
use super::prepass::kept_by_deterministic;
use super::problem::Problem;
use super::rules::Rule;
use super::split_k::{keep_a, keep_b};
use crate::tiling::Platform;
use crate::workload::MatMul;

/// The deterministic split-K template, where CANN has a reason for it.
pub(super) fn deterministic(q: &Problem, d: &mut Draft) -> bool {
    let Some(reason) = reason(q) else {
        return false;
    };
    d.rule(reason);
    let along_m = columns_kept(q);
    if along_m {
        keep_b(q, d);
    } else {
        keep_a(q, d);
    }
    d.single_k = 3 * d.bk;
    if along_m {
        (d.single_m, d.single_n) = (long_side(q, d.single_k, q.m, q.n), 384);
    } else {
        (d.single_m, d.single_n) = (384, long_side(q, d.single_k, q.n, q.m));
    }
    d.used = min(cd(q.k, d.single_k), q.u);
    if reason == Rule::DeterministicTiny {
        d.used = min(q.u, 8 + (q.k - 6144) / 1024 + cd(q.m, 16) + cd(q.n, 16));
    }
    d.db_l0c = 2;
    d.digits = 3;
    if q.n > 128 && q.m > 128 && !q.n.is_multiple_of(16) {
        d.rule(Rule::DeterministicFixpipe);
        d.digits = 2003;
    }
    let [keep_flag_a, keep_flag_b] = kept_by_deterministic(q);
    d.nd2nz_a &= keep_flag_a;
    d.nd2nz_b &= keep_flag_b;
    true
}

fn reason(q: &Problem) -> Option<Rule> {
    let Problem { m, k, n, u, .. } = *q;
    let (m_blocks, n_blocks) = (cd(m, 128), cd(n, 128));
    let blocks = m_blocks * n_blocks;
    if k >= 384 * u && 2 * blocks < u && (q.ta || !q.tb) {
        return Some(Rule::DeterministicLong);
    }
    if q.plain_fp32() && m <= 64 && n <= 64 && k >= 6144 {
        return Some(Rule::DeterministicTiny);
    }
    if (1000..=4608).contains(&k) && m <= 256 && n <= 256 && q.ta && !q.tb {
        return Some(Rule::DeterministicTransposed);
    }
    let unaligned = !q.x256(q.inner_a()) || !q.x256(q.inner_b());
    let enough =
        m_blocks >= 4 && n_blocks >= 4 && !q.x256(n) && !(q.fp32 && unaligned) && 10 * blocks > 8 * up(blocks, u);
    (k >= 27392 && !enough).then_some(Rule::DeterministicRest)
}

/// Whether the form that keeps B runs.
fn columns_kept(q: &Problem) -> bool {
    let Problem { m, n, es, .. } = *q;
    m > n
        && (n * es).is_multiple_of(32)
        && m >= 128
        && (!q.x256(n) || q.x256(m))
        && (q.x256(m) || n * es > 256)
        && !(m >= 2048 && n == 16)
}

/// Whether CANN would have the form that keeps columns for every product that asks the bank by the key of this one: keys
/// hold rows and columns in whole fractals.
pub fn keeps_columns(w: &MatMul, p: &Platform) -> bool {
    let (most, least) = (up(w.m, 16), if w.m.is_multiple_of(16) { w.m } else { w.m / 16 * 16 + 1 });
    let holds = |m: u64| columns_kept(&Problem::new(&MatMul { m, ..w.clone() }, p));
    w.n.is_multiple_of(16) && [least, w.m, most].into_iter().all(holds)
}

/// Extent of the long axis in one go: all of it if the panels of all cores fit 70 % of L2, else even parts that do.
fn long_side(q: &Problem, single_k: u64, long: u64, short: u64) -> u64 {
    let width = min(384, short);
    let share = q.p.l2.saturating_mul(7) / 10 / q.u;
    let fits = share.saturating_sub(product([single_k, width, q.es])) / (single_k * q.es + 4 * width);
    if long > fits { up(cd(long, cd(long, up(max(fits, 1), 128))), 128) } else { long }
}
