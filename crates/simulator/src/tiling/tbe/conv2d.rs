//! Tilings of the three convolutions of TBE: as schedules, and what they must satisfy.
//!
//! | | rows (m) | columns (n) | inner axis (k) |
//! |---|---|---|---|
//! | Conv2D | pixels of y, image by image | channels of y | channel blocks of x by kernel positions |
//! | `Conv2DBackpropInput` | pixels of x, image by image | channels of x | channel blocks of dy by kernel positions |
//! | `Conv2DBackpropFilter` | channels of dy | channel blocks of x by kernel positions | pixels of dy, image by image |
//!
//! A schedule counts the pixels of all images in a row; TBE deals images first (`block_dim[0]`), then whole L0 tiles
//! of an image.

use super::{F, Judged, Strength, TbeTiling, demand, matmul::has_work, shared_rules};
use crate::rounding::round_up;
use crate::tiling::Platform;
use crate::workload::tbe::lighter_order;
use crate::workload::{Conv, ConvKind, Cores, CubeSchedule, Extents, L1Tile, L2Tiling, OutputPath, Panel, SplitK};

/// Most images that are dealt; no part has as many cores.
const MOST_CORES: u32 = 1024;

/// Extents as TBE counts them: channels in whole blocks.
struct Sizes {
    /// Pixels of one image along the axis that has them.
    pixels: u64,
    /// Rows; of one image where they are pixels.
    m: u64,
    n: u64,
    /// Inner extent; of one image where it is pixels.
    k: u64,
    /// Elements of k that stay together.
    block: u64,
}

impl Sizes {
    fn of(w: &Conv) -> Sizes {
        let c0 = w.cube().k0();
        // A group's own, as in all of TBE's terms.
        let (cin, cout) = (w.cin / w.groups.max(1), w.cout / w.groups.max(1));
        let positions = w.kh.saturating_mul(w.kw).max(1);
        let block = c0.saturating_mul(positions);
        let along = |channels: u64| round_up(channels, c0).saturating_mul(positions);
        match w.kind {
            ConvKind::Forward => {
                let pixels = w.ho.saturating_mul(w.wo).max(1);
                Sizes { pixels, m: pixels, n: round_up(cout, F), k: along(cin), block }
            }
            ConvKind::BackpropInput => {
                let pixels = w.hi.saturating_mul(w.wi).max(1);
                Sizes { pixels, m: pixels, n: round_up(cin, F), k: along(cout), block }
            }
            ConvKind::BackpropFilter => {
                let pixels = w.ho.saturating_mul(w.wo).max(1);
                Sizes { pixels, m: round_up(cout, F), n: along(cin), k: round_up(pixels, F), block: F }
            }
        }
    }
}

