//! The value lists of the parameters.

use super::P;
use crate::tiling::Platform;
use crate::tiling::conv3d_v2::Problem;

/// Rows or columns of a fractal.
const F: u64 = 16;
/// Longest side of an L0 tile in fractals.
const LONGEST: u64 = 64;

/// Candidate values of one parameter; sorted and freed of repeats by the caller.
pub(super) fn list(p: P, w: &Problem, part: &Platform) -> Vec<u64> {
    let m16 = w.pixels().div_ceil(F);
    match p {
        P::BatchDim => divisors(w.batch, part.cores),
        P::DoDim => even(w.output[0], part.cores),
        P::MDim => even(m16, part.cores),
        P::NDim => divisors(w.co16(), part.cores),
        P::ML0 => tiles(m16),
        P::NL0 => tiles(w.co16()),
        P::DbL0C | P::DbA1 | P::DbB1 => vec![1, 2],
        P::KAl1 | P::KBl1 => {
            let units = divisors(w.k_units(), u64::MAX).into_iter();
            units.map(|units| units.saturating_mul(w.k_unit())).collect()
        }
        P::KL0 => {
            let most = part.l0_a.max(part.l0_b) / (F * F * w.es).max(1);
            divisors(w.k_units().saturating_mul(w.k_unit()) / F, most).into_iter().map(|n| n * F).collect()
        }
        P::MAl1 | P::NBl1 => vec![0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32],
        P::Order => vec![0, 1],
    }
}

/// Numbers of parts that are equal and none of which is more than there is.
fn divisors(whole: u64, most: u64) -> Vec<u64> {
    (1..=whole.min(most).min(1 << 16)).filter(|&n| whole.is_multiple_of(n)).chain([1]).collect()
}

/// Numbers of parts of which none is empty.
fn even(whole: u64, most: u64) -> Vec<u64> {
    let used = |n: u64| whole.div_ceil(whole.div_ceil(n).max(1));
    (1..=whole.min(most)).filter(|&n| used(n) == n).chain([1]).collect()
}

/// Sides of an L0 tile: every fractal up to 256, coarser above, and even cuts of a small extent.
fn tiles(whole16: u64) -> Vec<u64> {
    let mut values: Vec<u64> = (1..=16).chain([20, 24, 28, 32, 40, 48, 64]).collect();
    values.extend((1..=8).map(|count| whole16.div_ceil(count)));
    values.retain(|&n| n <= whole16.min(LONGEST));
    values.into_iter().map(|n| n * F).collect()
}
