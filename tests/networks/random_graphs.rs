//! No graph makes inference or lowering panic, and kernels write what their nodes write.

use aoe::frontend::{Framework, ModelOptions, air, bind_inputs, load_memory, om};
use aoe::graph::infer::infer;
use aoe::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc, op};
use aoe::lower::{Precision, Settings, lower};
use aoe::profile::{self, Form, Options, Scene, Timed};
use aoe::soc::Soc;
use aoe::status::Error;
use aoe::workload::Workload;
use proptest::prelude::*;

/// Attributes that rules read, with values from sane to absurd.
const NAMES: &[&str] = &[
    "strides",
    "pads",
    "dilations",
    "ksize",
    "groups",
    "axes",
    "axis",
    "concat_dim",
    "split_dim",
    "num_split",
    "perm",
    "shape",
    "size",
    "offsets",
    "begin",
    "end",
    "keep_dims",
    "data_format",
    "auto_pad",
    "equation",
    "hidden_size",
    "output_padding",
    "input_size",
    "filter_size",
    "orig_input_shape",
    "block_size",
    "multiples",
    "paddings",
    "depth",
    "k",
    "batch_dims",
    "begin_norm_axis",
    "num_groups",
    "ceil_mode",
    "global_pooling",
    "transpose_x1",
    "adj_x2",
    "rank_size",
    "shrink_axis_mask",
    "ellipsis_mask",
    "new_axis_mask",
    "end_axis",
    "num_axes",
    "input_layout",
    "head_num",
    "scales",
    "output_size",
    "tiles",
    "depth_radius",
    "num_weights",
    "shape_gamma",
    "start",
    "limit",
    "delta",
    "layout",
    "k",
    "is_training",
    "dst_type",
    "direction",
    "crop_size",
    "pooled_height",
    "window",
    "stride",
    "size_splits",
];

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0..9i64,
        2 => -4..0i64,
        1 => prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(1 << 31), Just((1 << 62) - 1), Just(-1 << 40), Just(4097)],
    ]
}

/// Sizes that a tensor may have, or nearly.
fn size() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => 0..9i64,
        3 => Just(-1),
        1 => prop_oneof![Just(1 << 31), Just(1 << 45), Just(4097), Just(i64::MAX), Just(-2)],
    ]
}

fn attr() -> impl Strategy<Value = Attr> {
    prop_oneof![
        number().prop_map(Attr::Int),
        any::<bool>().prop_map(Attr::Bool),
        any::<f64>().prop_map(Attr::Float),
        prop::collection::vec(number(), 0..6).prop_map(Attr::Ints),
        prop::collection::vec(any::<f64>(), 0..5).prop_map(Attr::Floats),
        prop::sample::select(vec![
            "NCHW",
            "NHWC",
            "NDHWC",
            "SAME_UPPER",
            "SAME_LOWER",
            "VALID",
            "ij,jk->ik",
            "...i,i...",
            "bidirectional",
            "BNSD",
            "TND",
            "",
            "C",
            "->",
            "a,b,c",
        ])
        .prop_map(|s| Attr::Str(s.to_owned())),
        prop::sample::select(DataType::ALL).prop_map(Attr::Type),
        prop::collection::vec(prop::collection::vec(number(), 0..3), 0..4).prop_map(Attr::IntLists),
    ]
}

#[derive(Debug, Clone)]
enum Source {
    Input(DataType, Option<Vec<i64>>),
    Ints(Vec<i64>, bool),
    Floats(Vec<f64>),
    Opaque(Vec<i64>),
}

fn source() -> impl Strategy<Value = Source> {
    let dims = || prop::collection::vec(size(), 0..6);
    prop_oneof![
        (prop::sample::select(DataType::ALL), prop::option::weighted(0.9, dims()))
            .prop_map(|(t, d)| Source::Input(t, d)),
        (prop::collection::vec(number(), 0..6), any::<bool>()).prop_map(|(v, scalar)| Source::Ints(v, scalar)),
        prop::collection::vec(any::<f64>(), 0..5).prop_map(Source::Floats),
        dims().prop_map(Source::Opaque),
    ]
}

/// Which tensor an operator reads.
#[derive(Debug, Clone)]
enum Input {
    Any(prop::sample::Index),
    Nth(usize),
}

impl Input {
    fn of(&self, ports: &[Port]) -> Port {
        match self {
            Input::Any(index) => *index.get(ports),
            Input::Nth(n) => ports[n % ports.len()],
        }
    }
}

