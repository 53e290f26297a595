//! Default tiling of kernels whose cores have one task each: convolutions, and TBE's products.
//!
//! Those of `Conv3DV2` on 910B are public. TBE's rules for the others are closed, and so are those of `Conv2DV2`:
//! what is here for them is what their kernels' structure asks for: one core task a
//! core, dealt over groups, output pixels, output channels and, for the filter's gradient, the inner
//! axis; the widest L0 tile; filters kept in L1 where they fit and are read again. Convolutions, but for the filter's
//! gradient, and products of the 910B are dealt by cube and loads together, at the part's L2 rate: a deal that only
//! spares cube steps has each core read nearly all of the weights, and a gain over such a default is none.

use crate::rounding::round_up;
use crate::soc::{Arch, Soc};
use crate::space::cube::{F, Limits, Tiling};
use crate::tiling::Platform;
use crate::tiling::conv3d_v2::{self, Problem, Record};
use crate::workload::{Conv, ConvKind, CubeShape, Extents, LoopOrder, OutputPath, Schedule, SplitK};

/// The default of a convolution of volumes by CANN's public rules; `None` where they are not those of the part or of
/// the convolution, or where a record does not hold its sizes.
pub(super) fn public(conv: &Conv, soc: &Soc) -> Option<Schedule> {
    let choice = conv3d_v2::default(&Problem::of(conv)?, &Platform::of(soc)).filter(|choice| choice.public)?;
    let record = Record::chosen(&choice.tiling, conv).ok()?;
    record.schedule(conv).ok().map(Schedule::Cube)
}

/// The default tiling; may exceed a buffer of an unusual part, which the caller repairs.
pub(super) fn tiling(conv: &Conv, soc: &Soc) -> Tiling {
    // An element of the image is loaded once for so many taps of the filter.
    let passed = conv.stride[0].saturating_mul(conv.stride[1]).max(1);
    let taps = (conv.kh.saturating_mul(conv.kw) / passed).max(1);
    let deal = if conv.kind == ConvKind::BackpropFilter { Deal::StepsAndK } else { Deal::Roofline { taps } };
    one_task_each(&conv.cube(), soc, deal)
}

/// The default tiling of a product that TBE compiles.
pub(super) fn product(shape: &CubeShape, soc: &Soc) -> Tiling {
    let deal = if soc.arch == Arch::C220 { Deal::Product } else { Deal::Steps };
    one_task_each(shape, soc, deal)
}

/// What the deal over the cores spares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deal {
    /// Cube steps, then loads.
    Steps,
    /// The same, and cores share the inner axis.
    StepsAndK,
    /// The longer of cube and loads from L2.
    Product,
    /// The longest of cube, loads from L2 and loads to L0.
    Roofline {
        /// Times that an element of A which is loaded once is used.
        taps: u64,
    },
}

/// The default tiling of cube work of this shape.
fn one_task_each(shape: &CubeShape, soc: &Soc, by: Deal) -> Tiling {
    let limits = Limits::new(shape, soc);
    let single = deal(shape, &limits, by, &Rates::of(soc));
    let (base_m, base_n) =
        if by == Deal::Product { product_tile(&single, &limits) } else { l0_tile(&single, &limits, 256, 2) };
    let whole_k = round_up(single.k, limits.k0);
    let fitting = (limits.l0_a / base_m).min(limits.l0_b / base_n) / limits.es;
    let base_k = fitting.min(256 / limits.es).min(whole_k).max(limits.k0) / limits.k0 * limits.k0;
    let single = Extents { k: round_up(single.k, base_k).min(shape.k), ..single };
    let mut tiling = Tiling {
        used_cores: 0,
        single,
        base_m: base_m as u32,
        base_n: base_n as u32,
        base_k: base_k as u32,
        step_m: 1,
        step_n: 1,
        step_ka: 1,
        step_kb: 1,
        full_a: false,
        full_b: false,
        db_l1_a: 2,
        db_l1_b: 2,
        db_l0_c: if limits.base_fits(base_m, base_n, base_k, 2) { 2 } else { 1 },
        order: LoopOrder::MFirst,
        l2_m_tiles: 1,
        l2_n_tiles: 1,
        l2_order: LoopOrder::MFirst,
        split_k: if single.k < shape.k { SplitK::MultiCore } else { SplitK::None },
        output: OutputPath::Direct,
    };
    fill_l1(&mut tiling, &limits);
    tiling
}

/// Bytes a cycle of a core's paths.
struct Rates {
    l2: u64,
    /// From L1 to L0A and L0B.
    l0: [u64; 2],
}

impl Rates {
    fn of(soc: &Soc) -> Rates {
        let whole = |rate: f64| (rate as u64).max(1);
        Rates { l2: whole(soc.l2_rate), l0: [whole(soc.l1_to_l0_a_rate), whole(soc.l1_to_l0_b_rate)] }
    }
}

/// Cycles of a core's loads to L0: A again for each of its tiles along n, B for each along m. A narrow piece of n has A
/// loaded for few steps of the cube.
fn l0_cycles(single: &Extents, limits: &Limits, rates: &Rates) -> u64 {
    let (m, n) = l0_tile(single, limits, 256, 2);
    let bytes = single.batch.saturating_mul(single.k).saturating_mul(limits.es);
    let a = bytes.saturating_mul(single.m).saturating_mul(single.n.div_ceil(n)) / rates.l0[0];
    let b = bytes.saturating_mul(single.n).saturating_mul(single.m.div_ceil(m)) / rates.l0[1];
    a.saturating_add(b)
}

