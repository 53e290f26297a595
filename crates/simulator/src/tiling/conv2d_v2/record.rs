//! The tiling of a `Conv2DV2` record: CANN's 48 fields, and what they say as a canonical schedule.
//!
//! CANN cuts the images of a batch, the rows or pixels of an image, the output channels and the groups;
//! a schedule sees a product whose m are the pixels of all images. `mMode` 1 counts the pixels of an
//! image in a row (`hoL1`, `hoL0` are numbers of pixels), `mMode` 0 rows by columns.

use super::OP_TYPE;
use crate::rounding::round_up;
use crate::tiling::conv_form::{buffer_flag, buffers, check_form};
use crate::tiling::fields::{Unmodelled, inexpressible, narrow, order, order_number, tiling};
use crate::workload::{Conv, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, OutputPath, SplitK};
use aoe_base::status::Result;

/// Rows or columns of a fractal.
const F: u64 = 16;

tiling! {
    OP_TYPE;
    groups "groups", org_ci "orgCi", org_hi "orgHi", org_wi "orgWi", org_co "orgCo", org_ho "orgHo",
    org_wo "orgWo", kernel_h "kernelH", kernel_w "kernelW", single_core_ci "singleCoreCi",
    single_core_co "singleCoreCo", single_core_ho "singleCoreHo", single_core_wo "singleCoreWo", ho_l1 "hoL1",
    wo_l1 "woL1", k_al1 "kAL1", k_bl1 "kBL1", n_bl1 "nBL1", ho_l0 "hoL0", wo_l0 "woL0", k_l0 "kL0", n_l0 "nL0",
    p_buffer_flag "pBufferFlag", stride_h "strideH", stride_w "strideW", dilation_h "dilationH",
    dilation_w "dilationW", pad_top "padTop", pad_bottom "padBottom", pad_left "padLeft", pad_right "padRight",
    iterate_mn_order "iterateMNOrder", bias_full_load_flag "biasFullLoadFlag",
    fixp_params_full_load_flag "fixpParamsFullLoadFlag", offsetx "offsetx", hf32_enable "hf32Enable",
    hf32_trans_mode "hf32TransMode", is_c04_flag "isC04Flag", round_mode "roundMode", group_dim "groupDim",
    batch_dim "batchDim", ho_dim "hoDim", wo_dim "woDim", n_dim "nDim", m_mode "mMode", inner_batch "innerBatch" = 1,
    enlarge "enlarge", is_weight_ub_trans_flag "isWeightUbTransFlag",
}

impl Tiling {
    /// The tiling of a schedule. Fails with [`aoe_base::status::Error::IllegalSchedule`] for what the record's
    /// fields cannot say.
    pub fn from_schedule(s: &CubeSchedule, w: &Conv) -> Result<Tiling> {
        match of_schedule(s, w) {
            Ok(tiling) => tiling.with(&s.unmodelled),
            Err(why) if s.unmodelled.is_empty() => Err(why),
            Err(_) => Tiling::default().with(&s.unmodelled),
        }
    }

    /// Pixels of an image: of a core task, in L1 and in L0.
    fn pixels(&self) -> [u64; 3] {
        let area = |h: u32, w: u32| u64::from(h) * if self.m_mode == 0 { u64::from(w) } else { 1 };
        [area(self.single_core_ho, self.single_core_wo), area(self.ho_l1, self.wo_l1), area(self.ho_l0, self.wo_l0)]
    }

