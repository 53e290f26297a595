//! Operators of types that nobody knows, by one rule for every format.

use crate::frontend::onnx::tests::{FLOAT, Model, encode, node, value_info, weight};
use crate::frontend::{Framework, ModelOptions, load_memory};
use crate::graph::infer::{Cause, LeftOut, infer, require_static, split_static};
use crate::graph::{Constant, DataType, Graph, Node, Port, Shape, TensorDesc};

/// A network of an operator that is known, one that is not and gives something else, and one that reads that.
fn nets(stated: bool) -> Vec<(&'static str, Graph)> {
    let mut onnx = Model::new(17)
        .input("x", &[8.into(), 4.into()])
        .initializer(&weight("w", &[4, 4]))
        .node(&node("MatMul", &["x", "w"], &["a"], &[]).named("a"))
        .node(&node("Odd", &["a"], &["b"], &[]).named("b"))
        .node(&node("Relu", &["b"], &["c"], &[]).named("c"))
        .output("c");
    if stated {
        onnx.graph.value_info.push(encode(&value_info("b", FLOAT, &[5.into(), 3.into()])));
    }
    let shape = "shape { dim { size: 5 } dim { size: 3 } }";
    let said =
        if stated { format!("attr {{ key: '_output_shapes' value {{ list {{ {shape} }} }} }}") } else { String::new() };
    let tensorflow = format!(
        "node {{ name: 'x' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }}
           attr {{ key: 'shape' value {{ shape {{ dim {{ size: 8 }} dim {{ size: 4 }} }} }} }} }}
         node {{ name: 'a' op: 'Relu' input: 'x' }} node {{ name: 'b' op: 'Odd' input: 'a' {said} }}
         node {{ name: 'c' op: 'Relu' input: 'b' }}"
    );
    let caffe = "input: 'x' input_dim: [8, 4, 1, 1] layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'a' }
        layer { name: 'b' type: 'Odd' bottom: 'a' top: 'b' } layer { name: 'c' type: 'ReLU' bottom: 'b' top: 'c' }";
    let load = |framework, bytes: &[u8]| load_memory(bytes, "net", Some(framework), &ModelOptions::default()).unwrap();
    let mut nets = vec![
        ("ONNX", load(Framework::Onnx, &onnx.bytes())),
        ("TensorFlow", load(Framework::TensorFlow, tensorflow.as_bytes())),
        ("built by hand", by_hand(stated)),
    ];
    // Caffe states no shapes.
    if !stated {
        nets.push(("Caffe", load(Framework::Caffe, caffe.as_bytes())));
    }
    nets
}

fn by_hand(stated: bool) -> Graph {
    let desc = |dims: &[i64]| TensorDesc::new(DataType::Float, Shape::new(dims));
    let mut graph = Graph::new("net");
    let x = graph.add_input("x", desc(&[8, 4])).unwrap();
    let w = graph.add_const("w", desc(&[4, 4]), Constant::Opaque).unwrap();
    let a = Port::first(graph.add(Node::new("a", "MatMulV2").with_inputs([x, w])).unwrap());
    let odd = if stated { desc(&[5, 3]) } else { TensorDesc::unknown() };
    let odd = Node::new("b", "Odd").with_inputs([a]).with_outputs(vec![odd]);
    let b = Port::first(graph.add(odd).unwrap());
    let c = Port::first(graph.add(Node::new("c", "Relu").with_inputs([b])).unwrap());
    graph.add_output(c);
    infer(&mut graph).unwrap();
    graph
}

#[test]
fn what_follows_from_an_unknown_result_is_left_out_in_every_format_and_nothing_else() {
    for (format, graph) in nets(false) {
        let split = split_static(graph.clone()).unwrap();
        let [LeftOut { name, cause, source, source_type, .. }] = split.left_out.as_slice() else {
            panic!("{format}: {:?}", split.left_out)
        };
        let expected = ("c", Cause::UnknownOperator, "b", "Odd");
        assert_eq!((name.as_str(), *cause, source.as_str(), source_type.as_str()), expected, "{format}");
        assert!(["a", "b"].iter().all(|kept| split.graph.find(kept).is_some()), "{format}");
        let error = require_static(&graph).unwrap_err().to_string();
        assert!(error.contains("`Odd`") && error.contains("no shape rule"), "{format}: {error}");
    }
}

#[test]
fn inference_goes_on_from_an_unknown_operator_whose_result_is_stated() {
    for (format, graph) in nets(true) {
        assert_eq!(split_static(graph.clone()).unwrap().left_out, [], "{format}");
        assert_eq!(graph.desc(graph.outputs()[0]).shape.to_string(), "[5,3]", "{format}");
    }
}
