//! The tiling of a cube kernel of which only the number of blocks is known.
//!
//! TBE's kernels cut the axes into equal blocks of whole tiles that divide the axes evenly. Of all deals
//! over that many blocks this takes the one that keeps the busiest core's cube and its loads shortest.

use crate::soc::{Arch, Soc};
use crate::space::default_policy;
use crate::status::Result;
use crate::workload::{
    Buffers, Cores, CubeSchedule, CubeShape, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath, Panel, Schedule,
    SplitK, Workload,
};

/// Rows and columns of one cube step.
const F: u64 = 16;
/// Cube steps that bringing one fractal in is worth: 512 bytes at 110 bytes a cycle from L2.
const LOAD_STEPS: f64 = 4.0;
/// Cube steps that starting and draining one L0 tile is worth.
const TILE_STEPS: f64 = 100.0;
/// Most blocks along one axis that are tried.
const MAX_BLOCKS: u64 = 4096;

/// CANN's default policy for a part of so many cores where its rules are public, else an even deal over `blocks`.
pub(super) fn schedule(workload: &Workload, blocks: u64, soc: &Soc) -> Result<Schedule> {
    let modern = !matches!(soc.arch, Arch::C100 | Arch::M200);
    let Some(shape) = workload.cube().filter(|_| !modern) else { return on_cores(workload, blocks, soc) };
    let dealt = Deal::best(&shape, blocks.clamp(1, MAX_BLOCKS), splits_k(workload), soc);
    match dealt.and_then(|deal| deal.schedule(&shape, soc)) {
        Some(s) if crate::workload::check(workload, &Schedule::Cube(s.clone()), soc).is_ok() => Ok(Schedule::Cube(s)),
        // Sizes that no even deal fits.
        _ => on_cores(workload, blocks, soc),
    }
}

/// The default policy as if the part had no more than `blocks` cores.
fn on_cores(workload: &Workload, blocks: u64, soc: &Soc) -> Result<Schedule> {
    let mut part = soc.clone();
    if let Ok(cores) = u32::try_from(blocks)
        && cores < soc.ai_core_cnt
    {
        part.limit_cores(cores)?;
    }
    default_policy(workload, &part)
}

/// Whether the kernel may cut the inner axis over cores: the filter's gradient sums over pixels.
fn splits_k(workload: &Workload) -> bool {
    match workload {
        Workload::Conv(conv) => conv.kind == crate::workload::ConvKind::BackpropFilter,
        Workload::Fused(parts) => parts.iter().any(splits_k),
        _ => false,
    }
}

/// Blocks along each axis, the extent of one in elements, and the L0 tile.
struct Deal {
    cores: Cores,
    single: Extents,
    m: u64,
    n: u64,
}

