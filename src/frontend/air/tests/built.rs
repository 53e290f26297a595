//! Graphs as programs build them with GE's operators, call by call, and save them before GE has inferred anything: which
//! fields decide.

use super::*;
use crate::frontend::{Framework, ModelOptions, bind_inputs, load_memory};
use crate::graph::infer::{self, Cause, split_static};
use crate::lower::{Settings, lower};
use crate::soc::Soc;
use crate::status::Error;
use proptest::prelude::*;

/// GE's default of a descriptor: float32, no sizes, nothing set.
pub(super) fn default_desc() -> Bytes {
    built("ND", DataType::Float, &[])
}

/// A descriptor as `TensorDesc(shape, format, type)` makes it: the framework's side is not set, and thus ND.
pub(super) fn built(layout: &str, dtype: DataType, dims: &[i64]) -> Bytes {
    let attrs = [
        ("origin_format", Attr::Str("ND".into())),
        ("origin_format_for_int", Attr::Int(2)),
        ("origin_shape_initialized", Attr::Bool(false)),
    ];
    let mut tensor = proto::Tensor::decode(raw_desc(layout, dims, &attrs)).unwrap();
    tensor.dtype = dtype.proto_number();
    encode(&tensor)
}

/// A descriptor as GE's inference leaves it.
pub(super) fn inferred(dims: &[i64]) -> Bytes {
    tensor::write(&TensorDesc::new(DataType::Float16, Shape::new(dims)), tensor::Parts::default())
}

/// An operator whose inputs are described so and whose only output is not.
pub(super) fn made(name: &str, op_type: &str, inputs: &[&str], described: &[Bytes]) -> proto::Op {
    proto::Op { input_desc: described.to_vec(), output_desc: vec![default_desc()], ..op(name, op_type, inputs, &[]) }
}

pub(super) fn data(name: &str, index: i64, output: Bytes) -> proto::Op {
    with(proto::Op { output_desc: vec![output], ..op(name, "Data", &[], &[]) }, "index", &Attr::Int(index))
}

/// A constant that only its value describes.
pub(super) fn constant(name: &str, described: Bytes, data: &[u8]) -> proto::Op {
    let tensor = proto::TensorDef { desc: described, data: Bytes::copy_from_slice(data) };
    let value = encode(&Value { t: Some(encode(&tensor)), ..Value::default() });
    let mut op = made(name, "Const", &[], &[]);
    op.attr.push(encode(&Entry { key: "value".to_owned(), value }));
    op
}

pub(super) fn load(ops: &[proto::Op]) -> Result<Graph> {
    load_memory(&file(&[graph_def("g", ops)]), "test", Some(Framework::Air), &ModelOptions::default())
}

pub(super) fn shape(graph: &Graph, name: &str) -> String {
    node(graph, name).outputs[0].shape.to_string()
}

