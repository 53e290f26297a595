//! The tiling of a `QuantBatchMatmulV3` record: TBE's 28 fields, and what they say as a canonical
//! schedule.
//!
//! TBE counts fractals: 16 rows or columns, 32 bytes along k. Each core has one task, in whole L0 tiles; the
//! order of its loops follows from the tiling.

use super::OP_TYPE;
use crate::tiling::fields::{buffer_count, inexpressible, narrow, tiling};
use crate::workload::tbe::{TbeTiling, lighter_order};
use crate::workload::{Buffers, Cores, CubeSchedule, L0Tile, L1Tile, MatMul};
use aoe_base::status::Result;

/// Rows or columns of a fractal.
const F: u32 = 16;
/// Bytes of UB that the result may take in one piece: half of a 310P's 256 KiB, so that two fit.
const UB_BYTES: u32 = 128 << 10;
/// Bytes of an element of the result on its way through UB, at most.
const ACCUMULATOR: u32 = 4;
/// Cores that take the pieces of a split k in turn: CANN ships records of 29 pieces by up to 8 parts of C, for parts
/// of 20 cores.
const CORES_OF_PIECES: u32 = 20;

tiling! {
    OP_TYPE;
    m_dim "m_dim" = 1, n_dim "n_dim" = 1, k_dim "k_dim" = 1, batch_dim "batch_dim" = 1, m_al1 "m_al1" = 1,
    n_bl1 "n_bl1" = 1, k_al1 "k_al1" = 1, k_bl1 "k_bl1" = 1, m_l0 "m_l0" = 1, n_l0 "n_l0" = 1, k_l0 "k_l0" = 1,
    batch_l0 "batch_l0" = 1, db_al1 "db_al1" = 1, db_bl1 "db_bl1" = 1, db_l0a "db_l0a" = 1, db_l0b "db_l0b" = 1,
    db_l0c "db_l0c" = 1, db_aub "db_aub" = 1, db_bub "db_bub" = 1, db_cub "db_cub" = 1, m_aub "m_aub" = 1,
    k_aub "k_aub" = 1, k_bub "k_bub" = 1, n_bub "n_bub" = 1, n_cub "n_cub" = 1, batch_aub "batch_aub" = 1,
    batch_bub "batch_bub" = 1, batch_cub "batch_cub" = 1,
}

impl Tiling {
    /// The tiling of a schedule. Fails with [`aoe_base::status::Error::IllegalSchedule`] for what the record's
    /// fields cannot say.
    pub fn from_schedule(s: &CubeSchedule, w: &MatMul) -> Result<Tiling> {
        match of_schedule(s, w) {
            Ok(tiling) => tiling.with(&s.unmodelled),
            Err(why) if s.unmodelled.is_empty() => Err(why),
            Err(_) => Tiling::default().with(&s.unmodelled),
        }
    }

    /// The schedule of a tiling for one product. Fails with [`aoe_base::status::Error::IllegalSchedule`] for a
    /// tiling of nothing; whether the rest is legal is for [`crate::workload::check`].
    pub fn schedule(&self, w: &MatMul) -> Result<CubeSchedule> {
        let counts = [self.m_dim, self.n_dim, self.k_dim, self.batch_dim, self.m_l0, self.n_l0, self.k_l0];
        if counts.contains(&0) || [self.m_al1, self.n_bl1, self.k_al1, self.k_bl1].contains(&0) {
            return Err(inexpressible(OP_TYPE, "a count of cores or fractals is 0"));
        }
        let elements = |name, fractals: u32, size: u64| narrow(OP_TYPE, name, u64::from(fractals) * size);
        let k0 = w.cube().k0();
        let k_l0 = elements("k_l0", self.k_l0, k0)?;
        // The launch brings whole L0 tiles: a rest of the L1 depth stays unused.
        let depth = |k: u32| if k > self.k_l0 { k - k % self.k_l0 } else { k };
        let l0 = L0Tile {
            m: elements("m_l0", self.m_l0, F.into())?,
            n: elements("n_l0", self.n_l0, F.into())?,
            k_a: k_l0,
            k_b: k_l0,
        };
        let mut tbe = TbeTiling {
            cores: Cores { batch: self.batch_dim, m: self.m_dim, n: self.n_dim, k: self.k_dim },
            l1_a: L1Tile::panel(elements("k_al1", depth(self.k_al1), k0)?, self.m_al1),
            l1_b: L1Tile::panel(elements("k_bl1", depth(self.k_bl1), k0)?, self.n_bl1),
            l0,
            buffers: Buffers {
                l1_a: buffer_count(OP_TYPE, "db_al1", self.db_al1)?,
                l1_b: buffer_count(OP_TYPE, "db_bl1", self.db_bl1)?,
                l0_a: buffer_count(OP_TYPE, "db_l0a", self.db_l0a)?,
                l0_b: buffer_count(OP_TYPE, "db_l0b", self.db_l0b)?,
                l0_c: buffer_count(OP_TYPE, "db_l0c", self.db_l0c)?,
            },
        };
        let (whole_a, whole_b) = whole(&canonical(&tbe, w)?)?;
        if tbe.l1_a == whole_a && tbe.buffers.l1_a == 1 {
            tbe.l1_a = L1Tile::FULL;
        }
        if tbe.l1_b == whole_b && tbe.buffers.l1_b == 1 {
            tbe.l1_b = L1Tile::FULL;
        }
        let mut s = canonical(&tbe, w)?;
        if self.k_dim > 1 {
            s.used_cores = s.used_cores.min(CORES_OF_PIECES);
        }
        s.unmodelled = self.beyond(&of_schedule(&s, w).unwrap_or_default());
        Ok(s)
    }
}

