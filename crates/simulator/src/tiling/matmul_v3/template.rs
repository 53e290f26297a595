//! The kernels of `MatMulV3`: which there are, and what each does with a tiling.

use super::math::{cd, max, product};
use super::record::Tiling;
use crate::tiling::Platform;
use crate::workload::MatMul;
use aoe_graph::{DataType, Format};

/// The digits of `tilingEnable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// How K is split: 0 and 1 not, 2 inside a core, 3 over cores in a fixed order, 4 over cores with atomic adds,
    /// 5 and 6 forms of 2 that only CANN's own defaults have.
    pub ones: u32,
    /// What stays in L1: 1 A, 2 B.
    pub tens: u32,
    /// Not used.
    pub hundreds: u32,
    /// How the result leaves: 1 in aligned rows, 2 as fractals that vector cores write out.
    pub thousands: u32,
    /// 1: cores begin at different places of K.
    pub shift: u32,
}

impl Digits {
    /// The digits of a number.
    pub const fn of(enable: u32) -> Digits {
        Digits {
            ones: enable % 10,
            tens: enable / 10 % 10,
            hundreds: enable / 100 % 10,
            thousands: enable / 1000 % 10,
            shift: enable / 10_000,
        }
    }
}

/// A kernel of `MatMulV3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Template {
    /// One block a task; tasks are dealt to the cores in turn (0, 1).
    Base,
    /// [`Template::Base`] whose result vector cores write out of fractals (2000): both operands in `FRACTAL_NZ`.
    BaseNz,
    /// [`Template::Base`] whose cores begin at different places of K (10000).
    KShift,
    /// All of A in L1, once a core; one block a task (10).
    FullA,
    /// All of B in L1, anew for every task (20).
    FullB,
    /// [`Template::FullB`] whose result vector cores compact (1020).
    FullBAligned,
    /// [`Template::FullB`] whose result vector cores write out of fractals (2020).
    FullBNz,
    /// Cores share M and N; each works through K in pieces and adds to memory (2).
    SingleCore,
    /// [`Template::SingleCore`] in another order of loops (5); only a default.
    SingleCoreNkm,
    /// [`Template::SingleCore`] with its own copy into L1 (6); only a default.
    SingleCoreCopy,
    /// [`Template::SingleCore`] that keeps a piece of A while B streams (12).
    SingleCoreWithA,
    /// Cores share K only; vector cores sum in a fixed order (3).
    Deterministic,
    /// [`Template::Deterministic`] whose partial results leave as fractals (2003).
    DeterministicNz,
    /// Cores share M, N and K, one task each, and add to memory (4).
    MultiCore,
}

impl Template {
    /// Every template.
    pub const ALL: [Template; 14] = [
        Template::Base,
        Template::FullA,
        Template::FullB,
        Template::FullBAligned,
        Template::FullBNz,
        Template::SingleCore,
        Template::SingleCoreWithA,
        Template::Deterministic,
        Template::DeterministicNz,
        Template::MultiCore,
        Template::KShift,
        Template::BaseNz,
        Template::SingleCoreNkm,
        Template::SingleCoreCopy,
    ];

    /// The template that a `tilingEnable` names, if there is one.
    pub fn of(enable: u32) -> Option<Template> {
        let enable = if enable == 1 { 0 } else { enable };
        Template::ALL.into_iter().find(|t| t.enable() == enable)
    }

    /// Its `tilingEnable`.
    pub const fn enable(self) -> u32 {
        match self {
            Template::Base => 0,
            Template::BaseNz => 2000,
            Template::KShift => 10_000,
            Template::FullA => 10,
            Template::FullB => 20,
            Template::FullBAligned => 1020,
            Template::FullBNz => 2020,
            Template::SingleCore => 2,
            Template::SingleCoreNkm => 5,
            Template::SingleCoreCopy => 6,
            Template::SingleCoreWithA => 12,
            Template::Deterministic => 3,
            Template::DeterministicNz => 2003,
            Template::MultiCore => 4,
        }
    }

    /// Whether the kernel computes one block of baseM x baseN a task, whatever the task's extents.
    pub const fn one_block(self) -> bool {
        matches!(self, Template::Base | Template::BaseNz | Template::KShift | Template::FullA | Template::MultiCore)
    }

    /// Whether the kernel works by L2 tiles, or divides by their number.
    pub const fn reads_l2_tiles(self) -> bool {
        !matches!(
            self,
            Template::SingleCore
                | Template::SingleCoreNkm
                | Template::SingleCoreCopy
                | Template::SingleCoreWithA
                | Template::Deterministic
                | Template::DeterministicNz
        )
    }

    /// Whether only CANN's own defaults have it: a bank record's ones digit ends at 4.
    pub const fn only_default(self) -> bool {
        matches!(self, Template::SingleCoreNkm | Template::SingleCoreCopy)
    }

    /// Why there is no such kernel for a product on a part; nothing where there is one. Parts other than 310P are
    /// taken to have the kernels of the 910B.
    pub fn missing(self, w: &MatMul, p: &Platform) -> Option<&'static str> {
        let (a_nz, b_nz) = (w.a_format == Format::FractalNz, w.b_format == Format::FractalNz);
        let fp32 = w.dtype == DataType::Float;
        if !p.fixpipe && !matches!(self, Template::Base | Template::BaseNz) {
            return Some("parts without fixpipe to memory have the base template only");
        }
        match self {
            Template::BaseNz if !(a_nz && b_nz) => Some("it needs both operands in FRACTAL_NZ"),
            Template::Base | Template::BaseNz => None,
            _ if a_nz && b_nz => Some("with both operands in FRACTAL_NZ there are 0 and 2000 only"),
            Template::FullA | Template::FullBNz if !fp32 => Some("it is for float32 only"),
            Template::MultiCore if !fp32 || w.trans_a || !w.trans_b => {
                Some("it is for float32 with B alone transposed")
            }
            Template::SingleCoreWithA | Template::SingleCoreCopy if w.dtype.bytes() != 2 => {
                Some("it is for 16-bit types only")
            }
            Template::SingleCoreWithA if b_nz => Some("it reads B in ND only"),
            _ => None,
        }
    }
}

/// The `tilingEnable` of every template that a bank record of this product can name.
pub fn templates_for(w: &MatMul, p: &Platform) -> impl Iterator<Item = u32> {
    let exists = move |t: &Template| !t.only_default() && t.missing(w, p).is_none();
    Template::ALL.into_iter().filter(exists).map(Template::enable)
}

/// Core tasks of a tiling along m, n and k. Only multi-core split-K deals k over cores as tasks of their own; the
/// deterministic template deals k alone, and every core works through all of m and n.
pub fn tasks(t: &Tiling, w: &MatMul) -> [u64; 3] {
    let count = |extent: u64, single: u32| cd(extent, max(single.into(), 1));
    let (m, n, k) = (count(w.m, t.single_core_m), count(w.n, t.single_core_n), count(w.k, t.single_core_k));
    match t.tiling_enable % 10 {
        3 => [1, 1, k],
        4 => [m, n, k],
        _ => [m, n, 1],
    }
}

/// Core tasks of a tiling in all; saturates.
pub fn task_count(t: &Tiling, w: &MatMul) -> u64 {
    product(tasks(t, w))
}