/// What is multiplied, convolved and so on, in the order in which it runs.
pub(super) fn kernels(graph: &Graph) -> Vec<String> {
    let known = split_static(graph.clone()).unwrap().graph;
    let lowered = lower(&known, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    lowered.kernels.iter().map(|kernel| format!("{} {}", kernel.name(&known), kernel.workload)).collect()
}

#[test]
fn a_constant_is_what_its_value_says_and_not_what_its_output_has_by_default() {
    let half = |dims: &[i64], bytes: usize| constant("c", built("ND", DataType::Float16, dims), &vec![0; bytes]);
    let graph = load(&[half(&[2, 3], 12)]).unwrap();
    let c = &node(&graph, "c").outputs[0];
    assert_eq!((c.dtype, c.shape.to_string().as_str()), (DataType::Float16, "[2,3]"));
    // No sizes in its own description, and bytes for one element: a scalar.
    assert_eq!(shape(&load(&[half(&[], 2)]).unwrap(), "c"), "[]");
    // Where it does not describe itself, the output does.
    let mut described = half(&[], 12);
    described.output_desc = vec![inferred(&[3, 2])];
    assert_eq!(shape(&load(&[described]).unwrap(), "c"), "[3,2]");
    // One that contradicts its own description is refused, whatever the output says.
    let mut wrong = half(&[2, 3], 10);
    wrong.output_desc = vec![inferred(&[5])];
    refused(&load(&[wrong]).unwrap_err().to_string(), &["`c` (Const)", "[2,3]", "10"]);
}

#[test]
fn a_text_where_a_number_or_a_truth_value_has_to_be_is_refused() {
    let desc = || inferred(&[16, 16]);
    let product = |name: &str, value: &Attr| {
        let product = with(made("p", "MatMulV2", &["x:0", "y:0"], &[desc(), desc()]), name, value);
        load(&[data("x", 0, desc()), data("y", 1, desc()), product])
    };
    for name in ["transpose_x1", "offset_x"] {
        let error = product(name, &Attr::Str("yes".into())).unwrap_err().to_string();
        for part in ["node `p` (MatMulV2)", name, "is a text, and has to be of kind"] {
            assert!(error.contains(part), "`{part}` is missing in: {error}");
        }
    }
    product("transpose_x1", &Attr::Int(1)).unwrap();
    product("no_such_attribute", &Attr::Str("yes".into())).unwrap();
}

#[test]
fn no_sizes_are_a_shape_that_is_not_known_unless_it_was_set() {
    let scalar = |set: bool| {
        let attrs = [("origin_shape", Attr::Ints(vec![])), ("origin_shape_initialized", Attr::Bool(set))];
        tensor::read(raw_desc("ND", &[], &attrs), &String::new).unwrap()
    };
    assert_eq!(scalar(true).desc.unwrap().shape, Shape::scalar());
    assert_eq!(scalar(false).desc.unwrap().shape, Shape::unknown_rank());
    assert!(scalar(true).is_set && !scalar(false).is_set);
    assert_eq!(tensor::read(Bytes::new(), &String::new).unwrap().desc.unwrap().shape, Shape::unknown_rank());
}

#[test]
fn the_layout_counts_where_the_frameworks_format_was_not_set() {
    let format = |layout: &str, dims: &[i64]| {
        tensor::read(built(layout, DataType::Float16, dims), &String::new).unwrap().desc.unwrap().format
    };
    for (layout, expected) in [
        ("NCHW", Format::Nchw),
        ("HWCN", Format::Hwcn),
        ("NHWC", Format::Nhwc),
        ("ND", Format::Nd),
        // ND is what the framework has of a matrix that lies in fractals.
        ("FRACTAL_NZ", Format::Nd),
        ("FORMAT_RESERVED", Format::Nd),
    ] {
        assert_eq!(format(layout, &[2, 2, 16, 16]), expected, "{layout}");
    }
}

/// A convolution whose attribute has the default of its prototype, beside an image and a filter that it describes itself.
fn convolution(image: Bytes, described: &[Bytes]) -> Vec<proto::Op> {
    let conv = made("conv", "Conv2D", &["x:0", "w:0"], described);
    let conv = with(conv, "data_format", &Attr::Str("NHWC".into()));
    let conv = with(with(conv, "strides", &Attr::Ints(vec![1, 1, 2, 2])), "pads", &Attr::Ints(vec![0; 4]));
    let filter = constant("w", built("ND", DataType::Float16, &[3, 2, 8, 64]), &[]);
    vec![data("x", 0, image), filter, conv, net_output(&["conv:0"])]
}

#[test]
fn an_operator_goes_by_the_formats_of_its_tensors_and_not_by_an_attribute() {
    let (image, filter) = (built("NCHW", DataType::Float16, &[]), built("HWCN", DataType::Float16, &[]));
    let nchw = built("NCHW", DataType::Float16, &[1, 8, 33, 22]);
    let plain = built("ND", DataType::Float16, &[1, 8, 33, 22]);
    let optional = built("FORMAT_RESERVED", DataType::Undefined, &[]);
    // As the operator describes the image, as the image is described, and both.
    for (x, described) in [(&plain, &image), (&nchw, &built("ND", DataType::Float16, &[])), (&nchw, &image)] {
        let graph = load(&convolution(x.clone(), &[described.clone(), filter.clone(), optional.clone()])).unwrap();
        assert_eq!(shape(&graph, "conv"), "[1,64,16,11]");
        assert_eq!(node(&graph, "conv").outputs[0].format, Format::Nchw);
        assert_eq!(kernels(&graph), ["conv Conv2D [1,8,33,22]*[64,3,2] s2x2 g1 float16"]);
    }
    // What the operator says of its image counts more than what the image says of itself.
    let nhwc = built("NHWC", DataType::Float16, &[]);
    let graph = convolution(built("NCHW", DataType::Float16, &[1, 33, 22, 8]), &[nhwc, filter]);
    assert_eq!(shape(&load(&graph).unwrap(), "conv"), "[1,16,11,64]");
}

#[test]
fn the_formats_that_an_operator_states_go_through_a_file() {
    let (image, filter) = (built("NCHW", DataType::Float16, &[]), built("HWCN", DataType::Float16, &[]));
    let graph = load(&convolution(built("ND", DataType::Float16, &[1, 8, 33, 22]), &[image, filter])).unwrap();
    let again = read(super::super::encode_model(&graph).unwrap().into(), "test").unwrap();
    for graph in [&graph, &again] {
        assert_eq!(node(graph, "conv").formats, [Format::Nchw, Format::Hwcn]);
        assert_eq!(node(graph, "conv").attrs.str("data_format"), Some("NHWC"), "what was given is what is written");
    }
}

#[test]
fn formats_follow_inputs_that_move_to_the_places_of_their_names() {
    let (image, filter) = (built("NCHW", DataType::Float16, &[]), built("HWCN", DataType::Float16, &[]));
    let mut ops = convolution(built("ND", DataType::Float16, &[1, 8, 33, 22]), &[filter, image]);
    ops[2].input.reverse();
    let names = Attr::Strs(vec!["filter".into(), "x".into()]);
    ops[2] = with(with(ops[2].clone(), "_input_name_key", &names), "_input_name_value", &Attr::Ints(vec![0, 1]));
    assert_eq!(shape(&load(&ops).unwrap(), "conv"), "[1,64,16,11]");
}

#[test]
fn a_window_is_listed_in_the_order_in_which_it_reaches_over_no_channels() {
    let pool = |window: [i64; 4]| {
        let pool = made("pool", "MaxPool", &["x:0"], &[]);
        let pool = with(pool, "data_format", &Attr::Str("NHWC".into()));
        let pool = with(pool, "ksize", &Attr::Ints(window.to_vec()));
        let pool = with(pool, "strides", &Attr::Ints(window.to_vec()));
        load(&[data("x", 0, built("NCHW", DataType::Float16, &[1, 8, 32, 24])), pool]).unwrap()
    };
    assert_eq!(shape(&pool([1, 1, 4, 2]), "pool"), "[1,8,8,12]");
    assert_eq!(shape(&pool([1, 4, 2, 1]), "pool"), "[1,8,8,12]");
}

#[test]
fn an_input_without_a_shape_waits_for_one() {
    let (image, filter) = (built("NCHW", DataType::Float16, &[]), built("HWCN", DataType::Float16, &[]));
    let mut graph = load(&convolution(default_desc(), &[image, filter])).unwrap();
    assert_eq!((shape(&graph, "x").as_str(), shape(&graph, "conv").as_str()), ("[?]", "[?]"));
    let left_out = split_static(graph.clone()).unwrap().left_out;
    assert_eq!(
        left_out.iter().map(|node| (node.name.as_str(), node.cause)).collect::<Vec<_>>(),
        [("conv", Cause::Undescribed)]
    );
    let error = infer::require_static(&graph).unwrap_err();
    assert!(matches!(&error, Error::Dynamic { tensor, .. } if tensor == "x"), "{error}");
    let late = ModelOptions { shapes: vec![("x".into(), vec![1, 8, 33, 22])], ..ModelOptions::default() };
    bind_inputs(&mut graph, &late).unwrap();
    assert_eq!(shape(&graph, "conv"), "[1,64,16,11]");
}

#[test]
fn an_input_may_be_described_where_it_is_fed() {
    let mut x = data("x", 0, default_desc());
    x.input_desc = vec![built("NCHW", DataType::Float16, &[1, 8, 4, 4])];
    let graph = load(&[x, made("r", "Relu", &["x:0"], &[])]).unwrap();
    let r = &node(&graph, "r").outputs[0];
    assert_eq!((r.shape.to_string().as_str(), r.format), ("[1,8,4,4]", Format::Nchw));
}

/// Two products with an operator between them whose type nobody knows.
fn odd_between(odd: Bytes) -> Vec<proto::Op> {
    let matrix = |dims: &[i64]| built("ND", DataType::Float16, dims);
    vec![
        data("x", 0, matrix(&[64, 128])),
        data("a", 1, matrix(&[128, 256])),
        data("b", 2, matrix(&[256, 32])),
        made("first", "MatMulV2", &["x:0", "a:0"], &[]),
        proto::Op { output_desc: vec![odd], ..made("odd", "NoSuchOperator", &["first:0"], &[]) },
        made("second", "MatMulV2", &["odd:0", "b:0"], &[]),
        made("third", "Relu", &["second:0"], &[]),
        net_output(&["third:0"]),
    ]
}

#[test]
fn an_unknown_operator_ends_inference_and_no_more_unless_its_output_is_described() {
    let graph = load(&odd_between(default_desc())).unwrap();
    let left_out = split_static(graph.clone()).unwrap().left_out;
    assert_eq!(left_out.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["second", "third"]);
    assert!(left_out.iter().all(|node| node.source == "odd" && node.source_type == "NoSuchOperator"));
    let told = kernels(&graph);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("[64,128,256]") && told[1].starts_with("odd "), "{told:?}");
    let graph = load(&odd_between(inferred(&[512, 256]))).unwrap();
    assert!(split_static(graph.clone()).unwrap().left_out.is_empty());
    assert!(kernels(&graph)[2].contains("[512,256,32]"), "{:?}", kernels(&graph));
}

