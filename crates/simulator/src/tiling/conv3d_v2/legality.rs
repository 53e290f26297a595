//! What a record of the bank `Conv3D` must satisfy for `Conv3DV2`'s kernel to compute the convolution.
//!
//! CANN tests nothing of a hit and copies every field, so a wrong record is a wrong result. There are two tables:
//! [`check`] holds what makes any record one that cannot be right, [`check_written`] what is asked of a record made
//! here, which is what CANN's own host tiling keeps to ([`super::default`]).

use super::record::Tiling;
use super::{MOST_K, Problem};
use crate::tiling::Platform;
pub use crate::tiling::broken::Broken;
use crate::tiling::broken::{fits, product, rule};
use crate::workload::Conv;
use aoe_graph::DataType;

/// Bytes of an accumulator, and of an element of a bias in the bias table.
const ACCUMULATOR: u64 = 4;
/// Rows or columns of a fractal.
const F: u64 = 16;
/// Largest values of the load instruction's fields: stride, and dilation, padding and kernel.
const MOST_STRIDE: u32 = 63;
const MOST_OTHER: u32 = 255;

/// Fails with the first rule that makes a record of anybody one with which the kernel does not compute `w`.
pub fn check(t: &Tiling, w: &Conv, part: &Platform) -> Result<(), Broken> {
    counts(t)?;
    copies(t, w)?;
    instruction(t)?;
    let dims = [t.batch_dim, t.do_dim, t.m_dim, t.n_dim, t.group_dim];
    let tasks = product(&dims);
    rule(tasks <= part.cores, || {
        format!("batchDim x doDim x mDim x nDim x groupDim = {tasks} core tasks exceed {} cores", part.cores)
    })?;
    let problem = Problem::of(w).ok_or_else(|| Broken("the convolution is none of volumes".into()))?;
    for (name, dim, single, whole) in [
        ("doDim x singleCoreDo", t.do_dim, t.single_core_do, problem.output[0]),
        ("mDim x singleCoreM", t.m_dim, t.single_core_m, problem.pixels()),
        ("nDim x singleCoreCo", t.n_dim, t.single_core_co, problem.cout / problem.groups.max(1)),
    ] {
        rule(product(&[dim, single]) >= whole, || format!("{name} = {dim} x {single} do not cover {whole}"))?;
    }
    let bytes = |rows: u32, columns: u32, each: u64| product(&[rows, columns]).saturating_mul(each);
    fits("L0A", "mL0 x kL0", bytes(t.m_l0, t.k_l0, problem.es), part.l0_a)?;
    fits("L0B", "nL0 x kL0", bytes(t.n_l0, t.k_l0, problem.es), part.l0_b)?;
    fits("L0C", "mL0 x nL0", bytes(t.m_l0, t.n_l0, ACCUMULATOR), part.l0_c)
}

/// Fails with the first rule that a record made here breaks.
pub fn check_written(t: &Tiling, w: &Conv, part: &Platform) -> Result<(), Broken> {
    check(t, w, part)?;
    let problem = Problem::of(w).ok_or_else(|| Broken("the convolution is none of volumes".into()))?;
    rule(problem.groups == 1, || "how the kernel joins groups is not known".into())?;
    rule(matches!(w.dtype, DataType::Float16 | DataType::Bfloat16), || {
        format!("how the kernel blocks channels of {} is not known", w.dtype.name())
    })?;
    rule(t.offsetx == 0 && t.group_dim == 1 && t.hf32_trans_mode == 0, || {
        "offsetx, groupDim or hf32TransMode is other than for one group of floats".into()
    })?;
    shares(t, &problem)?;
    depths(t, &problem)?;
    l0(t, &problem, part)?;
    l1(t, &problem, part)
}

/// Cores share the axes as the host tiling deals them.
fn shares(t: &Tiling, w: &Problem) -> Result<(), Broken> {
    let (m16, n16) = (w.pixels().div_ceil(F), w.co16());
    rule(u64::from(t.batch_dim) <= w.batch && u64::from(t.do_dim) <= w.output[0], || {
        format!("batchDim = {} or doDim = {} exceeds the axis", t.batch_dim, t.do_dim)
    })?;
    rule(n16.is_multiple_of(t.n_dim.into()), || {
        format!("nDim = {} does not divide {n16} blocks of channels", t.n_dim)
    })?;
    for (name, single, whole) in [
        ("singleCoreDo", t.single_core_do, w.output[0].div_ceil(t.do_dim.into())),
        ("singleCoreM", t.single_core_m, m16.div_ceil(t.m_dim.into()).saturating_mul(F)),
        ("singleCoreCo", t.single_core_co, (n16 / u64::from(t.n_dim)).saturating_mul(F)),
    ] {
        rule(u64::from(single) == whole, || format!("{name} = {single} is not the {whole} of an even deal"))?;
    }
    Ok(())
}

