//! Products and convolutions.

use super::{Case, Precision, op, settings};
use crate::graph::{Attr, DataType, Format};
use crate::workload::{Conv, ConvKind, MatMul, Workload};

#[track_caller]
fn matmul(case: Case) -> MatMul {
    match case.one() {
        Workload::MatMul(m) => m,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn conv(case: Case) -> Conv {
    match case.one() {
        Workload::Conv(c) => c,
        other => panic!("{other:?}"),
    }
}

fn sizes(m: &MatMul) -> [u64; 4] {
    [m.batch, m.m, m.k, m.n]
}

#[test]
fn products_keep_their_flags() {
    let m = matmul(op("MatMulV2").x(&[32, 64]).w(&[128, 64]).w(&[128]).flag("transpose_x2"));
    assert_eq!(sizes(&m), [1, 32, 64, 128]);
    assert_eq!((m.trans_a, m.trans_b, m.bias, m.a_shared, m.b_shared), (false, true, true, false, false));
    let m = matmul(op("MatMulV2").x(&[64, 32]).w(&[64, 128]).flag("transpose_x1"));
    assert_eq!((sizes(&m), m.trans_a, m.bias), ([1, 32, 64, 128], true, false));
}

/// A scale stands where other products have their bias.
#[test]
fn quantised_products_have_their_own_name_and_their_bias_behind_the_scales() {
    let int8 = DataType::Int8;
    let quantised = |op_type: &str, vectors: usize| {
        let mut case = op(op_type).typed(int8, &[512, 1024]).typed(int8, &[1024, 256]);
        for _ in 0..vectors {
            case = case.w(&[256]);
        }
        matmul(case)
    };
    let scaled = quantised("QuantBatchMatmulV3", 1);
    assert_eq!((scaled.op_type(), scaled.bias, scaled.dtype), ("QuantBatchMatmulV3", false, int8));
    // x1, x2, scale, offset, bias.
    assert!(quantised("QuantBatchMatmulV3", 3).bias && !quantised("QuantBatchMatmulV3", 2).bias);
    // x1, x2, bias, x1_scale.
    let later = quantised("QuantBatchMatmulV4", 1);
    assert_eq!((later.op_type(), later.bias), ("QuantBatchMatmulV4", true));
}

#[test]
fn activations_times_weights_keep_their_batch_as_canns_kernels_do_before_the_950() {
    for weights in [&[768, 3072][..], &[1, 768, 3072]] {
        let on = |soc: &str| {
            op("BatchMatMulV2").x(&[8, 128, 768]).w(weights).on(soc, settings(Precision::ForceFp16)).unwrap()
        };
        for soc in ["Ascend910A", "Ascend310P3", "Ascend910B2"] {
            let all = on(soc);
            let Workload::MatMul(m) = &all[0] else { panic!("{all:?}") };
            assert_eq!((sizes(m), m.a_shared, m.b_shared), ([8, 128, 768, 3072], false, true), "{soc}");
        }
        let all = on("Ascend950PR_9589");
        let Workload::MatMul(m) = &all[0] else { panic!("{all:?}") };
        assert_eq!((sizes(m), m.b_shared), ([1, 1024, 768, 3072], false));
    }
    let one = matmul(op("BatchMatMulV2").x(&[1, 128, 768]).w(&[768, 768]));
    assert_eq!(one, matmul(op("MatMulV2").x(&[128, 768]).w(&[768, 768])));
}

#[test]
fn stacks_keep_their_batch_and_say_what_is_shared() {
    let m = matmul(op("BatchMatMulV2").x(&[8, 12, 128, 64]).x(&[8, 12, 128, 64]).flag("adj_x2"));
    assert_eq!((sizes(&m), m.a_shared, m.b_shared), ([96, 128, 64, 128], false, false));
    let m = matmul(op("BatchMatMulV2").w(&[128, 64]).x(&[8, 64, 32]));
    assert_eq!((sizes(&m), m.a_shared, m.b_shared), ([8, 128, 64, 32], true, false));
    // Rows stored as columns cannot be stacked into one matrix.
    let m = matmul(op("BatchMatMulV2").x(&[8, 64, 128]).w(&[64, 32]).flag("adj_x1"));
    assert_eq!((sizes(&m), m.a_shared, m.b_shared), ([8, 128, 64, 32], false, true));
    let m = matmul(op("BatchMatMulV2").x(&[5, 1, 2, 3]).x(&[1, 6, 3, 4]));
    assert_eq!((sizes(&m), m.a_shared, m.b_shared), ([30, 2, 3, 4], false, false));
}

#[test]
fn a_product_without_terms_only_writes() {
    let Workload::Move(m) = op("MatMulV2").x(&[4, 0]).x(&[0, 5]).one() else { panic!() };
    assert_eq!((m.inputs.len(), m.outputs[0].elements()), (0, 20));
}

#[test]
fn older_parts_keep_matrices_in_fractals() {
    for (soc, format) in
        [("Ascend910A", Format::FractalNz), ("Ascend310P3", Format::FractalNz), ("Ascend910B2", Format::Nd)]
    {
        let all = op("MatMulV2").x(&[16, 16]).w(&[16, 16]).on(soc, settings(Precision::ForceFp16)).unwrap();
        let Workload::MatMul(m) = &all[0] else { panic!("{all:?}") };
        assert_eq!((m.a_format, m.b_format), (format, format), "{soc}");
    }
}

#[test]
fn hf32_is_for_float32_and_only_when_asked_for() {
    let product = |precision, allow_hf32| {
        let case = op("MatMulV2").x(&[16, 16]).w(&[16, 16]);
        let all =
            case.on("Ascend910B2", super::Settings { precision, allow_hf32, ..super::Settings::default() }).unwrap();
        let Workload::MatMul(m) = &all[0] else { panic!("{all:?}") };
        m.hf32
    };
    assert!(product(Precision::MustKeepOriginDtype, true));
    assert!(!product(Precision::MustKeepOriginDtype, false));
    assert!(!product(Precision::ForceFp16, true));
}

#[test]
fn integer_products_write_int32() {
    let m = matmul(op("MatMulV2").typed(DataType::Int8, &[16, 32]).typed(DataType::Int8, &[32, 16]));
    assert_eq!((m.dtype, m.out_dtype), (DataType::Int8, DataType::Int32));
}

#[test]
fn convolutions_keep_every_size() {
    let case = op("Conv2D").x(&[8, 3, 224, 224]).w(&[64, 3, 7, 7]).w(&[64]).text("data_format", "NCHW");
    let c = conv(case.list("strides", &[1, 1, 2, 2]).list("pads", &[3, 2, 3, 1]));
    assert_eq!((c.kind, c.batch, c.cin, c.hi, c.wi), (ConvKind::Forward, 8, 3, 224, 224));
    assert_eq!((c.cout, c.ho, c.wo, c.kh, c.kw), (64, 112, 111, 7, 7));
    assert_eq!((c.stride, c.pads, c.dilation, c.groups, c.bias), ([2, 2], [3, 2, 3, 1], [1, 1], 1, true));
    assert_eq!((c.dtype, c.format), (DataType::Float16, Format::Nc1hwc0));
}

#[test]
fn both_layouts_of_a_convolution_are_the_same_work() {
    let nchw = conv(op("Conv2D").x(&[1, 16, 8, 8]).w(&[32, 16, 3, 3]).text("data_format", "NCHW"));
    let nhwc = conv(op("Conv2D").x(&[1, 8, 8, 16]).w(&[3, 3, 16, 32]).text("data_format", "NHWC"));
    assert_eq!(nchw, nhwc);
}

#[test]
fn depthwise_convolutions_have_a_group_for_every_channel() {
    let onnx = conv(op("Conv2D").x(&[1, 16, 8, 8]).w(&[16, 1, 3, 3]).set("groups", Attr::Int(16)));
    assert!(onnx.is_depthwise());
    let tensorflow = conv(op("DepthwiseConv2D").x(&[1, 8, 8, 16]).w(&[3, 3, 16, 1]).text("data_format", "NHWC"));
    assert_eq!(onnx, tensorflow);
    assert_eq!((onnx.groups, onnx.macs()), (16, 16 * 36 * 9));
    // The cube multiplies a block of them at a time.
    let cube = onnx.cube();
    assert_eq!((cube.batch, cube.m, cube.k, cube.n), (1, 36, 16 * 9, 16));
}

#[test]
fn one_and_three_spatial_axes_become_two() {
    let line = conv(op("Conv2D").x(&[1, 80, 3000]).w(&[512, 80, 3]).list("strides", &[2]).list("pads", &[1, 0]));
    assert_eq!((line.hi, line.wi, line.ho, line.wo, line.kh, line.kw), (1, 3000, 1, 1500, 1, 3));
    assert_eq!((line.stride, line.pads), ([1, 2], [0, 0, 1, 0]));
    let volume = conv(op("Conv3D").x(&[2, 4, 10, 16, 16]).w(&[8, 4, 3, 5, 5]));
    assert_eq!((volume.batch, volume.cin, volume.hi, volume.ho), (2 * 8, 4 * 3, 16, 12));
    assert_eq!(volume.macs(), 2 * 8 * 12 * 12 * 8 * 4 * 3 * 5 * 5);
}

#[test]
fn transposed_convolutions_are_the_backward_kernel_of_a_forward_one() {
    let case = op("Conv2DTranspose").absent().x(&[1, 64, 8, 8]).w(&[64, 32, 4, 4]).w(&[32]);
    let c = conv(case.list("strides", &[1, 1, 2, 2]).list("pads", &[1, 1, 1, 1]));
    assert_eq!((c.kind, c.bias), (ConvKind::BackpropInput, true));
    assert_eq!((c.cin, c.hi, c.wi, c.cout, c.ho, c.wo), (32, 16, 16, 64, 8, 8));
}

#[test]
fn backward_kernels_have_the_sizes_of_the_forward_pass() {
    let attrs = |case: Case| case.list("strides", &[1, 1, 2, 2]).list("pads", &[3, 3, 3, 3]);
    let forward = conv(attrs(op("Conv2D").x(&[8, 3, 224, 224]).w(&[64, 3, 7, 7])));
    let dx = conv(attrs(op("Conv2DBackpropInput").ints(&[8, 3, 224, 224]).w(&[64, 3, 7, 7]).x(&[8, 64, 112, 112])));
    let dw = conv(attrs(op("Conv2DBackpropFilter").x(&[8, 3, 224, 224]).ints(&[64, 3, 7, 7]).x(&[8, 64, 112, 112])));
    assert_eq!(dx, Conv { kind: ConvKind::BackpropInput, ..forward.clone() });
    assert_eq!(dw, Conv { kind: ConvKind::BackpropFilter, out_dtype: DataType::Float, ..forward });
}

#[test]
fn einsum_becomes_the_product_it_is() {
    let m = matmul(op("Einsum").x(&[2, 8, 5, 64]).x(&[2, 8, 7, 64]).text("equation", "bhid,bhjd->bhij"));
    assert_eq!((sizes(&m), m.trans_a, m.trans_b), ([16, 5, 64, 7], false, true));
    let m = matmul(op("Einsum").x(&[3, 2]).x(&[3, 4]).text("equation", "ki,kj->ij"));
    assert_eq!((sizes(&m), m.trans_a, m.trans_b), ([1, 2, 3, 4], true, false));
    let Workload::Reduce(r) = op("Einsum").x(&[3, 4]).text("equation", "ij->i").one() else { panic!() };
    assert_eq!((r.outer, r.axis, r.inner), (3, 4, 1));
    assert!(matches!(op("Einsum").x(&[3]).x(&[4]).text("equation", "i,j->ij").one(), Workload::Vector(_)));
    assert!(matches!(op("Einsum").x(&[3, 4]).text("equation", "ij->ji").one(), Workload::Move(_)));
}

#[test]
fn attention_is_two_products_around_a_softmax() {
    let case = op("FlashAttentionScore").x(&[2, 4096, 2048]).x(&[2, 4096, 2048]).x(&[2, 4096, 2048]).outputs(4);
    let Workload::Fused(parts) = case.set("head_num", Attr::Int(16)).text("input_layout", "BSH").one() else {
        panic!()
    };
    let [Workload::MatMul(scores), Workload::Reduce(softmax), Workload::MatMul(context)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert_eq!(sizes(scores), [32, 4096, 128, 4096]);
    assert_eq!((softmax.outer, softmax.axis), (32 * 4096, 4096));
    assert_eq!(sizes(context), [32, 4096, 4096, 128]);
}

#[test]
fn recurrent_layers_do_the_inputs_at_once_and_the_states_in_turn() {
    let case = op("CommonLSTM").x(&[10, 4, 32]).w(&[1, 256, 32]).w(&[1, 256, 64]).outputs(3);
    let Workload::Fused(parts) = case.set("hidden_size", Attr::Int(64)).one() else { panic!() };
    let [Workload::MatMul(inputs), Workload::MatMul(states), Workload::Vector(_)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert_eq!(sizes(inputs), [1, 40, 32, 256]);
    assert_eq!((sizes(states), states.b_shared), ([10, 4, 64, 256], true));
}

#[test]
fn full_connections_are_products() {
    let m = matmul(op("FullyConnection").x(&[8, 16, 4, 4]).w(&[10, 256]).w(&[10]));
    assert_eq!((sizes(&m), m.trans_b, m.bias), ([1, 8, 256, 10], true, true));
}

#[test]
fn the_operators_type_says_who_wrote_the_kernel() {
    use crate::workload::MatMulKernel::{AscendC, Tbe};
    let kernel = |op_type: &str, soc: &str| {
        let all = op(op_type).x(&[4, 32, 64]).w(&[64, 128]).on(soc, settings(Precision::default())).unwrap();
        let [Workload::MatMul(m)] = &all[..] else { panic!("{all:?}") };
        m.kernel
    };
    for (op_type, expected) in
        [("MatMulV3", AscendC), ("BatchMatMulV3", AscendC), ("BatchMatMulV2", Tbe), ("MatMulV2", Tbe)]
    {
        for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
            assert_eq!(kernel(op_type, soc), expected, "{op_type} on {soc}");
        }
        assert_eq!(kernel(op_type, "Ascend950PR_9589"), AscendC, "{op_type}");
    }
}
