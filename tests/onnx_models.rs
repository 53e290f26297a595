//! Real networks through the ONNX reader: the bundled ones, and with `LIBAOE_MODELS` set to a
//! directory every `.onnx` file below it.

use aoe::frontend::{Framework, InputOptions, load_file, load_memory};
use aoe::graph::{CONST, DATA, DataType, Graph};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn bundled(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models").join(file)
}

fn load(file: &str) -> Graph {
    load_file(&bundled(file), None, &InputOptions::default()).unwrap()
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
        let graph = load_memory(&bytes, "resnet50", framework, &InputOptions::default()).unwrap();
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

#[test]
fn every_model_at_hand_loads_with_all_operators_mapped() {
    for path in models_at_hand() {
        let batch = path.to_string_lossy().contains("dyn").then_some(8);
        let options = InputOptions { batch, ..InputOptions::default() };
        let graph = load_file(&path, None, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        println!("{}: {:?}", path.display(), histogram(&graph));
        assert_eq!(unmapped(&graph), Vec::<String>::new(), "{}", path.display());
    }
}