#[test]
fn sizes_of_an_unknown_operator_s_result_that_ge_set_where_it_is_read_are_believed() {
    let read_as = |described: Bytes| {
        let mut ops = odd_between(default_desc());
        ops[5].input_desc = vec![described, default_desc()];
        load(&ops).unwrap()
    };
    let graph = read_as(inferred(&[512, 256]));
    assert_eq!(shape(&graph, "odd"), "[512,256]");
    assert!(split_static(graph.clone()).unwrap().left_out.is_empty() && kernels(&graph)[2].contains("[512,256,32]"));
    // What is open there, or was not set by GE, says nothing.
    for open in [inferred(&[-1, 256]), default_desc(), built("ND", DataType::Float16, &[512, 256])] {
        assert_eq!(shape(&read_as(open), "third"), "[?]");
    }
}

#[test]
fn a_scalar_is_told_by_a_shape_that_was_set_whether_its_sizes_are_written_or_not() {
    let scalar = |attrs: &[(&str, Attr)]| {
        let tensor = proto::Tensor::decode(raw_desc("ND", &[], attrs)).unwrap();
        shape(&load(&[data("x", 0, encode(&tensor)), made("r", "Relu", &["x:0"], &[])]).unwrap(), "r")
    };
    let (set, sizes) = ("origin_shape_initialized", ("origin_shape", Attr::Ints(Vec::new())));
    assert_eq!(scalar(&[(set, Attr::Bool(true)), sizes.clone()]), "[]");
    assert_eq!(scalar(&[(set, Attr::Bool(true))]), "[]");
    for open in [&[(set, Attr::Bool(false)), sizes][..], &[(set, Attr::Bool(false))], &[]] {
        assert_eq!(scalar(open), "[?]");
    }
}

