//! The two tables of rules: what is just within a limit passes, and each rule names the field that breaks it.

use super::super::Record as Tiling;
use super::super::legality::{check, check_written};
use super::b2;
use crate::workload::{Conv, ConvKind, Depth};
use aoe_graph::{DataType, Format};

/// 2 volumes of 8 planes of 28 x 28 pixels, 64 to 128 channels, 3 x 3 x 3 taps.
fn volume() -> Conv {
    Conv {
        dtype: DataType::Bfloat16,
        out_dtype: DataType::Bfloat16,
        bias: true,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: 8, output: 8, kernel: 3, stride: 1, pads: [1, 1], dilation: 1 }),
        ..Conv::image(ConvKind::Forward, 2 * 8, [64 * 3, 128], 28, 3)
    }
}

/// The same with one tap a plane, and 128 to so many channels: K is 384 in blocks of 16.
fn plain(cout: u64) -> Conv {
    Conv { cin: 128 * 3, cout, kh: 1, kw: 1, pads: [0; 4], ..volume() }
}

/// 2 images by 4 runs of planes by 3 parts of 784 pixels; tiles of 144 x 128, K in blocks of 16 channels with 9 taps.
fn good() -> Tiling {
    Tiling {
        batch_dim: 2,
        do_dim: 4,
        m_dim: 3,
        n_dim: 1,
        group_dim: 1,
        single_core_do: 2,
        single_core_m: 272,
        single_core_co: 128,
        m_l0: 144,
        n_l0: 128,
        k_l0: 48,
        m_al1: 144,
        n_bl1: 128,
        k_al1: 432,
        k_bl1: 432,
        p_buffer_flag: 27,
        ..Tiling::own(&volume()).unwrap()
    }
}

/// Tiles of 128 x 128 x 128 of `plain`, all in two buffers: L0A, L0B and L0C are full.
fn full(w: &Conv) -> Tiling {
    let blocks = Tiling { m_l0: 128, n_l0: 128, k_l0: 128, m_al1: 128, k_al1: 384, k_bl1: 384, ..good() };
    let own = Tiling::own(w).unwrap();
    Tiling {
        p_buffer_flag: 31,
        single_core_co: w.cout as u32,
        single_core_ci: own.single_core_ci,
        org_ci: own.org_ci,
        org_co: own.org_co,
        kernel_h: 1,
        kernel_w: 1,
        pad_top: 0,
        pad_bottom: 0,
        pad_left: 0,
        pad_right: 0,
        ..blocks
    }
}

fn anybodys(t: &Tiling, w: &Conv) -> Result<(), String> {
    check(t, w, &b2()).map_err(|broken| broken.0)
}

fn written(t: &Tiling, w: &Conv) -> Result<(), String> {
    check_written(t, w, &b2()).map_err(|broken| broken.0)
}

/// Each of these is refused, in words that name the field.
fn refused(judged: impl Fn(&Tiling) -> Result<(), String>, tilings: &[(Tiling, &str)]) {
    for (tiling, word) in tilings {
        let broken = judged(tiling).expect_err(word);
        assert!(broken.contains(word), "{broken} does not name {word}");
    }
}

#[test]
fn each_rule_names_the_field_that_breaks_it() {
    written(&good(), &volume()).unwrap();
    refused(
        |t| written(t, &volume()),
        &[
            (Tiling { m_dim: 4, single_core_m: 208, ..good() }, "core tasks"),
            (Tiling { group_dim: 0, ..good() }, "groupDim"),
            (Tiling { k_bl1: 0, ..good() }, "kBL1"),
            (Tiling { org_di: 9, ..good() }, "orgDi = 9"),
            (Tiling { org_ci: 65, ..good() }, "orgCi = 65"),
            (Tiling { stride_d: 2, ..good() }, "strideD"),
            (Tiling { pad_tail: 0, ..good() }, "padTail"),
            (Tiling { iterate_mn_order: 2, ..good() }, "iterateMNOrder"),
            (Tiling { offsetx: 1, ..good() }, "offsetx"),
            (Tiling { hf32_trans_mode: 1, ..good() }, "hf32TransMode"),
            (Tiling { group_dim: 2, m_dim: 1, single_core_m: 784, ..good() }, "groupDim"),
        ],
    );
    let of_32 = Conv { dtype: DataType::Float, ..volume() };
    assert!(written(&good(), &of_32).unwrap_err().contains("channels of float"));
    let half = Conv { dtype: DataType::Float16, ..volume() };
    written(&good(), &half).unwrap();
}

