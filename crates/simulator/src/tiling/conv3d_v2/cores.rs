//! How cores are dealt: over images, pixels, channels, depth and groups.

use super::{Problem, Rule, Rules, divisors};
use crate::tiling::Platform;
use std::cmp::Ordering;

/// Elements that L2 gives in a cycle, `l2_rate` of `platform_config`, by which the cost model divides loads.
const L2_RATE: u64 = 110;
/// Parts of the depth from which the first result stands.
const MANY_DEPTHS: u64 = 6;

/// How many parts each axis has, and a core's part in blocks of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the counts are CANN's fields")]
pub struct Deal {
    pub batch_dim: u64,
    pub m_dim: u64,
    pub n_dim: u64,
    pub do_dim: u64,
    pub group_dim: u64,
    /// Pixels of a core in 16s.
    pub m: u64,
    /// Output channels of a core in 16s.
    pub n: u64,
}

/// Into how many parts an axis may be cut: its divisors, and those of the core count that it has elements for.
fn candidates(size: u64, cores: u64) -> Vec<u64> {
    let mut all: Vec<u64> =
        (1..=cores).filter(|&d| size.is_multiple_of(d) || (cores.is_multiple_of(d) && d <= size)).collect();
    all.dedup();
    all
}

/// The deal whose slowest core has least to do by CANN's model.
pub(super) fn deal(w: &Problem, p: &Platform, rules: &mut Rules) -> Deal {
    rules.add(Rule::LeastCost);
    let (first, cost) = search(w, p, |_| true);
    if first.do_dim > MANY_DEPTHS || !idles(w, first.do_dim) {
        return first;
    }
    let (second, other) = search(w, p, |do_dim| !idles(w, do_dim));
    if other.cmp(&cost).is_gt() {
        return first;
    }
    rules.add(Rule::IdleDepthDropped);
    second
}

/// Whether the last core of such a split of the depth has nothing to do.
fn idles(w: &Problem, do_dim: u64) -> bool {
    let depth = w.output[0];
    depth.div_ceil(depth.div_ceil(do_dim)) < do_dim
}

fn search(w: &Problem, p: &Platform, depth: impl Fn(u64) -> bool) -> (Deal, Cost) {
    let cores = p.cores.max(1);
    let of_cores: Vec<u64> = divisors(cores);
    let batch = if w.batch >= 2 * cores { of_cores } else { candidates(w.batch, cores) };
    let m16 = w.pixels().div_ceil(16);
    let (of_m, of_d, of_g) = (candidates(m16, cores), candidates(w.output[0], cores), candidates(w.groups, cores));
    let of_n: Vec<u64> = (1..=cores).filter(|&d| w.co16().is_multiple_of(d)).collect();
    let whole = Deal { batch_dim: 1, m_dim: 1, n_dim: 1, do_dim: 1, group_dim: 1, m: m16, n: w.co16() };
    let mut best = (whole, cost(w, &whole));
    // Among equals more parts of the batch, then of the groups, then of the depth win.
    for &batch_dim in batch.iter().rev() {
        for &group_dim in of_g.iter().rev().filter(|&&g| g * batch_dim <= cores) {
            for &do_dim in of_d.iter().rev().filter(|&&d| d * group_dim * batch_dim <= cores && depth(d)) {
                let taken = batch_dim * group_dim * do_dim;
                for &m_dim in of_m.iter().filter(|&&m| m * taken <= cores) {
                    for &n_dim in of_n.iter().filter(|&&n| n * m_dim * taken <= cores) {
                        let (m, n) = (m16.div_ceil(m_dim), w.co16().div_ceil(n_dim));
                        let deal = Deal { batch_dim, m_dim, n_dim, do_dim, group_dim, m, n };
                        let cost = cost(w, &deal);
                        let first = |d: &Deal| (d.batch_dim, d.group_dim, d.do_dim);
                        if cost.cmp(&best.1).then_with(|| first(&best.0).cmp(&first(&deal))).is_lt() {
                            best = (deal, cost);
                        }
                    }
                }
            }
        }
    }
    best
}

/// A cost as the fraction that it is: deals that cost the same must not be told apart by the last bit of a sum.
#[derive(Debug, Clone, Copy)]
struct Cost {
    over: u128,
    under: u128,
}

impl Cost {
    fn cmp(&self, other: &Cost) -> Ordering {
        self.over.saturating_mul(other.under).cmp(&other.over.saturating_mul(self.under))
    }
}

/// CANN's cost of a core's part, times the rate of L2: elements loaded and stored at that rate, and cube steps. All parts are
/// real quotients, which makes one fraction of them.
fn cost(w: &Problem, deal: &Deal) -> Cost {
    let product = |factors: &[u64]| factors.iter().fold(1_u128, |all, &factor| all.saturating_mul(factor.into()));
    let [kd, kh, kw] = w.kernel;
    let (depth, pixels, ci, co) = (w.output[0], w.pixels(), w.ci16() * 16, w.co16() * 16);
    let image = product(&[depth, w.input[1], w.input[2], kd, ci, deal.n_dim]);
    let weights = product(&[co, kd, kh, kw, ci, deal.do_dim, deal.m_dim]);
    let result = product(&[co, depth, pixels]);
    let steps = product(&[L2_RATE, w.co16(), depth, kd, w.ci16(), kh, kw, pixels.div_ceil(16)]);
    let all = [image, weights, result, steps].into_iter().fold(0, u128::saturating_add);
    Cost {
        over: all.saturating_mul(product(&[w.groups, w.batch])),
        under: product(&[deal.batch_dim, deal.group_dim, deal.do_dim, deal.m_dim, deal.n_dim]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_compared_as_fractions() {
        let cost = |over, under| Cost { over, under };
        assert_eq!(cost(1, 3).cmp(&cost(2, 6)), Ordering::Equal);
        // These differ by less than a float can say.
        assert_eq!(cost((1 << 60) + 1, 3).cmp(&cost(1 << 60, 3)), Ordering::Greater);
    }
}