#[test]
fn sizes_that_tensorflow_said_of_an_unknown_operator_are_believed() {
    let stated = |dims: &[i64]| {
        let mut ops = odd_between(default_desc());
        ops[4] = with(ops[4].clone(), "_output_shapes", &Attr::IntLists(vec![dims.to_vec()]));
        load(&ops).unwrap()
    };
    assert_eq!(shape(&stated(&[512, 256]), "third"), "[512,32]");
    for nothing in [&[][..], &[-7, 256]] {
        assert_eq!(shape(&stated(nothing), "third"), "[?]");
    }
}

#[test]
fn a_shape_that_ge_inferred_is_believed_and_one_that_a_program_wrote_gives_way() {
    let stated = |described: Bytes| {
        let mut ops = odd_between(inferred(&[64, 256]));
        ops[3].output_desc = vec![described];
        ops[4] = made("odd", "Relu", &["first:0"], &[]);
        load(&ops).unwrap()
    };
    let graph = stated(inferred(&[96, 256]));
    assert_eq!((shape(&graph, "first").as_str(), shape(&graph, "second").as_str()), ("[96,256]", "[96,32]"));
    assert!(node(&graph, "first").attrs.get(infer::BELIEVED_SHAPES).is_some());
    // Again and again: what is believed stays so.
    let mut again = graph.clone();
    infer::infer(&mut again).unwrap();
    assert_eq!(shape(&again, "second"), "[96,32]");
    // It was said of other sizes.
    let other = ModelOptions { shapes: vec![("x".into(), vec![48, 128])], ..ModelOptions::default() };
    bind_inputs(&mut again, &other).unwrap();
    assert_eq!(shape(&again, "second"), "[48,32]");
    for unset in [built("ND", DataType::Float16, &[96, 256]), inferred(&[64, 256]), inferred(&[-1, 256])] {
        let graph = stated(unset);
        assert_eq!(shape(&graph, "second"), "[64,32]");
        assert!(node(&graph, "first").attrs.get(infer::BELIEVED_SHAPES).is_none());
    }
}

