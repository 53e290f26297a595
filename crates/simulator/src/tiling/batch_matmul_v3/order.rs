//! The order in which tasks of a batch are dealt, for the sake of L2.

use super::State;
use super::rules::Rule;
use crate::tiling::matmul_v3::L2Grid;
use crate::tiling::matmul_v3::budget;
use crate::tiling::matmul_v3::math::{cd, max, product};

/// Rounds, and rows of blocks of a group, up to which rows are grouped.
const FEW: u64 = 6;

/// Groups rows of blocks where the batch is smaller than the cores and the operands exceed L2's share.
pub(super) fn order(s: &mut State) {
    if s.l2_tiled {
        return;
    }
    let (q, c) = (&s.q, s.batches.c);
    let (m_count, n_count) = (cd(q.m, s.d.single_m), cd(q.n, s.d.single_n));
    let tasks = m_count.saturating_mul(n_count);
    let rounds = max(cd(c.saturating_mul(tasks), q.u), 1);
    // Rows of blocks that one round reaches in a product: a reading, as how the side of a group is reckoned is not known.
    let side = cd(m_count, rounds);
    let of = |count: u64, a: u64, b: u64, bytes: u64| product([count, a, b, bytes]);
    let bytes = of(s.batches.a, q.m, q.k, q.es)
        .saturating_add(of(s.batches.b, q.k, q.n, q.es))
        .saturating_add(of(c, q.m, q.n, q.cs));
    s.d.l2 = L2Grid { m_tiles: 1, n_tiles: 1, m_block: m_count, n_block: n_count };
    let may_be_grouped = bytes > budget(q) && c < q.u && rounds <= FEW;
    // Whether they are turns on the side.
    s.public &= !may_be_grouped;
    if may_be_grouped && side <= FEW {
        s.rules.add(Rule::BatchL2);
        let m_tiles = c.saturating_mul(cd(m_count, side));
        s.d.l2 = L2Grid { m_tiles, n_tiles: 1, m_block: side, n_block: n_count };
    } else if max(cd(q.u, m_count), cd(q.u, n_count)) < cd(tasks, rounds) {
        s.rules.add(Rule::Diagonal);
        s.d.l2 = L2Grid { m_block: side, ..s.d.l2 };
        s.public = false;
    }
}
