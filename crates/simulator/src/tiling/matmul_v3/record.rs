//! The tiling of a `MatMulV3` record: CANN's 23 fields, and what they say as a canonical schedule.

use super::OP_TYPE;
use crate::tiling::fields::{Unmodelled, buffer_count, inexpressible, narrow, order, order_number, tiling};
use crate::workload::{Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, MatMul, OutputPath, SplitK};
use aoe_base::status::Result;
use aoe_graph::DataType;

tiling! {
    OP_TYPE;
    used_core_num "usedCoreNum", single_core_m "singleCoreM", single_core_n "singleCoreN",
    single_core_k "singleCoreK", base_m "baseM", base_n "baseN", base_k "baseK", depth_a1 "depthA1",
    depth_b1 "depthB1", step_m "stepM", step_n "stepN", iterate_order "iterateOrder", step_ka "stepKa",
    step_kb "stepKb", db_l0a "dbL0A", db_l0b "dbL0B", db_l0c "dbL0C", l2_m_tile_cnt "l2MTileCnt",
    l2_n_tile_cnt "l2NTileCnt", l2_m_tile_block "l2MTileBlock", l2_n_tile_block "l2NTileBlock",
    l2_iterate_order "l2IterateOrder", tiling_enable "tilingEnable",
}

/// L1 fields of one operand: `stepM`, `stepKa`, `depthA1`, or B's.
struct Steps {
    step: u32,
    step_k: u32,
    depth: u32,
}

/// One operand's part of a tiling, without its L1 fields.
struct Side {
    base: u32,
    base_k: u32,
    single: u64,
    single_k: u64,
}

impl Side {
    /// L0 tiles of the core task along m or n and along k.
    fn whole(&self) -> Result<(u32, u32)> {
        let tiles = |extent: u64, base: u32| {
            narrow(OP_TYPE, "L0 tiles of a core task", extent.div_ceil(u64::from(base.max(1))))
        };
        Ok((tiles(self.single, self.base)?, tiles(self.single_k, self.base_k)?))
    }

    /// The L1 fields of an L1 tile.
    fn steps(&self, tile: L1Tile, buffers: u8) -> Result<Steps> {
        let (step, step_k, buffers) = match tile {
            L1Tile::Full(_) => {
                let (step, step_k) = self.whole()?;
                (step, step_k, 1)
            }
            L1Tile::Panel(p) => {
                if p.batch != 1 {
                    return Err(inexpressible(OP_TYPE, format!("an L1 panel holds {} products", p.batch)));
                }
                if self.base_k == 0 || p.k % self.base_k != 0 {
                    return Err(inexpressible(
                        OP_TYPE,
                        format!("an L1 panel of k = {} is no multiple of baseK = {}", p.k, self.base_k),
                    ));
                }
                (p.tiles, p.k / self.base_k, buffers)
            }
        };
        let depth = u64::from(step) * u64::from(step_k) * u64::from(buffers);
        Ok(Steps { step, step_k, depth: narrow(OP_TYPE, "depth", depth)? })
    }

    /// The L1 tile and its buffers behind `step`, `stepK` and `depth`; full when the record says so and
    /// its numbers are those of a whole panel.
    fn tile(&self, step: u32, step_k: u32, depth: u32, full: bool) -> Result<(L1Tile, u8)> {
        let block = u64::from(step) * u64::from(step_k);
        let buffers = u64::from(depth).checked_div(block).unwrap_or(0);
        if buffers == 0 || buffers > 255 || buffers * block != u64::from(depth) {
            return Err(inexpressible(
                OP_TYPE,
                format!("depth {depth} is no multiple of {step} x {step_k} base blocks"),
            ));
        }
        if full && buffers == 1 && self.whole()? == (step, step_k) {
            return Ok((L1Tile::FULL, 1));
        }
        let k = u64::from(step_k) * u64::from(self.base_k);
        Ok((L1Tile::panel(narrow(OP_TYPE, "L1 panel's k", k)?, step), buffers as u8))
    }
}

impl Tiling {
    /// The tiling of a schedule. Fails with [`aoe_base::status::Error::IllegalSchedule`] for what the record's fields
    /// cannot say.
    pub fn from_schedule(s: &CubeSchedule) -> Result<Tiling> {
        Tiling::of_schedule(s)?.with(&s.unmodelled)
    }