#[test]
fn notes_on_stated_shapes_are_the_readers_alone() {
    let mut ops = odd_between(default_desc());
    ops[3] = with(ops[3].clone(), infer::BELIEVED_SHAPES, &Attr::Ints(vec![0, i64::MIN, 7]));
    ops[3] = with(ops[3].clone(), infer::STATED_SHAPES, &Attr::Ints(vec![0]));
    let graph = root(&ops).unwrap();
    assert!(
        [infer::BELIEVED_SHAPES, infer::STATED_SHAPES].iter().all(|own| node(&graph, "first").attrs.get(own).is_none())
    );
    let mut believed = odd_between(default_desc());
    believed[3].output_desc = vec![inferred(&[96, 256])];
    let written = super::super::encode_model(&load(&believed).unwrap()).unwrap();
    let name = infer::BELIEVED_SHAPES.as_bytes();
    assert!(!written.windows(name.len()).any(|part| part == name));
}

/// A small network of images and matrices, everything described as GE's inference leaves it.
fn network() -> Vec<proto::Op> {
    let image = |dims: &[i64]| tensor::write(&desc(dims), tensor::Parts::default());
    let step = |name: &str, op_type: &str, inputs: &[&str], dims: &[i64]| proto::Op {
        output_desc: vec![image(dims)],
        ..made(name, op_type, inputs, &[])
    };
    let ints = |v: &[i64]| v.iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<u8>>();
    let conv = with(step("conv", "Conv2D", &["x:0", "w:0"], &[2, 16, 16, 16]), "strides", &Attr::Ints(vec![1; 4]));
    let conv = with(with(conv, "pads", &Attr::Ints(vec![1; 4])), "data_format", &Attr::Str("NHWC".into()));
    let pool = step("pool", "MaxPoolV3", &["relu:0"], &[2, 16, 8, 8]);
    let pool = with(with(pool, "ksize", &Attr::Ints(vec![1, 1, 2, 2])), "strides", &Attr::Ints(vec![1, 1, 2, 2]));
    vec![
        data("x", 0, image(&[2, 8, 16, 16])),
        constant("w", image(&[16, 8, 3, 3]), &[]),
        constant("b", inferred(&[1024, 32]), &[]),
        constant("to", built("ND", DataType::Int64, &[2]), &ints(&[2, -1])),
        conv,
        step("relu", "Relu", &["conv:0"], &[2, 16, 16, 16]),
        with(pool, "data_format", &Attr::Str("NHWC".into())),
        step("flat", "Reshape", &["pool:0", "to:0"], &[2, 1024]),
        step("product", "MatMulV2", &["flat:0", "b:0"], &[2, 32]),
        with(step("softmax", "SoftmaxV2", &["product:0"], &[2, 32]), "axes", &Attr::Ints(vec![-1])),
        net_output(&["softmax:0"]),
    ]
}