/// The schedule of a tiling. An error names the field of a tiling of nothing.
pub fn schedule(t: &TbeTiling, w: &Conv) -> Result<CubeSchedule, String> {
    let TbeTiling { cores: c, l0, .. } = *t;
    if [c.batch, c.m, c.n, c.k, l0.m, l0.n, l0.k_a, l0.k_b].contains(&0) {
        return Err("block_dim or an L0 matrix holds a zero".into());
    }
    let (shape, sizes) = (w.cube(), Sizes::of(w));
    let images = w.batch.div_ceil(c.batch.into());
    let extent = |whole: u64, tile: u32, blocks: u32| {
        if blocks == 1 {
            return whole;
        }
        whole.div_ceil(tile.into()).div_ceil(blocks.into()).saturating_mul(tile.into()).min(whole)
    };
    let is_filter = w.kind == ConvKind::BackpropFilter;
    let dealt = |blocks: u32, of: u32| blocks.checked_mul(of).ok_or("block_dim overflows");
    let (cores, single) = if is_filter {
        let k = images.saturating_mul(sizes.pixels).min(shape.k);
        let cores = Cores { batch: c.k, m: c.m, n: c.n, k: c.batch };
        (cores, Extents { batch: 1, m: extent(shape.m, l0.m, c.m), n: extent(shape.n, l0.n, c.n), k })
    } else {
        let m = images.saturating_mul(extent(sizes.pixels, l0.m, c.m));
        let cores = Cores { batch: c.k, m: dealt(c.batch, c.m)?, n: c.n, k: 1 };
        (cores, Extents { batch: 1, m, n: extent(shape.n, l0.n, c.n), k: shape.k })
    };
    let single = Extents { batch: shape.batch.div_ceil(c.k.into()), ..single };
    // TBE counts whole channel blocks; a panel of all of them has no more than k rounds of L0.
    let panel = |tile: L1Tile, depth: u32| match tile {
        L1Tile::Full(_) => L1Tile::FULL,
        L1Tile::Panel(p) => {
            let all = u32::try_from(round_up(single.k, depth.into())).unwrap_or(u32::MAX);
            L1Tile::Panel(Panel { k: p.k.min(all), ..p })
        }
    };
    let mut s = CubeSchedule {
        used_cores: u32::try_from(cores.tasks()).map_err(|_| "block_dim overflows")?,
        cores,
        single,
        l0,
        l1_a: panel(t.l1_a, l0.k_a),
        l1_b: panel(t.l1_b, l0.k_b),
        buffers: t.buffers,
        order: crate::workload::LoopOrder::MFirst,
        l2: L2Tiling::default(),
        split_k: if cores.k > 1 { SplitK::MultiCore } else { SplitK::None },
        output: OutputPath::Direct,
        unmodelled: std::collections::BTreeMap::new(),
    };
    s.order = lighter_order(&s, &shape);
    Ok(s)
}

/// The tiling that says a schedule. An error names what TBE's form cannot say.
pub fn of_schedule(s: &CubeSchedule, w: &Conv) -> Result<TbeTiling, String> {
    let sizes = Sizes::of(w);
    let is_filter = w.kind == ConvKind::BackpropFilter;
    let whole = |tile: L1Tile| match tile {
        L1Tile::Panel(p) if u64::from(p.k) >= s.single.k => {
            let images = if is_filter { s.single.k.div_ceil(sizes.pixels) } else { 1 };
            let all = if images > 1 { round_up(s.single.k, F) } else { sizes.k };
            let k = u32::try_from(all).map_err(|_| format!("k = {all} is too long for L1"))?;
            Ok::<_, String>(L1Tile::Panel(Panel { k, ..p }))
        }
        tile => Ok(tile),
    };
    let plain = TbeTiling {
        cores: Cores { batch: s.cores.k, m: s.cores.m, n: s.cores.n, k: s.cores.batch },
        l1_a: whole(s.l1_a)?,
        l1_b: whole(s.l1_b)?,
        l0: s.l0,
        buffers: s.buffers,
    };
    if is_filter {
        return if schedule(&plain, w)? == *s { Ok(plain) } else { Err(difference(&schedule(&plain, w)?, s)) };
    }
    let most = u32::try_from(w.batch).unwrap_or(u32::MAX).min(s.cores.m).min(MOST_CORES);
    let mut last = format!("core tasks of {} pixels are no even parts of the images", s.single.m);
    for batch in (1..=most).rev().filter(|&n| s.cores.m.is_multiple_of(n)) {
        let images = w.batch.div_ceil(batch.into());
        if !s.single.m.is_multiple_of(images) || s.single.m / images > sizes.pixels {
            continue;
        }
        let tiling = TbeTiling { cores: Cores { batch, m: s.cores.m / batch, ..plain.cores }, ..plain };
        let said = schedule(&tiling, w)?;
        if said == *s {
            return Ok(tiling);
        }
        if said.single == s.single {
            last = difference(&said, s);
        }
    }
    Err(last)
}

/// The first part in which what would be said is not what is meant.
fn difference(said: &CubeSchedule, meant: &CubeSchedule) -> String {
    let parts: [(&str, bool); 6] = [
        ("cores", said.cores == meant.cores && said.used_cores == meant.used_cores),
        ("single", said.single == meant.single),
        ("l1_a or l1_b", (said.l1_a, said.l1_b) == (meant.l1_a, meant.l1_b)),
        ("order", said.order == meant.order),
        ("l2 or output", said.l2 == meant.l2 && said.output == meant.output),
        ("split_k", said.split_k == meant.split_k),
    ];
    let name = parts.into_iter().find(|(_, same)| !same).map_or("unmodelled", |(name, _)| name);
    format!("`{name}` cannot be said in TBE's form")
}