#[test]
fn anybodys_record_covers_the_work_and_fits_one_buffer_of_each() {
    anybodys(&good(), &volume()).unwrap();
    let tile = |m_l0, n_l0, k_l0| Tiling { m_l0, k_l0, n_l0, ..good() };
    for fits in [tile(256, 16, 128), tile(16, 256, 128), tile(256, 128, 16)] {
        anybodys(&fits, &volume()).unwrap();
    }
    refused(
        |t| anybodys(t, &volume()),
        &[
            (Tiling { single_core_do: 1, ..good() }, "doDim x singleCoreDo"),
            (Tiling { single_core_m: 261, ..good() }, "mDim x singleCoreM"),
            (Tiling { single_core_co: 127, ..good() }, "nDim x singleCoreCo"),
            (tile(257, 16, 128), "L0A"),
            (tile(16, 257, 128), "L0B"),
            (tile(257, 128, 16), "L0C"),
        ],
    );
    // Whether a key counts the channels of all groups or of one is not public.
    let grouped = Conv { groups: 2, ..volume() };
    let of_grouped = Tiling { groups: 2, single_core_co: 64, org_ci: 32, ..good() };
    anybodys(&of_grouped, &grouped).unwrap();
    assert!(written(&of_grouped, &grouped).unwrap_err().contains("joins groups"));
    let flat = Conv { depth: None, ..volume() };
    assert!(anybodys(&good(), &flat).is_err());
}

#[test]
fn a_load_instruction_has_so_many_bits_for_each_size() {
    let judged = |w: &Conv| {
        let own = Tiling::own(w).unwrap();
        let (strides, dilations) = ([own.stride_h, own.stride_w], [own.dilation_h, own.dilation_w]);
        let t = Tiling { stride_h: strides[0], stride_w: strides[1], dilation_h: dilations[0], ..good() };
        let t = Tiling { dilation_w: dilations[1], kernel_h: own.kernel_h, kernel_w: own.kernel_w, ..t };
        let t = Tiling { pad_top: own.pad_top, pad_bottom: own.pad_bottom, ..t };
        anybodys(&Tiling { pad_left: own.pad_left, pad_right: own.pad_right, ..t }, w)
    };
    judged(&Conv { stride: [63, 63], dilation: [255, 255], pads: [255; 4], kh: 255, kw: 255, ..volume() }).unwrap();
    for (w, name) in [
        (Conv { stride: [64, 1], ..volume() }, "strideH = 64"),
        (Conv { stride: [1, 64], ..volume() }, "strideW = 64"),
        (Conv { dilation: [256, 1], ..volume() }, "dilationH = 256"),
        (Conv { dilation: [1, 256], ..volume() }, "dilationW = 256"),
        (Conv { pads: [256, 1, 1, 1], ..volume() }, "padTop = 256"),
        (Conv { pads: [1, 256, 1, 1], ..volume() }, "padBottom = 256"),
        (Conv { pads: [1, 1, 256, 1], ..volume() }, "padLeft = 256"),
        (Conv { pads: [1, 1, 1, 256], ..volume() }, "padRight = 256"),
        (Conv { kh: 256, ..volume() }, "kernelH = 256"),
        (Conv { kw: 256, ..volume() }, "kernelW = 256"),
    ] {
        let broken = judged(&w).expect_err(name);
        assert!(broken.contains(name), "{broken} does not name {name}");
    }
}

#[test]
fn cores_share_the_axes_evenly() {
    written(&Tiling { batch_dim: 1, do_dim: 8, single_core_do: 1, ..good() }, &volume()).unwrap();
    refused(
        |t| written(t, &volume()),
        &[
            (Tiling { single_core_m: 256, ..good() }, "singleCoreM"),
            (Tiling { single_core_m: 288, ..good() }, "singleCoreM = 288"),
            (Tiling { single_core_do: 3, ..good() }, "singleCoreDo"),
            (Tiling { single_core_co: 144, ..good() }, "singleCoreCo = 144"),
            (Tiling { do_dim: 3, ..good() }, "doDim"),
            (Tiling { batch_dim: 3, do_dim: 2, single_core_do: 4, ..good() }, "batchDim = 3"),
            (
                Tiling { batch_dim: 1, do_dim: 9, single_core_do: 1, m_dim: 2, single_core_m: 400, ..good() },
                "doDim = 9",
            ),
            (Tiling { n_dim: 3, m_dim: 1, single_core_m: 784, single_core_co: 48, ..good() }, "nDim"),
        ],
    );
}

#[test]
fn depths_of_k_are_whole_blocks_that_nest() {
    refused(
        |t| written(t, &volume()),
        &[
            (Tiling { k_al1: 200, ..good() }, "kAL1 = 200"),
            // Whole blocks that do not divide K.
            (Tiling { k_al1: 720, ..good() }, "kAL1 = 720"),
            (Tiling { k_bl1: 720, ..good() }, "kBL1 = 720"),
            // A divisor of K that is no block.
            (Tiling { k_bl1: 48, ..good() }, "kBL1 = 48"),
            (Tiling { k_al1: 288, k_bl1: 432, k_l0: 16, ..good() }, "neither divides"),
            (Tiling { k_al1: 432, k_bl1: 288, k_l0: 16, ..good() }, "neither divides"),
            (Tiling { k_l0: 32, ..good() }, "no multiple of kL0 = 32"),
            (Tiling { k_l0: 24, ..good() }, "kL0 = 24"),
        ],
    );
}

