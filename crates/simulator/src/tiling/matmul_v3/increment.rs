//! At most 128 rows of 16-bit elements (decode steps of language models): CANN's older basic-block search overwrites
//! the block. It tries every deal of the cores with A whole in L1, B whole, or neither, and takes the cheapest by
//! its own cost model. All sizes are fractals of 16 x 16 elements.

use super::draft::{Draft, L2Grid};
use super::increment_cost::{Candidate, Cost, Fractals, L1, LATENCY, cost};
use super::math::{cd, dn, max, min, product, up};
use super::problem::Problem;
use super::rules::Rule;

/// The largest depth of an operand in L1 that is not all of K.
const MOST_DEPTH: u64 = 32;

/// When CANN would come to a candidate: the kind, and the cores that its loops deal, outer and inner.
type Place = (u8, u64, u64);

/// The search under way.
#[derive(Debug, Clone, Copy)]
struct Search {
    product: Fractals,
    /// Cores.
    u: u64,
    /// Divisors of K up to 64: bit 0 is 1.
    divisors: u64,
    /// Cycles of the best so far.
    least: u64,
    best: Option<(Candidate, Cost, Place)>,
}

/// Overwrites the block where the search applies and finds one.
pub(super) fn apply(q: &Problem, d: &mut Draft) {
    let nd = !q.a_nz && !q.b_nz && !q.ta && q.tb && !q.bias;
    if !q.p.fixpipe || q.m > 128 || q.es != 2 || q.cs != 2 || !nd || d.nd2nz_a || d.nd2nz_b {
        return;
    }
    let unaligned = [q.m, q.k, q.n].iter().any(|e| !e.is_multiple_of(16));
    let Some((c, cost)) = search([cd(q.m, 16), cd(q.k, 16), cd(q.n, 16)], q.u, unaligned) else {
        return;
    };
    d.rule(Rule::Increment);
    if let Some(rule) = c.rule {
        d.rule(rule);
    }
    d.used = cost.m_dim * cost.n_dim;
    (d.bm, d.bn, d.bk) = (16 * c.m0, 16 * c.n0, 16 * c.k0);
    (d.single_m, d.single_n, d.single_k) = (d.bm, d.bn, q.k);
    (d.step_m, d.step_n) = (cd(c.m_l1, c.m0), cd(c.n_l1, c.n0));
    (d.step_ka, d.step_kb) = (max(c.k_a / c.k0, 1), max(c.k_b / c.k0, 1));
    let buffers = |double: bool| if double { 2 } else { 1 };
    d.depth_a = d.step_m * d.step_ka * buffers(cost.double_a);
    d.depth_b = d.step_n * d.step_kb * buffers(cost.double_b);
    d.db_l0c = if 2 * c.m0 * c.n0 <= 128 { 2 } else { 1 };
    d.l2 = L2Grid::ONE;
}

/// The cheapest tiling of a product of so many fractals along M, K and N; `unaligned`: an extent is no whole number of
/// them.
pub(in crate::tiling) fn search([m, k, n]: [u64; 3], u: u64, unaligned: bool) -> Option<(Candidate, Cost)> {
    if [m, k, n, u].contains(&0) {
        return None;
    }
    let mut search =
        Search { product: Fractals { m, k, n, unaligned }, u, divisors: divisors(k), least: u64::MAX, best: None };
    // CANN asks in the order of their places, and of equals keeps the first. This order finds good ones early, and much
    // less is left to be looked at.
    search.neither();
    search.a_full();
    search.b_full();
    search.best.map(|(candidate, cost, _)| (candidate, cost))
}

/// Powers of primes up to 64: a number divides another if all of those that divide it do.
const PRIME_POWERS: [u8; 27] =
    [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49, 53, 59, 61, 64];

/// The multiples of each of them up to 64; bit 0 is 1.
const MULTIPLES: [u64; 27] = {
    let (mut sets, mut at) = ([0; 27], 0);
    while at < sets.len() {
        let mut multiple = PRIME_POWERS[at] as u32;
        while multiple <= 64 {
            sets[at] |= 1 << (multiple - 1);
            multiple += PRIME_POWERS[at] as u32;
        }
        at += 1;
    }
    sets
};

/// Divisors of the numbers up to 64; bit 0 is 1.
const DIVISORS: [u64; 65] = {
    let (mut sets, mut number) = ([0; 65], 1);
    while number <= 64 {
        let mut divisor = 1;
        while divisor <= number {
            if number % divisor == 0 {
                sets[number] |= 1 << (divisor - 1);
            }
            divisor += 1;
        }
        number += 1;
    }
    sets
};

/// The set of the numbers up to `most`, which is from 1 to 64.
const fn low_bits(most: u64) -> u64 {
    u64::MAX >> (64 - most)
}

