//! The base block: where it starts, and how it is made smaller for small products.

use super::draft::{Draft, reset_block};
use super::math::{cd, dn, fl, max, min, up};
use super::problem::Problem;
use super::rules::Rule;

/// The start block.
pub(in crate::tiling) fn start(q: &Problem, d: &mut Draft) {
    let tall = if q.large_l0c() {
        d.rule(Rule::StartLargeL0C);
        (d.bm, d.bn) = (256, 256);
        return;
    } else if !q.ta && !q.tb {
        d.rule(Rule::StartPlain);
        false
    } else if q.ta && q.tb {
        d.rule(Rule::StartBothTransposed);
        true
    } else if q.b_nz {
        d.rule(Rule::StartBNz);
        false
    } else {
        one_transposed(q, d)
    };
    (d.bm, d.bn) = if tall { (256, 128) } else { (128, 256) };
}

/// Whether the block starts as 256 x 128 where one operand is transposed.
fn one_transposed(q: &Problem, d: &mut Draft) -> bool {
    let large = q.u / 2 * 256;
    let (m_large, n_large) = (q.m >= large, q.n >= large);
    if m_large && n_large {
        d.rule(Rule::StartLessTraffic);
        return cd(q.m, 256) * q.n + cd(q.n, 128) * q.m < cd(q.m, 128) * q.n + cd(q.n, 256) * q.m;
    }
    d.rule(Rule::StartLongerAxis);
    if m_large == n_large { q.m > q.n } else { m_large }
}

/// Makes the start block smaller where the product is small.
pub(in crate::tiling) fn small(q: &Problem, d: &mut Draft) {
    let blocks = (up(q.m, q.start_m()) / d.bm) * (up(q.n, 256) / d.bn);
    if blocks >= q.u && q.m >= 256 && q.n >= 256 {
        return;
    }
    d.rule(Rule::SmallShape);
    let counts = (cd(q.m, d.bm), cd(q.n, d.bn));
    match (q.ta, q.tb) {
        (false, false) => plain(q, d, counts),
        (true, false) => only_a(q, d, counts),
        (false, true) => {
            table(q, d, true);
            if !q.x256(q.k) {
                balance(q, d);
            }
        }
        (true, true) => both(q, d, counts),
    }
    if !q.large_l0c() {
        within_l0c(q, d);
    }
}

fn plain(q: &Problem, d: &mut Draft, (_, n_count): (u64, u64)) {
    table(q, d, false);
    match (q.x256(q.k), q.x256(q.n)) {
        (false, false) => balance(q, d),
        (false, true) => {
            d.rule(Rule::CutM);
            (d.bn, d.bk) = (256, 128 / q.es);
            d.bm = cut(q, n_count, q.m, q.start_m());
        }
        (true, false) => {
            d.rule(Rule::CutMN);
            d.bk = 128 / q.es;
            (d.bm, d.bn) = cut_longer(q, (d.bm, d.bn), 128, 256);
        }
        (true, true) => {}
    }
}

fn only_a(q: &Problem, d: &mut Draft, (m_count, n_count): (u64, u64)) {
    match (q.x256(q.m), q.x256(q.n)) {
        (false, false) => balance(q, d),
        (false, true) => {
            d.rule(Rule::CutM);
            d.bm = cut(q, n_count, q.m, q.start_m());
        }
        (true, false) => {
            d.rule(Rule::CutN);
            d.bn = cut(q, m_count, q.n, 256);
        }
        (true, true) => {}
    }
}

fn both(q: &Problem, d: &mut Draft, (m_count, _): (u64, u64)) {
    d.rule(Rule::CutN);
    d.bn = cut(q, m_count, q.n, 256);
    if q.x256(q.m) {
        return;
    }
    if q.x256(q.k) {
        balance(q, d);
    } else {
        d.rule(Rule::CutMN);
        (d.bm, d.bn) = cut_longer(q, (d.bm, d.bn), 128, 256);
    }
}

/// A side of the block when the other axis has `count` blocks: what each of the remaining cores gets, in 16s.
fn cut(q: &Problem, count: u64, size: u64, most: u64) -> u64 {
    let share = q.u.checked_div(count).map_or(1, |each| max(each, 1));
    min(up(max(size / share, 1), 16), most)
}

