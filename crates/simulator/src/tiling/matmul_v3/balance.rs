//! Last steps on a base tiling: a full last round, and shorter K steps for some large products.

use super::draft::Draft;
use super::math::{cd, up};
use super::problem::Problem;
use super::rules::Rule;

/// Elements of the block that fills L0C.
const WHOLE_BLOCK: u64 = 32768;

/// On 24 cores: lowers the rows of a whole block so that the last round is full.
pub(super) fn last_round(q: &Problem, d: &mut Draft) {
    if q.u != 24 || q.ta || d.bm * d.bn != WHOLE_BLOCK || d.bk != 128 / q.es {
        return;
    }
    let tasks = cd(q.m, d.bm) * cd(q.n, d.bn);
    let before = d.bm;
    if tasks < 96 {
        let m_count = up(tasks, 24) / cd(q.n, d.bn);
        d.bm = up(cd(q.m, m_count), 16);
    } else if 128 < q.m && q.m <= 672 {
        let count = cd(q.m, d.bm);
        while d.bm > 16 && cd(q.m, d.bm - 16) == count {
            d.bm -= 16;
        }
    }
    d.single_m = d.bm;
    if d.bm != before {
        d.rule(Rule::LastRound);
    }
}

/// On 24 cores: K steps of 8 become 4 for some large products of 16-bit types.
pub(super) fn halve_steps(q: &Problem, d: &mut Draft) {
    if d.digits != 0 || d.nd2nz_a || d.nd2nz_b || q.u != 24 || d.bm * d.bn != WHOLE_BLOCK || d.bk != 64 {
        return;
    }
    if q.es != 2 || q.cs != 2 || q.m * q.n <= WHOLE_BLOCK * 24 || !in_window(q) {
        return;
    }
    for (step, depth) in [(&mut d.step_ka, &mut d.depth_a), (&mut d.step_kb, &mut d.depth_b)] {
        if *step == 8 {
            *step = 4;
            *depth /= 2;
            d.rules.add(Rule::HalvedSteps);
        }
    }
}

fn in_window(q: &Problem) -> bool {
    let Problem { m, k, n, .. } = *q;
    if m.is_multiple_of(16384) || n.is_multiple_of(16384) {
        return false;
    }
    let middle = 1280..=5120;
    let even = [m, k, n].iter().all(|e| e.is_multiple_of(256)) && m >= 768 && n >= 768 && !k.is_power_of_two();
    even || ((10368..=18000).contains(&m) && middle.contains(&n) && middle.contains(&k))
        || (middle.contains(&m) && middle.contains(&n) && (13788..=19304).contains(&k))
        || ((320_000..=380_000).contains(&m) && (960..=3500).contains(&n) && (1280..=3328).contains(&k))
}