    /// What the fields of a schedule say that CANN's terms have too.
    fn of_schedule(s: &CubeSchedule) -> Result<Tiling> {
        if s.l0.k_a != s.l0.k_b {
            return Err(inexpressible(OP_TYPE, format!("L0A holds k = {}, L0B k = {}", s.l0.k_a, s.l0.k_b)));
        }
        let (a, b) = sides(s);
        let (of_a, of_b) = (a.steps(s.l1_a, s.buffers.l1_a)?, b.steps(s.l1_b, s.buffers.l1_b)?);
        Ok(Tiling {
            used_core_num: s.used_cores,
            single_core_m: narrow(OP_TYPE, "singleCoreM", s.single.m)?,
            single_core_n: narrow(OP_TYPE, "singleCoreN", s.single.n)?,
            single_core_k: narrow(OP_TYPE, "singleCoreK", s.single.k)?,
            base_m: s.l0.m,
            base_n: s.l0.n,
            base_k: s.l0.k_a,
            depth_a1: of_a.depth,
            depth_b1: of_b.depth,
            step_m: of_a.step,
            step_n: of_b.step,
            iterate_order: order_number(s.order),
            step_ka: of_a.step_k,
            step_kb: of_b.step_k,
            db_l0a: s.buffers.l0_a.into(),
            db_l0b: s.buffers.l0_b.into(),
            db_l0c: s.buffers.l0_c.into(),
            l2_m_tile_cnt: s.l2.m_tiles,
            l2_n_tile_cnt: s.l2.n_tiles,
            l2_m_tile_block: s.l2.m_block,
            l2_n_tile_block: s.l2.n_block,
            l2_iterate_order: order_number(s.l2.order),
            tiling_enable: modelled_digits(s),
        })
    }

    /// Fails with [`aoe_base::status::Error::IllegalSchedule`] for a tiling at which CANN's operator stops with an error,
    /// where another one that it cannot use only makes it fall back: a record's split of K is one of 0 to 4, and
    /// multi-core split-K runs for float32 with B alone transposed, and all its tasks at once.
    pub fn check_split(&self, w: &MatMul, cores: u32) -> Result<()> {
        if self.tiling_enable % 10 > 4 {
            return Err(inexpressible(OP_TYPE, format!("tilingEnable = {} names no template", self.tiling_enable)));
        }
        if self.tiling_enable % 10 != 4 {
            return Ok(());
        }
        if w.dtype != DataType::Float || w.trans_a || !w.trans_b {
            return Err(inexpressible(OP_TYPE, "multi-core split-K is for float32 with B alone transposed"));
        }
        let tasks = [(w.m, self.single_core_m), (w.n, self.single_core_n), (w.k, self.single_core_k)]
            .into_iter()
            .fold(1u64, |n, (extent, single)| n.saturating_mul(extent.div_ceil(u64::from(single.max(1)))));
        if tasks > u64::from(cores) {
            return Err(inexpressible(OP_TYPE, format!("multi-core split-K has {tasks} tasks for {cores} cores")));
        }
        Ok(())
    }

    /// The tiling as a record holds it. A record serves every product with its key, so a core task that
    /// spans the whole of this product has to span the whole of the largest one.
    #[must_use]
    pub fn widened(self, w: &MatMul) -> Tiling {
        let widen = |single: u32, extent: u64, rounded: u64| {
            if u64::from(single) == extent { u32::try_from(rounded).unwrap_or(single) } else { single }
        };
        Tiling {
            single_core_m: widen(self.single_core_m, w.m, rounded_m(w)),
            single_core_n: widen(self.single_core_n, w.n, rounded_n(w)),
            single_core_k: widen(self.single_core_k, w.k, rounded_k(w)),
            ..self
        }
    }

    /// The tiling of a record as it applies to one product: undoes [`Tiling::widened`].
    #[must_use]
    pub fn narrowed(self, w: &MatMul) -> Tiling {
        let narrow = |single: u32, extent: u64, rounded: u64| {
            if u64::from(single) == rounded { u32::try_from(extent).unwrap_or(single) } else { single }
        };
        Tiling {
            single_core_m: narrow(self.single_core_m, w.m, rounded_m(w)),
            single_core_n: narrow(self.single_core_n, w.n, rounded_n(w)),
            single_core_k: narrow(self.single_core_k, w.k, rounded_k(w)),
            ..self
        }
    }

