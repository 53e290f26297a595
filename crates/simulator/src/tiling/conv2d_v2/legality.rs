//! What a `Conv2DV2` record must satisfy for the kernel to compute the convolution.
//!
//! The rules are what CANN's checks and the buffers demand, as far as all records that CANN ships obey them: K depths
//! in L1 need not be whole L0 depths (4 % are not), and two L0A buffers may be claimed where one fits.

use super::Tiling;
use crate::tiling::Platform;
pub use crate::tiling::broken::Broken;
use crate::tiling::broken::{fits, product, rule};
use crate::workload::Conv;

/// Bytes of an accumulator.
const ACCUMULATOR: u64 = 4;
/// Largest values of the load instruction's fields: stride, dilation and padding, kernel.
const MOST_STRIDE: u32 = 63;
const MOST_DILATION: u32 = 255;
const MOST_PAD: u32 = 255;
const MOST_KERNEL: u32 = 511;

/// Fails with the first rule that the tiling breaks.
pub fn check(t: &Tiling, w: &Conv, part: &Platform) -> Result<(), Broken> {
    counts(t)?;
    instruction(t)?;
    panels(t, w)?;
    let tasks = product(&[t.batch_dim, t.group_dim, t.ho_dim, t.wo_dim, t.n_dim]);
    rule(tasks <= part.cores, || {
        format!("batchDim x groupDim x hoDim x woDim x nDim = {tasks} core tasks exceed {} cores", part.cores)
    })?;
    let es = w.dtype.bytes().max(1);
    let pixels = u64::from(t.ho_l0).saturating_mul(if t.m_mode == 0 { t.wo_l0.max(1).into() } else { 1 });
    let rows = up16(pixels);
    let columns = up16(t.n_l0.into());
    let buffers = |bit: u32| 1 + u64::from(t.p_buffer_flag >> bit & 1);
    let bytes = |factors: [u64; 4]| factors.into_iter().fold(1, u64::saturating_mul);
    fits("L0A", "hoL0 x kL0", bytes([rows, t.k_l0.into(), es, 1]), part.l0_a)?;
    fits("L0B", "nL0 x kL0", bytes([columns, t.k_l0.into(), es, buffers(1)]), part.l0_b)?;
    fits("L0C", "hoL0 x nL0", bytes([rows, columns, ACCUMULATOR, buffers(2)]), part.l0_c)?;
    // Of the image L1 holds rows of which pixels are made, never more than the panel; of the filters the panel.
    fits("L1", "kBL1 x nBL1", bytes([t.k_bl1.into(), t.n_bl1.into(), es, buffers(4)]), part.l1)
}

/// Fails for panels in L1 of which the kernel would cut a channel: it brings whole channel blocks with all their
/// kernel positions. Four-channel images (`isC04Flag`) have blocks of their own.
pub fn panels(t: &Tiling, w: &Conv) -> Result<(), Broken> {
    let block = w.cube().k0().saturating_mul(w.kh).saturating_mul(w.kw);
    for (name, k) in [("kAL1", t.k_al1), ("kBL1", t.k_bl1)] {
        rule(t.is_c04_flag != 0 || u64::from(k).is_multiple_of(block), || {
            format!("{name} = {k} is no multiple of {block}, a block of channels with its kernel")
        })?;
    }
    Ok(())
}

/// Fails where a field is zero by which the kernel counts or divides.
fn counts(t: &Tiling) -> Result<(), Broken> {
    let fields = [
        ("batchDim", t.batch_dim),
        ("groupDim", t.group_dim),
        ("hoDim", t.ho_dim),
        ("woDim", t.wo_dim),
        ("nDim", t.n_dim),
        ("singleCoreCo", t.single_core_co),
        ("singleCoreHo", t.single_core_ho),
        ("hoL1", t.ho_l1),
        ("kAL1", t.k_al1),
        ("kBL1", t.k_bl1),
        ("nBL1", t.n_bl1),
        ("hoL0", t.ho_l0),
        ("kL0", t.k_l0),
        ("nL0", t.n_l0),
        ("strideH", t.stride_h),
        ("strideW", t.stride_w),
        ("dilationH", t.dilation_h),
        ("dilationW", t.dilation_w),
    ];
    match fields.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(Broken(format!("{name} = 0 is a divisor of the kernel"))),
        None => rule(t.m_mode <= 1, || format!("mMode = {} is neither 0 nor 1", t.m_mode)),
    }
}

/// Fails for what the load instruction's fields do not hold.
fn instruction(t: &Tiling) -> Result<(), Broken> {
    let fields = [
        ("strideH", t.stride_h, MOST_STRIDE),
        ("strideW", t.stride_w, MOST_STRIDE),
        ("dilationH", t.dilation_h, MOST_DILATION),
        ("dilationW", t.dilation_w, MOST_DILATION),
        ("padTop", t.pad_top, MOST_PAD),
        ("padBottom", t.pad_bottom, MOST_PAD),
        ("padLeft", t.pad_left, MOST_PAD),
        ("padRight", t.pad_right, MOST_PAD),
        ("kernelH", t.kernel_h, MOST_KERNEL),
        ("kernelW", t.kernel_w, MOST_KERNEL),
    ];
    match fields.into_iter().find(|(_, value, most)| value > most) {
        Some((name, value, most)) => Err(Broken(format!("{name} = {value} exceeds the {most} of a load instruction"))),
        None => Ok(()),
    }
}

