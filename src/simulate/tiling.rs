//! The two written forms of a schedule: the canonical one, and TBE's as the banks hold it.

use crate::soc::Soc;
use crate::workload::{
    Buffers, Cores, CubeSchedule, CubeShape, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath, Schedule,
    SplitK, Workload,
};
use serde::Deserialize;
use serde_json::Value;

/// TBE's form: extents of core tasks follow from the number of blocks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tbe {
    cores: Cores,
    l1_a: L1Tile,
    l1_b: L1Tile,
    l0: L0,
    buffers: Buffers,
    order: Option<LoopOrder>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct L0 {
    m: u32,
    n: u32,
    k_a: Depth,
    k_b: Depth,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "neither \"full\" nor a number of elements")]
enum Depth {
    Elements(u32),
    Full(Full),
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Full {
    #[serde(rename = "full")]
    Full,
}

/// Reads a schedule: the canonical form where `single` or a vector schedule's fields are given, else
/// TBE's.
pub(super) fn read(written: &Value, workload: &Workload, soc: &Soc) -> Result<Schedule, String> {
    let Some(shape) = workload.cube() else { return typed(written).map(Schedule::Vector) };
    if written.get("single").is_some() {
        return typed(written).map(Schedule::Cube);
    }
    let tbe: Tbe = typed(written)?;
    canonical(&tbe, &shape, soc).map(Schedule::Cube).map_err(|reason| format!("`schedule`: {reason}"))
}

/// The written schedule in this form; an error names the place in it.
fn typed<'a, T: Deserialize<'a>>(written: &'a Value) -> Result<T, String> {
    serde_path_to_error::deserialize(written).map_err(|e| match e.path().iter().next() {
        Some(_) => format!("`schedule.{}`: {}", super::fields::shown(&e.path().to_string()), e.inner()),
        None => format!("`schedule`: {}", e.inner()),
    })
}

fn canonical(tbe: &Tbe, shape: &CubeShape, soc: &Soc) -> Result<CubeSchedule, String> {
    let Tbe { cores, l0, .. } = tbe;
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
    let whole_k = shape.k.div_ceil(k0).saturating_mul(k0);
    let depth = |d: Depth| match d {
        Depth::Elements(k) => Ok(k),
        Depth::Full(Full::Full) => u32::try_from(whole_k).map_err(|_| format!("k = {whole_k} is too long for L0")),
    };
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
    let used_cores = u32::try_from(cores.tasks().min(u64::from(soc.ai_core_cnt))).unwrap_or(u32::MAX);
    if cores.tasks() > u64::from(soc.ai_core_cnt) {
        return Err(format!("{} blocks, the SoC has {} cores", cores.tasks(), soc.ai_core_cnt));
    }
    let mut schedule = CubeSchedule {
        used_cores,
        cores: *cores,
        single,
        l0: L0Tile { m: l0.m, n: l0.n, k_a: depth(l0.k_a)?, k_b: depth(l0.k_b)? },
        l1_a: tbe.l1_a,
        l1_b: tbe.l1_b,
        buffers: tbe.buffers,
        order: LoopOrder::MFirst,
        l2: L2Tiling::default(),
        split_k: if cores.k > 1 { SplitK::MultiCore } else { SplitK::None },
        output: OutputPath::Direct,
        tiling_digits: 0,
    };
    schedule.order = tbe.order.unwrap_or_else(|| lighter_order(&schedule, shape));
    Ok(schedule)
}

/// TBE's kernels walk first along the axis whose operand they would otherwise load again more often.
pub(super) fn lighter_order(s: &CubeSchedule, shape: &CubeShape) -> LoopOrder {
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