proptest! {
    #[test]
    fn descriptions_that_can_be_inferred_change_no_kernel(gone in any::<u16>(), whole in any::<bool>()) {
        let expected = kernels(&load(&network()).unwrap());
        prop_assert_eq!(expected.len(), 5);
        let mut ops = network();
        for (at, op) in ops.iter_mut().enumerate().skip(4).filter(|(at, _)| gone & 1 << at != 0) {
            // As GE has them by default, or not even that.
            op.output_desc = vec![if whole || at % 2 == 0 { default_desc() } else { Bytes::new() }; op.output_desc.len()];
        }
        let graph = load(&ops).unwrap();
        prop_assert_eq!(kernels(&graph), expected);
    }

    #[test]
    fn whatever_is_stated_of_outputs_never_panics(
        stated in prop::collection::vec((prop::collection::vec(-3i64..70, 0..6), any::<bool>()), 7)
    ) {
        let mut ops = network();
        for (op, (dims, set)) in ops.iter_mut().skip(4).zip(&stated).filter(|(op, _)| !op.output_desc.is_empty()) {
            op.output_desc = vec![if *set { inferred(dims) } else { built("NCHW", DataType::Float16, dims) }];
        }
        if let Ok(graph) = load(&ops) {
            let known = split_static(graph).unwrap().graph;
            let _ = lower(&known, &Soc::find("Ascend910B2").unwrap(), &Settings::default());
        }
    }
}

#[test]
fn a_constant_without_a_value_has_the_shape_that_is_noted_where_it_is_read() {
    let noted = "attr { key: \"origin_shape\" value { list { i: 8 i: 16 val_type: VT_LIST_INT } } } \
                 attr { key: \"origin_shape_initialized\" value { b: true } }";
    let text = |noted: &str| {
        let x = "{ dtype: DT_FLOAT16 shape { dim: 4 dim: 8 } layout: \"ND\" }";
        let w = format!("{{ dtype: DT_FLOAT16 shape {{ dim: 8 dim: 16 }} layout: \"ND\" {noted} }}");
        format!(
            "graph {{ name: \"g\" op {{ name: \"x\" type: \"Data\" input_desc {x} output_desc {x} }}
             op {{ name: \"w\" type: \"Const\" output_desc {{ }} }}
             op {{ name: \"mm\" type: \"MatMulV2\" input: \"x:0\" input: \"w:0\" input_desc {x} input_desc {w} output_desc {{ }} }} }}"
        )
    };
    let shape = |noted: &str| {
        let graph = read(text(noted).into(), "g").unwrap();
        let (_, node) = graph.iter().find(|(_, node)| node.name == "w").unwrap();
        (node.outputs[0].shape.to_string(), node.outputs[0].dtype)
    };
    assert_eq!(shape(noted), ("[8,16]".to_owned(), DataType::Float16));
    // What GE has not set is a default, or left from before.
    assert_eq!(shape("").0, "[?]");
}
