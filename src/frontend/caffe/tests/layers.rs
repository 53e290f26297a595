//! What layers become.

use super::{layer, load, named, net, refusal, shape};
use crate::frontend::{Framework, Gear, ModelOptions, load_memory};
use crate::graph::{Attr, infer};
use crate::lower::{Settings, lower};
use crate::soc::Soc;

#[test]
fn shapes_and_operator_types_of_single_layers() {
    #[rustfmt::skip]
    let cases: &[(&str, &str, &[i64], &str, &str)] = &[
        ("Convolution", "convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2 }", &[2, 4, 9, 9], "Conv2D", "[2,8,5,5]"),
        ("Convolution", "convolution_param { num_output: 8 kernel_h: 1 kernel_w: 3 pad_w: 1 group: 2 }", &[2, 4, 9, 9], "Conv2D", "[2,8,9,9]"),
        ("Convolution", "convolution_param { num_output: 8 kernel_size: 3 dilation: 2 }", &[2, 4, 9, 9], "Conv2D", "[2,8,5,5]"),
        ("Convolution", "convolution_param { num_output: 8 kernel_size: [3, 2, 1] }", &[2, 4, 9, 9, 9], "Conv3D", "[2,8,7,8,9]"),
        ("DepthwiseConvolution", "convolution_param { num_output: 4 kernel_size: 3 }", &[2, 4, 9, 9], "Conv2D", "[2,4,7,7]"),
        ("Deconvolution", "convolution_param { num_output: 8 kernel_size: 4 stride: 2 pad: 1 group: 2 }", &[2, 4, 5, 5], "Deconvolution", "[2,8,10,10]"),
        ("InnerProduct", "inner_product_param { num_output: 7 }", &[2, 4, 5, 5], "FullyConnection", "[2,7]"),
        ("InnerProduct", "inner_product_param { num_output: 7 axis: -1 transpose: true }", &[2, 4, 5], "FullyConnection", "[2,4,7]"),
        ("Pooling", "pooling_param { kernel_size: 3 stride: 2 }", &[1, 4, 112, 112], "Pooling", "[1,4,56,56]"),
        ("Pooling", "pooling_param { kernel_size: 3 stride: 2 round_mode: FLOOR }", &[1, 4, 112, 112], "Pooling", "[1,4,55,55]"),
        ("Pooling", "pooling_param { kernel_size: 2 stride: 2 pad: 1 }", &[1, 4, 4, 4], "Pooling", "[1,4,3,3]"),
        ("Pooling", "pooling_param { pool: AVE global_pooling: true }", &[1, 4, 7, 9], "Pooling", "[1,4,1,1]"),
        ("BatchNorm", "", &[2, 4, 5, 5], "BNInference", "[2,4,5,5]"),
        ("Scale", "scale_param { bias_term: true }", &[2, 4, 5, 5], "Scale", "[2,4,5,5]"),
        ("ReLU", "", &[2, 4], "LeakyRelu", "[2,4]"),
        ("PReLU", "", &[2, 4], "PRelu", "[2,4]"),
        ("TanH", "", &[2, 4], "Tanh", "[2,4]"),
        ("ELU", "", &[2, 4], "Elu", "[2,4]"),
        ("Power", "power_param { power: -2e0 scale: .5 }", &[2, 4], "Power", "[2,4]"),
        ("LRN", "lrn_param { local_size: 3 }", &[2, 4, 5, 5], "LRN", "[2,4,5,5]"),
        ("Softmax", "", &[2, 4], "SoftmaxV2", "[2,4]"),
        ("Flatten", "", &[2, 4, 5, 5], "FlattenV2", "[2,100]"),
        ("Flatten", "flatten_param { axis: 1 end_axis: 2 }", &[2, 4, 5, 6], "FlattenV2", "[2,20,6]"),
        ("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 2 } }", &[2, 4, 5], "Reshape", "[2,10,2]"),
        ("Reshape", "reshape_param { shape { dim: 2 dim: -1 } axis: 1 num_axes: 1 }", &[2, 4, 5], "Reshape", "[2,2,2,5]"),
        ("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }", &[2, 4, 5, 6], "Permute", "[2,5,6,4]"),
        ("Reduction", "reduction_param { operation: MEAN axis: 1 }", &[2, 4, 5], "Reduction", "[2]"),
        ("Tile", "tile_param { axis: 2 tiles: 3 }", &[2, 4, 5], "TileWithAxis", "[2,4,15]"),
    ];
    for (kind, fields, dims, op_type, expected) in cases {
        let graph = load(&net(dims, &layer(kind, fields))).unwrap_or_else(|e| panic!("{kind} {fields}: {e}"));
        assert_eq!(
            (named(&graph, "y").op_type.as_str(), shape(&graph, "y").as_str()),
            (*op_type, *expected),
            "{kind} {fields}"
        );
        assert_eq!(named(&graph, "y").origin_type, *kind);
        infer::require_static(&graph).unwrap_or_else(|e| panic!("{kind} {fields}: {e}"));
    }
}