/// What L1 holds of one operand: L0 tiles by fractals along k, so many times.
struct InL1 {
    tiles: u32,
    k: u32,
    buffers: u32,
}

/// What the fields of a schedule say that TBE's terms have too, with the result going through UB in the
/// largest pieces that fit twice.
fn of_schedule(s: &CubeSchedule, w: &MatMul) -> Result<Tiling> {
    check_form(s, w)?;
    let k0 = w.cube().k0() as u32;
    let fractals = |name: &str, elements: u32, size: u32| {
        let rest = elements.checked_rem(size).unwrap_or(1);
        let whole = rest == 0 && elements > 0;
        whole.then(|| elements / size).ok_or_else(|| {
            inexpressible(OP_TYPE, format!("{name} = {elements} is no whole number of fractals of {size}"))
        })
    };
    let (m_l0, n_l0) = (fractals("l0.m", s.l0.m, F)?, fractals("l0.n", s.l0.n, F)?);
    let (whole_a, whole_b) = whole(s)?;
    let panel = |name: &str, tile: L1Tile, whole: L1Tile, buffers: u8| match (tile, whole) {
        (L1Tile::Full(_), L1Tile::Panel(p)) => Ok(InL1 { tiles: p.tiles, k: fractals(name, p.k, k0)?, buffers: 1 }),
        (L1Tile::Panel(p), _) if p.batch == 1 => {
            Ok(InL1 { tiles: p.tiles, k: fractals(name, p.k, k0)?, buffers: buffers.into() })
        }
        _ => Err(inexpressible(OP_TYPE, format!("{name} holds several products"))),
    };
    let a = panel("l1_a", s.l1_a, whole_a, s.buffers.l1_a)?;
    let b = panel("l1_b", s.l1_b, whole_b, s.buffers.l1_b)?;
    let most = UB_BYTES / (F * ACCUMULATOR) / s.l0.m;
    let piece = (1..=n_l0.min(most)).rev().find(|n| n_l0.is_multiple_of(*n));
    Ok(Tiling {
        m_dim: s.cores.m,
        n_dim: s.cores.n,
        k_dim: s.cores.k,
        batch_dim: s.cores.batch,
        m_al1: a.tiles,
        n_bl1: b.tiles,
        k_al1: a.k,
        k_bl1: b.k,
        m_l0,
        n_l0,
        k_l0: fractals("l0.k", s.l0.k_a, k0)?,
        db_al1: a.buffers,
        db_bl1: b.buffers,
        db_l0a: s.buffers.l0_a.into(),
        db_l0b: s.buffers.l0_b.into(),
        db_l0c: s.buffers.l0_c.into(),
        db_cub: 2,
        n_cub: piece.unwrap_or(1),
        ..Tiling::default()
    })
}

/// The schedule of TBE's tiling. TBE deals whole L0 tiles; a core task ends where the product does.
fn canonical(tbe: &TbeTiling, w: &MatMul) -> Result<CubeSchedule> {
    let mut s = tbe.schedule(&w.cube()).map_err(|why| inexpressible(OP_TYPE, why))?;
    s.single.m = s.single.m.min(w.m);
    s.single.n = s.single.n.min(w.n);
    s.order = lighter_order(&s, &w.cube());
    Ok(s)
}

/// Fails where a schedule has what TBE's kernels have not.
fn check_form(s: &CubeSchedule, w: &MatMul) -> Result<()> {
    let tbe = TbeTiling { cores: s.cores, l1_a: s.l1_a, l1_b: s.l1_b, l0: s.l0, buffers: s.buffers };
    let said = canonical(&tbe, w)?;
    let rules = [
        (s.l0.k_a == s.l0.k_b, "L0A and L0B hold different depths"),
        (s.used_cores == said.used_cores, "a core has several tasks"),
        (s.single == said.single, "the core tasks are not those of an even deal of L0 tiles"),
        (s.split_k == said.split_k, "k is split in a way of its own"),
        (s.l2 == said.l2, "core tasks are grouped for L2"),
        (s.output == said.output, "the result leaves the core in a way of its own"),
        (s.order == said.order, "the loops are not in the order of less traffic"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, broken)) => Err(inexpressible(OP_TYPE, broken)),
        None => Ok(()),
    }
}

/// The panels of A and B that hold all of a core task.
fn whole(s: &CubeSchedule) -> Result<(L1Tile, L1Tile)> {
    let panel = |extent: u64, base: u32| {
        let tiles = narrow(OP_TYPE, "L0 tiles of a core task", extent.div_ceil(u64::from(base.max(1))))?;
        let depth = u64::from(s.l0.k_a.max(1));
        let k = s.single.k.div_ceil(depth).saturating_mul(depth);
        Ok(L1Tile::panel(narrow(OP_TYPE, "k of a core task", k)?, tiles))
    };
    Ok((panel(s.single.m, s.l0.m)?, panel(s.single.n, s.l0.n)?))
}
