//! Products and convolutions.

use super::{In, graph_of, ints, list, one, refused, shapes, t, text};
use crate::infer::conv::Convolution;
use crate::infer::{Call, Values};
use crate::op::ConvPass;
use crate::{Attr, DataType, Format, Shape};

#[test]
fn convolutions_follow_onnx() {
    let x = t([1, 3, 224, 224]);
    let nchw = ("data_format", text("NCHW"));
    for (filter, attrs, expected) in [
        (vec![64, 3, 7, 7], vec![("strides", list(&[1, 1, 2, 2])), ("pads", list(&[3, 3, 3, 3]))], "[1,64,112,112]"),
        (vec![64, 3, 7, 7], vec![("strides", list(&[2, 2])), ("pads", list(&[3]))], "[1,64,112,112]"),
        (vec![8, 3, 3, 3], vec![("dilations", list(&[1, 1, 2, 2]))], "[1,8,220,220]"),
        (vec![8, 3, 3, 5], vec![("pads", list(&[1, 0, 2, 1]))], "[1,8,223,223]"),
        (vec![6, 1, 3, 3], vec![("groups", Attr::Int(3))], "[1,6,222,222]"),
        (vec![8, 3, 3, 3], vec![("strides", list(&[2, 2])), ("auto_pad", text("SAME_UPPER"))], "[1,8,112,112]"),
        (vec![8, 3, 3, 3], vec![("strides", list(&[2, 2])), ("auto_pad", text("VALID"))], "[1,8,111,111]"),
    ] {
        let attrs: Vec<_> = attrs.into_iter().chain([nchw.clone()]).collect();
        one("Conv2D", &[x.clone(), t(filter)], &attrs, expected);
    }
}

#[test]
fn convolutions_work_on_one_to_three_spatial_axes_and_both_layouts() {
    let nchw = ("data_format", text("NCHW"));
    one("Conv2D", &[t([1, 80, 3000]), t([512, 80, 3])], &[nchw.clone(), ("pads", list(&[1, 1]))], "[1,512,3000]");
    one("Conv2D", &[t([1, 80, 3000]), t([512, 80, 3])], &[nchw, ("strides", list(&[2]))], "[1,512,1499]");
    let volume = ("data_format", text("NCDHW"));
    one("Conv3D", &[t([2, 3, 8, 16, 16]), t([4, 3, 3, 3, 3])], &[volume], "[2,4,6,14,14]");
    let channels_last = ("data_format", text("NHWC"));
    one(
        "Conv2D",
        &[t([1, 224, 224, 3]), t([7, 7, 3, 64])],
        &[channels_last.clone(), ("strides", list(&[1, 2, 2, 1]))],
        "[1,109,109,64]",
    );
    // Height, width, channels, filters of each channel.
    one("DepthwiseConv2D", &[t([1, 10, 10, 8]), t([3, 3, 8, 2])], &[channels_last], "[1,8,8,16]");
}

#[test]
fn same_padding_becomes_explicit() {
    for (mode, expected) in [("SAME_UPPER", [0, 1, 0, 1]), ("SAME_LOWER", [1, 0, 1, 0]), ("VALID", [0; 4])] {
        let attrs = [("auto_pad", text(mode)), ("strides", list(&[2, 2])), ("pads", list(&[9, 9, 9, 9]))];
        let mut graph = graph_of("Conv2D", &[t([1, 3, 224, 224]), t([8, 3, 3, 3])], &attrs, 1);
        crate::infer::infer(&mut graph).unwrap();
        let node = graph.node(graph.find("op").unwrap());
        assert_eq!(node.attrs.ints("pads"), Some(&expected[..]), "{mode}");
    }
}

#[test]
fn a_convolution_gives_its_output_a_layout() {
    for (layout, format) in [("NCHW", Format::Nchw), ("NHWC", Format::Nhwc)] {
        let mut graph = graph_of(
            "Conv2D",
            &[t([1, 8, 8, 8]), t([3, 3, 3, 3])],
            &[("data_format", text(layout)), ("groups", Attr::Int(1))],
            1,
        );
        let (op, filter) = (graph.find("op").unwrap(), graph.find("in1").unwrap());
        graph.node_mut(filter).outputs[0].shape =
            Shape::new(if layout == "NCHW" { [3, 8, 3, 3] } else { [3, 3, 8, 3] });
        crate::infer::infer(&mut graph).unwrap();
        assert_eq!(graph.node(op).outputs[0].format, format);
    }
}