#[derive(Debug, Clone)]
struct Step {
    op_type: String,
    inputs: Vec<Option<Input>>,
    attrs: Vec<(&'static str, Attr)>,
    outputs: usize,
    mapped: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let mut types: Vec<&str> = op::known_types().collect();
    types.sort_unstable();
    types.push("Mystery");
    let input = prop::option::weighted(0.9, any::<prop::sample::Index>().prop_map(Input::Any));
    let attrs = prop::collection::vec((prop::sample::select(NAMES), attr()), 0..6);
    (prop::sample::select(types), prop::collection::vec(input, 0..6), attrs, 0..4usize, prop::bool::weighted(0.95))
        .prop_map(|(op_type, inputs, attrs, outputs, mapped)| Step {
            op_type: op_type.to_owned(),
            inputs,
            attrs,
            outputs,
            mapped,
        })
}

fn build(sources: &[Source], steps: &[Step]) -> Graph {
    let mut graph = Graph::new("random");
    let mut ports = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        let name = format!("s{i}");
        let list = |n: usize| Shape::new([n as i64]);
        ports.push(match source {
            Source::Input(dtype, dims) => {
                let shape = dims.clone().map_or(Shape::unknown_rank(), Shape::new);
                graph.add_input(name, TensorDesc::new(*dtype, shape)).unwrap()
            }
            Source::Ints(v, scalar) => {
                let (shape, v) = if *scalar {
                    (Shape::scalar(), vec![v.first().copied().unwrap_or(0)])
                } else {
                    (list(v.len()), v.clone())
                };
                graph.add_const(name, TensorDesc::new(DataType::Int64, shape), Constant::Ints(v)).unwrap()
            }
            Source::Floats(v) => {
                let desc = TensorDesc::new(DataType::Float, list(v.len()));
                graph.add_const(name, desc, Constant::Floats(v.clone())).unwrap()
            }
            Source::Opaque(dims) => {
                let desc = TensorDesc::new(DataType::Float, Shape::new(dims.clone()));
                graph.add_const(name, desc, Constant::Opaque).unwrap()
            }
        });
    }
    for (i, step) in steps.iter().enumerate() {
        let mut node =
            Node::new(format!("n{i}"), &step.op_type).with_outputs(vec![TensorDesc::unknown(); step.outputs]);
        node.inputs = step.inputs.iter().map(|index| index.as_ref().map(|at| at.of(&ports))).collect();
        node.mapped = step.mapped;
        for (name, value) in &step.attrs {
            node.attrs.set(*name, value.clone());
        }
        let id = graph.add(node).unwrap();
        ports.extend((0..step.outputs).map(|output| Port { node: id, output: output as u32 }));
    }
    graph
}

fn drive(graph: &mut Graph) {
    if infer(graph).is_err() {
        return;
    }
    infer(graph).expect("what was inferred once can be inferred again");
    for (soc, precision) in [("Ascend910B2", Precision::ForceFp16), ("Ascend910A", Precision::AllowFp32ToFp16)] {
        let soc = Soc::find(soc).unwrap();
        let lowered = lower(graph, &soc, &Settings { precision, allow_hf32: true, ..Settings::default() });
        for kernel in lowered.into_iter().flat_map(|l| l.kernels) {
            let _ = (kernel.workload.to_string(), kernel.workload.macs());
        }
    }
}

/// Tensors that go together: most have one shape, some are vectors, filters or constants.
fn related_sources() -> impl Strategy<Value = Vec<Source>> {
    let shape = prop::sample::select(vec![
        vec![2, 4, 8, 8],
        vec![4, 8, 8],
        vec![8, 8],
        vec![6],
        vec![1, 4, 4, 4, 4],
        vec![],
        vec![2, 0, 4],
        vec![3, 1, 5],
    ]);
    let types = prop::sample::select(vec![DataType::Float, DataType::Float16, DataType::Int32, DataType::Bool]);
    (shape, types).prop_flat_map(|(shape, dtype)| {
        let channels = shape.get(1).copied().unwrap_or(1);
        let one = prop_oneof![
            8 => Just(Source::Input(dtype, Some(shape))),
            1 => Just(Source::Input(dtype, Some(vec![channels]))),
            1 => Just(Source::Input(dtype, Some(vec![4, channels, 3, 3]))),
            1 => Just(Source::Opaque(vec![channels])),
            2 => (prop::collection::vec(0..4i64, 0..5), any::<bool>()).prop_map(|(v, scalar)| Source::Ints(v, scalar)),
        ];
        prop::collection::vec(one, 5)
    })
}

