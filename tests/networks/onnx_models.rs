//! Real networks through the readers: the bundled ones, and with `LIBAOE_MODELS` set to a directory
//! every `.onnx` file below it and what its index lists in other formats.

use aoe::frontend::{Framework, Gear, ModelOptions, air, bind_inputs, load_file, load_memory, om, onnx};
use aoe::graph::{CONST, DATA, DataType, Graph, NodeId, TensorDesc, infer};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn bundled(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models").join(file)
}

fn load(file: &str) -> Graph {
    load_file(&bundled(file), None, &ModelOptions::default()).unwrap()
}

/// Number of nodes by operator type, inputs and constants left out.
fn histogram(graph: &Graph) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (_, node) in graph.iter().filter(|(_, n)| n.op_type != DATA && n.op_type != CONST) {
        *counts.entry(node.op_type.as_str()).or_default() += 1;
    }
    counts
}

fn unmapped(graph: &Graph) -> Vec<String> {
    graph.iter().filter(|(_, n)| !n.mapped).map(|(_, n)| format!("{} ({})", n.name, n.op_type)).collect()
}

fn inputs(graph: &Graph) -> Vec<(String, DataType, String)> {
    graph.inputs().map(|(_, n)| (n.name.clone(), n.outputs[0].dtype, n.outputs[0].shape.to_string())).collect()
}

#[test]
fn resnet50_is_its_53_convolutions_and_what_is_between() {
    let graph = load("resnet50.onnx");
    let expected = [("Add", 16), ("Conv2D", 53), ("Flatten", 1), ("GlobalAveragePool", 1), ("MatMulV2", 1)];
    let expected = expected.into_iter().chain([("MaxPoolV3", 1), ("Relu", 49)]);
    assert_eq!(histogram(&graph), expected.collect());
    assert_eq!(unmapped(&graph), Vec::<String>::new());
    assert_eq!(inputs(&graph), [("input".to_owned(), DataType::Float, "[1,3,224,224]".to_owned())]);
    let output = graph.outputs()[0];
    assert_eq!(graph.outputs().len(), 1);
    assert_eq!(graph.desc(output).shape.to_string(), "[1,1000]");
    assert_eq!(graph.node(output.node).op_type, "MatMulV2");
    assert_eq!(graph.node(output.node).inputs.len(), 3, "the classifier's bias rides along");
}

#[test]
fn resnet50_convolutions_carry_ascend_attributes() {
    let graph = load("resnet50.onnx");
    let (_, stem) = graph.iter().find(|(_, n)| n.op_type == "Conv2D").unwrap();
    assert_eq!(stem.attrs.ints("strides"), Some(&[1, 1, 2, 2][..]));
    assert_eq!(stem.attrs.ints("pads"), Some(&[3, 3, 3, 3][..]));
    assert_eq!(stem.attrs.ints("dilations"), Some(&[1, 1, 1, 1][..]));
    assert_eq!(stem.attrs.int("groups"), Some(1));
    assert_eq!(stem.attrs.str("data_format"), Some("NCHW"));
}

#[test]
fn bert_base_has_all_its_products_and_norms() {
    let graph = load("bert_base.onnx");
    let counts = histogram(&graph);
    // Per layer: Q, K, V, scores, context, output and two feed-forward products.
    assert_eq!(counts["BatchMatMulV2"], 12 * 8);
    assert_eq!(counts["LayerNorm"], 2 * 12 + 1);
    assert_eq!(counts["SoftmaxV2"], 12);
    assert_eq!(unmapped(&graph), Vec::<String>::new());
    let int64 = |name: &str| (name.to_owned(), DataType::Int64, "[1,128]".to_owned());
    assert_eq!(inputs(&graph), [int64("input_ids"), int64("attention_mask"), int64("token_type_ids")]);
    let outputs: Vec<_> = graph.outputs().iter().map(|&p| graph.desc(p).shape.to_string()).collect();
    assert_eq!(outputs, ["[1,128,768]", "[1,768]"]);
}

#[test]
fn memory_and_file_give_the_same_graph() {
    let path = bundled("resnet50.onnx");
    let bytes = std::fs::read(&path).unwrap();
    for framework in [None, Some(Framework::Onnx)] {
        let graph = load_memory(&bytes, "resnet50", framework, &ModelOptions::default()).unwrap();
        assert_eq!(format!("{graph:?}"), format!("{:?}", load("resnet50.onnx")));
    }
}

