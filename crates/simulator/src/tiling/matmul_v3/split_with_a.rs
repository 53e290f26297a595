//! Single-core split-K with a piece of A kept in L1 (12).

use super::draft::Draft;
use super::math::{cd, dn, fl, min};
use super::problem::Problem;
use super::rules::Rule;

/// One tiling that the search compares.
#[derive(Debug, Clone, Copy)]
struct Option12 {
    bn: u64,
    bk: u64,
    used: u64,
    single_n: u64,
    /// Tasks of the last round, if it is not full.
    rest: u64,
    steps: Steps,
}

/// L1 of one tiling.
#[derive(Debug, Clone, Copy)]
struct Steps {
    step_n: u64,
    ka: u64,
    kb: u64,
    /// Bytes of B.
    b_bytes: u64,
    /// 2: runs of 512 bytes along K, 1: of 256.
    aligned: u64,
}

/// The template, where it applies.
pub(super) fn split_with_a(q: &Problem, d: &mut Draft) -> bool {
    let Problem { m, k, n, es, .. } = *q;
    let in_window = ((9216..=20480).contains(&k) && (6144..65536).contains(&n))
        || ((6144..65536).contains(&k) && (6144..16384).contains(&n));
    let aligned = k.is_multiple_of(128) && n.is_multiple_of(128);
    if es != 2 || q.a_nz || q.b_nz || q.ta || !aligned || m > 256 || !in_window {
        return false;
    }
    let bm = super::math::up(m, 16);
    let mut best: Option<Option12> = None;
    for bn in [512, 384, 256, 128] {
        if bn > q.p.l0_c / (4 * bm) || (q.tb && k > n && bn > 128) {
            continue;
        }
        let tasks = cd(n, bn);
        let used = min(tasks, q.u);
        let rest = tasks % used;
        if 0 < rest && rest < used - rest {
            continue;
        }
        let single_n = bn * cd(tasks, used);
        let mut bk = min(dn(min(fl(q.half_l0() / es, bm), q.half_l0() / es / bn), 32), 256);
        while bk >= 32 {
            if let Some(steps) = l1_steps(q, bm, bn, bk) {
                let next = Option12 { bn, bk, used, single_n, rest, steps };
                if best.as_ref().is_none_or(|best| better(q, &next, best)) {
                    best = Some(next);
                }
            }
            bk -= 32;
        }
    }
    let Some(t) = best else {
        return false;
    };
    d.rule(Rule::SplitKWithA);
    (d.bm, d.bn, d.bk, d.used) = (bm, t.bn, t.bk, t.used);
    (d.single_m, d.single_n, d.single_k) = (m, t.single_n, k);
    (d.step_m, d.step_n, d.step_ka, d.step_kb) = (1, t.steps.step_n, t.steps.ka, t.steps.kb);
    (d.depth_a, d.depth_b) = (d.step_ka, d.step_n * d.step_kb * 2);
    (d.db_l0c, d.order, d.digits) = (1, 0, 12);
    true
}

/// The best division of L1 with the fewest blocks of B.
fn l1_steps(q: &Problem, bm: u64, bn: u64, bk: u64) -> Option<Steps> {
    let (a_block, b_block) = (bm * bk * q.es, 2 * bn * bk * q.es);
    // More blocks of B leave less for A: where one leaves nothing, more do too.
    let step_n = 1;
    let mut best: Option<(u64, Steps)> = None;
    for kb in 1..=q.p.l1 / b_block {
        let b_bytes = step_n * kb * b_block;
        let room = min((q.p.l1 - b_bytes) / a_block, q.k / bk);
        let ka = room / kb * kb;
        if ka < kb {
            continue;
        }
        let run = kb * bk * q.es;
        let aligned = u64::from(run.is_multiple_of(256)) + u64::from(run.is_multiple_of(512));
        let next = Steps { step_n, ka, kb, b_bytes, aligned };
        let pieces = cd(q.k, ka * bk);
        let key = |pieces: u64, s: &Steps| {
            let aligned = if q.tb { s.aligned } else { 0 };
            (2 - aligned, pieces, u64::MAX - s.b_bytes, u64::MAX - s.ka)
        };
        if best.as_ref().is_none_or(|(p, s)| key(pieces, &next) < key(*p, s)) {
            best = Some((pieces, next));
        }
    }
    best.map(|(_, steps)| steps)
}

/// Whether `x` is taken in place of `y`.
fn better(q: &Problem, x: &Option12, y: &Option12) -> bool {
    // L0 steps of a core over those of a block of 256 columns and 128 of K, as a fraction.
    let rounds = |t: &Option12| (cd(t.single_n, t.bn) * cd(q.k, t.bk), cd(t.single_n, 256) * cd(q.k, 128));
    let idle = |t: &Option12| if t.rest == 0 { 0 } else { t.used - t.rest };
    let ((x_steps, x_whole), (y_steps, y_whole)) = (rounds(x), rounds(y));
    // Each pair: what counts for x, what for y; the smaller one wins.
    let plain = !q.tb;
    let pairs = [
        (u64::from(plain && x.rest != 0), u64::from(plain && y.rest != 0)),
        (y.used, x.used),
        if plain { (idle(x), idle(y)) } else { (y.steps.aligned, x.steps.aligned) },
        (x_steps * y_whole, y_steps * x_whole),
        (y.bn, x.bn),
        (y.bk, x.bk),
    ];
    pairs.iter().find(|(a, b)| a != b).is_some_and(|(a, b)| a < b)
}
