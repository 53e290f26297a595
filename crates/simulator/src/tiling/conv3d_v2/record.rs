//! The tiling of a record of the runtime bank `Conv3D`, which `Conv3DV2` asks on 910B and `910_93`: CANN's fields, and
//! what they say as a canonical schedule.
//!
//! CANN cuts the images of a batch, the planes of a result, the pixels of a plane, the output channels and the groups;
//! a schedule sees a product whose m are the pixels of all planes of all images. Elements of k are blocks of 16
//! channels with all taps of a plane.
//!
//! CANN copies every field of a hit, the node's own sizes among them. A field that a record lacks keeps its default and
//! one too many is ignored, so both names of the two that public texts leave open are written
//! (`singleCoreCi`, `fixpParamsFullLoadFlag`).

use super::Problem;
use crate::rounding::round_up;
use crate::tiling::conv_form::{buffer_flag, buffers, check_form};
use crate::tiling::fields::{Unmodelled, inexpressible, narrow, order, order_number, tiling};
use crate::workload::{Conv, Cores, CubeSchedule, Depth, Extents, L0Tile, L1Tile, L2Tiling, OutputPath, SplitK};
use aoe_base::status::Result;

/// The operator type of the bank: older than the operator's name.
pub const BANK_OP_TYPE: &str = "Conv3D";
/// Rows or columns of a fractal, and channels of a block.
const F: u64 = 16;
/// Parts into which an axis may be cut; no part has as many cores.
const MOST_CORES: u32 = 1024;

tiling! {
    BANK_OP_TYPE;
    groups "groups", single_core_do "singleCoreDo", single_core_co "singleCoreCo", single_core_m "singleCoreM",
    single_core_ci "singleCoreCi", org_do "orgDo", org_co "orgCo", org_ho "orgHo", org_wo "orgWo", org_ci "orgCi",
    org_di "orgDi", org_hi "orgHi", org_wi "orgWi", kernel_d "kernelD", kernel_h "kernelH", kernel_w "kernelW",
    stride_d "strideD", stride_h "strideH", stride_w "strideW", dilation_d "dilationD", dilation_h "dilationH",
    dilation_w "dilationW", pad_head "padHead", pad_tail "padTail", pad_top "padTop", pad_bottom "padBottom",
    pad_left "padLeft", pad_right "padRight", m_l0 "mL0", k_l0 "kL0", n_l0 "nL0", k_al1 "kAL1", k_bl1 "kBL1",
    n_bl1 "nBL1", m_al1 "mAL1", p_buffer_flag "pBufferFlag", offsetx "offsetx", bl1_full_load "bl1FullLoad",
    al1_full_load "al1FullLoad", bl1_bypass_flag "bl1BypassFlag", iterate_mn_order "iterateMNOrder",
    bias_full_load_flag "biasFullLoadFlag", fixp_params_full_load_flag "fixpParamsFullLoadFlag",
    hf32_enable "hf32Enable", hf32_trans_mode "hf32TransMode", batch_dim "batchDim", n_dim "nDim", m_dim "mDim",
    do_dim "doDim", group_dim "groupDim",
}

impl Tiling {
    /// What CANN's host tiling chose, with the node's own sizes. Fails for sizes that the fields do not hold.
    pub fn chosen(choice: &super::Tiling, w: &Conv) -> Result<Tiling> {
        let own = Tiling::own(w)?;
        let chosen: Unmodelled = choice.fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        own.with(&chosen)
    }