/// Divisors of a number up to 64; bit 0 is 1.
fn divisors(number: u64) -> u64 {
    let missing = PRIME_POWERS.iter().zip(MULTIPLES).filter(|(power, _)| !number.is_multiple_of(u64::from(**power)));
    !missing.fold(0, |set, (_, multiples)| set | multiples)
}

/// What one of `dim` core rows keeps of an axis: its share, in 16s where there are several, unless fewer core rows
/// would do as well.
fn kept(size: u64, dim: u64) -> Option<u64> {
    let share = cd(size, dim);
    if dim == 1 {
        return Some(share);
    }
    let side = up(share, 16);
    (side <= max(cd(size, dim - 1) - 1, share)).then_some(side)
}

impl Search {
    /// Candidates with all of A's rows and K in L1.
    fn a_full(&mut self) {
        let Search { product: Fractals { m, k, n, .. }, u, .. } = *self;
        if product([k, cd(m, u)]).saturating_add(1) > L1 {
            return;
        }
        let mut stale = 1;
        for m_dim in 1..=if m <= 8 { 1 } else { min(u, m) } {
            let Some(m_l1) = kept(m, m_dim) else { continue };
            let m0 = match m_l1 {
                0..=16 => m_l1,
                _ if m_l1.is_multiple_of(8) => 8,
                _ => continue,
            };
            let rows = cd(m, m_dim);
            for n_dim in cd(16, m_dim)..=min(u / m_dim, n) {
                let columns = cd(n, n_dim);
                let n0 = min(columns, 16);
                let k0 = self.lowered(min(64 / m0, k), m0, n0);
                let a = product([m_l1, k]);
                if a.saturating_add(2 * n0 * stale) > L1 {
                    continue;
                }
                let wide = k.is_multiple_of(16) && DIVISORS[16] >> (k0 - 1) & 1 == 1 && a + 16 * n0 <= L1;
                // CANN checks the next candidate's room against this one's depth.
                stale = if wide { 16 } else { k0 };
                if self.takes_too_long(rows, columns) {
                    continue;
                }
                let (k_b, rule) = (stale, Some(Rule::IncrementAFull));
                self.weigh(
                    Candidate { rows, columns, m_l1, n_l1: n0, k_a: k, k_b, m0, n0, k0, rule },
                    (0, m_dim, n_dim),
                );
            }
        }
    }

    /// Candidates with all of B's columns and K in L1.
    fn b_full(&mut self) {
        let Search { product: Fractals { m, k, n, .. }, u, .. } = *self;
        if product([k, cd(n, u)]).saturating_add(1) > L1 {
            return;
        }
        for n_dim in (1..=if n <= 16 { 1 } else { min(u, n) }).rev() {
            let Some(n_l1) = kept(n, n_dim) else { continue };
            let n0 = match n_l1 {
                0..=16 => n_l1,
                _ if n_l1.is_multiple_of(16) => 16,
                _ => continue,
            };
            let columns = cd(n, n_dim);
            for m_dim in cd(16, n_dim)..=min(u / n_dim, m) {
                let rows = cd(m, m_dim);
                if self.takes_too_long(rows, columns) {
                    continue;
                }
                let mut m0 = min(rows, 8);
                let k0 = self.lowered(min(64 / n0, k), m0, n0);
                let b = product([k, n_l1]);
                let wide = k.is_multiple_of(16) && DIVISORS[16] >> (k0 - 1) & 1 == 1 && b.saturating_add(32 * m0) <= L1;
                let k_a = if wide { 16 } else { k0 };
                let mut m_l1 = m0;
                if rows >= 16 && b.saturating_add(32 * k_a) <= L1 {
                    if k_a == k {
                        m_l1 = 16;
                    }
                    if 16 * k0 <= 64 && 16 * n0 <= 128 {
                        (m_l1, m0) = (16, 16);
                    }
                }
                let rule = Some(Rule::IncrementBFull);
                let c = Candidate { rows, columns, m_l1, n_l1, k_a, k_b: k, m0, n0, k0, rule };
                self.weigh(c, (1, n_dim, m_dim));
            }
        }
    }