/// An operator on these tensors in order, with hardly any attributes.
fn plain_step() -> impl Strategy<Value = Step> {
    let attr =
        (prop::sample::select(NAMES), prop_oneof![(0..4i64).prop_map(Attr::Int), any::<bool>().prop_map(Attr::Bool)]);
    (step(), 1..6usize, prop::collection::vec(attr, 0..2)).prop_map(|(step, inputs, attrs)| Step {
        inputs: (0..inputs).map(Input::Nth).map(Some).collect(),
        attrs,
        outputs: step.outputs.max(1),
        ..step
    })
}

/// Elements that a kernel writes, where its outputs are the node's.
fn written(workload: &Workload) -> Option<u64> {
    let outputs = match workload {
        Workload::Vector(w) => &w.outputs,
        Workload::Reduce(w) => &w.outputs,
        Workload::Move(w) => &w.outputs,
        Workload::MatMul(w) => return Some(w.batch * w.m * w.n),
        Workload::Conv(_) | Workload::Collective(_) | Workload::Fused(_) => return None,
    };
    Some(outputs.iter().map(aoe::workload::Operand::elements).sum())
}

fn assert_kernels_write_their_outputs(graph: &Graph) {
    let soc = Soc::find("Ascend910B2").unwrap();
    let Ok(lowered) = lower(graph, &soc, &Settings::default()) else { return };
    for kernel in lowered.kernels {
        let node = graph.node(kernel.node);
        let outputs: u64 = node.outputs.iter().filter_map(|d| d.shape.elements()).sum();
        if let Some(written) = written(&kernel.workload) {
            assert_eq!(written, outputs, "{} {:?}: {}", node.op_type, node.outputs, kernel.workload);
        }
        // What an operator that is not known writes may not be known either.
        let is_known = node.mapped && node.op_type != "Mystery";
        assert!(outputs > 0 || !is_known, "{} writes nothing", node.op_type);
    }
}

/// The graph with numbers that GE's IR can hold, of 32 bits; `None` where a size does not fit a file, or
/// where what is to be an operator is an end of the graph, which a file has in another form.
fn storable(graph: &Graph) -> Option<Graph> {
    let mut graph = graph.clone();
    for index in 0..graph.len() {
        let node = graph.node_mut(aoe::graph::NodeId(index as u32));
        let ends = ["Data", "RefData", "AippData", "AnnData", "Placeholder", "PlaceHolder", "End", "NetOutput"];
        let constants = ["Const", "Constant", "FileConstant"];
        let is_source =
            node.inputs.is_empty() && node.outputs.len() == 1 && (node.op_type == "Data" || node.value.is_some());
        if !is_source && ends.iter().chain(&constants).any(|end| *end == node.op_type) {
            return None;
        }
        // A file has CANN's operators: LayerNorm with its beta, which its kernel reads, and a pool's gradient of the version
        // that has paddings as numbers.
        let lacks_beta = node.op_type == "LayerNorm" && node.inputs.get(2).is_none_or(Option::is_none);
        if lacks_beta || node.op_type == "MaxPoolGrad" && node.attrs.get("pads").is_some() {
            return None;
        }
        let fits = |dim: &i64| (-1..=i64::from(i32::MAX)).contains(dim);
        if !node.outputs.iter().filter_map(|desc| desc.shape.dims()).flatten().all(fits) {
            return None;
        }
        let attrs: Vec<_> = node.attrs.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        for (name, value) in attrs {
            node.attrs.set(
                name,
                match value {
                    Attr::Float(f) => Attr::Float(f64::from(f as f32)),
                    Attr::Floats(v) => Attr::Floats(v.into_iter().map(|f| f64::from(f as f32)).collect()),
                    other => other,
                },
            );
        }
        if let Some(Constant::Floats(values)) = &mut node.value {
            for f in values {
                *f = f64::from(*f as f32);
            }
        }
    }
    Some(graph)
}

/// The kernels of a graph with the names of their nodes, and the nodes that none is modelled for.
type Kernels = (Vec<(String, Workload)>, Vec<String>);

fn kernels(graph: &Graph) -> Option<Kernels> {
    let lowered = lower(graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).ok()?;
    let name = |id| graph.node(id).name.clone();
    let mut unmapped: Vec<_> = lowered.unmapped.iter().map(|&id| name(id)).collect();
    let mut kernels: Vec<_> = lowered.kernels.into_iter().map(|k| (name(k.node), k.workload)).collect();
    // A parameter that becomes a constant of its own changes the order of what does not depend on each other.
    unmapped.sort();
    kernels.sort_by(|a, b| a.0.cmp(&b.0));
    Some((kernels, unmapped))
}