/// The bundled models, and every one under the directory that `LIBAOE_MODELS` names.
fn models_at_hand() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![bundled("")];
    open.extend(std::env::var_os("LIBAOE_MODELS").map(PathBuf::from));
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(suffix) if suffix == "onnx" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// What a caller would say of a model's inputs: its batch where that is open.
fn options(path: &Path) -> ModelOptions {
    ModelOptions { gear: path.to_string_lossy().contains("dyn").then_some(Gear::Batch(1)), ..ModelOptions::default() }
}

#[test]
fn every_model_at_hand_loads_with_all_operators_mapped_and_all_shapes_known() {
    for path in models_at_hand() {
        let graph = load_file(&path, None, &options(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(unmapped(&graph), Vec::<String>::new(), "{}", path.display());
        infer::require_static(&graph).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

/// The kernels of a graph, with the names of their nodes.
fn kernels(graph: &Graph) -> Vec<(String, String)> {
    let lowered = lower(graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    lowered.kernels.iter().map(|k| (graph.node(k.node).name.clone(), format!("{:?}", k.workload))).collect()
}

#[test]
fn every_model_at_hand_is_the_same_network_as_an_air_file_and_in_an_om_file() {
    for path in models_at_hand() {
        let graph = load_file(&path, None, &options(&path)).unwrap();
        let (expected, written) = (kernels(&graph), air::encode_model(&graph).unwrap());
        for (bytes, framework) in
            [(written.clone(), Framework::Air), (om::encode_graph(&graph).unwrap(), Framework::Om)]
        {
            let again = load_memory(&bytes, "file", None, &ModelOptions::default()).unwrap();
            let forced = load_memory(&bytes, "file", Some(framework), &ModelOptions::default()).unwrap();
            assert_eq!(kernels(&again), expected, "{} {framework:?}", path.display());
            for read in [again, forced] {
                assert!(air::encode_model(&read).unwrap() == written, "{} {framework:?}", path.display());
            }
        }
    }
}

/// A graph without what its file says of the tensors inside it.
fn without_hints(graph: &Graph) -> Graph {
    let mut bare = graph.clone();
    for index in 0..bare.len() {
        let node = bare.node_mut(NodeId(index as u32));
        if node.op_type != DATA && node.op_type != CONST {
            node.outputs.fill(TensorDesc::unknown());
        }
    }
    bare
}

#[test]
fn shapes_inferred_from_the_inputs_alone_are_those_the_file_states() {
    let mut compared = 0;
    for path in models_at_hand() {
        let stated = onnx::read(std::fs::read(&path).unwrap().into(), "model", None, &ModelOptions::default()).unwrap();
        let mut inferred = without_hints(&stated);
        bind_inputs(&mut inferred, &options(&path)).unwrap();
        infer::infer(&mut inferred).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        infer::require_static(&inferred).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for (id, node) in stated.iter() {
            for (ours, theirs) in inferred.node(id).outputs.iter().zip(&node.outputs) {
                let place = format!("{}: `{}` ({})", path.display(), node.name, node.op_type);
                let Some(dims) = theirs.shape.dims() else { continue };
                assert_eq!(ours.dtype, theirs.dtype, "{place}");
                let found = ours.shape.dims().unwrap();
                let agree = found.len() == dims.len() && found.iter().zip(dims).all(|(a, b)| a == b || *b < 0);
                assert!(agree, "{place}: inferred {}, stated {}", ours.shape, theirs.shape);
                compared += 1;
            }
        }
    }
    assert!(compared > 600, "the bundled models alone state more shapes than {compared}");
}

/// Multiply-adds of all products and convolutions.
fn macs(graph: &Graph) -> u64 {
    let lowered = lower(graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    lowered.kernels.iter().filter_map(|k| k.workload.macs()).sum()
}

#[test]
fn networks_cost_the_multiplications_they_are_known_for() {
    assert_eq!(macs(&load("resnet50.onnx")), 4_089_184_256);
    assert_eq!(macs(&load("bert_base.onnx")), 11_174_215_680);
}

#[test]
fn models_at_hand_cost_the_multiplications_their_index_states() {
    let Some(root) = std::env::var_os("LIBAOE_MODELS").map(PathBuf::from) else { return };
    let index = std::fs::read_to_string(root.join("INDEX.csv")).unwrap();
    for line in index.lines().skip(1) {
        let fields = csv_fields(line);
        let path = root.join(&fields[0]);
        if path.extension().is_some_and(|suffix| ["onnx", "prototxt", "pb"].iter().any(|s| suffix == *s)) {
            let graph = load_file(&path, None, &options(&path)).unwrap();
            assert_eq!(macs(&graph).to_string(), fields[9], "{}", fields[0]);
        }
    }
}

/// Fields of a line of comma-separated values; quotes protect commas.
fn csv_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}
