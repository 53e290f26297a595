//! Convolutions: the keys by the rules, and tilings there and back.

use super::super::{accepts, check, info_dicts, knowledge, schedule, workload};
use super::*;
use crate::workload::{Conv, ConvKind, Extents, L2Tiling, MatMulKernel, Operand, OutputPath, Vector};

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// 56 x 56 pixels, 64 channels to 64, 3 x 3 kernels: the page's vector is its gradient.
pub(super) fn image(kind: ConvKind) -> Conv {
    Conv {
        out_dtype: if kind == ConvKind::BackpropFilter { DataType::Float } else { DataType::Float16 },
        format: Format::Nc1hwc0,
        ..Conv::image(kind, 1, [64, 64], 56, 3)
    }
}

pub(super) fn activated(conv: Conv) -> Workload {
    let operand = Operand::new([conv.batch, conv.cout, conv.ho, conv.wo], conv.out_dtype);
    let relu = Vector { op_type: "Relu".into(), inputs: vec![operand.clone()], outputs: vec![operand] };
    Workload::Fused(vec![Workload::Conv(conv), Workload::Vector(relu)])
}

/// Four runs of 784 pixels, all 64 channels, the filter whole in L1.
pub(super) fn tiled() -> CubeSchedule {
    CubeSchedule {
        used_cores: 4,
        cores: Cores { batch: 1, m: 4, n: 1, k: 1 },
        single: Extents { batch: 1, m: 784, n: 64, k: 576 },
        l0: L0Tile { m: 112, n: 64, k_a: 144, k_b: 144 },
        l1_a: L1Tile::panel(576, 2),
        l1_b: L1Tile::FULL,
        buffers: Buffers { l1_a: 2, l1_b: 1, l0_a: 2, l0_b: 2, l0_c: 2 },
        order: LoopOrder::MFirst,
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: [].into(),
    }
}

/// The same with the order that TBE's kernels take.
pub(super) fn writable(w: &Workload) -> CubeSchedule {
    let order = crate::workload::tbe::lighter_order(&tiled(), &w.cube().unwrap());
    CubeSchedule { order, ..tiled() }
}