/// Fails with the broken rule in one sentence.
pub fn check(t: &TbeTiling, w: &Conv, p: &Platform, strength: Strength) -> Result<(), String> {
    let sizes = Sizes::of(w);
    shared_rules(t, w.dtype.bytes().max(1), w.bias, p)?;
    let l0 = t.l0;
    // An empty BL0_matrix says that L0B holds all of the filter; it has the whole depth then.
    let is_whole = || w.kind != ConvKind::Forward || u64::from(l0.k_b) >= w.cube().k;
    demand(l0.k_a == l0.k_b || is_whole(), || {
        format!("AL0_matrix holds {} of k and BL0_matrix {}: TBE's compilation stops", l0.k_a, l0.k_b)
    })?;
    if strength == Strength::Written {
        split_rules(t, w, &sizes)?;
        l1_rules(t, w, &sizes, p)?;
    }
    Ok(())
}

/// How cores and L0 share the axes.
fn split_rules(t: &TbeTiling, w: &Conv, sizes: &Sizes) -> Judged {
    let (c, l0, groups) = (t.cores, t.l0, w.groups.max(1));
    let columns = sizes.n / u64::from(c.n.max(1));
    let m_tiles = sizes.m.div_ceil(l0.m.into());
    demand(c.k > 0 && groups.is_multiple_of(c.k.into()), || {
        format!("block_dim[3] = {} does not divide {groups} groups", c.k)
    })?;
    demand(l0.k_a == l0.k_b, || format!("AL0_matrix holds {} of k and BL0_matrix {}", l0.k_a, l0.k_b))?;
    demand(w.batch.is_multiple_of(c.batch.into()), || {
        format!("block_dim[0] = {} does not divide {} images", c.batch, w.batch)
    })?;
    demand(sizes.n.is_multiple_of(u64::from(c.n).saturating_mul(l0.n.into())), || {
        format!("block_dim[1] = {} by BL0_matrix' {} columns do not divide n = {}", c.n, l0.n, sizes.n)
    })?;
    demand(has_work(m_tiles, c.m), || {
        format!("block_dim[2] = {}: some of these cores have no tile of {m_tiles}", c.m)
    })?;
    demand(u64::from(l0.m) <= round_up(sizes.m, F) && u64::from(l0.n) <= columns, || {
        format!("CL0_matrix of {} x {} exceeds what a core has, {} x {columns}", l0.m, l0.n, sizes.m)
    })
}

/// Elements of k that a panel of filters in L1 keeps together: those of a channel block with all kernel positions, as in
/// all measured convolutions but those of 28 x 28 and more positions, of which 16 columns take much of L1. With the
/// gradient of a filter k is pixels.
pub(crate) fn filter_block(w: &Conv, l1: u64) -> u64 {
    let block = Sizes::of(w).block;
    let bytes = block.saturating_mul(F).saturating_mul(w.dtype.bytes().max(1));
    if bytes <= l1 / 4 { block } else { w.cube().k0() }
}

/// What L1 holds of an operand: depth, width, buffers.
type Held = (u64, u64, u64);