    /// The schedule of a tiling for one convolution. Fails with [`aoe_base::status::Error::IllegalSchedule`]
    /// for a tiling of nothing; whether the rest is legal is for [`crate::workload::check`].
    pub fn schedule(&self, w: &Conv) -> Result<CubeSchedule> {
        let [task, l1, l0] = self.pixels();
        let counts = [self.batch_dim, self.ho_dim, self.wo_dim, self.n_dim, self.group_dim];
        let sizes = [self.single_core_co, self.n_bl1, self.n_l0, self.k_al1, self.k_bl1, self.k_l0];
        if [task, l1, l0].contains(&0) || counts.contains(&0) || sizes.contains(&0) {
            return Err(inexpressible(OP_TYPE, "a count of cores, pixels or channels is 0"));
        }
        let m_tasks =
            [self.ho_dim, self.wo_dim].iter().fold(u64::from(self.batch_dim), |n, &d| n.saturating_mul(d.into()));
        let cores =
            Cores { batch: self.group_dim, m: narrow(OP_TYPE, "core tasks along m", m_tasks)?, n: self.n_dim, k: 1 };
        let shape = w.cube();
        let images = w.batch.div_ceil(self.batch_dim.into());
        let l0 = L0Tile {
            m: narrow(OP_TYPE, "hoL0", round_up(l0, F))?,
            n: narrow(OP_TYPE, "nL0", round_up(self.n_l0.into(), F))?,
            k_a: self.k_l0,
            k_b: self.k_l0,
        };
        let buffers = buffers(self.p_buffer_flag);
        // CANN counts channels in whole blocks; a panel of all of them has no more than k rounds of L0.
        let all_k = narrow(OP_TYPE, "kL0", round_up(shape.k, self.k_l0.into()))?;
        let panel = |k: u32, extent: u64, base: u32, whole: bool| {
            let tiles = narrow(OP_TYPE, "L0 tiles in L1", extent.div_ceil(base.into()))?;
            Ok(if whole && u64::from(k) >= shape.k { L1Tile::FULL } else { L1Tile::panel(k.min(all_k), tiles) })
        };
        let all_pixels = images == 1 && l1 >= task && buffers.l1_a == 1;
        let all_channels = self.n_bl1 >= self.single_core_co && buffers.l1_b == 1;
        let mut s = CubeSchedule {
            used_cores: narrow(OP_TYPE, "cores", cores.tasks())?,
            cores,
            single: Extents {
                batch: shape.batch.div_ceil(self.group_dim.into()),
                m: images.saturating_mul(task.min(pixels_of_image(w))),
                n: self.single_core_co.into(),
                k: shape.k,
            },
            l0,
            l1_a: panel(self.k_al1, l1, l0.m, all_pixels)?,
            l1_b: panel(self.k_bl1, self.n_bl1.into(), l0.n, all_channels)?,
            buffers,
            order: order(OP_TYPE, "iterateMNOrder", self.iterate_mn_order)?,
            l2: L2Tiling::default(),
            split_k: SplitK::None,
            output: OutputPath::Direct,
            unmodelled: Unmodelled::new(),
        };
        s.unmodelled = self.beyond(&of_schedule(&s, w).unwrap_or_default());
        Ok(s)
    }
}

fn pixels_of_image(w: &Conv) -> u64 {
    w.ho.saturating_mul(w.wo)
}