    /// The schedule of a tiling for one product, a record's or one of CANN's defaults. Fails with
    /// [`aoe_base::status::Error::IllegalSchedule`] for a tiling that CANN would refuse too; whether the rest is legal is for [`crate::workload::check`].
    pub fn schedule(&self, w: &MatMul) -> Result<CubeSchedule> {
        let (ones, tens, hundreds) =
            (self.tiling_enable % 10, self.tiling_enable / 10 % 10, self.tiling_enable / 100 % 10);
        let (thousands, shift) = (self.tiling_enable / 1000 % 10, self.tiling_enable / 10_000);
        if ones > 6 || tens > 2 || hundreds > 0 || thousands > 2 || shift > 1 {
            return Err(inexpressible(OP_TYPE, format!("tilingEnable = {} names no template", self.tiling_enable)));
        }
        let single = Extents {
            batch: 1,
            m: self.single_core_m.into(),
            n: self.single_core_n.into(),
            k: self.single_core_k.into(),
        };
        let tasks = |extent: u64, single: u64| narrow(OP_TYPE, "number of core tasks", extent.div_ceil(single.max(1)));
        let mut s = CubeSchedule {
            used_cores: self.used_core_num,
            cores: Cores { batch: 1, m: tasks(w.m, single.m)?, n: tasks(w.n, single.n)?, k: tasks(w.k, single.k)? },
            single,
            l0: L0Tile { m: self.base_m, n: self.base_n, k_a: self.base_k, k_b: self.base_k },
            l1_a: L1Tile::FULL,
            l1_b: L1Tile::FULL,
            buffers: Buffers {
                l1_a: 1,
                l1_b: 1,
                l0_a: buffer_count(OP_TYPE, "dbL0A", self.db_l0a)?,
                l0_b: buffer_count(OP_TYPE, "dbL0B", self.db_l0b)?,
                l0_c: buffer_count(OP_TYPE, "dbL0C", self.db_l0c)?,
            },
            order: order(OP_TYPE, "iterateOrder", self.iterate_order)?,
            l2: L2Tiling {
                m_tiles: self.l2_m_tile_cnt,
                n_tiles: self.l2_n_tile_cnt,
                m_block: self.l2_m_tile_block,
                n_block: self.l2_n_tile_block,
                order: order(OP_TYPE, "l2IterateOrder", self.l2_iterate_order)?,
            },
            split_k: match ones {
                0 | 1 => SplitK::None,
                3 => SplitK::Deterministic,
                4 => SplitK::MultiCore,
                // 5 and 6 are forms of 2 of CANN's own defaults; `unmodelled` keeps which.
                _ => SplitK::SingleCore,
            },
            output: [OutputPath::Direct, OutputPath::Aligned, OutputPath::VectorNzToNd][thousands as usize],
            unmodelled: Unmodelled::new(),
        };
        let (a, b) = sides(&s);
        (s.l1_a, s.buffers.l1_a) = a.tile(self.step_m, self.step_ka, self.depth_a1, tens == 1)?;
        (s.l1_b, s.buffers.l1_b) = b.tile(self.step_n, self.step_kb, self.depth_b1, tens == 2)?;
        s.unmodelled = self.beyond(&Tiling::of_schedule(&s)?);
        Ok(s)
    }
}

/// What the extents of a key are multiples of.
#[derive(Debug, Clone, Copy)]
pub struct Rounding {
    /// Of m.
    pub m: u64,
    /// Of k.
    pub k: u64,
    /// Of n.
    pub n: u64,
}

/// `MatMulV3` rounds m and n up to 16, k to 16 or, for fp32, 8.
pub fn rounding(w: &MatMul) -> Rounding {
    Rounding { m: 16, k: if w.dtype == DataType::Float { 8 } else { 16 }, n: 16 }
}

/// m as the key has it.
fn rounded_m(w: &MatMul) -> u64 {
    w.m.next_multiple_of(rounding(w).m)
}

/// n as the key has it.
fn rounded_n(w: &MatMul) -> u64 {
    w.n.next_multiple_of(rounding(w).n)
}

/// k as the key has it.
fn rounded_k(w: &MatMul) -> u64 {
    w.k.next_multiple_of(rounding(w).k)
}

fn sides(s: &CubeSchedule) -> (Side, Side) {
    let side = |base, base_k, single| Side { base, base_k, single, single_k: s.single.k };
    (side(s.l0.m, s.l0.k_a, s.single.m), side(s.l0.n, s.l0.k_b, s.single.n))
}

/// The part of `tilingEnable` that a schedule's other fields express: ones split-K, tens full load
/// (where both operands stay, A's is the template), thousands output.
fn modelled_digits(s: &CubeSchedule) -> u32 {
    let split = match s.split_k {
        SplitK::None => 0,
        SplitK::SingleCore => 2,
        SplitK::Deterministic => 3,
        SplitK::MultiCore => 4,
    };
    let full = match (s.l1_a, s.l1_b) {
        (L1Tile::Full(_), _) => 10,
        (_, L1Tile::Full(_)) => 20,
        _ => 0,
    };
    let output = match s.output {
        OutputPath::Direct => 0,
        OutputPath::Aligned => 1000,
        OutputPath::VectorNzToNd => 2000,
    };
    split + full + output
}