/// What L1 holds. A's pixels are images there, of whole channel blocks.
fn l1_rules(t: &TbeTiling, w: &Conv, sizes: &Sizes, p: &Platform) -> Judged {
    let (c, l0) = (t.cores, t.l0);
    let is_filter = w.kind == ConvKind::BackpropFilter;
    let images = w.batch.div_ceil(c.batch.into());
    let rows = has_rows(sizes.m, l0.m, c.m);
    let columns = sizes.n / u64::from(c.n.max(1));
    let held = |tile: L1Tile, whole: u64, base: u32, buffers: u8| match tile {
        L1Tile::Full(_) => (sizes.k, whole, 1),
        L1Tile::Panel(p) => (u64::from(p.k), u64::from(p.tiles).saturating_mul(base.into()), u64::from(buffers)),
    };
    let a: Held = held(t.l1_a, rows, l0.m, t.buffers.l1_a);
    let b: Held = held(t.l1_b, columns, l0.n, t.buffers.l1_b);
    let is_full = |tile: L1Tile| matches!(tile, L1Tile::Full(_));
    for (name, (depth, _, _), block) in [("AL1_shape", a, sizes.block), ("BL1_shape", b, filter_block(w, p.l1))] {
        let cuts = depth.is_multiple_of(block) && depth.is_multiple_of(l0.k_a.into()) && sizes.k.is_multiple_of(depth);
        demand(depth > 0 && cuts, || {
            format!(
                "{name}' k of {depth} is no multiple of {block} and of AL0_matrix' {} that divides k = {}",
                l0.k_a, sizes.k
            )
        })?;
    }
    let one = matches!(t.l1_a, L1Tile::Panel(Panel { batch: 1, .. }) | L1Tile::Full(_));
    demand(one && (images == 1 || is_filter || !is_full(t.l1_a)), || "L1 holds A of several images".into())?;
    demand(images == 1 || !is_filter || !is_full(t.l1_a) && !is_full(t.l1_b), || {
        "L1 holds k of several images".into()
    })?;
    demand(a.1 <= round_up(rows, l0.m.into()), || format!("AL1_shape holds {} rows of a core's {rows}", a.1))?;
    let whole_kernels = !is_filter || b.1.is_multiple_of(positions(w).saturating_mul(F));
    demand(b.1 > 0 && columns.is_multiple_of(b.1) && whole_kernels, || {
        format!("BL1_shape holds {} columns, no even part of a core's {columns} with whole kernels", b.1)
    })?;
    let total = l1_bytes(w, a, b);
    demand(total <= p.l1, || format!("AL1_shape and BL1_shape need {total} bytes of the {} that L1 has", p.l1))
}

/// Bytes of L1 for both operands and a bias; images are there as they are.
fn l1_bytes(w: &Conv, (depth_a, width_a, buffers_a): Held, (depth_b, width_b, buffers_b): Held) -> u64 {
    let (bytes_a, bytes_b) = if w.kind == ConvKind::BackpropFilter {
        let channels = round_up(width_b.div_ceil(positions(w)), F);
        (depth_a.saturating_mul(width_a), window(w, depth_b).saturating_mul(channels))
    } else {
        let channels = depth_a.div_ceil(positions(w));
        (window(w, width_a).saturating_mul(channels), depth_b.saturating_mul(width_b))
    };
    let bias = if w.bias { 1024 } else { 0 };
    let total = bytes_a.saturating_mul(buffers_a).saturating_add(bytes_b.saturating_mul(buffers_b));
    total.saturating_mul(w.dtype.bytes().max(1)).saturating_add(bias)
}

/// Rows that a core has at most.
fn has_rows(m: u64, tile: u32, blocks: u32) -> u64 {
    m.div_ceil(tile.max(1).into()).div_ceil(blocks.max(1).into()).saturating_mul(tile.into()).min(round_up(m, F))
}

fn positions(w: &Conv) -> u64 {
    w.kh.saturating_mul(w.kw).max(1)
}

/// Pixels that L1 holds of one channel to make a run of rows from: whole rows of the image, with what the kernel
/// reaches beyond. For dx the image is dy, spread by the strides.
fn window(w: &Conv, run: u64) -> u64 {
    let reach = |kernel: u64, dilation: u64| kernel.max(1).saturating_sub(1).saturating_mul(dilation).saturating_add(1);
    let [stride_h, stride_w] = w.stride;
    let (width, stride, height, row) = if w.kind == ConvKind::BackpropInput {
        (w.wi.max(1), 1, w.ho.saturating_mul(stride_h), w.wo.saturating_mul(stride_w))
    } else {
        (w.wo.max(1), stride_h, w.hi, w.wi)
    };
    // A run of pixels may begin and end within a row.
    let rows = (run / width).saturating_add(2);
    let read = (rows - 1).saturating_mul(stride).saturating_add(reach(w.kh, w.dilation[0])).min(height);
    read.saturating_mul(row)
}
