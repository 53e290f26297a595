//! A tiling while the rules work on it.

use super::math::min;
use super::problem::Problem;
use super::record::Tiling;
use super::rules::{Rule, Rules};

/// The fields of a tiling and what goes with them, wide enough that no rule overflows.
#[derive(Debug, Clone, Copy)]
pub(in crate::tiling) struct Draft {
    pub used: u64,
    pub single_m: u64,
    pub single_n: u64,
    pub single_k: u64,
    pub bm: u64,
    pub bn: u64,
    pub bk: u64,
    pub depth_a: u64,
    pub depth_b: u64,
    pub step_m: u64,
    pub step_n: u64,
    pub step_ka: u64,
    pub step_kb: u64,
    /// `iterateOrder`.
    pub order: u32,
    pub db_l0c: u32,
    pub l2: L2Grid,
    /// `tilingEnable`.
    pub digits: u32,
    pub nd2nz_a: bool,
    pub nd2nz_b: bool,
    pub rules: Rules,
}

/// L2 tiles: their number, and the blocks of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tiling) struct L2Grid {
    pub m_tiles: u64,
    pub n_tiles: u64,
    pub m_block: u64,
    pub n_block: u64,
}

impl L2Grid {
    /// One tile, as CANN's records have it where no search for tiles ran.
    pub const ONE: L2Grid = L2Grid { m_tiles: 1, n_tiles: 1, m_block: 1, n_block: 1 };
    /// One tile, as CANN's records have it where the search found none: the kernel derives the blocks.
    pub const DERIVED: L2Grid = L2Grid { m_tiles: 1, n_tiles: 1, m_block: 0, n_block: 0 };
}

impl Draft {
    /// What every default begins with.
    pub fn reset(q: &Problem) -> Draft {
        let (bm, bn) = reset_block(q);
        Draft {
            used: q.u,
            single_m: bm,
            single_n: bn,
            single_k: q.k,
            bm,
            bn,
            bk: 128 / q.es,
            depth_a: 1,
            depth_b: 1,
            step_m: 1,
            step_n: 1,
            step_ka: 1,
            step_kb: 1,
            order: 0,
            db_l0c: 1,
            l2: L2Grid::ONE,
            digits: 0,
            nd2nz_a: false,
            nd2nz_b: false,
            rules: Rules::default(),
        }
    }

    /// Two L0C buffers where they fit.
    pub fn db_l0c_by_size(&mut self, q: &Problem) {
        self.db_l0c = if 8 * self.bm * self.bn <= q.p.l0_c { 2 } else { 1 };
    }

    /// The tiling as CANN's fields.
    pub fn tiling(&self) -> Tiling {
        let field = |value: u64| min(value, u32::MAX.into()) as u32;
        Tiling {
            used_core_num: field(self.used),
            single_core_m: field(self.single_m),
            single_core_n: field(self.single_n),
            single_core_k: field(self.single_k),
            base_m: field(self.bm),
            base_n: field(self.bn),
            base_k: field(self.bk),
            depth_a1: field(self.depth_a),
            depth_b1: field(self.depth_b),
            step_m: field(self.step_m),
            step_n: field(self.step_n),
            iterate_order: self.order,
            step_ka: field(self.step_ka),
            step_kb: field(self.step_kb),
            db_l0a: 2,
            db_l0b: 2,
            db_l0c: self.db_l0c,
            l2_m_tile_cnt: field(self.l2.m_tiles),
            l2_n_tile_cnt: field(self.l2.n_tiles),
            l2_m_tile_block: field(self.l2.m_block),
            l2_n_tile_block: field(self.l2.n_block),
            l2_iterate_order: 0,
            tiling_enable: self.digits,
        }
    }

    /// Records that a rule took part.
    pub const fn rule(&mut self, rule: Rule) {
        self.rules.add(rule);
    }
}

/// The block before any rule: 128 x 256, or 256 x 256 with the large L0C.
pub(super) fn reset_block(q: &Problem) -> (u64, u64) {
    (q.start_m(), 256)
}
