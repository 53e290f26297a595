//! How cores are dealt: over images, pixels, channels, depth and groups.

use super::{Problem, Rule, Rules, divisors};
use crate::tiling::Platform;

/// Elements that L2 gives in a cycle, `l2_rate` of `platform_config`, by which the cost model divides loads.
const L2_RATE: f64 = 110.0;
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
    if other > cost {
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

fn search(w: &Problem, p: &Platform, depth: impl Fn(u64) -> bool) -> (Deal, f64) {
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
                        if cost < best.1 || (cost <= best.1 && first(&deal) > first(&best.0)) {
                            best = (deal, cost);
                        }
                    }
                }
            }
        }
    }
    best
}

/// CANN's cost of a core's part: elements loaded and stored at the rate of L2, and cube steps.
fn cost(w: &Problem, deal: &Deal) -> f64 {
    let f = |n: u64| n as f64;
    let [kd, kh, kw] = w.kernel.map(f);
    let (b, d, m_dim) = (f(w.batch) / f(deal.batch_dim), f(w.output[0]) / f(deal.do_dim), f(deal.m_dim));
    let (ci, co) = (f(w.ci16() * 16), f(w.co16() * 16) / f(deal.n_dim));
    let image = b * d * f(w.input[1]) * f(w.input[2]) / m_dim * kd * ci;
    let weights = co * kd * kh * kw * ci * b;
    let pixels = f(w.pixels());
    let result = b * co * d * pixels / m_dim;
    let steps = b * (co / 16.0) * d * kd * (ci / 16.0) * kh * kw * f(w.pixels().div_ceil(16)) / m_dim;
    let groups = f(w.groups) / f(deal.group_dim);
    groups * ((image + weights + result) / L2_RATE + steps)
}