impl Deal {
    /// The best deal over exactly `blocks`. Axes are cut into tiles that divide them evenly, and blocks get
    /// whole tiles.
    fn best(shape: &CubeShape, blocks: u64, split_k: bool, soc: &Soc) -> Option<Deal> {
        let k0 = shape.k0();
        let (whole_m, whole_n) = (shape.m.div_ceil(F), shape.n.div_ceil(F));
        let tiles = tiles(whole_m, whole_n, soc);
        let factors = |left: u64, most: u64| (1..=left.min(most)).filter(move |c| left.is_multiple_of(*c));
        let mut best: Option<(f64, Deal)> = None;
        for b in factors(blocks, shape.batch) {
            for k in factors(blocks / b, if split_k { shape.k.div_ceil(k0) } else { 1 }) {
                let left = blocks / b / k;
                for m in factors(left, whole_m) {
                    let n = left / m;
                    if n > whole_n {
                        continue;
                    }
                    let batch = shape.batch.div_ceil(b);
                    let depth = (shape.k.div_ceil(k0).div_ceil(k) * k0).min(shape.k);
                    for &(tile_m, tile_n) in &tiles {
                        let (along_m, along_n) = ((whole_m / tile_m).div_ceil(m), (whole_n / tile_n).div_ceil(n));
                        let (rows, columns) = (along_m * tile_m, along_n * tile_n);
                        let inner = batch as f64 * depth as f64 / k0 as f64;
                        let steps = inner * rows as f64 * columns as f64;
                        let loads = inner * (along_n * rows + along_m * columns) as f64;
                        let tiles = batch as f64 * (along_m * along_n) as f64;
                        let cost = steps + loads * LOAD_STEPS + tiles * TILE_STEPS;
                        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                            let cores = Cores { batch: b as u32, m: m as u32, n: n as u32, k: k as u32 };
                            let single = Extents { batch, m: rows * F, n: columns * F, k: depth };
                            best = Some((cost, Deal { cores, single, m: tile_m * F, n: tile_n * F }));
                        }
                    }
                }
            }
        }
        best.map(|(_, deal)| deal)
    }

    /// The schedule with the largest L0 tiles that divide the core's part, operands whole in L1 where
    /// they fit.
    fn schedule(&self, shape: &CubeShape, soc: &Soc) -> Option<CubeSchedule> {
        let es = shape.dtype.bytes().max(1);
        let (k0, k) = (shape.k0(), self.single.k.div_ceil(shape.k0()) * shape.k0());
        let Deal { single, m, n, .. } = *self;
        let depth = |extent: u64, size: u64| cut(k / k0, (size / 2 / es / extent / k0).max(1)) * k0;
        let base_k = depth(m, soc.l0_a_size).min(depth(n, soc.l0_b_size));
        let base_k = cut(k / k0, base_k / k0) * k0;
        let mut free = soc.l1_size.saturating_sub(if shape.bias { 1024 } else { 0 }) / es;
        // What passes but once need not stay, and the first step waits for none of the rest.
        let [passes_a, passes_b] = [single.n.div_ceil(n), single.m.div_ceil(m)];
        let mut whole = |extent: u64, passes: u64| {
            let fits = passes > 1 && extent.saturating_mul(k) <= free / 2;
            if fits {
                free -= extent * k;
            }
            fits
        };
        let (a_full, b_full) = (whole(single.m, passes_a), whole(single.n, passes_b));
        let sides = u64::from(!a_full) + u64::from(!b_full);
        let whole_steps = k.div_ceil(base_k);
        let steps = |extent: u64| cut(whole_steps, (free / 2 / sides.max(1) / extent / base_k).max(1));
        // The longer of two panels holds a whole number of the shorter one's.
        let (mut a_steps, mut b_steps) = (steps(m), steps(n));
        if !a_full && !b_full {
            let short = a_steps.min(b_steps);
            let long = |own: u64| short * cut(whole_steps.div_ceil(short), own / short);
            (a_steps, b_steps) = (long(a_steps), long(b_steps));
        }
        let panel = |full: bool, steps: u64| {
            if full { L1Tile::FULL } else { L1Tile::panel((steps * base_k) as u32, 1) }
        };
        let (mut l1_a, mut l1_b) = (panel(a_full, a_steps), panel(b_full, b_steps));
        // Small products come to L1 several at a time.
        let product = (single.m + single.n).saturating_mul(k).saturating_mul(2 * es).max(1);
        let together = divisor(single.batch, soc.l1_size.saturating_sub(1024) / product) as u32;
        if together > 1 {
            let joined = |extent: u64, tile: u64| {
                L1Tile::Panel(Panel { k: k as u32, tiles: extent.div_ceil(tile) as u32, batch: together })
            };
            (l1_a, l1_b) = (joined(single.m, m), joined(single.n, n));
        }
        let mut schedule = CubeSchedule {
            used_cores: u32::try_from(self.cores.tasks()).ok()?.min(soc.ai_core_cnt),
            cores: self.cores,
            single,
            l0: L0Tile { m: m as u32, n: n as u32, k_a: base_k as u32, k_b: base_k as u32 },
            l1_a,
            l1_b,
            buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 2 },
            order: LoopOrder::MFirst,
            l2: L2Tiling::default(),
            split_k: if self.cores.k > 1 { SplitK::MultiCore } else { SplitK::None },
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        };
        if m * n * 8 > soc.l0_c_size {
            schedule.buffers.l0_c = 1;
        }
        schedule.order = crate::workload::tbe::lighter_order(&schedule, shape);
        Some(schedule)
    }
}

/// L0 tiles in fractals: even divisors of both axes that fit L0C twice and L0A and L0B with some depth.
fn tiles(whole_m: u64, whole_n: u64, soc: &Soc) -> Vec<(u64, u64)> {
    let most = soc.l0_c_size / 2 / (F * F * 4);
    let longest = (soc.l0_a_size.min(soc.l0_b_size) / 2 / (F * 32)).min(64);
    let divisors = |x: u64| (1..=x.min(longest)).filter(move |d| x.is_multiple_of(*d));
    divisors(whole_m).flat_map(|a| divisors(whole_n).map(move |b| (a, b))).filter(|(a, b)| a * b <= most).collect()
}

/// Into what pieces of up to `most` an inner axis is cut: even ones, unless that makes them less than half as large as
/// they may be. Then the last piece is a tail, as a prime number of blocks always has.
fn cut(whole: u64, most: u64) -> u64 {
    let (even, most) = (divisor(whole, most), most.clamp(1, whole.max(1)));
    if 2 * even >= most { even } else { most }
}

/// The largest divisor of `whole` up to `most`.
fn divisor(whole: u64, most: u64) -> u64 {
    (1..=most.clamp(1, whole.max(1))).rev().find(|d| whole.is_multiple_of(*d)).unwrap_or(1)
}
