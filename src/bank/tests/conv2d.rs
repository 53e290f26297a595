//! `Conv2DV2`'s fields and the canonical schedule say the same.

use super::*;
use crate::bank::conv2d::{self, Tiling};
use crate::bank::layout::Layout;
use crate::workload::{Conv, ConvKind};
use proptest::prelude::*;
use serde_json::json;

/// 56 x 56 pixels, 3 x 3 kernels, 64 to 128 channels.
pub fn image(batch: u64) -> Conv {
    Conv { bias: true, ..Conv::image(ConvKind::Forward, batch, [64, 128], 56, 3) }
}

/// Pixels in a row: 4 images by 7 parts of an image, channels whole; all buffers but L0C's double.
pub fn rows() -> Tiling {
    let whole = CubeSchedule {
        used_cores: 28,
        cores: Cores { batch: 1, m: 28, n: 1, k: 1 },
        single: Extents { batch: 1, m: 448, n: 128, k: 576 },
        l0: L0Tile { m: 224, n: 128, k_a: 48, k_b: 48 },
        l1_a: L1Tile::panel(288, 1),
        l1_b: L1Tile::panel(288, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::NFirst,
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: [].into(),
    };
    Tiling::from_schedule(&whole, &image(4)).unwrap()
}

fn on_950() -> Soc {
    Soc::find("Ascend950PR_9579").unwrap()
}

#[test]
fn a_convolution_s_info_dict_has_the_key_s_fields_and_no_others() {
    let layout = Layout::of(conv2d::OP_TYPE).unwrap();
    let info = conv2d::info_dict(&image(4));
    assert_eq!(info.len(), layout.fields().len());
    let key = layout.pack(&info).unwrap();
    let read = |name: &str| layout.field(name).unwrap().read(key.bytes()).unwrap();
    let expected = [("aShapeN", json!(4)), ("bShapeN", json!(128)), ("bShapeC", json!(64)), ("biasDtype", json!(1))];
    for (name, value) in expected.into_iter().chain([("cShapeH", json!(56)), ("biasFlag", json!(true))]) {
        assert_eq!(read(name), value, "{name}");
    }
    let grouped = Conv { groups: 4, format: Format::Nhwc, bias: false, dtype: DataType::Float, ..image(4) };
    let info = conv2d::info_dict(&grouped);
    assert_eq!([&info["bShapeC"], &info["bFormat"], &info["biasDtype"]], [&json!(16), &json!(16), &json!(1)]);
}

#[test]
fn only_forward_convolutions_of_plain_images_are_asked_for() {
    assert!(conv2d::has_key(&image(1)));
    // Each type of operands has a bias of its own.
    for (dtype, bias) in [
        (DataType::Float, DataType::Float),
        (DataType::Bfloat16, DataType::Bfloat16),
        (DataType::Int8, DataType::Int32),
        (DataType::Hifloat8, DataType::Float),
    ] {
        let w = Conv { dtype, ..image(1) };
        assert!(conv2d::has_key(&w), "{dtype:?}");
        assert_eq!(conv2d::info_dict(&w)["biasDtype"], json!(bias.ge_number()), "{dtype:?}");
    }
    for other in [
        Conv { kind: ConvKind::BackpropInput, ..image(1) },
        Conv { format: Format::Nc1hwc0, ..image(1) },
        Conv { dtype: DataType::Int32, ..image(1) },
        Conv { groups: 0, ..image(1) },
        Conv { groups: 0, cin: 0, ..image(1) },
        Conv { groups: 3, ..image(1) },
        Conv { hi: 1 << 63, ..image(1) },
    ] {
        assert!(!conv2d::has_key(&other), "{other:?}");
    }
}

#[test]
fn images_and_their_parts_become_tasks_along_m() {
    let tiling = rows();
    assert_eq!((tiling.batch_dim, tiling.ho_dim, tiling.n_dim, tiling.single_core_ho), (4, 7, 1, 448));
    assert_eq!((tiling.ho_l1, tiling.ho_l0, tiling.k_al1, tiling.n_bl1), (224, 224, 288, 128));
    assert_eq!((tiling.p_buffer_flag, tiling.m_mode, tiling.wo_l1, tiling.inner_batch), (27, 1, 0, 1));
    let s = tiling.schedule(&image(4)).unwrap();
    assert_eq!((s.cores.m, s.single.m, s.l1_a, s.unmodelled.len()), (28, 448, L1Tile::panel(288, 1), 0));
    crate::workload::check(&Workload::Conv(image(4)), &Schedule::Cube(s), &on_950()).unwrap();
    // Two images a core, each whole.
    let s = Tiling { batch_dim: 2, ho_dim: 1, single_core_ho: 56 * 56, ..tiling }.schedule(&image(4)).unwrap();
    assert_eq!((s.cores.m, s.single.m, s.unmodelled.len()), (2, 2 * 56 * 56, 0));
}

#[test]
fn rows_by_columns_are_pixels_too() {
    let tiling =
        Tiling { m_mode: 0, single_core_ho: 8, single_core_wo: 56, ho_l1: 8, wo_l1: 56, ho_l0: 4, wo_l0: 55, ..rows() };
    let s = tiling.schedule(&image(4)).unwrap();
    assert_eq!((s.single.m, s.l0.m, s.l1_a), (448, 224, L1Tile::panel(288, 2)), "4 x 55 is 220, padded to fractals");
    assert_eq!(Tiling::from_schedule(&s, &image(4)).unwrap(), tiling);
}

#[test]
fn bits_are_buffers() {
    for (flag, counts) in [(27, [2, 2, 1, 2, 2]), (7, [2, 2, 2, 1, 1]), (0, [1; 5]), (15, [2, 2, 2, 2, 1])] {
        let b = Tiling { p_buffer_flag: flag, ..rows() }.schedule(&image(4)).unwrap().buffers;
        assert_eq!([b.l0_a, b.l0_b, b.l0_c, b.l1_a, b.l1_b], counts, "pBufferFlag {flag}");
    }
}

#[test]
fn filters_that_stay_are_a_full_load() {
    let tiling = Tiling { p_buffer_flag: 11, k_bl1: 576, ..rows() };
    let s = tiling.schedule(&image(4)).unwrap();
    assert_eq!((s.l1_b, s.unmodelled.len()), (L1Tile::FULL, 0));
    assert_eq!(Tiling::from_schedule(&s, &image(4)).unwrap(), tiling);
}

#[test]
fn what_the_kernel_has_not_is_refused() {
    let s = rows().schedule(&image(4)).unwrap();
    for (schedule, what) in [
        (CubeSchedule { used_cores: 8, ..s.clone() }, "several tasks"),
        (CubeSchedule { single: Extents { m: 600, ..s.single }, ..s.clone() }, "even parts"),
        (CubeSchedule { split_k: SplitK::MultiCore, ..s.clone() }, "k is split"),
        (CubeSchedule { l2: L2Tiling { m_tiles: 2, ..s.l2 }, ..s.clone() }, "L2"),
    ] {
        let error = Tiling::from_schedule(&schedule, &image(4)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let depthwise = Conv { groups: 64, cout: 64, ..image(4) };
    let joined = CubeSchedule {
        single: Extents { n: 16, k: depthwise.cube().k, batch: depthwise.cube().batch, ..s.single },
        ..s
    };
    let error = Tiling::from_schedule(&joined, &depthwise).unwrap_err().to_string();
    assert!(error.contains("joins groups of less than a block"), "{error}");
    assert!(Tiling { n_dim: 0, ..rows() }.schedule(&image(4)).is_err());
    assert!(Tiling { iterate_mn_order: 2, ..rows() }.schedule(&image(4)).is_err());
}

#[test]
fn extents_of_a_key_lead_back_to_the_convolution() {
    let layout = Layout::of(conv2d::OP_TYPE).unwrap();
    let grouped = Conv { groups: 4, pads: [0, 1, 2, 3], stride: [2, 1], ..image(7) };
    let info = conv2d::info_dict(&grouped);
    let extents: Vec<u64> = conv2d::EXTENTS.iter().map(|name| info[*name].as_u64().unwrap()).collect();
    // Of the convolution that it is like only what is no extent stays.
    let other = conv2d::of_extents(&image(1), &(100..118).collect::<Vec<u64>>()).unwrap();
    assert_eq!(conv2d::of_extents(&other, &extents), Some(grouped));
    assert!(layout.without(&vec![0; layout.bytes()], conv2d::EXTENTS).is_some());
}

fn any_tiling() -> impl Strategy<Value = Tiling> {
    let cut = (1u32..5, 1u32..9, 1u32..3, 1u32..5, 1u32..200, 1u32..60);
    let sizes = (1u32..30, 0u32..60, 1u32..30, 0u32..60, 1u32..9, 1u32..9, 1u32..9, 1u32..200, 1u32..130);
    let flags = (0u32..32, 0u32..2, 0u32..2, 0u32..2, 0u32..2, 1u32..4);
    (cut, sizes, flags).prop_map(|(cut, size, flag)| Tiling {
        batch_dim: cut.0,
        ho_dim: cut.1,
        wo_dim: cut.2,
        n_dim: cut.3,
        single_core_ho: cut.4,
        single_core_wo: if flag.1 == 1 { 0 } else { cut.5 },
        ho_l1: size.0,
        wo_l1: if flag.1 == 1 { 0 } else { size.1.max(1) },
        ho_l0: size.2,
        wo_l0: if flag.1 == 1 { 0 } else { size.3.max(1) },
        k_l0: 16 * size.4,
        k_al1: 16 * size.4 * size.5,
        k_bl1: 16 * size.4 * size.6,
        n_bl1: size.7,
        n_l0: size.8,
        p_buffer_flag: flag.0,
        m_mode: flag.1,
        iterate_mn_order: flag.2,
        is_c04_flag: flag.3,
        is_weight_ub_trans_flag: flag.4,
        inner_batch: flag.5,
        single_core_co: size.7 + cut.4,
        ..rows()
    })
}

proptest! {
    #[test]
    fn a_tiling_survives_the_canonical_schedule(tiling in any_tiling(), batch in 1u64..9) {
        let w = image(batch);
        let schedule = tiling.schedule(&w).unwrap();
        prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
        let text = serde_json::to_string(&Schedule::Cube(schedule.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), Schedule::Cube(schedule));
    }

    #[test]
    fn a_knowledge_object_survives_reading_and_writing(tiling in any_tiling()) {
        prop_assert_eq!(Tiling::from_knowledge(&tiling.to_knowledge()), Ok(tiling));
        let mut older = tiling.to_knowledge();
        older.retain(|name, _| !["innerBatch", "enlarge", "isWeightUbTransFlag"].contains(&name.as_str()));
        let read = Tiling::from_knowledge(&older).unwrap();
        prop_assert_eq!(read, Tiling { inner_batch: 1, enlarge: 0, is_weight_ub_trans_flag: 0, ..tiling });
    }

    #[test]
    fn no_tiling_panics(
        fields in proptest::collection::vec(any::<u32>(), Tiling::NAMES.len()), sizes: [u64; 6], groups in 0u64..5,
    ) {
        let map = Tiling::NAMES.iter().zip(&fields).map(|(name, &value)| ((*name).to_owned(), value.into())).collect();
        let tiling = Tiling::from_knowledge(&map).unwrap();
        let [batch, cin, cout, ho, kh, hi] = sizes;
        let w = Conv { batch, cin, hi, cout, ho, kh, groups, ..image(1) };
        let _ = crate::tiling::conv2d_v2::legality::check(&tiling, &w, &crate::tiling::Platform::of(&on_950()));
        if let Ok(schedule) = tiling.schedule(&w) {
            prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
            let _ = crate::workload::check(&Workload::Conv(w), &Schedule::Cube(schedule), &on_950());
        }
    }
}

#[test]
fn cann_stops_at_a_record_that_breaks_a_rule_of_the_kernel() {
    let (soc, work) = (on_950(), Workload::Conv(image(4)));
    let judged = |tiling: Tiling| {
        let knowledge = crate::bank::knowledge::Knowledge::Conv2d(tiling);
        (knowledge.check_accepted(&work, &soc).is_ok(), knowledge.fit(&work, &soc).is_ok())
    };
    assert_eq!(judged(rows()), (true, true));
    for broken in [
        Tiling { n_dim: 40, ..rows() },
        Tiling { batch_dim: 0, ..rows() },
        Tiling { k_al1: 300, ..rows() },
        Tiling { pad_top: 256, ..rows() },
    ] {
        assert_eq!(judged(broken), (false, false), "{broken:?}");
    }
}