    /// The fields that follow from the convolution itself; the others are 0. Fails for sizes that they do not hold.
    pub fn own(w: &Conv) -> Result<Tiling> {
        let Whole { depth, .. } = Whole::of(w)?;
        let number = |name: &str, value: u64| narrow(BANK_OP_TYPE, name, value);
        let ([stride_h, stride_w], [dilation_h, dilation_w], [top, bottom, left, right]) =
            (w.stride, w.dilation, w.pads);
        let (groups, channels) = (w.groups.max(1), w.cin / depth.kernel);
        Ok(Tiling {
            groups: number("groups", groups)?,
            single_core_ci: number("singleCoreCi", channels / groups)?,
            org_do: number("orgDo", depth.output)?,
            org_co: number("orgCo", w.cout)?,
            org_ho: number("orgHo", w.ho)?,
            org_wo: number("orgWo", w.wo)?,
            org_ci: number("orgCi", channels)?,
            org_di: number("orgDi", depth.input)?,
            org_hi: number("orgHi", w.hi)?,
            org_wi: number("orgWi", w.wi)?,
            kernel_d: number("kernelD", depth.kernel)?,
            kernel_h: number("kernelH", w.kh)?,
            kernel_w: number("kernelW", w.kw)?,
            stride_d: number("strideD", depth.stride)?,
            stride_h: number("strideH", stride_h)?,
            stride_w: number("strideW", stride_w)?,
            dilation_d: number("dilationD", depth.dilation)?,
            dilation_h: number("dilationH", dilation_h)?,
            dilation_w: number("dilationW", dilation_w)?,
            pad_head: number("padHead", depth.pads[0])?,
            pad_tail: number("padTail", depth.pads[1])?,
            pad_top: number("padTop", top)?,
            pad_bottom: number("padBottom", bottom)?,
            pad_left: number("padLeft", left)?,
            pad_right: number("padRight", right)?,
            bias_full_load_flag: 1,
            fixp_params_full_load_flag: 1,
            hf32_enable: w.hf32.into(),
            ..Tiling::default()
        })
    }

    /// The tiling of a schedule. Fails with [`aoe_base::status::Error::IllegalSchedule`] for what the record's
    /// fields cannot say.
    pub fn from_schedule(s: &CubeSchedule, w: &Conv) -> Result<Tiling> {
        match of_schedule(s, w) {
            Ok(tiling) => tiling.with(&s.unmodelled),
            Err(why) if s.unmodelled.is_empty() => Err(why),
            Err(_) => Tiling::default().with(&s.unmodelled),
        }
    }

    /// The schedule of a tiling for one convolution. Fails with [`aoe_base::status::Error::IllegalSchedule`]
    /// for a tiling of nothing; whether the rest is legal is for [`super::legality`] and [`crate::workload::check`].
    pub fn schedule(&self, w: &Conv) -> Result<CubeSchedule> {
        let counts = [self.batch_dim, self.do_dim, self.m_dim, self.n_dim, self.group_dim];
        let extents = [self.single_core_do, self.single_core_m, self.single_core_co];
        let sizes = [self.m_al1, self.n_bl1, self.k_al1, self.k_bl1, self.m_l0, self.n_l0, self.k_l0];
        if counts.iter().chain(&extents).chain(&sizes).any(|&n| n == 0) {
            return Err(inexpressible(BANK_OP_TYPE, "a count of cores, pixels or channels is 0"));
        }
        let whole = Whole::of(w)?;
        let m_tasks =
            [self.do_dim, self.m_dim].iter().fold(u64::from(self.batch_dim), |n, &d| n.saturating_mul(d.into()));
        let m_tasks = narrow(BANK_OP_TYPE, "core tasks along m", m_tasks)?;
        let cores = Cores { batch: self.group_dim, m: m_tasks, n: self.n_dim, k: 1 };
        let shape = w.cube();
        let planes =
            whole.images.div_ceil(self.batch_dim.into()).saturating_mul(whole.planes.min(self.single_core_do.into()));
        let task = whole.pixels.min(self.single_core_m.into());
        let l0 = L0Tile {
            m: narrow(BANK_OP_TYPE, "mL0", round_up(self.m_l0.into(), F))?,
            n: narrow(BANK_OP_TYPE, "nL0", round_up(self.n_l0.into(), F))?,
            k_a: self.k_l0,
            k_b: self.k_l0,
        };
        let buffers = buffers(self.p_buffer_flag);
        // CANN counts channels in whole blocks; a panel of all of them has no more than k rounds of L0.
        let rounds = shape.k.div_ceil(self.k_l0.into()).saturating_mul(self.k_l0.into());
        let all_k = narrow(BANK_OP_TYPE, "kL0", rounds)?;
        let panel = |k: u32, extent: u32, base: u32, stays: bool| {
            let tiles = extent.div_ceil(base.max(1));
            if stays && u64::from(k) >= shape.k { L1Tile::FULL } else { L1Tile::panel(k.min(all_k), tiles) }
        };
        let all_pixels = planes == 1 && u64::from(self.m_al1) >= task && buffers.l1_a == 1;
        let all_channels = self.n_bl1 >= self.single_core_co && buffers.l1_b == 1;
        let mut s = CubeSchedule {
            used_cores: narrow(BANK_OP_TYPE, "cores", cores.tasks())?,
            cores,
            single: Extents {
                batch: shape.batch.div_ceil(self.group_dim.into()),
                m: planes.saturating_mul(task),
                n: shape.n.min(self.single_core_co.into()),
                k: shape.k,
            },
            l0,
            l1_a: panel(self.k_al1, self.m_al1, l0.m, all_pixels),
            l1_b: panel(self.k_bl1, self.n_bl1, l0.n, all_channels),
            buffers,
            order: order(BANK_OP_TYPE, "iterateMNOrder", self.iterate_mn_order)?,
            l2: L2Tiling::default(),
            split_k: SplitK::None,
            output: OutputPath::Direct,
            unmodelled: Unmodelled::new(),
        };
        s.unmodelled = self.beyond(&of_schedule(&s, w).unwrap_or_default());
        Ok(s)
    }
}

