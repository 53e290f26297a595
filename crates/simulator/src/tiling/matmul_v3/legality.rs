//! What a tiling must satisfy for CANN's kernels to compute the product at all. CANN checks only the digits of a
//! record; everything else goes to the kernel as it stands.

use super::deterministic::keeps_columns;
use super::math::{cd, product, up};
use super::record::Tiling;
use super::template::{Digits, Template, task_count};
use crate::tiling::Platform;
use crate::workload::MatMul;
use std::fmt;

/// A rule that a tiling breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The digits of `tilingEnable` are outside of what they count.
    NoTemplate {
        /// `tilingEnable`.
        enable: u32,
    },
    /// There is no kernel for the digits and this product.
    NoKernel {
        /// `tilingEnable`.
        enable: u32,
        /// Why.
        why: &'static str,
    },
    /// A template that a bank record cannot name.
    OnlyDefault {
        /// `tilingEnable`.
        enable: u32,
    },
    /// A field by which the kernel counts is 0.
    Zero {
        /// CANN's name of it.
        field: &'static str,
    },
    /// More cores than the part has.
    Cores {
        /// `usedCoreNum`.
        used: u64,
        /// Cores of the part.
        cores: u64,
    },
    /// A task is larger than the one block that the kernel computes of it.
    Block {
        /// `M` or `N`.
        axis: char,
        /// `singleCoreM` or `singleCoreN`.
        single: u32,
        /// `baseM` or `baseN`.
        base: u32,
    },
    /// A task has less than all of K, in a template whose kernel sums each result inside one task.
    WholeK {
        /// `singleCoreK`.
        single: u32,
        /// K of the product.
        k: u64,
    },
    /// The number of L2 tiles along an axis is 0.
    L2Count {
        /// `M` or `N`.
        axis: char,
    },
    /// L2 tiles do not hold the tasks of an axis: some are lost, or a tile is empty.
    L2Blocks {
        /// `M` or `N`.
        axis: char,
        /// Tiles.
        tiles: u32,
        /// Tasks that each is said to have.
        block: u32,
        /// Tasks there are.
        tasks: u64,
    },
    /// Fewer pieces of K than cores that are to sum them.
    KPieces {
        /// Pieces.
        pieces: u64,
        /// `usedCoreNum`.
        used: u32,
    },
    /// More tasks than cores in the template that has one round only.
    Rounds {
        /// Tasks.
        tasks: u64,
        /// Cores of the part.
        cores: u64,
    },
    /// What neither a record that CANN ships nor a default of its own has for such a product.
    NotKnown {
        /// `tilingEnable`.
        enable: u32,
        /// What it is.
        what: &'static str,
    },
    /// A buffer does not hold what the tiling puts into it.
    Buffer {
        /// L0A, L0B, L0C or L1.
        name: &'static str,
        /// Bytes.
        needed: u64,
        /// Bytes.
        size: u64,
    },
    /// The operand that the template copies to L1 whole does not lie there beside the other one's panels.
    Whole {
        /// `tilingEnable`.
        enable: u32,
        /// `A` or `B`.
        operand: char,
        /// Bytes.
        needed: u64,
        /// Bytes.
        size: u64,
    },
}

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Broken::NoTemplate { enable } => {
                write!(f, "tilingEnable = {enable} names no template")
            }
            Broken::NoKernel { enable, why } => {
                write!(f, "tilingEnable = {enable} has no kernel for this product: {why}")
            }
            Broken::OnlyDefault { enable } => write!(
                f,
                "tilingEnable = {enable} is a template of CANN's own defaults; in a bank record the last digit is at most 4"
            ),
            Broken::Zero { field } => write!(f, "{field} is 0, and the kernel divides by it or counts to it"),
            Broken::Cores { used, cores } => write!(f, "usedCoreNum = {used}, but the part has {cores} cores"),
            Broken::Block { axis, single, base } => write!(
                f,
                "singleCore{axis} = {single} exceeds base{axis} = {base}, but the kernel computes one block a task: \
                 the rest of it would never be written"
            ),
            Broken::WholeK { single, k } => write!(
                f,
                "singleCoreK = {single} is less than K = {k}, but this kernel sums each result in one task: \
                 the rest of K would never be added"
            ),
            Broken::L2Count { axis } => {
                write!(f, "l2{axis}TileCnt = 0, but the kernel loops over L2 tiles: nothing would be written")
            }
            Broken::L2Blocks { axis, tiles, block, tasks } => write!(
                f,
                "{tiles} L2 tiles of {block} tasks along {axis} do not hold its {tasks} tasks exactly: \
                 tasks would be lost or out of range"
            ),
            Broken::KPieces { pieces, used } => write!(
                f,
                "deterministic split-K sums the pieces of {used} cores, but K has only {pieces}: \
                 memory that was never written would be added"
            ),
            Broken::Rounds { tasks, cores } => {
                write!(f, "multi-core split-K has {tasks} tasks, but one round of {cores} cores only")
            }
            Broken::NotKnown { enable, what } => {
                write!(f, "tilingEnable = {enable} with {what}: that the kernel computes it is not known")
            }
            Broken::Buffer { name, needed, size } => {
                write!(f, "{name} needs {needed} bytes, the part has {size}")
            }
            Broken::Whole { enable, operand, needed, size } => write!(
                f,
                "tilingEnable = {enable} copies all of {operand} to L1 beside the other operand's panels: that needs \
                 {needed} bytes, the part has {size}"
            ),
        }
    }
}