    /// Candidates with neither operand whole in L1.
    fn neither(&mut self) {
        let Search { product: Fractals { m, k, n, unaligned }, u, .. } = *self;
        let deep = if unaligned && 8 < k && k < 16 { 16 } else { k };
        let depths = l1_depths(deep, unaligned);
        // From many cores to few: what few would do is too much to be looked at, once many have shown how it is done.
        for n_dim in (1..=min(u, n)).rev() {
            let columns = cd(n, n_dim);
            if self.takes_too_long(1, columns) {
                // Fewer still have no fewer columns each.
                break;
            }
            let mut m_dim = min(u / n_dim, m);
            if m_dim != m {
                let share = cd(m, m_dim);
                let quarter = up(share, 8);
                m_dim = cd(m, if quarter / share >= 2 { up(share, 4) } else { quarter });
            }
            let rows = cd(m, m_dim);
            if self.takes_too_long(rows, columns) || self.streams_too_long(rows, columns) {
                continue;
            }
            let (mut m_l1, n_l1) = (l1_side(rows, m, m_dim), l1_side(columns, n, n_dim));
            let (k_a, mut k_b) = depths;
            let (m0, n0) = (m_l1, n_l1);
            let mut k0 = if min(k_a, k_b) >= 4 { 4 } else { deep };
            if k_a == deep {
                let low = max(cd(64, k_a), m_l1);
                let high = min(2 * low, rows);
                let whole = (low..=high).step_by(m0 as usize).find(|rows| m.is_multiple_of(*rows));
                m_l1 = whole.unwrap_or(m_l1);
            }
            let most = min(cd(64, m0), cd(64, n0));
            let larger = DIVISORS[most as usize] & DIVISORS[k_a as usize] & !low_bits(k0);
            if larger != 0 {
                k0 = u64::from(larger.trailing_zeros()) + 1;
                k_b = max(k_b, k0);
            }
            k0 = u64::from((DIVISORS[k_b as usize] & low_bits(k0)).ilog2()) + 1;
            let c = Candidate { rows, columns, m_l1, n_l1, k_a, k_b, m0, n0, k0, rule: None };
            self.weigh(c, (2, n_dim, 0));
        }
    }

    /// The largest divisor of K of which both L0 buffers hold so many fractals, at most `k0`.
    fn lowered(&self, k0: u64, m0: u64, n0: u64) -> u64 {
        let most = min(min(k0, 64 / m0), max(64 / n0, 1));
        let fitting = self.divisors & low_bits(max(most, 1));
        u64::from(fitting.ilog2()) + 1
    }

    /// Whether a core with so many rows and columns takes longer than the best so far, however it does them: each L0 step
    /// takes its products, and every row and column is loaded once at least, 16 of them to a fractal and no packet faster
    /// than 512 bytes in 8 cycles.
    fn takes_too_long(&self, rows: u64, columns: u64) -> bool {
        let least = max(product([rows, columns]), product([8, rows.saturating_add(columns)]));
        product([self.product.k, least]) > self.least
    }

    /// The same where neither operand is whole, nor all of its K: each step through K loads a side of at most 8 fractals of
    /// either, and waits for both.
    fn streams_too_long(&self, rows: u64, columns: u64) -> bool {
        if self.product.k <= MOST_DEPTH {
            return false;
        }
        let (m_steps, n_steps) = (cd(rows, 8), cd(columns, 8));
        let loads = product([rows, n_steps]).saturating_add(product([columns, m_steps]));
        let waits = product([2 * LATENCY, m_steps, n_steps, self.product.k / MOST_DEPTH]);
        product([8, self.product.k, loads]).saturating_add(waits) > self.least
    }

    /// Keeps the candidate if it is possible and better than the best so far, or as good and before it.
    fn weigh(&mut self, c: Candidate, place: Place) {
        if c.m0 * c.k0 > 64 || c.n0 * c.k0 > 64 || c.m0 * c.n0 > 128 {
            return;
        }
        if let Some(cost) = cost(&self.product, &c, self.least)
            && self.best.as_ref().is_none_or(|(_, best, at)| (cost.order(), place) < (best.order(), *at))
        {
            self.least = cost.cycles();
            self.best = Some((c, cost, place));
        }
    }
}

/// What of its share of an axis a core brings to L1 at once: at most 8, lowered until the padding costs no core its share.
fn l1_side(share: u64, size: u64, dim: u64) -> u64 {
    let mut side = min(share, 8);
    if dim > 1 {
        let most = max(share, cd(size, dim - 1) - 1);
        while side > 1 && padded(share, side) > most {
            side -= 1;
        }
    }
    side
}

/// The least multiple of a side of at most 8 that is not below a share. Divisions by numbers that are known here are
/// cheap.
fn padded(share: u64, side: u64) -> u64 {
    match side {
        2 => up(share, 2),
        3 => up(share, 3),
        4 => up(share, 4),
        5 => up(share, 5),
        6 => up(share, 6),
        7 => up(share, 7),
        8 => up(share, 8),
        _ => share,
    }
}

/// Depths of A and B in L1 where neither is whole.
fn l1_depths(deep: u64, unaligned: bool) -> (u64, u64) {
    if unaligned && deep >= 32 {
        return (32, 32);
    }
    if deep >= 16 {
        return (16, 16);
    }
    let (a, b) = (min(deep, 8), min(deep, 4));
    (dn(a, b), b)
}
