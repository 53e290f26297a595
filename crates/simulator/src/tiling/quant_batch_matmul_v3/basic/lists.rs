//! The lists of blocks that the search walks.

use super::super::Problem;

const ALL: &[u64] = &[64, 80, 96, 128, 192, 256, 320, 384, 512];
/// Of an axis that is inner in its ND operand.
const INNER: &[u64] = &[128, 256, 512, 1024];
/// Of both axes where both are inner.
const BOTH_INNER: &[u64] = &[64, 128, 256, 512];
const ALIGNED: &[u64] = &[64, 96, 128, 192, 256, 320, 384, 512];
/// The same for an operand in `FRACTAL_NZ`.
const ALIGNED_NZ: &[u64] = &[64, 96, 128, 160, 192, 256, 320, 384, 512];

/// The blocks of m and of n.
pub(super) fn lists(p: &Problem) -> (&'static [u64], &'static [u64]) {
    let aligned = if p.b_nz { ALIGNED_NZ } else { ALIGNED };
    match (p.trans_a, p.trans_b) {
        (false, true) => (ALL, ALL),
        (false, false) => (ALL, if p.b_nz { aligned } else { INNER }),
        (true, false) if p.m >= p.n || p.b_nz => (INNER, aligned),
        (true, false) => (BOTH_INNER, BOTH_INNER),
        (true, true) => (INNER, ALL),
    }
}