#[test]
fn groups_that_no_one_states_are_the_channels_for_the_filters() {
    for attrs in [&[][..], &[("groups", Attr::Int(1))], &[("groups", Attr::Int(1)), ("data_format", text("NCHW"))]] {
        for inner in [1, 4] {
            let graph = graph_of("Conv2D", &[t([1, 64, 56, 56]), t([64, inner, 3, 3])], attrs, 1);
            let (node, values) = (graph.node(graph.find("op").unwrap()), Values::default());
            let read = Convolution::of(&Call::new(&graph, node, &values), ConvPass::Forward).unwrap().unwrap();
            assert_eq!((read.groups, read.cin, read.cout), (64 / inner, 64, 64));
        }
    }
    // Filters that do not divide into them, and groups that are stated and wrong.
    let x = t([1, 64, 56, 56]);
    refused("Conv2D", &[x.clone(), t([3, 32, 3, 3])], &[], "64 channels, the filter takes 32");
    refused("Conv2D", &[x, t([64, 1, 3, 3])], &[("groups", Attr::Int(2))], "64 channels, the filter takes 2");
}

#[test]
fn contradicting_convolutions_are_refused() {
    let x = t([1, 3, 8, 8]);
    refused("Conv2D", &[x.clone(), t([8, 4, 3, 3])], &[], "3 channels, the filter takes 4");
    refused("Conv2D", &[x.clone(), t([8, 3, 9, 9])], &[], "does not fit");
    refused("Conv2D", &[x.clone(), t([8, 3, 3])], &[], "3 axes");
    refused("Conv2D", &[x.clone(), t([8, 3, 3, 3])], &[("strides", list(&[0, 0]))], "stride is 0");
    refused("Conv2D", &[x.clone(), t([8, 3, 3, 3])], &[("pads", list(&[-1, 0, 0, 0]))], "padding is -1");
    refused("Conv2D", &[x.clone(), t([8, 1, 3, 3])], &[("groups", Attr::Int(0))], "`groups` is 0");
    refused("Conv2D", &[x.clone(), t([8, 3, 3, 3]), t([7])], &[], "bias of 7 elements for 8");
    refused("Conv2D", &[x, In::Absent], &[], "input 1 is missing");
}

#[test]
fn unknown_sizes_stay_open_in_convolutions() {
    one("Conv2D", &[t([-1, 3, -1, 8]), t([4, 3, 3, 3])], &[], "[?,4,?,6]");
    one("Conv2D", &[In::Open, t([4, 3, 3, 3])], &[], "[?]");
}

#[test]
fn transposed_convolutions_follow_onnx() {
    let (x, filter) = (t([1, 16, 8, 8]), t([16, 4, 3, 3]));
    let stride = ("strides", list(&[1, 1, 2, 2]));
    one("Conv2DTranspose", &[In::Absent, x.clone(), filter.clone()], std::slice::from_ref(&stride), "[1,4,17,17]");
    let pads = ("pads", list(&[1, 1, 1, 1]));
    let extra = ("output_padding", list(&[0, 0, 1, 1]));
    one("Conv2DTranspose", &[In::Absent, x.clone(), filter.clone()], &[stride.clone(), pads, extra], "[1,4,16,16]");
    let groups = ("groups", Attr::Int(2));
    one("Conv2DTransposeD", &[x.clone(), filter.clone()], &[stride.clone(), groups], "[1,8,17,17]");
    let same = ("auto_pad", text("SAME_UPPER"));
    one("Conv2DTransposeD", &[x.clone(), filter.clone()], &[stride.clone(), same], "[1,4,16,16]");
    one(
        "Conv2DTransposeD",
        &[x.clone(), filter.clone()],
        &[stride.clone(), ("output_shape", list(&[18, 18]))],
        "[1,4,18,18]",
    );
    let size = ints([1, 4, 15, 15]);
    one("Conv2DTranspose", &[size.clone(), x.clone(), filter.clone()], std::slice::from_ref(&stride), "[1,4,15,15]");
    one("Conv2DTranspose", &[size, x.clone(), filter.clone(), t([4])], std::slice::from_ref(&stride), "[1,4,15,15]");
    refused("Conv2DTransposeD", &[x, filter, t([5])], &[stride], "a bias of 5 elements for 4 output channels");
}

