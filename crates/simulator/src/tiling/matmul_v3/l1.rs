//! What L1 holds of A and B in the base template.

use super::draft::Draft;
use super::math::{cd, fl, max, min};
use super::problem::Problem;
use super::rules::Rule;

/// Half of L1 for each operand, double buffered.
pub(in crate::tiling) fn halves(q: &Problem, d: &mut Draft) {
    let depth = |base: u64| fl(fl(fl(q.p.l1 / 2, base), d.bk), q.es);
    (d.depth_a, d.depth_b) = (depth(d.bm), depth(d.bn));
    let bytes = (d.depth_a * d.bm + d.depth_b * d.bn).saturating_mul(d.bk * q.es);
    if bytes > q.p.l1.saturating_sub(if q.bias { 1024 } else { 0 }) {
        d.rule(Rule::HalvedDepth);
        if d.bm <= d.bn {
            d.depth_a /= 2;
        } else {
            d.depth_b /= 2;
        }
    }
    let steps = (max(d.depth_a / 2, 1), max(d.depth_b / 2, 1));
    (d.step_ka, d.step_kb) = (aligned(q, d, steps.0), aligned(q, d, steps.1));
    if (d.step_ka, d.step_kb) != steps {
        d.rule(Rule::AlignedSteps);
    }
    if d.step_ka >= d.step_kb {
        d.step_ka = d.step_ka / d.step_kb * d.step_kb;
    } else {
        d.step_kb = d.step_kb / d.step_ka * d.step_ka;
    }
    (d.depth_a, d.depth_b) = (2 * d.step_ka, 2 * d.step_kb);
    one_block(q, d);
}

/// A step lowered to whole runs of 512 bytes, or of 256 where it has no more than 512.
fn aligned(q: &Problem, d: &Draft, step: u64) -> u64 {
    let bytes = d.bk * q.es;
    if step * d.bk >= q.k {
        return step;
    }
    let run = match step * bytes {
        513.. => 512,
        257.. => 256,
        _ => return step,
    };
    if run % bytes != 0 {
        return step;
    }
    let whole = run / bytes;
    step / whole * whole
}

/// One block is one core task over all of K.
fn one_block(q: &Problem, d: &mut Draft) {
    (d.single_m, d.single_n, d.single_k) = (d.bm, d.bn, q.k);
}

/// The block of a 310P is not larger than the product.
pub(super) fn clip(q: &Problem, d: &mut Draft) {
    d.rule(Rule::ClippedToProblem);
    (d.bm, d.bn, d.bk) = (min(d.bm, q.m), min(d.bn, q.n), min(d.bk, q.k));
}

/// A 310P holds a fixed number of blocks of each operand, and all of a small one in `FRACTAL_NZ`.
pub(super) fn fixed(q: &Problem, d: &mut Draft) {
    d.rule(Rule::Depth310P);
    let nz = q.a_nz && q.b_nz;
    let depth = if nz { 16 } else { 6 };
    (d.depth_a, d.depth_b, d.step_ka, d.step_kb) = (depth, depth, depth / 2, depth / 2);
    let fits = |extent: u64| extent.saturating_mul(q.k).saturating_mul(q.es) < q.p.l1 / 2;
    if nz && q.m <= d.bm {
        d.bm = q.m;
        if fits(q.m) {
            d.rule(Rule::WholeNzOperand);
            d.step_ka = cd(q.k, d.bk);
            d.depth_a = d.step_ka;
        }
    }
    if nz && q.n <= d.bn {
        d.bn = q.n;
        if fits(q.n) {
            d.rule(Rule::WholeNzOperand);
            d.step_kb = cd(q.k, d.bk);
            d.depth_b = d.step_kb;
        }
    }
    one_block(q, d);
}