#[test]
fn weights_get_the_sizes_that_the_inputs_leave_open() {
    let conv = layer("Convolution", "convolution_param { num_output: 8 kernel_size: 3 group: 2 }");
    let graph = load(&net(&[1, 6, 9, 9], &conv)).unwrap();
    assert_eq!((shape(&graph, "y/filter"), shape(&graph, "y/bias")), ("[8,3,3,3]".into(), "[8]".into()));
    let graph =
        load(&net(&[1, 6, 9, 9], &layer("InnerProduct", "inner_product_param { num_output: 5 bias_term: false }")))
            .unwrap();
    assert_eq!((shape(&graph, "y/weights"), named(&graph, "y").inputs.len()), ("[5,486]".into(), 2));
    let graph =
        load(&net(&[1, 6, 9, 8], &layer("Scale", "scale_param { axis: 1 num_axes: 2 bias_term: true }"))).unwrap();
    assert_eq!((shape(&graph, "y/scale"), shape(&graph, "y/bias")), ("[6,9]".into(), "[6,9]".into()));
    let graph = load(&net(&[1, 6, 9, 8], &layer("BatchNorm", ""))).unwrap();
    assert_eq!(shape(&graph, "y/mean"), "[6]");
}

#[test]
fn all_ways_to_declare_an_input_give_the_same_net() {
    let relu = "layer { name: 'y' type: 'ReLU' bottom: 'x' top: 'y' }";
    let expected = format!("{:?}", load(&net(&[1, 3, 8, 8], relu)).unwrap());
    for declared in [
        "input: 'x' input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8",
        "input: \"x\"; input_shape < dim: 0x1, dim: 3; dim: [010, 8] > # eight twice",
        "input: 'x' input_dim: [1, 3, 8, 8]",
    ] {
        assert_eq!(format!("{:?}", load(&format!("{declared}\n{relu}")).unwrap()), expected, "{declared}");
    }
    let old = "input: 'x' input_dim: [1, 3, 8, 8] layers { name: 'y' type: RELU bottom: 'x' top: 'y' }";
    assert_eq!(format!("{:?}", load(old).unwrap()), expected);
    assert_eq!(format!("{:?}", load(&old.replace("RELU", "18")).unwrap()), expected);
}

#[test]
fn open_dimensions_take_what_the_caller_gives() {
    let text = net(&[-1, 3, 8, 8], &layer("InnerProduct", "inner_product_param { num_output: 5 }"));
    let options = ModelOptions { gear: Some(Gear::Batch(4)), ..ModelOptions::default() };
    let graph = load_memory(text.as_bytes(), "test", Some(Framework::Caffe), &options).unwrap();
    assert_eq!(shape(&graph, "y"), "[4,5]");
    let text = format!("input: 'x' {}", layer("InnerProduct", "inner_product_param { num_output: 5 }"));
    let options = ModelOptions { shapes: vec![("x".into(), vec![2, 7])], ..ModelOptions::default() };
    let graph = load_memory(text.as_bytes(), "test", Some(Framework::Caffe), &options).unwrap();
    assert_eq!((shape(&graph, "y"), shape(&graph, "y/weights")), ("[2,5]".into(), "[5,7]".into()));
}

#[test]
fn layers_of_the_training_phase_are_left_out() {
    for (rule, kept) in [
        ("include { phase: TRAIN }", false),
        ("include { phase: TEST }", true),
        ("exclude { phase: TEST }", false),
        ("exclude { phase: TRAIN }", true),
        ("phase: TRAIN", false),
        ("include { phase: TRAIN } include { phase: TEST }", true),
        ("include { stage: 'deploy' }", false),
        ("include { min_level: 1 }", false),
    ] {
        let text = net(&[1, 3], &(layer("ReLU", rule) + "layer { name: 'z' type: 'Sigmoid' bottom: 'x' top: 'z' }"));
        assert_eq!(load(&text).unwrap().find("y").is_some(), kept, "{rule}");
    }
}