/// Cuts the axis with more blocks so that every core has one, and fits both sides to the product.
fn cut_longer(q: &Problem, (mut bm, mut bn): (u64, u64), most_m: u64, most_n: u64) -> (u64, u64) {
    let (m_count, n_count) = (cd(q.m, most_m), cd(q.n, most_n));
    let share = |size: u64, count: u64, most: u64| min(up(max(size / max(q.u / count, 1), 1), 16), most);
    if m_count < n_count {
        bn = share(q.n, m_count, most_n);
    } else {
        bm = share(q.m, n_count, most_m);
    }
    (up(min(q.m, bm), 16), up(min(q.n, bn), 16))
}

/// Rows of the tables: block and bytes of K.
const TABLE_M: [(u64, u64, u64); 3] = [(128, 256, 128), (128, 128, 256), (64, 512, 64)];
const TABLE_MN: [(u64, u64, u64); 3] = [(64, 64, 512), (128, 128, 256), (128, 256, 128)];
const TABLE_LARGE_L0C: [(u64, u64, u64); 5] =
    [(16, 16, 2048), (32, 32, 1024), (64, 64, 512), (128, 128, 256), (256, 256, 128)];

/// Takes the row of a table whose slowest core loads least.
fn table(q: &Problem, d: &mut Draft, only_b_transposed: bool) {
    d.rule(if only_b_transposed { Rule::TableMN } else { Rule::TableM });
    let rows: &[_] = match (q.large_l0c(), only_b_transposed) {
        (true, _) => &TABLE_LARGE_L0C,
        (false, true) => &TABLE_MN,
        (false, false) => &TABLE_M,
    };
    let mut least = u64::MAX;
    for &(row_m, row_n, bytes) in rows {
        if q.large_l0c() && q.bias && row_n * 4 > q.p.bt {
            continue;
        }
        // The large L0C has other rows; what is made of a row is the same.
        let (bm, bn) = if only_b_transposed {
            cut_longer(q, (row_m, row_n), row_m, row_n)
        } else {
            (cut(q, cd(q.n, row_n), q.m, row_m), row_n)
        };
        let load = (bm + bn).saturating_mul(cd(cd(q.m, bm) * cd(q.n, bn), q.u));
        if load < least {
            least = load;
            (d.bm, d.bn, d.bk) = (bm, bn, bytes / q.es);
        }
    }
}

/// Deals M and N evenly: whole rows of blocks where M has 128 (256) rows, one row of blocks where it has fewer.
fn balance(q: &Problem, d: &mut Draft) {
    d.rule(Rule::Balance);
    (d.bm, d.bn) = reset_block(q);
    d.bk = 128 / q.es;
    let (whole, half) = (q.start_m(), q.half_l0());
    let (bm, bn, bk) = if q.m >= whole {
        let m_count = max(cd(q.m, whole), 1);
        let bn = min(up(cd(q.n, max(q.u / m_count, 1)), 16), 256);
        (d.bm, bn, dn(min(half / q.es / 256, half / (q.es * bn)), 16))
    } else {
        let bm = up(q.m, 16);
        let bn = one_row(q, bm, whole);
        (bm, bn, dn(min(half / (q.es * bm), fl(half, q.es * bn)), 16))
    };
    if [bm, bn, bk].iter().all(|&side| side > 0 && side.is_multiple_of(16)) {
        (d.bm, d.bn, d.bk) = (bm, bn, bk);
    }
}

/// Columns of the block where one row of blocks covers M.
fn one_row(q: &Problem, bm: u64, whole: u64) -> u64 {
    let least = if q.m >= 64 { whole } else { 1024 };
    let mut most = dn(q.p.l0_c / (4 * bm), 16);
    if q.bias {
        most = min(most, q.p.bt / 4);
    }
    let bn = min(max(up(max(q.n / q.u, 1), 16), least), most);
    if bn == 0 {
        return 0;
    }
    let tail = if bn > 256 { cd(q.n, 256) % q.u } else { 0 };
    if cd(q.n, bn) % q.u < tail { 256 } else { bn }
}

/// Lowers a side so that L0C holds the block.
fn within_l0c(q: &Problem, d: &mut Draft) {
    const MOST: u64 = 32768;
    let before = (d.bm, d.bn);
    let between = |extent: u64| 128 < extent && extent < 256;
    if between(q.m) && d.bn > 128 {
        d.bn = 128;
    } else if between(q.n) && d.bm > 128 {
        d.bm = 128;
    } else if d.bm * d.bn > MOST {
        if between(d.bm) {
            d.bm = 128;
        }
        if between(d.bn) {
            d.bn = 128;
        }
    }
    if d.bm * d.bn > MOST {
        d.bm = MOST / d.bn;
    }
    if (d.bm, d.bn) != before {
        d.rule(Rule::WithinL0C);
    }
}