/// Whether a bank record with this tiling makes CANN compute the product: the digits that a record may hold, and
/// all that [`runs`] asks. The product is taken with the extents given: of a record's key, or of one call.
pub fn check(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    let enable = t.tiling_enable;
    let Digits { ones, tens, hundreds, thousands, shift } = Digits::of(enable);
    if matches!(ones, 5 | 6) && enable < 10 {
        return Err(Broken::OnlyDefault { enable });
    }
    if ones > 4 || tens > 2 || hundreds > 0 || thousands > 2 || shift > 1 {
        return Err(Broken::NoTemplate { enable });
    }
    runs(t, w, p)
}

/// Whether the kernel that the tiling names computes the product with it, be it a record's or a default.
pub fn runs(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    let enable = t.tiling_enable;
    let Some(template) = Template::of(enable) else {
        let digits = Digits::of(enable);
        return Err(
            if digits.ones > 6 || digits.tens > 2 || digits.hundreds > 0 || digits.thousands > 2 || digits.shift > 1 {
                Broken::NoTemplate { enable }
            } else {
                Broken::NoKernel { enable, why: "none is compiled for this combination of digits" }
            },
        );
    };
    if let Some(why) = template.missing(w, p) {
        return Err(Broken::NoKernel { enable, why });
    }
    counted(t)?;
    let (used, cores) = (t.used_core_num, p.cores);
    if u64::from(used) > cores {
        return Err(Broken::Cores { used: used.into(), cores });
    }
    let axes = [
        ('M', w.m, t.single_core_m, t.base_m, t.l2_m_tile_cnt, t.l2_m_tile_block),
        ('N', w.n, t.single_core_n, t.base_n, t.l2_n_tile_cnt, t.l2_n_tile_block),
    ];
    for (axis, _, single, base, ..) in axes {
        if template.one_block() && single > base {
            return Err(Broken::Block { axis, single, base });
        }
    }
    // The last digit 0: K is not split. All records of these templates that CANN ships have the whole of it.
    if enable.is_multiple_of(10) && u64::from(t.single_core_k) < w.k {
        return Err(Broken::WholeK { single: t.single_core_k, k: w.k });
    }
    if template.reads_l2_tiles() {
        // Records that CANN ships say 1 x 1 for one tile, whatever its tasks.
        let one_tile = t.l2_m_tile_cnt == 1 && t.l2_n_tile_cnt == 1;
        let derived = match (t.l2_m_tile_block, t.l2_n_tile_block) {
            (0, 0) => true,
            (1, 1) => one_tile,
            _ => false,
        };
        for (axis, extent, single, _, tiles, block) in axes {
            l2_tiles(axis, cd(extent, single.into()), tiles, block, derived)?;
        }
    }
    match template {
        Template::Deterministic | Template::DeterministicNz => {
            let pieces = cd(w.k, t.single_core_k.into());
            if pieces < used.into() { Err(Broken::KPieces { pieces, used }) } else { Ok(()) }
        }
        Template::MultiCore => {
            let tasks = task_count(t, w);
            if tasks > cores { Err(Broken::Rounds { tasks, cores }) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Whether a record runs ([`check`]) and the part's buffers hold what it puts into them, as far as every record that
/// CANN ships obeys that: base blocks need not be multiples of 16, L1 may hold more than two buffers, and where K is
/// split inside a core or in a fixed order a second L0C buffer is said but not needed.
pub fn accepts(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    check(t, w, p)?;
    fits(t, w, p)
}

/// The same of a record made here: what CANN does in no record that it ships, and by itself for other products only, is
/// not known to run.
pub fn check_written(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    accepts(t, w, p)?;
    let enable = t.tiling_enable;
    let keeps = t.step_n > t.step_m;
    let tasks = product([cd(w.m, t.single_core_m.into()), cd(w.n, t.single_core_n.into())]);
    match enable % 10 {
        3 if keeps && !keeps_columns(w, p) => {
            Err(Broken::NotKnown { enable, what: "stepN above stepM where CANN's own tiling has three blocks of rows" })
        }
        2 if tasks > t.used_core_num.into() => Err(Broken::NotKnown { enable, what: "more tasks than usedCoreNum" }),
        _ => Ok(()),
    }
}

/// Whether the part's buffers hold what the tiling puts into them.
pub fn fits(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    let es = w.dtype.bytes().max(1);
    let bytes = |factors: [u32; 3], es: u64| product([product(factors.map(u64::from)), es]);
    let l0c_buffers = if matches!(t.tiling_enable % 10, 2 | 3) { 1 } else { t.db_l0c.max(1) };
    let a_block = [t.base_m, t.base_k, t.depth_a1];
    let b_block = [t.base_n, t.base_k, t.depth_b1];
    let needs = [
        ("L0A", bytes([t.base_m, t.base_k, t.db_l0a.max(1)], es), p.l0_a),
        ("L0B", bytes([t.base_n, t.base_k, t.db_l0b.max(1)], es), p.l0_b),
        ("L0C", bytes([t.base_m, t.base_n, l0c_buffers], 4), p.l0_c),
        ("L1", bytes(a_block, es).saturating_add(bytes(b_block, es)), p.l1),
    ];
    match needs.into_iter().find(|&(_, needed, size)| needed > size) {
        Some((name, needed, size)) => Err(Broken::Buffer { name, needed, size }),
        None => holds_whole(t, w, p),
    }
}

/// Whether the operand that a template copies to L1 whole lies there, in fractals: all of it, and beside the other
/// operand's panels as much as one task reads. CANN has a default whose tasks have half of B's columns.
fn holds_whole(t: &Tiling, w: &MatMul, p: &Platform) -> Result<(), Broken> {
    let es = w.dtype.bytes().max(1);
    let fractals = |outer: u64, inner: u64| product([up(outer, 16), up(inner, 32 / es), es]);
    let panels = |base: u32, depth: u32| product([base.into(), t.base_k.into(), depth.into(), es]);
    let of = |along_k: bool, extent: u64| if along_k { fractals(extent, w.k) } else { fractals(w.k, extent) };
    let (operand, all, of_task, others) = match Template::of(t.tiling_enable) {
        Some(Template::FullA) => {
            let of = |extent| of(!w.trans_a, extent);
            ('A', of(w.m), of(w.m.min(t.single_core_m.into())), panels(t.base_n, t.depth_b1))
        }
        Some(Template::FullB | Template::FullBAligned | Template::FullBNz) => {
            let of = |extent| of(w.trans_b, extent);
            ('B', of(w.n), of(w.n.min(t.single_core_n.into())), panels(t.base_m, t.depth_a1))
        }
        _ => return Ok(()),
    };
    let needed = all.max(of_task.saturating_add(others));
    if needed > p.l1 {
        return Err(Broken::Whole { enable: t.tiling_enable, operand, needed, size: p.l1 });
    }
    Ok(())
}

/// The fields that no kernel can do without.
fn counted(t: &Tiling) -> Result<(), Broken> {
    let fields = [
        ("usedCoreNum", t.used_core_num),
        ("singleCoreM", t.single_core_m),
        ("singleCoreN", t.single_core_n),
        ("singleCoreK", t.single_core_k),
        ("baseM", t.base_m),
        ("baseN", t.base_n),
        ("baseK", t.base_k),
        ("depthA1", t.depth_a1),
        ("depthB1", t.depth_b1),
        ("stepM", t.step_m),
        ("stepN", t.step_n),
        ("stepKa", t.step_ka),
        ("stepKb", t.step_kb),
    ];
    match fields.into_iter().find(|f| f.1 == 0) {
        Some((field, _)) => Err(Broken::Zero { field }),
        None => Ok(()),
    }
}

/// Whether the L2 tiles of an axis hold its tasks: their number, and, where not derived, the tasks of each.
fn l2_tiles(axis: char, tasks: u64, tiles: u32, block: u32, derived: bool) -> Result<(), Broken> {
    if tiles == 0 {
        return Err(Broken::L2Count { axis });
    }
    let (count, size) = (u64::from(tiles), u64::from(block));
    if derived || ((count - 1) * size < tasks && tasks <= count * size) {
        return Ok(());
    }
    Err(Broken::L2Blocks { axis, tiles, block, tasks })
}