#[test]
fn backward_kernels_restore_the_forward_sizes() {
    let (dy, filter) = (t([8, 64, 56, 56]), t([64, 3, 7, 7]));
    let attrs = [("strides", list(&[1, 1, 4, 4])), ("pads", list(&[3, 3, 3, 3]))];
    one("Conv2DBackpropInput", &[ints([8, 3, 224, 224]), filter.clone(), dy.clone()], &attrs, "[8,3,224,224]");
    let by_attribute: Vec<_> = attrs.iter().cloned().chain([("input_size", list(&[8, 3, 224, 224]))]).collect();
    one("Conv2DBackpropInputD", &[filter, dy.clone()], &by_attribute, "[8,3,224,224]");
    let x = t([8, 3, 224, 224]);
    one("Conv2DBackpropFilter", &[x.clone(), ints([64, 3, 7, 7]), dy.clone()], &attrs, "[64,3,7,7]");
    one("Conv2DBackpropFilterD", &[x, dy], &[("filter_size", list(&[64, 3, 7, 7]))], "[64,3,7,7]");
}

#[test]
fn products_follow_numpy() {
    for (a, b, expected) in [
        (vec![2, 3], vec![3, 4], "[2,4]"),
        (vec![8, 2, 3], vec![8, 3, 4], "[8,2,4]"),
        (vec![8, 2, 3], vec![3, 4], "[8,2,4]"),
        (vec![2, 3], vec![8, 3, 4], "[8,2,4]"),
        (vec![5, 1, 2, 3], vec![6, 3, 4], "[5,6,2,4]"),
        (vec![3], vec![3, 4], "[4]"),
        (vec![2, 3], vec![3], "[2]"),
        (vec![3], vec![3], "[]"),
        (vec![7, 2, 3], vec![3], "[7,2]"),
        (vec![-1, 2, 3], vec![8, 3, -1], "[8,2,?]"),
        (vec![2, 0], vec![0, 4], "[2,4]"),
    ] {
        one("BatchMatMulV2", &[t(a), t(b)], &[], expected);
    }
    let flags = [("transpose_x1", Attr::Bool(true)), ("transpose_x2", Attr::Bool(true))];
    one("MatMulV2", &[t([3, 2]), t([4, 3]), t([4])], &flags, "[2,4]");
    one(
        "BatchMatMulV2",
        &[t([9, 3, 2]), t([9, 4, 3])],
        &[("adj_x1", Attr::Bool(true)), ("adj_x2", Attr::Bool(true))],
        "[9,2,4]",
    );
}

#[test]
fn contradicting_products_are_refused_with_their_shapes() {
    refused("MatMulV2", &[t([2, 3]), t([4, 5])], &[], "[2,3] [4,5]");
    refused("BatchMatMulV2", &[t([2, 2, 3]), t([3, 3, 4])], &[], "[2] and [3]");
    refused("MatMulV2", &[t([2, 3]), t([3, 4]), t([5])], &[], "do not broadcast");
    refused("MatMulV2", &[t([]), t([3, 4])], &[], "scalar");
}

#[test]
fn integer_products_accumulate_in_int32() {
    let int8 = |dims: &[i64]| In::Typed(DataType::Int8, dims.to_vec());
    let mut graph = graph_of("MatMulV2", &[int8(&[2, 3]), int8(&[3, 4])], &[], 1);
    crate::infer::infer(&mut graph).unwrap();
    assert_eq!(graph.node(graph.find("op").unwrap()).outputs[0].dtype, DataType::Int32);
}