/// What is written is the same graph for tuning, in both forms, and is written alike again; but for attributes that are a
/// text in place of a number, which a reader refuses.
fn assert_survives_a_file(graph: &Graph) {
    let bytes = air::encode_model(graph).unwrap();
    let load = |data: Vec<u8>, framework| load_memory(&data, "file", Some(framework), &ModelOptions::default());
    let read = |data, framework| load(data, framework).unwrap();
    if let Err(Error::Graph { reason, .. }) = load(bytes.clone(), Framework::Air)
        && reason.starts_with("is a text, and has to be of kind")
    {
        return;
    }
    let again = read(bytes.clone(), Framework::Air);
    assert_eq!(kernels(&again), kernels(graph));
    assert_eq!(again.outputs(), graph.outputs());
    // Thousands of bytes tell nobody what differs.
    assert!(air::encode_model(&again).unwrap() == bytes, "{again:?}");
    let contained = read(om::encode_graph(graph).unwrap(), Framework::Om);
    assert!(air::encode_model(&contained).unwrap() == bytes, "{contained:?}");
}

proptest! {
    #![proptest_config(aoe_testing::cases(2000))]

    #[test]
    fn a_graph_that_was_written_is_the_same_graph_for_tuning(
        sources in related_sources(),
        steps in prop::collection::vec(prop_oneof![plain_step(), step()], 1..6),
        outputs in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut graph = build(&sources, &steps);
        let count = graph.len();
        for output in outputs {
            let id = aoe::graph::NodeId(output.index(count) as u32);
            if !graph.node(id).outputs.is_empty() {
                graph.add_output(Port::first(id));
            }
        }
        let Some(mut graph) = storable(&graph) else { return Ok(()) };
        if bind_inputs(&mut graph, &ModelOptions::default()).is_ok() && infer(&mut graph).is_ok()
            && let Some(graph) = storable(&graph)
        {
            assert_survives_a_file(&graph);
        }
    }

    #[test]
    fn one_operator_on_anything_never_panics(
        sources in prop::collection::vec(source(), 1..5),
        step in step(),
    ) {
        drive(&mut build(&sources, &[step]));
    }

    #[test]
    fn kernels_write_exactly_what_their_nodes_do(
        sources in related_sources(),
        step in plain_step(),
    ) {
        let mut graph = build(&sources, &[step]);
        if infer(&mut graph).is_ok() {
            assert_kernels_write_their_outputs(&graph);
        }
    }

    #[test]
    fn small_graphs_of_anything_never_panic(
        sources in prop::collection::vec(source(), 1..5),
        steps in prop::collection::vec(step(), 1..8),
    ) {
        drive(&mut build(&sources, &steps));
    }
}

/// Everything that a profile of the graph holds, where its kernels can be priced, can be read.
fn assert_profile_is_whole(graph: &Graph, soc: &Soc) {
    let Ok(lowered) = lower(graph, soc, &Settings::default()) else { return };
    let forms = vec![Form { label: "", graph, lowered: &lowered }];
    let scene = Scene { network: "random", soc, precision: Precision::default() };
    let Ok(timed) = Timed::of_subgraphs(forms, None, scene) else { return };
    let everything = r#"{"training_trace":"on","hccl":"on","l2":"on","runtime_api":"on"}"#;
    for file in profile::files(&timed.run(), &Options::parse(everything).unwrap(), "20260101000000").unwrap() {
        let (Some(suffix), Some(content)) = (file.path.extension(), &file.content) else { continue };
        if suffix == "json" {
            assert!(serde_json::from_slice::<serde_json::Value>(content).is_ok(), "{}", file.path.display());
        } else if suffix == "csv" {
            assert!(csv::Reader::from_reader(content.as_slice()).records().all(|row| row.is_ok()));
        }
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(200))]

    #[test]
    fn a_profile_of_anything_is_whole(
        sources in related_sources(),
        steps in prop::collection::vec(prop_oneof![plain_step(), step()], 1..6),
    ) {
        let mut graph = build(&sources, &steps);
        if infer(&mut graph).is_ok() {
            for soc in ["Ascend910B2", "Ascend310P3"] {
                assert_profile_is_whole(&graph, &Soc::find(soc).unwrap());
            }
        }
    }
}