/// Sizes along m, and the axis that the schedule does not have.
struct Whole {
    images: u64,
    planes: u64,
    pixels: u64,
    depth: Depth,
}

impl Whole {
    fn of(w: &Conv) -> Result<Whole> {
        let depth = w.depth.filter(|depth| depth.output > 0 && depth.kernel > 0);
        let depth = depth.ok_or_else(|| inexpressible(BANK_OP_TYPE, "the convolution is none of volumes"))?;
        let (images, pixels) = (w.batch / depth.output, w.ho.saturating_mul(w.wo));
        if images == 0 || pixels == 0 {
            return Err(inexpressible(BANK_OP_TYPE, "the convolution has no result"));
        }
        Ok(Whole { images, planes: depth.output, pixels, depth })
    }
}

/// What the fields of a schedule say that CANN's terms have too, and what follows from the convolution itself.
fn of_schedule(s: &CubeSchedule, w: &Conv) -> Result<Tiling> {
    check_form(BANK_OP_TYPE, s, w)?;
    let whole = Whole::of(w)?;
    let MTasks { batch_dim, do_dim, m_dim, planes, task } = m_tasks(s, w, &whole)?;
    let number = |name: &str, value: u64| narrow(BANK_OP_TYPE, name, value);
    let shape = w.cube();
    let problem = Problem::of(w).ok_or_else(|| inexpressible(BANK_OP_TYPE, "the convolution is none of volumes"))?;
    let whole_k = problem.k_units().saturating_mul(problem.k_unit());
    // What L1 holds of an operand: pixels or channels, and elements along k.
    let panel = |tile: L1Tile, extent: u64, base: u32| match tile {
        L1Tile::Full(_) => Ok((extent, whole_k)),
        L1Tile::Panel(p) if p.batch == 1 => {
            let k = if u64::from(p.k) >= shape.k { whole_k } else { p.k.into() };
            Ok(((u64::from(p.tiles) * u64::from(base)).min(extent), k))
        }
        L1Tile::Panel(p) => Err(inexpressible(BANK_OP_TYPE, format!("an L1 panel holds {} products", p.batch))),
    };
    let (rows, columns) = (round_up(task, F), round_up(s.single.n, F));
    let (a, b) = (panel(s.l1_a, rows, s.l0.m)?, panel(s.l1_b, columns, s.l0.n)?);
    if planes > 1 && matches!(s.l1_a, L1Tile::Full(_)) {
        return Err(inexpressible(BANK_OP_TYPE, format!("L1 holds {planes} planes of {task} pixels at once")));
    }
    let db = s.buffers;
    let stays = |k: u64, extent: u64, all: u64, count: u8| u32::from(count == 1 && k >= whole_k && extent >= all);
    let k_l0 = u64::from(s.l0.k_a);
    Ok(Tiling {
        single_core_do: number("singleCoreDo", whole.planes.div_ceil(do_dim.into()))?,
        single_core_co: number("singleCoreCo", columns)?,
        single_core_m: number("singleCoreM", rows)?,
        m_l0: s.l0.m,
        k_l0: s.l0.k_a,
        n_l0: s.l0.n,
        k_al1: number("kAL1", a.1)?,
        k_bl1: number("kBL1", b.1)?,
        n_bl1: number("nBL1", b.0)?,
        m_al1: number("mAL1", a.0)?,
        p_buffer_flag: buffer_flag(db),
        bl1_full_load: stays(b.1, b.0, columns, db.l1_b),
        al1_full_load: stays(a.1, a.0, rows, db.l1_a),
        bl1_bypass_flag: u32::from(b.1 == k_l0 && b.0 == u64::from(s.l0.n)),
        iterate_mn_order: order_number(s.order),
        batch_dim,
        n_dim: s.cores.n,
        m_dim,
        do_dim,
        group_dim: s.cores.batch,
        ..Tiling::own(w)?
    })
}