#[test]
fn layers_in_place_follow_one_another_and_dropout_is_none() {
    let text = "layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'x' }
        layer { name: 'b' type: 'Dropout' bottom: 'x' top: 'x' }
        layer { name: 'c' type: 'TanH' bottom: 'x' top: 'x' }
        layer { name: 's' type: 'Split' bottom: 'x' top: 'p' top: 'q' }
        layer { name: 'e' type: 'Eltwise' bottom: 'p' bottom: 'q' top: 'e' eltwise_param { operation: MAX } }
        layer { name: 't' type: 'Slice' bottom: 'e' top: 'u' top: 'v' top: 'w' slice_param { slice_point: 1 slice_point: 3 } }
        layer { name: 'k' type: 'Concat' bottom: 'w' bottom: 'u' top: 'k' }";
    let graph = load(&net(&[2, 8], text)).unwrap();
    let source = |name: &str, input: usize| graph.node(named(&graph, name).input(input).unwrap().node).name.clone();
    assert_eq!([source("a", 0), source("c", 0), source("e", 0), source("e", 1)], ["x", "a", "c", "c"]);
    assert_eq!(graph.find("b"), None);
    assert_eq!(named(&graph, "e").attrs.get("mode"), Some(&Attr::Int(2)));
    let parts: Vec<_> = named(&graph, "t").outputs.iter().map(|o| o.shape.to_string()).collect();
    assert_eq!(parts, ["[2,1]", "[2,2]", "[2,5]"]);
    assert_eq!(shape(&graph, "k"), "[2,6]");
    let outputs: Vec<_> = graph.outputs().iter().map(|&port| graph.tensor_name(port)).collect();
    assert_eq!(outputs, ["t:1", "k"]);
}

#[test]
fn a_crop_keeps_the_axes_before_its_own() {
    let text = "input: 'x' input_dim: [1, 21, 40, 40] input: 'r' input_dim: [1, 3, 32, 30]
        layer { name: 'y' type: 'Crop' bottom: 'x' bottom: 'r' top: 'y' crop_param { axis: 2 offset: 4 } }";
    assert_eq!(shape(&load(text).unwrap(), "y"), "[1,21,32,30]");
}

#[test]
fn unknown_layers_stay_under_their_own_type_and_what_hangs_on_their_shape_is_named() {
    let reader = "layer { name: 'z' type: 'ReLU' bottom: 'y' top: 'z' }";
    let graph = load(&net(&[1, 3], &(layer("MyLayer", "my_param { a: 1 }") + reader))).unwrap();
    let node = named(&graph, "y");
    assert_eq!((node.op_type.as_str(), node.mapped), ("MyLayer", false));
    let message = infer::require_static(&graph).unwrap_err().to_string();
    assert!(["MyLayer", "`y`", "out_nodes"].iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn an_unknown_layer_in_place_has_the_shape_of_what_it_reads() {
    let text = "layer { name: 'odd' type: 'Odd' bottom: 'x' top: 'x' } layer { name: 'odder' type: 'Odd' bottom: 'x' top: 'x' }
        layer { name: 'z' type: 'ReLU' bottom: 'x' top: 'z' }";
    let graph = load(&net(&[1, 3, 5, 7], text)).unwrap();
    infer::require_static(&graph).unwrap();
    assert_eq!([shape(&graph, "odd"), shape(&graph, "odder"), shape(&graph, "z")], ["[1,3,5,7]"; 3]);
}

#[test]
fn an_unknown_layer_at_the_end_of_a_net_is_priced_by_what_it_reads() {
    let graph = load(&net(&[1, 3, 5, 7], &layer("DetectionOutput", ""))).unwrap();
    infer::require_static(&graph).unwrap();
    let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    let read: Vec<_> = lowered.kernels.iter().filter_map(|kernel| kernel.workload.operands()).collect();
    let [(inputs, [])] = read[..] else { panic!("one kernel that writes nothing known is expected") };
    assert_eq!((inputs.len(), inputs[0].elements(), lowered.unmapped.len()), (1, 105, 1));
}

#[test]
fn contradictions_name_the_layer_and_the_field() {
    for (dims, fields, parts) in [
        (&[1, 6, 9, 9][..], "num_output: 9 kernel_size: 3 group: 3 kernel_h: 3", ["`y`", "kernel_size"]),
        (&[1, 6, 9, 9], "num_output: 8 kernel_size: 3 group: 3", ["`y`", "3 groups"]),
        (&[1, 7, 9, 9], "num_output: 6 kernel_size: 3 group: 3", ["`y`", "7 channels"]),
        (&[1, 6, 2, 2], "num_output: 6 kernel_size: 3", ["`y`", "does not fit"]),
        (&[1, 6, 9, 9], "kernel_size: 3", ["`y`", "num_output"]),
        (&[1, 6, 9, 9], "num_output: 0 kernel_size: 3", ["`y`", "num_output"]),
        (&[1, 6, 9, 9], "num_output: 2 num_output: 3 kernel_size: 3", ["`y`", "twice"]),
        (&[1, 6, 9, 9], "num_output: 2 kernel_size: 'three'", ["`y`", "an integer"]),
        (&[1, 6], "num_output: 2 kernel_size: 3", ["`y`", "axes"]),
    ] {
        let message = refusal(&net(dims, &layer("Convolution", &format!("convolution_param {{ {fields} }}"))));
        assert!(parts.iter().all(|part| message.contains(part)), "{fields}: {message}");
    }
}