fn up16(value: u64) -> u64 {
    value.div_ceil(16).saturating_mul(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;
    use crate::workload::ConvKind;

    fn image() -> Conv {
        Conv { bias: true, ..Conv::image(ConvKind::Forward, 4, [64, 128], 56, 3) }
    }

    /// 448 pixels of a core in blocks of 224 by 128 channels, all buffers but L0C's double.
    fn good() -> Tiling {
        Tiling {
            batch_dim: 4,
            group_dim: 1,
            ho_dim: 7,
            wo_dim: 1,
            n_dim: 1,
            single_core_ho: 448,
            single_core_co: 128,
            ho_l1: 224,
            ho_l0: 224,
            n_bl1: 128,
            n_l0: 128,
            k_al1: 288,
            k_bl1: 288,
            k_l0: 48,
            kernel_h: 3,
            kernel_w: 3,
            stride_h: 1,
            stride_w: 1,
            dilation_h: 1,
            dilation_w: 1,
            m_mode: 1,
            p_buffer_flag: 27,
            ..Tiling::default()
        }
    }

    fn judged(t: &Tiling) -> Result<(), String> {
        let part = Platform::of(&Soc::find("Ascend950PR_9589").unwrap());
        check(t, &image(), &part).map_err(|broken| broken.0)
    }

    #[test]
    fn what_the_kernel_can_do_is_legal() {
        judged(&good()).unwrap();
        judged(&Tiling { k_l0: 64, ..good() }).unwrap();
        judged(&Tiling { k_al1: 96, is_c04_flag: 1, ..good() }).unwrap();
        judged(&Tiling { m_mode: 0, ho_l0: 4, wo_l0: 56, ..good() }).unwrap();
    }

    #[test]
    fn each_rule_names_the_field_that_breaks_it() {
        for (tiling, word) in [
            (Tiling { n_dim: 2, ..good() }, "core tasks"),
            (Tiling { wo_dim: 0, ..good() }, "woDim"),
            (Tiling { m_mode: 2, ..good() }, "mMode"),
            (Tiling { k_al1: 96, ..good() }, "kAL1 = 96"),
            (Tiling { k_bl1: 100, ..good() }, "kBL1 = 100"),
            (Tiling { stride_w: 64, ..good() }, "strideW"),
            (Tiling { pad_left: 256, ..good() }, "padLeft"),
            (Tiling { k_l0: 160, ..good() }, "L0A"),
            (Tiling { ho_l0: 16, k_l0: 144, ..good() }, "L0B"),
            (Tiling { ho_l0: 528, ..good() }, "L0C"),
            (Tiling { k_bl1: 288 * 8, ..good() }, "L1"),
        ] {
            let broken = judged(&tiling).expect_err(word);
            assert!(broken.contains(word), "{broken} does not name {word}");
        }
    }
    #[test]
    fn buffers_are_filled_to_the_last_byte_and_no_further() {
        // 256 x 128 x 128 in two buffers each.
        let full = || Tiling { ho_l0: 256, k_l0: 128, p_buffer_flag: 31, ..good() };
        let pairs = || Tiling { m_mode: 0, ho_l0: 4, wo_l0: 64, ..full() };
        // Of images of four channels a panel may be as deep as it likes.
        let deep = || Tiling { k_bl1: 1024, is_c04_flag: 1, ..good() };
        for fits in [
            full(),
            pairs(),
            deep(),
            Tiling { wo_l0: 68, ..full() },
            Tiling { k_bl1: 2048, p_buffer_flag: 11, ..deep() },
            Tiling { k_l0: 16, ho_l0: 512, p_buffer_flag: 27, ..full() },
        ] {
            judged(&fits).unwrap();
        }
        for (tiling, word) in [
            (Tiling { ho_l0: 257, ..full() }, "L0A"),
            (Tiling { k_l0: 129, n_l0: 64, ..full() }, "L0A"),
            (Tiling { wo_l0: 65, ..pairs() }, "L0A"),
            (Tiling { n_l0: 129, ..full() }, "L0B"),
            (Tiling { k_l0: 16, ho_l0: 257, ..full() }, "L0C"),
            (Tiling { k_bl1: 1025, ..deep() }, "L1"),
        ] {
            let broken = judged(&tiling).expect_err(word);
            assert!(broken.contains(word), "{broken} does not name {word}");
        }
    }

    #[test]
    fn each_field_has_its_own_limit() {
        judged(&Tiling { ho_dim: 8, ..good() }).unwrap();
        judged(&Tiling { batch_dim: 3, ho_dim: 11, ..good() }).unwrap_err();
        let most = Tiling {
            stride_h: 63,
            stride_w: 63,
            dilation_h: 255,
            dilation_w: 255,
            pad_top: 255,
            pad_bottom: 255,
            pad_left: 255,
            pad_right: 255,
            kernel_h: 511,
            kernel_w: 511,
            ..good()
        };
        judged(&most).unwrap();
        for (tiling, word) in [
            (Tiling { stride_h: 64, ..most }, "strideH = 64"),
            (Tiling { dilation_h: 256, ..most }, "dilationH = 256"),
            (Tiling { dilation_w: 256, ..most }, "dilationW = 256"),
            (Tiling { pad_top: 256, ..most }, "padTop = 256"),
            (Tiling { pad_bottom: 256, ..most }, "padBottom = 256"),
            (Tiling { pad_right: 256, ..most }, "padRight = 256"),
            (Tiling { kernel_h: 512, ..most }, "kernelH = 512"),
            (Tiling { kernel_w: 512, ..most }, "kernelW = 512"),
            (Tiling { dilation_w: 0, ..most }, "dilationW = 0"),
        ] {
            let broken = judged(&tiling).expect_err(word);
            assert!(broken.contains(word), "{broken} does not name {word}");
        }
    }
}