/// Depths are whole blocks of channels with their taps, and nest.
fn depths(t: &Tiling, w: &Problem) -> Result<(), Broken> {
    let (unit, all) = (w.k_unit(), w.k_units().saturating_mul(w.k_unit()));
    for (name, k) in [("kAL1", t.k_al1), ("kBL1", t.k_bl1)] {
        let k = u64::from(k);
        rule(k.is_multiple_of(unit) && all.is_multiple_of(k), || {
            format!("{name} = {k} is no multiple of {unit}, a block of channels with its taps, that divides {all}")
        })?;
        rule(k.is_multiple_of(t.k_l0.into()), || format!("{name} = {k} is no multiple of kL0 = {}", t.k_l0))?;
    }
    let (long, short) = (t.k_al1.max(t.k_bl1), t.k_al1.min(t.k_bl1));
    rule(long.is_multiple_of(short), || {
        format!("kAL1 = {} and kBL1 = {}: neither divides the other", t.k_al1, t.k_bl1)
    })?;
    rule(t.k_l0.is_multiple_of(16) && u64::from(t.k_l0) < MOST_K, || {
        format!("kL0 = {} is no multiple of 16 below {MOST_K}", t.k_l0)
    })
}

/// How many buffers a bit of `pBufferFlag` says.
fn twice(t: &Tiling, bit: u32) -> u64 {
    1 + u64::from(t.p_buffer_flag >> bit & 1)
}

/// The tile of L0 with its buffers.
fn l0(t: &Tiling, w: &Problem, part: &Platform) -> Result<(), Broken> {
    for (name, tile, single) in [("mL0", t.m_l0, t.single_core_m), ("nL0", t.n_l0, t.single_core_co)] {
        rule(tile.is_multiple_of(16) && tile <= single, || {
            format!("{name} = {tile} is no multiple of 16 within a core's {single}")
        })?;
    }
    rule(t.p_buffer_flag < 32, || format!("pBufferFlag = {} has more than five bits", t.p_buffer_flag))?;
    let bytes = |rows: u32, columns: u32, each: u64| product(&[rows, columns]).saturating_mul(each);
    fits("L0A", "mL0 x kL0 with its buffers", bytes(t.m_l0, t.k_l0, w.es * twice(t, 0)), part.l0_a)?;
    fits("L0B", "nL0 x kL0 with its buffers", bytes(t.n_l0, t.k_l0, w.es * twice(t, 1)), part.l0_b)?;
    fits("L0C", "mL0 x nL0 with its buffers", bytes(t.m_l0, t.n_l0, ACCUMULATOR * twice(t, 2)), part.l0_c)?;
    if w.bias && part.bt > 0 {
        fits("the bias table", "nL0 channels", u64::from(t.n_l0) * ACCUMULATOR, part.bt)?;
    }
    Ok(())
}

/// What L1 holds, and the flags that say so.
fn l1(t: &Tiling, w: &Problem, part: &Platform) -> Result<(), Broken> {
    let all = w.k_units().saturating_mul(w.k_unit());
    // How the kernel cuts a rest off a panel is known of those alone that stay whole: CANN's default has no others.
    for (name, base, tile, panel, single, stays) in [
        ("mAL1", "mL0", t.m_l0, t.m_al1, t.single_core_m, t.al1_full_load),
        ("nBL1", "nL0", t.n_l0, t.n_bl1, t.single_core_co, t.bl1_full_load),
    ] {
        rule((panel.is_multiple_of(tile) || panel == single && stays == 1) && panel <= single, || {
            format!(
                "{name} = {panel} is no multiple of {base} = {tile} within a core's {single}, nor stays whole in L1"
            )
        })?;
    }
    let stays = [
        ("al1FullLoad", t.al1_full_load, t.k_al1, t.m_al1 >= t.single_core_m, twice(t, 3)),
        ("bl1FullLoad", t.bl1_full_load, t.k_bl1, t.n_bl1 >= t.single_core_co, twice(t, 4)),
    ];
    for (name, flag, k, covers, buffers) in stays {
        let is_whole = u64::from(k) == all && covers && buffers == 1;
        rule(flag <= 1 && (flag == 0 || is_whole), || format!("{name} = {flag}, but L1 does not hold all of it"))?;
    }
    let bypasses = t.k_bl1 == t.k_l0 && t.n_bl1 == t.n_l0;
    rule(t.bl1_bypass_flag == u32::from(bypasses), || {
        format!(
            "bl1BypassFlag = {}, but kBL1 and nBL1 are {}those of L0",
            t.bl1_bypass_flag,
            if bypasses { "" } else { "not " }
        )
    })?;
    let unit = w.k_unit();
    let image = w.image_bytes(t.m_al1.into(), u64::from(t.k_al1) / unit).saturating_mul(twice(t, 3));
    let weights = w.weight_bytes(t.n_bl1.into(), u64::from(t.k_bl1) / unit).saturating_mul(twice(t, 4));
    // With its flag set all of a core's bias lies there.
    let channels = if t.bias_full_load_flag == 1 { t.single_core_co } else { t.n_l0 };
    let bias = if w.bias { u64::from(channels) * ACCUMULATOR } else { 0 };
    fits("L1", "image, weights and bias", image.saturating_add(weights).saturating_add(bias), part.l1)
}

