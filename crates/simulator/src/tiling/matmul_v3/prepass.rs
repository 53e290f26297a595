//! The vector pre-pass of `MatMulV3`: whether vector cores rewrite an operand from ND to `FRACTAL_NZ` before the
//! cube cores start, and in what tiles.

use super::math::{cd, fl, max, min, up};
use super::problem::{LONGEST_INNER, Problem, READ_AS_IT_LIES};
use super::record::Tiling;
use crate::tiling::Platform;
use crate::workload::MatMul;

/// Which operands, A and B, vector cores rewrite by the rules of the workload alone. A template may take that back:
/// [`nd2nz_of`].
pub fn nd2nz(w: &MatMul, p: &Platform) -> [bool; 2] {
    flags(&Problem::new(w, p))
}

/// Which operands, A and B, vector cores rewrite with this tiling.
pub fn nd2nz_of(t: &Tiling, w: &MatMul, p: &Platform) -> [bool; 2] {
    let q = Problem::new(w, p);
    let [a, b] = flags(&q);
    let (ones, tens, thousands) = (t.tiling_enable % 10, t.tiling_enable / 10 % 10, t.tiling_enable / 1000 % 10);
    if ones == 3 {
        let [keep_a, keep_b] = kept_by_deterministic(&q);
        return [a && keep_a, b && keep_b];
    }
    if tens == 2 && thousands > 0 {
        return [a && q.cs != 2, false];
    }
    [a, b]
}

/// Whether the deterministic template leaves the flags of A and B as they are: it reads an operand itself whose rows
/// are of 384 bytes to 65,535 elements.
pub(super) fn kept_by_deterministic(q: &Problem) -> [bool; 2] {
    [q.inner_a(), q.inner_b()].map(|inner| !(384 / q.es..=LONGEST_INNER).contains(&inner))
}

/// The flags of A and B.
pub(in crate::tiling) fn flags(q: &Problem) -> [bool; 2] {
    if !q.p.fixpipe {
        return [false; 2];
    }
    let a = !q.a_nz && (awkward(q, q.inner_a()) || narrow(q, q.outer_a(), q.inner_a()));
    let b = !q.b_nz && (awkward(q, q.inner_b()) || narrow(q, q.outer_b(), q.inner_b()) || conflict(q));
    [a, b]
}

/// Rows that do not begin at multiples of 256 bytes, or are too long for the copy's stride.
#[expect(clippy::nonminimal_bool, reason = "one line for each of CANN's conditions")]
fn awkward(q: &Problem, inner: u64) -> bool {
    let bytes = inner * q.es;
    (!bytes.is_multiple_of(256) || inner > LONGEST_INNER)
        && !READ_AS_IT_LIES.contains(&bytes)
        && !(q.plain_fp32() && inner < LONGEST_INNER)
        && !(q.hf32 && bytes < 512)
}

/// Many narrow rows.
pub(in crate::tiling) fn narrow(q: &Problem, outer: u64, inner: u64) -> bool {
    let bytes = inner * q.es;
    outer > 8192
        && inner > 1
        && !bytes.is_multiple_of(256)
        && !READ_AS_IT_LIES.contains(&bytes)
        && inner != 32 / q.es
        && (bytes <= 192 || (bytes <= 384 && inner.is_multiple_of(2)) || (bytes <= 512 && inner.is_multiple_of(4)))
}

/// B's rows are a large power of 2 apart, so that reads of one column meet in one bank of memory.
fn conflict(q: &Problem) -> bool {
    let Problem { m, k, n, u, .. } = *q;
    let plain = !q.tb && n.is_multiple_of(16384) && k >= 6656 && (m > 4096 || (m == 4096 && u >= 24));
    let turned = q.tb && !q.ta && k == 16384 && (4096..=4480).contains(&m) && n >= 7168 && u >= 24;
    q.es == 2 && (plain || turned)
}

/// The tile in which a vector core brings an operand to UB to rewrite it. Elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepassTile {
    /// Rows of the operand as it is stored.
    pub rows: u64,
    /// Elements of each.
    pub width: u64,
}

/// Tiles of the pre-pass for A and B: where vector cores rewrite the operand with this tiling, in what tiles.
pub fn prepass(t: &Tiling, w: &MatMul, p: &Platform) -> [Option<PrepassTile>; 2] {
    let q = Problem::new(w, p);
    let [a, b] = nd2nz_of(t, w, p);
    let used = max(t.used_core_num.into(), 1);
    [
        a.then(|| prepass_tile(&q, used, q.outer_a(), q.inner_a())),
        b.then(|| prepass_tile(&q, used, q.outer_b(), q.inner_b())),
    ]
}

fn prepass_tile(q: &Problem, used: u64, outer: u64, inner: u64) -> PrepassTile {
    let vectors = 2 * used;
    let half = q.p.ub / 2 / q.es;
    if q.es == 2 && inner.is_multiple_of(16384) && outer >= 7168 && q.u >= 24 {
        return PrepassTile { rows: 96, width: 512 };
    }
    if inner <= 2048 / q.es {
        return whole_rows(q, vectors, half, outer, inner);
    }
    parts_of_rows(q, vectors, half, outer, inner)
}

/// Whole rows, dealt evenly to the vector cores in as many rounds as UB demands.
fn whole_rows(q: &Problem, vectors: u64, half: u64, outer: u64, inner: u64) -> PrepassTile {
    let width = up(inner, 32 / q.es);
    let share = cd(up(outer, 16), vectors);
    let rounds = cd(share, max(fl(half, width), 1));
    let mut rows = max(cd(share, rounds), 16);
    while rows > 16 && up(rows, 16) * width > half {
        rows -= 1;
    }
    PrepassTile { rows, width }
}

/// Parts of long rows: the first tile whose number is a multiple of the vector cores, else the one whose last round
/// is fullest.
fn parts_of_rows(q: &Problem, vectors: u64, half: u64, outer: u64, inner: u64) -> PrepassTile {
    let mut best: Option<(u64, PrepassTile)> = None;
    for bytes in [6144, 4096, 2048] {
        let mut width = min(bytes / q.es, inner);
        let tail = inner % width;
        if tail > 0 && tail < 512 / q.es {
            if bytes == 6144 {
                continue;
            }
            width = up(cd(inner, max(inner / width, 1)), 32 / q.es);
        }
        for rows in (17..=half / width).rev() {
            let last = (cd(up(outer, 16), rows) * cd(inner, width)) % vectors;
            let tile = PrepassTile { rows, width };
            if last == 0 {
                return tile;
            }
            if best.is_none_or(|(fullest, _)| last > fullest) {
                best = Some((last, tile));
            }
        }
    }
    best.map_or(PrepassTile { rows: 16, width: min(4096 / q.es, inner) }, |(_, tile)| tile)
}
