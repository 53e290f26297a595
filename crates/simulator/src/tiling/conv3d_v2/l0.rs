//! The tile of L0.

use super::{Deal, Problem, Rule, Rules, divisors};
use crate::tiling::Platform;

/// A tile in blocks of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub m: u64,
    pub n: u64,
    /// L0C holds two.
    pub two_l0c: bool,
}

/// Elements that `kL0` stays below.
pub(super) const MOST_K: u64 = 4096;

/// Extents that a tile may have along an axis of so many blocks: divisors and powers of 2.
fn range(blocks: u64) -> Vec<u64> {
    let mut all: Vec<u64> = divisors(blocks);
    all.extend((0..63).map(|power| 1 << power).take_while(|&n| n <= blocks));
    all.sort_unstable();
    all.dedup();
    all
}

/// Grows the tile from one block, by its shorter side, until a buffer is full. `None` where one block is too much.
pub(super) fn grow(w: &Problem, deal: &Deal, p: &Platform, rules: &mut Rules) -> Option<Tile> {
    rules.add(Rule::GrowL0);
    // Beyond what L0C holds no side matters, however long the axis.
    let (of_m, of_n) = (range(deal.m.min(1 << 20)), range(deal.n.min(1 << 20)));
    let fits = |m: u64, n: u64| {
        // kL0 = 16, two buffers; accumulators of fp32.
        m * 256 * w.es * 2 <= p.l0_a
            && n * 256 * w.es * 2 <= p.l0_b
            && m.saturating_mul(n).saturating_mul(1024) <= p.l0_c
            && (!w.bias || p.bt == 0 || n * 64 <= p.bt)
            && w.image_bytes(m * 16, 1).saturating_add(w.weight_bytes(n * 16, 1)) <= p.l1
    };
    let (mut i, mut j) = (0, 0);
    if !fits(of_m[0], of_n[0]) {
        return None;
    }
    loop {
        let n_ends = j + 1 == of_n.len();
        let raise_m = i + 1 < of_m.len() && (of_m[i] <= of_n[j] || n_ends);
        let (next_i, next_j) = if raise_m { (i + 1, j) } else { (i, j + 1) };
        if next_j == of_n.len() || !fits(of_m[next_i], of_n[next_j]) {
            break;
        }
        (i, j) = (next_i, next_j);
    }
    let (m, n) = (of_m[i], of_n[j]);
    let two_l0c = m * n * 1024 * 2 <= p.l0_c;
    if two_l0c {
        rules.add(Rule::DoubleL0C);
    }
    Some(Tile { m, n, two_l0c })
}
