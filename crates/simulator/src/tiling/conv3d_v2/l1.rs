//! What L1 holds of image and weights.

use super::l0::{MOST_K, Tile};
use super::{Deal, Problem, Rule, Rules, divisors};
use crate::tiling::Platform;

/// What L1 holds; m and n in blocks of 16, K in blocks of 16 channels with all taps of a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own in CANN's tiling")]
pub(super) struct Held {
    pub m: u64,
    pub n: u64,
    pub k_a: u64,
    pub k_b: u64,
    pub two_a: bool,
    pub two_b: bool,
    pub whole_a: bool,
    pub whole_b: bool,
    /// Columns are the inner loop.
    pub n_first: bool,
}

impl Held {
    fn fits(&self, w: &Problem, p: &Platform) -> bool {
        let twice = |bytes: u64, two: bool| bytes.saturating_mul(1 + u64::from(two));
        let image = twice(w.image_bytes(self.m * 16, self.k_a), self.two_a);
        image.saturating_add(twice(w.weight_bytes(self.n * 16, self.k_b), self.two_b)) <= p.l1
    }

    /// The largest of these steps with which it fits.
    fn largest(mut self, w: &Problem, p: &Platform, steps: &[u64], set: impl Fn(&mut Held, u64)) -> Held {
        for &step in steps {
            let mut larger = self;
            set(&mut larger, step);
            if !larger.fits(w, p) {
                break;
            }
            self = larger;
        }
        self
    }
}

/// Multiples of a tile that divide the axis evenly, and the whole axis.
fn multiples(tile: u64, whole: u64) -> Vec<u64> {
    let tile = tile.max(1);
    divisors(whole.div_ceil(tile).max(1)).into_iter().map(|n| (n * tile).min(whole.max(tile))).collect()
}

/// Fills L1: both whole, else the smaller whole, else tiles of both.
pub(super) fn fill(w: &Problem, deal: &Deal, tile: &Tile, p: &Platform, rules: &mut Rules) -> Held {
    let units = w.k_units();
    let least = Held {
        m: tile.m,
        n: tile.n,
        k_a: 1,
        k_b: 1,
        two_a: false,
        two_b: false,
        whole_a: false,
        whole_b: false,
        n_first: false,
    };
    let image = w.image_bytes(deal.m * 16, units);
    let weights = w.weight_bytes(deal.n * 16, units);
    let a_whole = Held { m: deal.m, k_a: units, whole_a: true, n_first: true, ..least };
    let b_whole = Held { n: deal.n, k_b: units, whole_b: true, ..least };
    let both = Held { m: deal.m, k_a: units, whole_a: true, ..b_whole };
    if both.fits(w, p) {
        rules.add(Rule::BothWhole);
        return both;
    }
    let (steps_m, steps_n) = (multiples(tile.m, deal.m), multiples(tile.n, deal.n));
    let steps_k = divisors(units);
    if weights <= image && b_whole.fits(w, p) {
        rules.add(Rule::WeightsWhole);
        let two = Held { two_a: true, ..b_whole };
        let start = if two.fits(w, p) { two } else { b_whole };
        let deep = start.largest(w, p, &steps_k, |h, k| h.k_a = k);
        return if deep.k_a == units { deep.largest(w, p, &steps_m, |h, m| h.m = m) } else { deep };
    }
    if image < weights && a_whole.fits(w, p) {
        rules.add(Rule::ImageWhole);
        let two = Held { two_b: true, ..a_whole };
        let start = if two.fits(w, p) { two } else { a_whole };
        let deep = start.largest(w, p, &steps_k, |h, k| h.k_b = k);
        return if deep.k_b == units { deep.largest(w, p, &steps_n, |h, n| h.n = n) } else { deep };
    }
    tiles(w, deal, tile, p, rules, least, (&steps_m, &steps_n, &steps_k))
}

/// Neither stays: all of K for both, one or neither, by the bytes loaded; then more of K, of m or of n.
fn tiles(
    w: &Problem,
    deal: &Deal,
    tile: &Tile,
    p: &Platform,
    rules: &mut Rules,
    least: Held,
    (steps_m, steps_n, steps_k): (&[u64], &[u64], &[u64]),
) -> Held {
    let units = w.k_units();
    let depth = w.output[0].div_ceil(deal.do_dim);
    let image = w.image_bytes(deal.m * 16, units).saturating_mul(depth);
    let weights = w.weight_bytes(deal.n * 16, units);
    let (rounds_m, rounds_n) = (deal.m.div_ceil(tile.m), deal.n.div_ceil(tile.n));
    // Weights that stay while the image passes, or the image while the weights pass.
    let weights_stay = image.saturating_mul(rounds_n).saturating_add(weights);
    let image_stays = image.saturating_add(weights.saturating_mul(depth).saturating_mul(rounds_m));
    let n_first = image_stays < weights_stay;
    let two = Held { two_a: true, two_b: true, n_first, ..least };
    let start = if two.fits(w, p) { two } else { Held { n_first, ..least } };
    let both = Held { k_a: units, k_b: units, ..start };
    let (a, b) = (Held { k_a: units, ..start }, Held { k_b: units, ..start });
    let [first, second] = if n_first {
        [(a, Rule::WholeKImage), (b, Rule::WholeKWeights)]
    } else {
        [(b, Rule::WholeKWeights), (a, Rule::WholeKImage)]
    };
    let found = [(both, Rule::WholeKBoth), first, second].into_iter().find(|(held, _)| held.fits(w, p));
    let (held, rule) = found.unwrap_or((start, Rule::PartOfK));
    rules.add(rule);
    let held = if held.k_a < units { held.largest(w, p, steps_k, |h, k| h.k_a = k) } else { held };
    let held = if held.k_b < units { held.largest(w, p, steps_k, |h, k| h.k_b = k) } else { held };
    match (held.k_a == units, held.k_b == units) {
        (true, _) if !n_first => held.largest(w, p, steps_m, |h, m| h.m = m),
        (_, true) => held.largest(w, p, steps_n, |h, n| h.n = n),
        _ => held,
    }
}

/// `kL0`: the largest part of what both operands have in L1 that fits L0A and L0B twice.
pub(super) fn depth(tile: &Tile, l1: &Held, w: &Problem, p: &Platform) -> u64 {
    let (mut a, mut b) = (l1.k_a, l1.k_b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    let common = a.saturating_mul(w.k_unit()) / 16;
    let side = |blocks: u64, l0: u64| l0 / (blocks * 256 * w.es * 2).max(1);
    let most = side(tile.m, p.l0_a).min(side(tile.n, p.l0_b)).clamp(1, (MOST_K - 1) / 16);
    (1..=most.min(common)).rev().find(|&k| common.is_multiple_of(k)).unwrap_or(1) * 16
}
