//! Which of the operator's host tilings takes a product.
//!
//! They are asked in the order of their priority: the basic tiling, on a 310P a special one, then the cached
//! tiling that TBE's operators have. The basic tiling refuses what it is known to be slower at. It also refuses
//! a list of problems that is closed, so an answer for one of those is wrong without a sign of it.

use super::Problem;
use super::problem::up;
use crate::tiling::Platform;

/// Who tiles a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The basic tiling.
    Basic,
    /// The basic tiling with the block of few rows by a B in `FRACTAL_NZ`.
    BasicDecode,
    /// The special tiling of int8 on a 310P, whose rules are not known.
    Special310P,
    /// TBE's cached tiling.
    Cached,
}

const KB: u64 = 1 << 10;
/// Bytes up to which the short operand counts as one that stays in L1.
const STAYS: u64 = 448 * KB;
/// Bytes of loading the short operand again from which it counts.
const AGAIN: u64 = 160 * KB;
/// Bytes of A that few rows may cost over all rounds.
const FEW_READS: u64 = 96 * KB;
/// Widest block of few rows.
const WIDEST: u64 = 512;

/// The rule of few rows by a long k.
pub(super) const LONG_K_DECODE: &str = "qbmm.basic.long-k-decode";

/// Who tiles this product, and the rule that decided.
pub fn which(p: &Problem, part: &Platform) -> (Which, &'static str) {
    if !part.fixpipe {
        let cached = p.a_nz || p.batch > 1;
        return if cached { (Which::Cached, "qbmm.no-fixpipe") } else { (Which::Special310P, "qbmm.310p") };
    }
    if p.a_nz {
        return (Which::Cached, "qbmm.basic-refused.a-nz");
    }
    if p.batch > 1 {
        return (Which::Cached, "qbmm.basic-refused.batch");
    }
    if part.cores != 24 && part.cores != 20 {
        return (Which::Basic, "qbmm.basic.other-core-count");
    }
    if p.bits == 4 {
        return (Which::Basic, "qbmm.basic.int4");
    }
    let (short, long) = (p.m.min(p.n), p.m.max(p.n));
    if short <= 512 && long <= 1024 {
        return (Which::Cached, "qbmm.basic-refused.small");
    }
    if p.m <= 16 && (13000..=18944).contains(&p.k) && p.n >= 1500 && p.out_bytes == 2 {
        return (Which::Basic, LONG_K_DECODE);
    }
    if p.mix && p.m <= 256 {
        return (Which::Cached, "qbmm.basic-refused.mix-few-rows");
    }
    let Some(why) = bound_by_loads(p, part, short, long) else { return (Which::Basic, "qbmm.basic") };
    if decode(p, part) { (Which::BasicDecode, "qbmm.basic.decode-nz") } else { (Which::Cached, why) }
}

/// The rule by which the cached tiling, which keeps an operand in L1, is better.
fn bound_by_loads(p: &Problem, part: &Platform, short: u64, long: u64) -> Option<&'static str> {
    // 0.8 of L2, in fifths.
    if p.k < 1024 && p.all_bytes() / 4 <= part.l2 / 5 {
        return Some("qbmm.basic-refused.short-k");
    }
    if short <= 256 {
        return Some("qbmm.basic-refused.narrow");
    }
    let rows = if short < 512 { up(short, 16).min(128) } else { up(short, 16) };
    let stays = rows.saturating_mul(up(p.k, 32));
    let m_is_long = p.m > p.n;
    let long_inner = if m_is_long { p.trans_a } else { !p.trans_b };
    let short_inner = match (m_is_long, p.trans_a, p.trans_b) {
        (true, _, true) | (false, false, _) => p.k,
        (true, _, false) => p.n,
        (false, true, _) => p.m,
    };
    let base = if long_inner { 128 } else { 64 };
    let again = (long.div_ceil(part.cores.max(1).saturating_mul(base)).max(1) - 1).saturating_mul(stays);
    let kept = stays <= STAYS && (again > AGAIN || !short_inner.is_multiple_of(128));
    kept.then_some("qbmm.basic-refused.short-side-stays")
}

/// Few rows by a plain B in `FRACTAL_NZ`: one even round of columns, or few loads of A.
fn decode(p: &Problem, part: &Platform) -> bool {
    if !p.plain() || !p.b_nz || p.m > 64 || !p.k.is_multiple_of(128) {
        return false;
    }
    let cores = part.cores.max(1);
    if (64..=WIDEST).contains(&up(p.n.div_ceil(cores), 32)) {
        return true;
    }
    let tasks = p.n.div_ceil(WIDEST);
    let (rounds, last) = (tasks.div_ceil(cores), tasks % cores);
    p.m <= 16 && p.a_bytes().saturating_mul(rounds) <= FEW_READS && (last == 0 || 2 * last >= cores)
}
