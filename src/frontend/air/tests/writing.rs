//! What is written is what was read, byte for byte the same each time.

use super::*;
use crate::frontend::air::{encode_apart, encode_model};
use crate::graph::{Constant, NodeId};

/// A graph with something of everything.
fn rich() -> Graph {
    let mut graph = Graph::new("net");
    graph.attrs.set("scope", Attr::Str("a/b".into()));
    let x = graph.add_input("x", desc(&[1, 3, 8, 8])).unwrap();
    let w = graph.add_const("w", desc(&[4, 3, 1, 1]), Constant::Opaque).unwrap();
    let b = graph.add_const("b", desc(&[4]), Constant::Floats(vec![1.0, -2.5, 0.0, 65504.0])).unwrap();
    let mut conv = Node::new("conv", "Conv2D").with_inputs([x, w, b]).with_outputs(vec![desc(&[1, 4, 8, 8])]);
    conv.attrs.set("strides", Attr::Ints(vec![1, 1, 1, 1]));
    conv.attrs.set("_aoe_tiling", Attr::Str("{\"m\":1}".into()));
    conv.attrs.set("_aoe_scope", Attr::Int(3));
    conv.attrs.set("raw", Attr::Opaque(encode(&Value { s: Some(Bytes::from_static(&[0xfe, 0])), ..Value::default() })));
    let conv = graph.add(conv).unwrap();
    let mut odd = Node::new("odd:name:1", "Mystery").with_outputs(vec![TensorDesc::unknown(); 2]);
    odd.inputs = vec![None, Some(Port::first(conv)), None];
    odd.mapped = false;
    odd.origin_type = "their::Mystery".into();
    let odd = graph.add(odd).unwrap();
    graph.add_output(Port { node: odd, output: 1 });
    graph.add_output(Port::first(conv));
    graph
}

fn again(graph: &Graph) -> Graph {
    read(encode_model(graph).unwrap().into(), "again").unwrap()
}

#[test]
fn nodes_edges_outputs_values_and_attributes_come_back() {
    let (graph, back) = (rich(), again(&rich()));
    assert_eq!((back.name.as_str(), back.len()), ("net", graph.len()));
    assert_eq!(back.outputs(), graph.outputs());
    assert_eq!(back.attrs, graph.attrs);
    for ((_, old), (_, new)) in graph.iter().zip(back.iter()) {
        assert_eq!(
            (&old.name, &old.op_type, &old.origin_type, old.mapped),
            (&new.name, &new.op_type, &new.origin_type, new.mapped)
        );
        assert_eq!((&old.inputs, &old.outputs, &old.value), (&new.inputs, &new.outputs, &new.value));
        for (name, value) in old.attrs.iter() {
            assert_eq!(new.attrs.get(name), Some(value), "{} {name}", old.name);
        }
    }
}

#[test]
fn an_operator_that_is_not_known_stays_one_under_a_name_of_ges() {
    for op_type in ["Const", "Constant", "FileConstant", "Data"] {
        let mut graph = Graph::new("net");
        let mut odd = Node::new("odd", op_type).with_outputs(vec![desc(&[4])]);
        odd.mapped = false;
        let odd = graph.add(odd).unwrap();
        graph.add_output(Port::first(odd));
        let back = again(&graph);
        let node = back.node(odd);
        assert_eq!((node.op_type.as_str(), node.mapped, &node.value), (op_type, false, &None));
        assert_eq!(encode_model(&back).unwrap(), encode_model(&graph).unwrap());
    }
}

#[test]
fn the_same_graph_gives_the_same_bytes_and_a_second_round_changes_nothing() {
    let bytes = encode_model(&rich()).unwrap();
    assert_eq!(encode_model(&rich()).unwrap(), bytes);
    assert_eq!(encode_model(&again(&rich())).unwrap(), bytes);
}

#[test]
fn inputs_of_known_operators_are_named_for_ge() {
    let back = again(&rich());
    let conv = node(&back, "conv");
    let names = ["x", "filter", "bias"].map(str::to_owned).to_vec();
    assert_eq!(conv.attrs.get("_input_name_key"), Some(&Attr::Strs(names)));
    assert_eq!(conv.attrs.ints("_input_name_value"), Some(&[0, 1, 2][..]));
    assert_eq!(node(&back, "x").attrs.int("index"), Some(0));
}

#[test]
fn weights_that_a_file_has_go_through_it_unread() {
    let data: Vec<u8> = (0..20000u32).map(|i| i as u8).collect();
    let mut large = op("w", "Constant", &[], &[100, 100]);
    large.attr.push(value(DataType::Float16, &[100, 100], &data));
    let graph = root(&[large, net_output(&["w:0"])]).unwrap();
    let holds = |bytes: &[u8]| bytes.windows(data.len()).any(|part| part == data);
    let written = encode_model(&graph).unwrap();
    assert!(holds(&written));
    assert_eq!(encode_model(&read(written.clone().into(), "again").unwrap()).unwrap(), written);
    let (model, weights) = encode_apart(&graph).unwrap();
    assert!(!holds(&model) && weights == data);
}

#[test]
fn a_value_that_the_graph_does_not_have_is_not_made_up() {
    let model = proto::Model::decode(&encode_model(&rich()).unwrap()[..]).unwrap();
    let graph = proto::Graph::decode(model.graph[0].clone()).unwrap();
    let has_value = |name: &str| {
        let ops = graph.op.iter().map(|bytes| proto::Op::decode(bytes.clone()).unwrap());
        let op = ops.into_iter().find(|op| op.name == name).unwrap();
        op.attr.iter().any(|bytes| Entry::decode(bytes.clone()).unwrap().key == "value")
    };
    assert!(!has_value("w") && has_value("b"));
}

#[test]
fn the_output_node_takes_no_name_that_is_taken() {
    let mut graph = rich();
    graph.add(Node::new("Node_Output", "Relu").with_inputs([Port::first(NodeId(0))])).unwrap();
    assert_eq!(again(&graph).outputs(), graph.outputs());
}

#[test]
fn a_graph_that_is_none_is_refused() {
    let mut graph = rich();
    graph.node_mut(NodeId(3)).inputs[0] = Some(Port { node: NodeId(77), output: 0 });
    refused(&encode_model(&graph).unwrap_err().to_string(), &["`conv`"]);
}
