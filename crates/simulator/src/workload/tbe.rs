//! Tilings of TBE's cube kernels: blocks over the axes, from which the extents of core tasks follow.

use super::{
    Buffers, Cores, CubeSchedule, CubeShape, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath, SplitK,
};

/// What TBE's banks and measurements say of a tiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TbeTiling {
    /// Blocks along each axis; every block has its core.
    pub cores: Cores,
    /// What of A is brought to L1 at once.
    pub l1_a: L1Tile,
    /// What of B is brought to L1 at once.
    pub l1_b: L1Tile,
    /// The L0 tile; its two depths may differ.
    pub l0: L0Tile,
    /// Buffers of each kind.
    pub buffers: Buffers,
}

/// The depth of an operand that L0 holds whole: k rounded up to a fractal.
pub fn whole_depth(shape: &CubeShape) -> Result<u32, String> {
    let whole = shape.k.div_ceil(shape.k0()).saturating_mul(shape.k0());
    u32::try_from(whole).map_err(|_| format!("k = {whole} is too long for L0"))
}

impl TbeTiling {
    /// The canonical schedule of this tiling for a product. The order of the L0 tiles is not recorded: the
    /// kernels take the lighter one. An error names the field.
    pub fn schedule(&self, shape: &CubeShape) -> Result<CubeSchedule, String> {
        let TbeTiling { cores, l0, .. } = *self;
        for (name, value) in [
            ("cores.batch", cores.batch),
            ("cores.m", cores.m),
            ("cores.n", cores.n),
            ("cores.group", cores.k),
            ("l0.m", l0.m),
            ("l0.n", l0.n),
        ] {
            if value == 0 {
                return Err(format!("{name} is zero"));
            }
        }
        let k0 = shape.k0();
        // TBE deals whole L0 tiles.
        let extent = |whole: u64, tile: u32, blocks: u32| {
            whole.div_ceil(u64::from(tile)).div_ceil(u64::from(blocks)).saturating_mul(u64::from(tile))
        };
        let single = Extents {
            batch: shape.batch.div_ceil(u64::from(cores.batch)),
            m: extent(shape.m, l0.m, cores.m),
            n: extent(shape.n, l0.n, cores.n),
            k: shape.k.div_ceil(u64::from(cores.k)).div_ceil(k0).saturating_mul(k0).min(shape.k),
        };
        let mut schedule = CubeSchedule {
            used_cores: u32::try_from(cores.tasks()).map_err(|_| format!("{} blocks are too many", cores.tasks()))?,
            cores,
            single,
            l0,
            l1_a: self.l1_a,
            l1_b: self.l1_b,
            buffers: self.buffers,
            order: LoopOrder::MFirst,
            l2: L2Tiling::default(),
            split_k: if cores.k > 1 { SplitK::MultiCore } else { SplitK::None },
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        };
        schedule.order = lighter_order(&schedule, shape);
        Ok(schedule)
    }

    /// The tiling that says a schedule of a product. An error names the field that TBE's form cannot say.
    pub fn of(s: &CubeSchedule, shape: &CubeShape) -> Result<TbeTiling, String> {
        let tiling = TbeTiling { cores: s.cores, l1_a: s.l1_a, l1_b: s.l1_b, l0: s.l0, buffers: s.buffers };
        let said = tiling.schedule(shape)?;
        let differs = |name: &str, here: &dyn std::fmt::Debug, there: &dyn std::fmt::Debug| {
            Err(format!("`{name}` = {here:?} cannot be said: TBE's form means {there:?}"))
        };
        if said.used_cores != s.used_cores {
            return differs("used_cores", &s.used_cores, &said.used_cores);
        }
        if said.single != s.single {
            return differs("single", &s.single, &said.single);
        }
        if said.order != s.order {
            return differs("order", &s.order, &said.order);
        }
        if said.l2 != s.l2 {
            return differs("l2", &s.l2, &said.l2);
        }
        if said.split_k != s.split_k {
            return differs("split_k", &s.split_k, &said.split_k);
        }
        if said.output != s.output {
            return differs("output", &s.output, &said.output);
        }
        if said.unmodelled != s.unmodelled {
            return differs("unmodelled", &s.unmodelled, &said.unmodelled);
        }
        Ok(tiling)
    }
}

/// The order that TBE's kernels walk in: first along the axis whose operand they would otherwise load again
/// more often.
pub fn lighter_order(s: &CubeSchedule, shape: &CubeShape) -> LoopOrder {
    let tiles = |extent: u64, tile: u32| extent.div_ceil(u64::from(tile.max(1))) as f64;
    let panel = |tile: L1Tile, whole: f64| match tile {
        L1Tile::Full(_) => (1.0, true),
        L1Tile::Panel(p) => ((whole / f64::from(p.tiles.max(1))).ceil(), u64::from(p.k) >= shape.k),
    };
    let (a_groups, a_whole) = panel(s.l1_a, tiles(s.single.m, s.l0.m));
    let (b_groups, b_whole) = panel(s.l1_b, tiles(s.single.n, s.l0.n));
    let (m, n) = (s.single.m as f64, s.single.n as f64);
    let again = |stays: bool, groups: f64| if stays { 1.0 } else { groups };
    let m_first = m * again(a_whole && a_groups <= 1.0, b_groups) + n * again(b_whole, a_groups);
    let n_first = m * again(a_whole, b_groups) + n * again(b_whole && b_groups <= 1.0, a_groups);
    if m_first <= n_first { LoopOrder::MFirst } else { LoopOrder::NFirst }
}