/// Fails where a field is zero by which the kernel counts or divides, and for flags that are neither 0 nor 1.
fn counts(t: &Tiling) -> Result<(), Broken> {
    let divisors = [
        ("batchDim", t.batch_dim),
        ("doDim", t.do_dim),
        ("mDim", t.m_dim),
        ("nDim", t.n_dim),
        ("groupDim", t.group_dim),
        ("singleCoreDo", t.single_core_do),
        ("singleCoreM", t.single_core_m),
        ("singleCoreCo", t.single_core_co),
        ("mL0", t.m_l0),
        ("kL0", t.k_l0),
        ("nL0", t.n_l0),
        ("mAL1", t.m_al1),
        ("kAL1", t.k_al1),
        ("nBL1", t.n_bl1),
        ("kBL1", t.k_bl1),
    ];
    if let Some((name, _)) = divisors.into_iter().find(|(_, value)| *value == 0) {
        return Err(Broken(format!("{name} = 0 is a divisor of the kernel")));
    }
    rule(t.iterate_mn_order <= 1, || format!("iterateMNOrder = {} is neither 0 nor 1", t.iterate_mn_order))
}

/// Fails where a field that repeats the node's own sizes says something else: the kernel takes the record's.
fn copies(t: &Tiling, w: &Conv) -> Result<(), Broken> {
    let own = Tiling::own(w).map_err(|why| Broken(why.to_string()))?;
    let fields = |t: &Tiling| {
        [
            ("groups", t.groups),
            ("orgDo", t.org_do),
            ("orgCo", t.org_co),
            ("orgHo", t.org_ho),
            ("orgWo", t.org_wo),
            ("orgCi", t.org_ci),
            ("orgDi", t.org_di),
            ("orgHi", t.org_hi),
            ("orgWi", t.org_wi),
            ("kernelD", t.kernel_d),
            ("kernelH", t.kernel_h),
            ("kernelW", t.kernel_w),
            ("strideD", t.stride_d),
            ("strideH", t.stride_h),
            ("strideW", t.stride_w),
            ("dilationD", t.dilation_d),
            ("dilationH", t.dilation_h),
            ("dilationW", t.dilation_w),
            ("padHead", t.pad_head),
            ("padTail", t.pad_tail),
            ("padTop", t.pad_top),
            ("padBottom", t.pad_bottom),
            ("padLeft", t.pad_left),
            ("padRight", t.pad_right),
        ]
    };
    for ((name, said), (_, is)) in fields(t).into_iter().zip(fields(&own)) {
        // Whether a key counts the channels of all groups or of one is not public.
        let open = name == "orgCi" && w.groups > 1;
        rule(said == is || open, || {
            format!("{name} = {said}, but the convolution has {is}: the kernel takes the record's")
        })?;
    }
    Ok(())
}

/// Fails for what the load instruction's fields do not hold.
fn instruction(t: &Tiling) -> Result<(), Broken> {
    let fields = [
        ("strideH", t.stride_h, MOST_STRIDE),
        ("strideW", t.stride_w, MOST_STRIDE),
        ("dilationH", t.dilation_h, MOST_OTHER),
        ("dilationW", t.dilation_w, MOST_OTHER),
        ("padTop", t.pad_top, MOST_OTHER),
        ("padBottom", t.pad_bottom, MOST_OTHER),
        ("padLeft", t.pad_left, MOST_OTHER),
        ("padRight", t.pad_right, MOST_OTHER),
        ("kernelH", t.kernel_h, MOST_OTHER),
        ("kernelW", t.kernel_w, MOST_OTHER),
    ];
    match fields.into_iter().find(|(_, value, most)| value > most) {
        Some((name, value, most)) => Err(Broken(format!("{name} = {value} exceeds the {most} of a load instruction"))),
        None => Ok(()),
    }
}