/// What the fields of a schedule say that CANN's terms have too, with the pixels of an image in a row, and
/// what follows from the convolution itself.
fn of_schedule(s: &CubeSchedule, w: &Conv) -> Result<Tiling> {
    check_form(OP_TYPE, s, w)?;
    let MTasks { batch_dim, ho_dim, images, task } = m_tasks(s, w)?;
    let number = |name: &str, value: u64| narrow(OP_TYPE, name, value);
    let groups = w.groups.max(1);
    let shape = w.cube();
    let whole_k = round_up(w.cin / groups, shape.k0()).saturating_mul(w.kh).saturating_mul(w.kw);
    // What L1 holds of an operand: pixels or channels, and elements along k.
    let panel = |tile: L1Tile, extent: u64, base: u32| match tile {
        L1Tile::Full(_) => Ok((round_up(extent, base.into()), whole_k)),
        L1Tile::Panel(p) if p.batch == 1 => {
            let k = if u64::from(p.k) >= shape.k { whole_k } else { p.k.into() };
            Ok((u64::from(p.tiles) * u64::from(base), k))
        }
        L1Tile::Panel(p) => Err(inexpressible(OP_TYPE, format!("an L1 panel holds {} products", p.batch))),
    };
    let (a, b) = (panel(s.l1_a, task, s.l0.m)?, panel(s.l1_b, s.single.n, s.l0.n)?);
    let stays = matches!(s.l1_a, L1Tile::Full(_));
    if images > 1 && (stays || a.0 > round_up(task, s.l0.m.into()) || u64::from(s.l0.m) > round_up(task, F)) {
        return Err(inexpressible(OP_TYPE, format!("L1 or L0 holds pixels of several images of {task} pixels")));
    }
    let ([stride_h, stride_w], [dilation_h, dilation_w], [top, bottom, left, right]) = (w.stride, w.dilation, w.pads);
    Ok(Tiling {
        groups: number("groups", groups)?,
        org_ci: number("orgCi", w.cin)?,
        org_hi: number("orgHi", w.hi)?,
        org_wi: number("orgWi", w.wi)?,
        org_co: number("orgCo", w.cout)?,
        org_ho: number("orgHo", w.ho)?,
        org_wo: number("orgWo", w.wo)?,
        kernel_h: number("kernelH", w.kh)?,
        kernel_w: number("kernelW", w.kw)?,
        single_core_ci: number("singleCoreCi", w.cin / groups)?,
        single_core_co: number("singleCoreCo", s.single.n)?,
        single_core_ho: number("singleCoreHo", task)?,
        ho_l1: number("hoL1", a.0)?,
        k_al1: number("kAL1", a.1)?,
        k_bl1: number("kBL1", b.1)?,
        n_bl1: number("nBL1", b.0)?,
        ho_l0: s.l0.m,
        k_l0: s.l0.k_a,
        n_l0: s.l0.n,
        p_buffer_flag: buffer_flag(s.buffers),
        stride_h: number("strideH", stride_h)?,
        stride_w: number("strideW", stride_w)?,
        dilation_h: number("dilationH", dilation_h)?,
        dilation_w: number("dilationW", dilation_w)?,
        pad_top: number("padTop", top)?,
        pad_bottom: number("padBottom", bottom)?,
        pad_left: number("padLeft", left)?,
        pad_right: number("padRight", right)?,
        iterate_mn_order: order_number(s.order),
        bias_full_load_flag: 1,
        fixp_params_full_load_flag: 1,
        hf32_enable: w.hf32.into(),
        // Rounding to nearest; the operator takes its own attribute instead.
        round_mode: 1,
        group_dim: s.cores.batch,
        batch_dim,
        ho_dim,
        wo_dim: 1,
        n_dim: s.cores.n,
        m_mode: 1,
        ..Tiling::default()
    })
}

/// The core tasks along m as CANN counts them.
struct MTasks {
    batch_dim: u32,
    ho_dim: u32,
    /// Images of a task.
    images: u64,
    /// Pixels that a task has of each.
    task: u64,
}

/// How the core tasks along m are images by even parts of an image; whole images rather than parts.
fn m_tasks(s: &CubeSchedule, w: &Conv) -> Result<MTasks> {
    let whole = pixels_of_image(w);
    let most = u32::try_from(w.batch).unwrap_or(u32::MAX).min(s.cores.m);
    let deal = |batch_dim: u32| {
        let ho_dim = s.cores.m / batch_dim;
        let images = w.batch.div_ceil(batch_dim.into());
        let task = s.single.m.checked_div(images)?;
        let fits = s.cores.m.is_multiple_of(batch_dim)
            && s.single.m.is_multiple_of(images)
            && (1..=whole).contains(&task)
            && whole.div_ceil(task) == u64::from(ho_dim);
        fits.then_some(MTasks { batch_dim, ho_dim, images, task })
    };
    (1..=most.min(MOST_CORES)).rev().find_map(deal).ok_or_else(|| {
        inexpressible(OP_TYPE, format!("core tasks of {} pixels are no even parts of the images", s.single.m))
    })
}

/// Parts into which a batch may be cut; no part has as many cores.
const MOST_CORES: u32 = 1024;