#[test]
fn tiles_of_l0_fill_its_buffers_and_no_more() {
    let w = plain(256);
    written(&full(&w), &w).unwrap();
    written(&Tiling { m_l0: 144, m_al1: 144, k_l0: 64, p_buffer_flag: 27, ..full(&w) }, &w).unwrap();
    // One buffer is as large as two of half.
    written(&Tiling { m_l0: 256, m_al1: 256, p_buffer_flag: 10, k_al1: 128, ..full(&w) }, &w).unwrap();
    written(&Tiling { n_l0: 256, n_bl1: 256, p_buffer_flag: 9, k_bl1: 128, bl1_bypass_flag: 1, ..full(&w) }, &w)
        .unwrap();
    refused(
        |t| written(t, &w),
        &[
            (Tiling { m_l0: 144, m_al1: 144, ..full(&w) }, "L0A"),
            (Tiling { n_l0: 144, n_bl1: 144, ..full(&w) }, "L0B"),
            (Tiling { m_l0: 144, m_al1: 144, k_l0: 64, ..full(&w) }, "L0C"),
            (Tiling { m_l0: 100, ..full(&w) }, "mL0 = 100"),
            (Tiling { m_l0: 288, n_l0: 16, k_l0: 16, ..full(&w) }, "mL0 = 288"),
            (Tiling { n_l0: 272, k_l0: 16, m_l0: 16, ..full(&w) }, "nL0 = 272"),
            (Tiling { p_buffer_flag: 32 + 31, ..full(&w) }, "five bits"),
        ],
    );
    // The bias table holds 256 channels.
    let wide = plain(512);
    let of_wide = |n_l0| Tiling {
        m_l0: 112,
        m_al1: 112,
        n_l0,
        n_bl1: n_l0,
        k_l0: 48,
        k_bl1: 192,
        p_buffer_flag: 27,
        ..full(&wide)
    };
    written(&of_wide(256), &wide).unwrap();
    assert!(written(&of_wide(272), &wide).unwrap_err().contains("bias table"));
    written(&of_wide(272), &Conv { bias: false, ..wide }).unwrap();
}

#[test]
fn l1_holds_panels_of_whole_tiles_or_all_of_a_side() {
    let image_stays = Tiling { al1_full_load: 1, k_al1: 1728, m_al1: 272, p_buffer_flag: 27 - 8, ..good() };
    let weights_stay = Tiling { bl1_full_load: 1, k_bl1: 1728, p_buffer_flag: 27 - 16, ..good() };
    let bypass = Tiling { m_l0: 112, m_al1: 112, k_l0: 144, k_bl1: 144, p_buffer_flag: 25, ..good() };
    for legal in [image_stays, weights_stay, Tiling { bl1_bypass_flag: 1, ..bypass }, Tiling { n_l0: 64, ..bypass }] {
        written(&legal, &volume()).unwrap();
    }
    refused(
        |t| written(t, &volume()),
        &[
            (Tiling { m_al1: 150, ..good() }, "mAL1"),
            (Tiling { m_al1: 288, ..good() }, "mAL1 = 288"),
            // A rest is cut off a panel that stays, and off no other.
            (Tiling { m_al1: 272, ..good() }, "mAL1 = 272"),
            (Tiling { n_bl1: 256, ..good() }, "nBL1"),
            (Tiling { al1_full_load: 1, ..good() }, "al1FullLoad"),
            (Tiling { m_al1: 144, ..image_stays }, "al1FullLoad"),
            (Tiling { k_al1: 864, ..image_stays }, "al1FullLoad"),
            (Tiling { p_buffer_flag: 27, ..image_stays }, "al1FullLoad"),
            (Tiling { m_l0: 272, k_l0: 16, n_l0: 64, al1_full_load: 2, ..image_stays }, "al1FullLoad = 2"),
            (Tiling { k_bl1: 864, ..weights_stay }, "bl1FullLoad"),
            (Tiling { p_buffer_flag: 27, ..weights_stay }, "bl1FullLoad"),
            (Tiling { bl1_full_load: 2, ..weights_stay }, "bl1FullLoad = 2"),
            (Tiling { bl1_bypass_flag: 1, ..good() }, "bl1BypassFlag = 1"),
            (bypass, "bl1BypassFlag = 0"),
            (Tiling { k_bl1: 1728, ..good() }, "L1"),
        ],
    );
}