#[test]
fn a_gradient_of_the_input_has_the_page_s_key() {
    let w = Workload::Conv(image(ConvKind::BackpropInput));
    let all = info_dicts(&w).unwrap();
    assert_eq!(all[0].dumps().len(), 516);
    assert_eq!(key(&all[0]), "442cf4ebb63394e3ae31beb6b914528c");
    // Of stride 1 the other branch asks without result and pads.
    assert_eq!(all.len(), 2);
    assert!(all[1].dumps().contains(r#""C_shape": [0, 0, 0, 0], "A_dtype""#), "{}", all[1].dumps());
    let strided = Conv { stride: [2, 2], hi: 112, wi: 112, ..image(ConvKind::BackpropInput) };
    let all = info_dicts(&Workload::Conv(strided)).unwrap();
    let text = all[0].dumps();
    assert!(all.len() == 1 && text.contains(r#""strideH": 1, "strideW": 1, "strideH_expand": 2"#), "{text}");
}

#[test]
fn a_gradient_of_the_filter_ends_with_its_fusion_type() {
    let w = Conv { stride: [2, 1], bias: false, ..image(ConvKind::BackpropFilter) };
    let all = info_dicts(&Workload::Conv(w)).unwrap();
    let text = all[0].dumps();
    assert_eq!(all.len(), 1);
    assert!(text.ends_with(r#""bias_flag": 0, "fused_double_operand_num": 0, "fusion_type": 0}"#), "{text}");
    assert!(text.contains(r#""C_dtype": "float32", "mad_dtype": "float32""#), "{text}");
    assert!(text.contains(r#""strideH": 2, "strideW": 1, "strideH_expand": 1, "strideW_expand": 1"#), "{text}");
}

#[test]
fn a_convolution_is_asked_for_as_one_optimised_group() {
    let w =
        Conv { cin: 3, batch: 8, dtype: DataType::Bfloat16, out_dtype: DataType::Bfloat16, ..image(ConvKind::Forward) };
    let all = info_dicts(&Workload::Conv(w.clone())).unwrap();
    let text = all[0].dumps();
    assert!(
        text.starts_with(
            r#"{"fm_shape": [8, 1, 56, 56, 16], "filter_shape": [64, 1, 3, 3, 16], "fm_dtype": "float16","#
        ),
        "{text}"
    );
    assert!(text.contains(r#""pad": [1, 1, 1, 1], "stride": [1, 1], "dilation": [1, 1], "group": 1, "bias_flag": false, "bias_dtype": "","#), "{text}");
    assert!(text.contains(r#""fusion_type": "1","#), "{text}");
    let mut keys: Vec<_> = all.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 4, "two fields of two values each");
    let relu = info_dicts(&activated(Conv { bias: true, ..w })).unwrap();
    let text = relu[0].dumps();
    assert!(text.contains(r#""fixpipe_fused_type": [{"pre_act": "NORMAL_RELU", "pre_conv": "F322F16"}]"#), "{text}");
    assert!(
        text.contains(r#""bias_dtype": "float16""#) && text.contains(r#""fusion_type": "80_fixpipe_1_9_2_2""#),
        "{text}"
    );
    assert_eq!(relu.len(), 4);
}

#[test]
fn what_is_not_known_of_a_convolution_is_named() {
    let refused = |w: Conv, field: &str| {
        let error = info_dicts(&Workload::Conv(w)).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    };
    let plain = || image(ConvKind::Forward);
    refused(Conv { groups: 8, ..plain() }, "`group`");
    refused(Conv { groups: 64, ..plain() }, "depthwise");
    refused(Conv { groups: 2, cin: 64, ..image(ConvKind::BackpropInput) }, "B_shape");
    refused(Conv { format: Format::Ndc1hwc0, ..plain() }, "volumes");
    refused(Conv { dtype: DataType::Float, ..plain() }, "fm_dtype");
    refused(Conv { dtype: DataType::Int8, ..plain() }, "fm_dtype");
    refused(Conv { out_dtype: DataType::Float, ..plain() }, "result_dtype");
    refused(Conv { kh: 300, ..plain() }, "special_mode");
    refused(Conv { stride: [64, 1], ..plain() }, "special_mode");
    refused(Conv { batch: 0, ..plain() }, "fm_shape");
    refused(Conv { batch: 1 << 40, ..plain() }, "fm_shape");
    refused(Conv { bias: true, ..image(ConvKind::BackpropInput) }, "bias_dtype");
    assert!(info_dicts(&activated(image(ConvKind::BackpropInput))).is_err());
}

#[test]
fn an_info_dict_is_read_back_as_the_convolution_of_whole_blocks() {
    for kind in [ConvKind::Forward, ConvKind::BackpropInput, ConvKind::BackpropFilter] {
        let w = Conv { stride: [2, 1], pads: [1, 0, 2, 3], ..image(kind) };
        let info = info_dict(&Workload::Conv(w.clone())).unwrap();
        assert_eq!(workload(&info).unwrap(), Workload::Conv(w));
    }
    let relu = activated(Conv { bias: true, ..image(ConvKind::Forward) });
    assert_eq!(workload(&info_dict(&relu).unwrap()).unwrap(), relu);
}

fn info_dict(w: &Workload) -> Result<Dict> {
    super::super::info_dict(w)
}

#[test]
fn groups_of_whole_blocks_are_asked_for_by_the_sizes_of_one() {
    for kind in [ConvKind::Forward, ConvKind::BackpropFilter] {
        let w = Conv { groups: 4, cin: 128, cout: 64, ..image(kind) };
        let info = info_dict(&Workload::Conv(w.clone())).unwrap();
        let text = info.dumps();
        let (filter, map) = if kind == ConvKind::Forward {
            (r#""filter_shape": [16, 2, 3, 3, 16]"#, format!(r#""fm_shape": [{}, 2, 56, 56, 16]"#, w.batch))
        } else {
            (r#""C_shape": [16, 2, 3, 3, 16]"#, format!(r#""B_shape": [{}, 2, 56, 56, 16]"#, w.batch))
        };
        assert!(text.contains(filter) && text.contains(&map) && text.contains(r#""group": 4"#), "{text}");
        assert_eq!(workload(&info).unwrap(), Workload::Conv(w));
    }
}

#[test]
fn tilings_of_groups_are_searched_that_a_record_says() {
    use crate::bank::Writable;
    use crate::search::Domain;
    use crate::space::OperatorSpace;
    let w = Workload::Conv(Conv { groups: 4, cin: 128, cout: 64, batch: 2, ..image(ConvKind::Forward) });
    let space = OperatorSpace::new(&w, &soc()).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut said, mut dealt) = (0, 0);
    for _ in 0..400 {
        let Some(schedule) = space.sample_within(&mut rng, &mut 4000).and_then(|c| space.schedule(&c)) else {
            continue;
        };
        if Writable::of(&w, &soc()).check(&schedule).is_err() {
            continue;
        }
        let Schedule::Cube(cube) = &schedule else { continue };
        let knowledge = knowledge(cube, &w, None).unwrap();
        assert_eq!(super::super::schedule(&knowledge, &w).unwrap(), *cube);
        said += 1;
        dealt += usize::from(cube.cores.batch > 1);
    }
    assert!(said > 20 && dealt > 0, "{said} of 400 can be said, {dealt} deal the groups to cores");
}

#[test]
fn a_record_that_does_not_deal_the_groups_evenly_is_refused() {
    let conv = Conv { groups: 4, cin: 256, cout: 256, ..image(ConvKind::Forward) };
    let platform = Platform::of(&soc());
    let tiling = |k| TbeTiling {
        cores: Cores { batch: 1, m: 1, n: 1, k },
        l1_a: L1Tile::panel(144, 1),
        l1_b: L1Tile::panel(144, 1),
        l0: L0Tile { m: 64, n: 64, k_a: 48, k_b: 48 },
        buffers: Buffers { l1_a: 1, l1_b: 1, l0_a: 2, l0_b: 2, l0_c: 1 },
    };
    let judged = |k| {
        let strength = Strength::Written;
        conv2d::check(&tiling(k), &conv, &platform, strength)
    };
    judged(2).unwrap();
    assert!(judged(3).unwrap_err().contains("block_dim[3] = 3"));
}

#[test]
fn a_panel_of_filters_holds_whole_channel_blocks_with_all_kernel_positions() {
    let judged = |conv: &Conv, k_b: u32| {
        let tiling = TbeTiling {
            cores: Cores { batch: 1, m: 1, n: 1, k: 1 },
            l1_a: L1Tile::panel(u32::try_from(conv.kh * conv.kw * 16).unwrap(), 1),
            l1_b: L1Tile::panel(k_b, 1),
            l0: L0Tile { m: 16, n: 16, k_a: 48, k_b: 48 },
            buffers: Buffers { l1_a: 1, l1_b: 1, l0_a: 2, l0_b: 2, l0_c: 1 },
        };
        conv2d::check(&tiling, conv, &Platform::of(&soc()), Strength::Written)
    };
    let conv = image(ConvKind::Forward);
    judged(&conv, 144).unwrap();
    assert!(judged(&conv, 96).unwrap_err().contains("BL1_shape' k of 96 is no multiple of 144"));
    // 30 x 30 positions of 16 channels by 16 columns are 460,800 of 524,288 bytes of L1.
    let large = Conv { kh: 30, kw: 30, hi: 30, wi: 30, ho: 1, wo: 1, pads: [0; 4], ..conv };
    judged(&large, 48).unwrap();
}

#[test]
fn what_stays_in_our_own_form_says_why() {
    let why = |w: Workload| crate::bank::Writable::of(&w, &soc()).why_own();
    let tbe = |m, batch| MatMul { kernel: MatMulKernel::Tbe, batch, ..MatMul::new(m, 64, 64) };
    for (w, word) in [
        (Workload::MatMul(tbe(100, 1)), "shape_a_align"),
        (Workload::MatMul(MatMul { a_shared: true, ..tbe(64, 8) }), "batch_type"),
        (Workload::MatMul(MatMul { batch: 8, ..MatMul::new(64, 64, 64) }), "rules for batches"),
        (Workload::Conv(Conv { groups: 8, ..image(ConvKind::Forward) }), "`group`"),
        (Workload::Conv(Conv { groups: 64, ..image(ConvKind::Forward) }), "depthwise"),
        (added(image(ConvKind::Forward)), "fixpipe_fused_type"),
    ] {
        let reason = why(w).expect(word);
        assert!(reason.contains(word), "{reason} does not name {word}");
    }
    assert_eq!(why(Workload::Conv(image(ConvKind::Forward))), None, "CANN reads it");
    let [input, output] = [(), ()].map(|()| Operand::new([64, 64], DataType::Float16));
    assert_eq!(
        why(Workload::Vector(Vector { op_type: "Relu".into(), inputs: vec![input], outputs: vec![output] })),
        None
    );
}

/// A convolution whose result something else is added to on the way out.
fn added(conv: Conv) -> Workload {
    let operand = Operand::new([conv.batch, conv.cout, conv.ho, conv.wo], conv.out_dtype);
    let add = Vector { op_type: "Add".into(), inputs: vec![operand.clone(); 2], outputs: vec![operand] };
    Workload::Fused(vec![Workload::Conv(conv), Workload::Vector(add)])
}

#[test]
fn a_tiling_says_images_runs_of_pixels_and_whole_channel_blocks() {
    let w = Workload::Conv(image(ConvKind::Forward));
    let s = writable(&w);
    check(&s, &w, &soc()).unwrap();
    let said = knowledge(&s, &w, None).unwrap();
    let text = said.dumps();
    assert!(text.contains(r#""block_dim": [1, 1, 4, 1, 0]"#), "{text}");
    assert!(text.contains(r#""AL1_shape": [576, 2, 1, 1, 0], "BL1_shape": []"#), "{text}");
    assert!(text.contains(r#""AL0_matrix": [7, 9, 16, 16, 1, 1, 0], "BL0_matrix": [9, 4, 16, 16, 1, 1, 0]"#), "{text}");
    assert!(text.contains(r#""CL0_matrix": [4, 7, 16, 16, 1, 1, 0]"#), "{text}");
    assert!(text.contains(r#""L0C_OUTPUT_matrix": [4, 7, 16, 16, 1, 1]"#), "{text}");
    assert_eq!(schedule(&said, &w).unwrap(), s);
    accepts(&said, &w, &soc()).unwrap();
}

/// A change of a schedule that is legal.
type Change = fn(&mut CubeSchedule);

#[test]
fn a_tiling_that_would_stop_tbe_is_refused_in_a_sentence() {
    let w = Workload::Conv(image(ConvKind::Forward));
    let cases: [(&str, Change); 7] = [
        ("AL0_matrix holds 144 of k and BL0_matrix 72", |s| s.l0.k_b = 72),
        ("AL1_shape' k of 384", |s| {
            s.l0 = L0Tile { k_a: 96, k_b: 96, ..s.l0 };
            s.l1_a = L1Tile::panel(384, 2);
        }),
        ("no even parts", |s| s.single.m = 800),
        ("core tasks", |s| (s.single.m, s.cores.m, s.used_cores) = (500, 7, 7)),
        ("CL0_matrix needs", |s| s.l0 = L0Tile { m: 784, n: 64, k_a: 16, k_b: 16 }),
        ("order", |s| s.order = if s.order == LoopOrder::MFirst { LoopOrder::NFirst } else { LoopOrder::MFirst }),
        ("AL1_shape holds 896 rows", |s| s.l1_a = L1Tile::panel(576, 8)),
    ];
    for (rule, change) in cases {
        let mut s = writable(&w);
        change(&mut s);
        let error = check(&s, &w, &soc()).unwrap_err().to_string();
        assert!(error.contains(rule), "{rule}: {error}");
    }
    let said = knowledge(&writable(&w), &w, None).unwrap();
    for (field, value) in [
        ("L0C_OUTPUT_matrix", "[1, 1, 16, 16, 1, 1]"),
        ("BL0_matrix", "[3, 4, 16, 16, 1, 1, 0]"),
        ("AL0_matrix", "[7, 9, 32, 16, 1, 1, 0]"),
    ] {
        let mut wrong = said.clone();
        wrong.set(field, Value::parse(value).unwrap());
        let error = accepts(&wrong, &w, &soc()).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
}

#[test]
fn what_is_unfolded_in_one_go_goes_up_to_the_field_of_the_load() {
    let of = |w: Conv| info_dicts(&Workload::Conv(w)).map(drop);
    let image = || image(ConvKind::Forward);
    for last in [
        Conv { pads: [255, 1, 1, 1], ..image() },
        Conv { dilation: [255, 1], ..image() },
        Conv { kh: 255, ..image() },
        Conv { kw: 255, ..image() },
        Conv { stride: [63, 63], ..image() },
    ] {
        assert!(of(last.clone()).is_ok(), "{last:?}");
    }
    for beyond in [
        Conv { pads: [1, 1, 1, 256], ..image() },
        Conv { dilation: [1, 256], ..image() },
        Conv { kh: 256, ..image() },
        Conv { kw: 256, ..image() },
        Conv { stride: [1, 64], ..image() },
    ] {
        let error = of(beyond).unwrap_err().to_string();
        assert!(error.contains("special_mode"), "{error}");
    }
}

#[test]
fn only_an_activation_that_is_named_is_taken_for_one() {
    let fused = activated(image(ConvKind::Forward));
    for info in info_dicts(&fused).unwrap() {
        assert_eq!(workload(&info).unwrap(), fused);
        let mut other = info.clone();
        let text = info.dumps().replace("NORMAL_RELU", "LEAKY_RELU");
        assert_ne!(text, info.dumps());
        other.clone_from(Value::parse(&text).unwrap().as_dict().unwrap());
        let error = workload(&other).unwrap_err().to_string();
        assert!(error.contains("fusion_type"), "{error}");
    }
}