#[test]
fn full_connections_flatten_their_image() {
    one("FullyConnection", &[t([8, 16, 4, 4]), t([10, 256])], &[], "[8,10]");
    one("FullyConnection", &[t([8, 16, 4, 4]), t([10, 16, 4, 4]), t([10])], &[], "[8,10]");
    // As GE leaves it when it has inferred the shapes.
    one("FullyConnection", &[t([1, 16, 4, 4]), t([10, 16, 4, 4])], &[], "[1,10,1,1]");
    one("FullyConnection", &[t([1, 16, 4, 4]), t([10, 256])], &[], "[1,10]");
    let mut graph = graph_of("FullyConnection", &[t([1, 16, 4, 4]), t([10, 256])], &[], 1);
    let node = graph.find("op").unwrap();
    graph.node_mut(node).outputs[0].shape = Shape::new([1, 10, 1, 1]);
    crate::infer::infer(&mut graph).unwrap();
    assert_eq!(graph.node(node).outputs[0].shape.to_string(), "[1,10,1,1]");
    let turned = [("transpose", Attr::Bool(true))];
    one("FullyConnection", &[t([8, 16, 4, 3]), t([16, 4, 3, 10])], &turned, "[8,10]");
    one("FullyConnection", &[t([1, 16, 4, 3]), t([16, 4, 3, 10])], &turned, "[1,10,1,1]");
    one(
        "FullyConnection",
        &[t([8, 5, 16]), t([16, 10])],
        &[("axis", Attr::Int(2)), ("transpose", Attr::Bool(true))],
        "[8,5,10]",
    );
}

#[test]
fn weights_of_a_full_connection_are_a_matrix() {
    refused("FullyConnection", &[t([3, 5]), t([3, 1, 5])], &[], "3 axes are no matrix");
}

#[test]
fn einsum_follows_numpy() {
    for (equation, inputs, expected) in [
        ("ij,jk->ik", vec![t([2, 3]), t([3, 4])], "[2,4]"),
        ("bhid,bhjd->bhij", vec![t([2, 8, 5, 64]), t([2, 8, 7, 64])], "[2,8,5,7]"),
        ("...ij,...jk->...ik", vec![t([5, 6, 2, 3]), t([6, 3, 4])], "[5,6,2,4]"),
        ("ij,jk", vec![t([2, 3]), t([3, 4])], "[2,4]"),
        ("ba,ca", vec![t([2, 3]), t([4, 3])], "[2,4]"),
        ("ii", vec![t([3, 3])], "[]"),
        ("i j -> j i", vec![t([2, 3])], "[3,2]"),
        ("a,b,c->abc", vec![t([2]), t([3]), t([4])], "[2,3,4]"),
    ] {
        one("Einsum", &inputs, &[("equation", text(equation))], expected);
    }
    refused("Einsum", &[t([2, 3]), t([4, 5])], &[("equation", text("ij,jk->ik"))], "3 and 4");
    refused("Einsum", &[t([2, 3])], &[("equation", text("ij,jk->ik"))], "2 operands, the node 1");
    refused("Einsum", &[t([2, 3])], &[("equation", text("ijk->ik"))], "`ijk` is no term of an equation for 2 axes");
    refused("Einsum", &[t([2, 3])], &[("equation", text("ij->x"))], "has axis `x` in its result only");
    refused("Einsum", &[t([2, 3])], &[], "equation");
}

#[test]
fn recurrent_layers_follow_onnx_and_cann() {
    let (x, w, r) = (t([10, 4, 32]), t([1, 256, 32]), t([1, 256, 64]));
    let size = ("hidden_size", Attr::Int(64));
    let lstm = shapes("CommonLSTM", &[x.clone(), w, r], std::slice::from_ref(&size), 3);
    assert_eq!(lstm.unwrap(), "[10,1,4,64] [1,4,64] [1,4,64]");
    let both = [size, ("direction", text("bidirectional"))];
    let gru = shapes("CommonGRU", &[x.clone(), t([2, 192, 32]), t([2, 192, 64])], &both, 2);
    assert_eq!(gru.unwrap(), "[10,2,4,64] [2,4,64]");
    let unsized_state = shapes("CommonGRU", &[x.clone(), t([1, 192, 32])], &[], 1);
    assert_eq!(unsized_state.unwrap(), "[10,1,4,64]");
    let batch_first = [("layout", Attr::Int(1)), ("hidden_size", Attr::Int(64))];
    assert_eq!(shapes("CommonLSTM", &[x.clone(), t([1, 256, 32])], &batch_first, 2).unwrap(), "[10,4,1,64] [10,1,64]");
    let rnn = shapes("DynamicRNN", &[x.clone(), t([96, 256]), t([256])], &[], 8);
    assert_eq!(rnn.unwrap(), ["[10,4,64]"; 8].join(" "));
    refused("CommonLSTM", &[x, t([1, 255, 32])], &[], "255");
}