/// Extents of one core task: the deal over the cores whose slowest core has fewest cube steps, or is done first; among
/// equals, the one that loads least.
fn deal(shape: &CubeShape, limits: &Limits, by: Deal, rates: &Rates) -> Extents {
    let split_k = by == Deal::StepsAndK;
    let extent = |whole: u64, count: u64, unit: u64| round_up(whole.div_ceil(count), unit).min(whole);
    let k_extent = |count: u64| extent(shape.k, count, limits.k0);
    let mut best: Option<(u64, u64, Extents)> = None;
    for b_count in 1..=limits.cores.min(shape.batch) {
        for m_count in 1..=(limits.cores / b_count).min(shape.m.div_ceil(F)) {
            let left = limits.cores / b_count / m_count;
            for n_count in 1..=left.min(shape.n.div_ceil(F)) {
                let k_count = if split_k { (left / n_count).min(shape.k.div_ceil(256)).max(1) } else { 1 };
                let single = Extents {
                    batch: shape.batch.div_ceil(b_count),
                    m: extent(shape.m, m_count, F),
                    n: extent(shape.n, n_count, F),
                    k: k_extent(k_count),
                };
                let product = |a: u64, b: u64| a.saturating_mul(b);
                let (m, n) = (round_up(single.m, F), round_up(single.n, F));
                let steps = product(product(single.batch, single.k), product(m / F, n / F));
                // The left operand is read once for each kernel tap only inside L1: count it lightly.
                let loaded = product(product(single.batch, single.k), (m / 4).saturating_add(n));
                let (steps, loaded) = match by {
                    Deal::Steps | Deal::StepsAndK => (steps, loaded),
                    Deal::Product => {
                        let bytes = product(product(product(single.batch, single.k), m.saturating_add(n)), limits.es);
                        ((steps / limits.k0).max(bytes / rates.l2), bytes)
                    }
                    Deal::Roofline { taps } => {
                        let sides = (m / taps).saturating_add(n);
                        let bytes = product(product(product(single.batch, single.k), sides), limits.es);
                        let l0 = l0_cycles(&Extents { m, n, ..single }, limits, rates);
                        ((steps / limits.k0).max(bytes / rates.l2).max(l0), bytes)
                    }
                };
                if best.is_none_or(|(s, l, _)| (steps, loaded) < (s, l)) {
                    best = Some((steps, loaded, single));
                }
            }
        }
    }
    best.map_or(Extents { batch: shape.batch, m: shape.m, n: shape.n, k: shape.k }, |(_, _, single)| single)
}

/// Inner extent from which a tile's way out of L0C takes less than a tenth of its steps.
const LONG_K: u64 = 2048;

/// The L0 tile of a product: wide or square, whichever has a core load less. Where k is long, one buffer of L0C does: what
/// the cube waits for it is a small part of a tile's steps.
fn product_tile(single: &Extents, limits: &Limits) -> (u64, u64) {
    let loaded = |&(m, n): &(u64, u64)| single.m.div_ceil(m).saturating_mul(single.n.div_ceil(n)).saturating_mul(m + n);
    let tile = |widest, buffers| l0_tile(single, limits, widest, buffers);
    let mut tiles = vec![tile(256, 2), tile(128, 2)];
    if single.k >= LONG_K {
        tiles.push(tile(256, 1));
    }
    tiles.into_iter().min_by_key(loaded).unwrap_or((F, F))
}

/// The L0 tile: columns up to `widest`, rows as L0C allows with so many buffers of 4 bytes an element, both cut evenly.
fn l0_tile(single: &Extents, limits: &Limits, widest: u64, buffers: u64) -> (u64, u64) {
    let even = |whole: u64, most: u64| {
        let blocks = round_up(whole, F).div_ceil(most).max(1);
        round_up(whole.div_ceil(blocks), F)
    };
    let n = even(single.n, limits.bias_n.min(widest) / F * F);
    let rows = limits.l0_c / (4 * buffers) / n / F * F;
    (even(single.m, rows.clamp(F, 512)), n)
}

/// L0 steps of k from which it comes in two panels.
const LONG_STEPS: u64 = 4;

/// Fills L1: all filters where further tiles read them again and they take at most half of it, else as many K steps of both
/// sides as it holds twice.
fn fill_l1(tiling: &mut Tiling, limits: &Limits) {
    let base_k = u64::from(tiling.base_k);
    let base_tiles = tiling.single.k.div_ceil(base_k).max(1);
    let steps =
        |bytes: u64, base: u32| (bytes / 2 / (u64::from(base) * base_k * limits.es)).clamp(1, base_tiles) as u32;
    let whole_n = round_up(tiling.single.n, u64::from(tiling.base_n));
    let filters = whole_n.saturating_mul(round_up(tiling.single.k, limits.k0)).saturating_mul(limits.es);
    let read_again = tiling.single.m > u64::from(tiling.base_m);
    if read_again && filters <= limits.l1 / 2 {
        tiling.full_b = true;
        tiling.step_ka = steps(limits.l1 - filters, tiling.base_m);
        // A's rows stay while the columns pass.
        tiling.order = LoopOrder::NFirst;
        return;
    }
    // Even panels. Where a core has one tile, at least two of them: the second comes while the first is multiplied.
    let most = steps(limits.l1, tiling.base_m.saturating_add(tiling.base_n));
    let one_tile = !read_again && tiling.single.n <= u64::from(tiling.base_n) && tiling.single.batch == 1;
    let least = if one_tile && base_tiles >= LONG_STEPS { 2 } else { 1 };
    let panels = base_tiles.div_ceil(most.into()).max(least);
    [tiling.step_ka, tiling.step_kb] = [base_tiles.div_ceil(panels) as u32; 2];
}