/// The core tasks along m as CANN counts them.
struct MTasks {
    batch_dim: u32,
    do_dim: u32,
    m_dim: u32,
    /// Planes of a task, of all its images.
    planes: u64,
    /// Pixels that a task has of each.
    task: u64,
}

/// How the core tasks along m are images by planes by parts of a plane: whole images rather than planes, and those
/// rather than parts. A deal that leaves a core without work is the last choice.
fn m_tasks(s: &CubeSchedule, w: &Conv, whole: &Whole) -> Result<MTasks> {
    let parts = |of: u64, most: u32| u32::try_from(of).unwrap_or(u32::MAX).min(most).min(MOST_CORES);
    let deal = |batch_dim: u32, do_dim: u32, idle: bool| {
        let m_dim = s.cores.m / batch_dim / do_dim;
        let planes = whole.images.div_ceil(batch_dim.into()).checked_mul(whole.planes.div_ceil(do_dim.into()))?;
        let task = s.single.m.checked_div(planes)?;
        let covers = u64::from(m_dim).saturating_mul(task) >= whole.pixels;
        let busy = whole.pixels.div_ceil(task.max(1)) == u64::from(m_dim)
            && whole.planes.div_ceil(whole.planes.div_ceil(do_dim.into())) == u64::from(do_dim)
            && whole.images.div_ceil(whole.images.div_ceil(batch_dim.into())) == u64::from(batch_dim);
        let fits = s.single.m.is_multiple_of(planes) && (1..=whole.pixels).contains(&task) && covers && (busy || idle);
        fits.then_some(MTasks { batch_dim, do_dim, m_dim, planes, task })
    };
    let all = |idle: bool| {
        let batches = (1..=parts(whole.images, s.cores.m)).rev().filter(|&n| s.cores.m.is_multiple_of(n));
        batches.into_iter().find_map(|batch_dim| {
            let left = s.cores.m / batch_dim;
            let depths = (1..=parts(whole.planes, left)).rev().filter(|&n| left.is_multiple_of(n));
            depths.into_iter().find_map(|do_dim| deal(batch_dim, do_dim, idle))
        })
    };
    all(false).or_else(|| all(true)).ok_or_else(|| {
        let reason = format!("core tasks of {} pixels are no even parts of the planes of {w}", s.single.m);
        inexpressible(BANK_OP_TYPE, reason)
    })
}
