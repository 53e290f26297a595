//! Several products a task: as many as L1 holds.

use super::block::{L0, depth_of_block, halved};
use super::rules::Rule;
use super::{Bias, State, Template};
use crate::tiling::matmul_v3::math::{cd, dn, fl, max, min, next_pow2, product, up};
use crate::tiling::matmul_v3::{Problem as Product, narrow};
use aoe_graph::DataType;

/// Products from which results of several leave L0C together.
const MANY: u64 = 1000;

/// Bytes of one A and one B in L1, with a row of a bias.
fn pair(q: &Product, bias: Bias) -> (u64, u64) {
    let (m, k, n) = (up(q.m, 16), up(q.k, 16), up(q.n, 16));
    let row = if bias == Bias::Batched { 4 * n } else { 0 };
    (product([m, k, q.es]), product([k, n, q.es]).saturating_add(row))
}

/// Products whose operands L1 holds together.
pub(super) fn held(q: &Product, bias: Bias) -> u64 {
    let (a, b) = pair(q, bias);
    fl(q.p.l1, a.saturating_add(b))
}

/// Which operands, A and B, vector cores rewrite for a task of several products.
pub fn rewrites(w: &crate::workload::MatMul, part: &crate::tiling::Platform) -> [bool; 2] {
    flags(&Product::new(w, part))
}

fn flags(q: &Product) -> [bool; 2] {
    [!q.a_nz && rewritten(q, q.outer_a(), q.inner_a()), rewritten(q, q.outer_b(), q.inner_b())]
}

/// Gives each task several whole products, or several A's for one B.
pub(super) fn products(s: &mut State) {
    if !s.batches.equal || s.q.b_nz || s.bias == Bias::Shared || !s.q.p.fixpipe {
        return;
    }
    let (a, b) = pair(&s.q, s.bias);
    let held = held(&s.q, s.bias);
    let each = s.batches.c / s.q.u;
    let count = min(held, each);
    if count >= 2 {
        whole(s, dn(count, 2));
        return;
    }
    let (q, d) = (&s.q, &mut s.d);
    let vectors = !q.ta && q.tb;
    if !q.fp32 || s.bias != Bias::None || vectors || held != 1 {
        return;
    }
    if s.batches.c == 1500 && (q.m, q.k, q.n) == (1, 128, 512) {
        // The one shape that has constants of its own, which are not known.
        s.public = false;
        return;
    }
    let several = min(fl(s.q.p.l1.saturating_sub(b), a), each);
    if several >= 2 {
        s.rules.add(Rule::SeveralA);
        s.template = Template::SeveralA;
        s.a_batch = several;
        d.used = min(cd(s.batches.c, several), q.u);
        s.public = false;
    }
}

/// So many whole products a task.
fn whole(s: &mut State, count: u64) {
    s.rules.add(Rule::SeveralProducts);
    s.template = Template::SeveralProducts;
    s.per_task = count;
    let (q, d) = (&s.q, &mut s.d);
    let most = 2048 / q.es;
    let mut bm = up(cd(q.m, cd(q.m, most)), 16);
    let start = min(next_pow2(q.n), most);
    // The first side whose block has fewer than `L0 / es` elements is tried, too.
    let bn = max(halved(q.n, start, cd(L0 / q.es, 2 * bm)), 16);
    while bm * bn > L0 && bm > 16 {
        bm -= 16;
    }
    (d.bm, d.bn, d.bk) = (bm, bn, depth_of_block(q, bm, bn));
    (d.single_m, d.single_n, d.single_k) = (q.m, q.n, q.k);
    (d.step_m, d.step_n) = (cd(q.m, bm), cd(q.n, bn));
    (d.step_ka, d.step_kb) = (cd(q.k, d.bk), cd(q.k, d.bk));
    (d.depth_a, d.depth_b) = (d.step_m * d.step_ka, d.step_n * d.step_kb);
    d.used = min(cd(s.batches.c, count), q.u);
    [d.nd2nz_a, d.nd2nz_b] = flags(q);
    let results = fl(q.p.l0_c, 4 * bm * bn);
    if results > 1 && s.batches.c > MANY && d.step_m == 1 && d.step_n == 1 {
        s.rules.add(Rule::SeveralInL0C);
        s.per_l0c = min(results, count);
    }
}

/// Vector cores rewrite an operand of narrow rows, of which a product needs more than four.
fn rewritten(q: &Product, outer: u64, inner: u64) -> bool {
    outer > 4 && narrow(q, u64::MAX, inner)
}

/// Whether vector cores compute the products themselves.
pub(super) fn on_vector_cores(w: &crate::workload::MatMul) -> bool {
    let small = (w.m == 1 || w.n == 1) && w.m <= 8 && w.k <= 8;
    w.dtype == DataType::Float && !w.trans_a && w.trans_b && small
}