#[test]
fn weights_of_a_recurrent_layer_that_contradict_it_are_refused() {
    let size = [("hidden_size", Attr::Int(16))];
    let good =
        [t([5, 2, 8]), t([1, 64, 8]), t([1, 64, 16]), t([1, 128]), t([2]), t([1, 2, 16]), t([1, 2, 16]), t([1, 48])];
    one("CommonLSTM", &good, &size, "[5,1,2,16]");
    let open = [In::T(vec![5, -1, 8]), t([1, 64, 8]), t([1, 64, 16]), In::Open, In::Absent, t([1, 2, 16])];
    shapes("CommonLSTM", &open, &size, 1).unwrap();
    for (slot, found, reason) in [
        (1, t([1, 64, 9]), "shape [1,64,9] of its weights should be [1,64,8]"),
        (1, t([64, 8]), "shape [64,8] of its weights"),
        (2, t([1, 63, 16]), "shape [1,63,16] of its recurrent weights"),
        (3, t([1, 127]), "shape [1,127] of its biases should be [1,128]"),
        (4, t([3]), "[3] of its lengths should be [2]"),
        (5, t([1, 3, 16]), "of its first state should be [1,2,16]"),
        (6, t([2, 2, 16]), "of its first cell state should be"),
        (7, t([1, 47]), "of its peepholes should be [1,48]"),
    ] {
        let mut inputs = good.clone();
        inputs[slot] = found;
        refused("CommonLSTM", &inputs, &size, reason);
    }
    refused("CommonGRU", &good[..3], &size, "should be [1,48,8]");
}

#[test]
fn attention_keeps_the_query() {
    let (query, key) = (t([2, 4096, 2048]), t([2, 4096, 1024]));
    let attrs = [("head_num", Attr::Int(16)), ("input_layout", text("BSH"))];
    let found = shapes("FlashAttentionScore", &[query.clone(), key.clone(), key.clone()], &attrs, 4).unwrap();
    assert_eq!(found, "[2,16,4096,8] [2,16,4096,8] [0] [2,4096,2048]");
    one("PromptFlashAttention", &[query, key.clone(), key], &attrs, "[2,4096,2048]");
}

#[test]
fn a_layout_that_no_window_and_no_filter_fits_is_a_default_that_nobody_set() {
    let conv = |x: [i64; 4], w: [i64; 4], strides: [i64; 4], name: &str| {
        let attrs = [("strides", list(&strides)), ("data_format", text(name))];
        shapes("Conv2D", &[t(x), t(w)], &attrs, 1)
    };
    let resolved = |x: [i64; 4], w: [i64; 4], strides: [i64; 4], name: &str| {
        let attrs = [("strides", list(&strides)), ("data_format", text(name))];
        let mut graph = graph_of("Conv2D", &[t(x), t(w)], &attrs, 1);
        crate::infer::infer(&mut graph).unwrap();
        graph.node(graph.find("op").unwrap()).attrs.str("data_format").unwrap().to_owned()
    };
    // By the strides, and without them by the filter.
    for strides in [[1, 1, 2, 2], [1, 1, 1, 1]] {
        let (x, w) = ([1, 3, 224, 224], [64, 3, 7, 7]);
        let expected = if strides[2] == 2 { "[1,64,109,109]" } else { "[1,64,218,218]" };
        assert_eq!(conv(x, w, strides, "NHWC").unwrap(), expected);
        assert_eq!(resolved(x, w, strides, "NHWC"), "NCHW");
        assert_eq!(resolved(x, w, strides, "NCHW"), "NCHW");
    }
    assert_eq!(conv([1, 224, 224, 3], [7, 7, 3, 64], [1, 2, 2, 1], "NCHW").unwrap(), "[1,109,109,64]");
    // Neither layout fits: the reason is that of the attribute's.
    let reason = conv([1, 5, 224, 224], [64, 3, 7, 7], [1, 1, 1, 1], "NHWC").unwrap_err();
    assert!(reason.contains("the image has 224 channels"), "{reason}");
    let pool = [("ksize", list(&[1, 1, 3, 3])), ("strides", list(&[1, 1, 2, 2])), ("data_format", text("NHWC"))];
    one("MaxPool", &[t([1, 64, 112, 112])], &pool, "[1,64,55,55]");
}
