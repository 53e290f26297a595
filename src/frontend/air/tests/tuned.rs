//! What a tuned graph says of itself has to make sense, or is named.

use super::*;
use crate::frontend::air::encode_model;
use crate::frontend::air::tuned::{
    CUT, FUSED_INTO, FUSION_SCOPE, INPUT_FORMATS, L2_FUSION, OF_NODES, OUTPUT_FORMATS, SOC_VERSION, TILING, UB_PASS,
};
use crate::graph::Constant;
use proptest::prelude::*;

fn strs(names: &[&str]) -> Attr {
    Attr::Strs(names.iter().map(|&name| name.to_owned()).collect())
}

/// A convolution and what is fused to it, in one scope of a cut group.
fn tuned() -> Graph {
    let mut graph = Graph::new("net");
    graph.attrs.set(SOC_VERSION, Attr::Str("Ascend310P3".into()));
    let x = graph.add_input("x", desc(&[4, 16, 8, 8])).unwrap();
    let w = graph.add_const("w", desc(&[16, 16, 1, 1]), Constant::Opaque).unwrap();
    let mut conv = Node::new("conv", "Conv2D").with_inputs([x, w]).with_outputs(vec![desc(&[4, 16, 8, 8])]);
    conv.attrs.set(INPUT_FORMATS, strs(&["NC1HWC0", "FRACTAL_Z"]));
    let conv = graph.add(conv).unwrap();
    let mut relu = Node::new("relu", "Relu").with_inputs([Port::first(conv)]).with_outputs(vec![desc(&[4, 16, 8, 8])]);
    relu.attrs.set(INPUT_FORMATS, strs(&["NC1HWC0"]));
    relu.attrs.set(L2_FUSION, Attr::Bool(true));
    let relu = graph.add(relu).unwrap();
    for id in [conv, relu] {
        let attrs = &mut graph.node_mut(id).attrs;
        attrs.set(FUSION_SCOPE, Attr::Int(1));
        attrs.set(CUT, Attr::Int(2));
        attrs.set(UB_PASS, Attr::Str("AutomaticUbFusion".into()));
        attrs.set(OUTPUT_FORMATS, strs(&["NC1HWC0"]));
    }
    graph.add_output(Port::first(relu));
    graph
}

fn through_a_file(graph: &Graph) -> Result<Graph> {
    read(encode_model(graph).unwrap().into(), "tuned")
}

/// With this at the node `relu`.
fn changed(name: &str, value: Attr) -> Graph {
    let mut graph = tuned();
    let relu = graph.find("relu").unwrap();
    graph.node_mut(relu).attrs.set(name, value);
    graph
}

#[test]
fn what_tuning_found_comes_back() {
    let back = through_a_file(&tuned()).unwrap();
    for ((_, old), (_, new)) in tuned().iter().zip(back.iter()) {
        for name in OF_NODES {
            assert_eq!(old.attrs.get(name), new.attrs.get(name), "{} {name}", old.name);
        }
    }
}

#[test]
fn what_makes_no_sense_is_named_by_node_and_attribute() {
    let text = |text: &str| Attr::Str(text.into());
    for (name, value, reason) in [
        (FUSION_SCOPE, Attr::Int(0), "the number of a scope"),
        (FUSION_SCOPE, Attr::Int(i64::MAX), "the number of a scope"),
        (FUSION_SCOPE, Attr::Int(-1), "the number of a scope"),
        (FUSION_SCOPE, text("1"), "the number of a scope"),
        (CUT, Attr::Int(1), "a number of parts"),
        (CUT, Attr::Int(i64::MIN), "a number of parts"),
        (CUT, Attr::Int(4), "differs from that of `conv` in scope 1"),
        (L2_FUSION, Attr::Int(1), "truth value"),
        (UB_PASS, Attr::Int(1), "the name of a pass"),
        (UB_PASS, text("Another"), "differs from that of `conv` in scope 1"),
        (FUSED_INTO, text("nobody"), "another node"),
        (FUSED_INTO, text("relu"), "another node"),
        (TILING, text("{"), "is not a tiling"),
        (TILING, text("{\"cores\": 1e400}"), "is not a tiling"),
        (TILING, Attr::Int(3), "is not text"),
        (INPUT_FORMATS, strs(&["5HD"]), "`5HD` at 0"),
        (INPUT_FORMATS, strs(&[]), "`` at 0"),
        (INPUT_FORMATS, Attr::Ints(vec![3]), "not a list of formats"),
        (OUTPUT_FORMATS, strs(&["NC1HWC0", "ND"]), "`ND` at 1, where there is none"),
    ] {
        let error = through_a_file(&changed(name, value.clone())).unwrap_err().to_string();
        assert!(error.contains("`relu`") && error.contains(name) && error.contains(reason), "{value:?}: {error}");
    }
    // A scope of one, and one of more than a kernel can be.
    let error = through_a_file(&changed(FUSION_SCOPE, Attr::Int(2))).unwrap_err().to_string();
    assert!(error.contains("scope 1 has 1 nodes"), "{error}");
    let mut soc = tuned();
    soc.attrs.set(SOC_VERSION, Attr::Int(310));
    let error = through_a_file(&soc).unwrap_err().to_string();
    assert!(error.contains("`net`") && error.contains(SOC_VERSION), "{error}");
}

#[test]
fn what_is_not_said_to_be_tuned_may_use_the_name_of_ge_s_attribute() {
    let mut graph = changed(FUSION_SCOPE, Attr::Int(-7));
    graph.attrs.remove(SOC_VERSION);
    through_a_file(&graph).unwrap();
}

fn values() -> impl Strategy<Value = Attr> {
    prop_oneof![
        any::<i64>().prop_map(Attr::Int),
        (-1..70i64).prop_map(Attr::Int),
        any::<bool>().prop_map(Attr::Bool),
        "[a-zA-Z0-9_{}\":,]{0,12}".prop_map(Attr::Str),
        prop::sample::select(vec!["conv", "relu", "AutomaticUbFusion"]).prop_map(|s| Attr::Str(s.into())),
        prop::collection::vec(prop::sample::select(vec!["", "ND", "NC1HWC0", "?"]), 0..4).prop_map(|f| strs(&f)),
        prop::collection::vec(any::<i64>(), 0..3).prop_map(Attr::Ints),
    ]
}

proptest! {
    #[test]
    fn whatever_stands_there_is_an_error_or_comes_back(
        planted in prop::collection::vec((0..4usize, prop::sample::select(OF_NODES.to_vec()), values()), 1..6)
    ) {
        let mut graph = tuned();
        for (node, name, value) in planted {
            graph.node_mut(crate::graph::NodeId(node as u32)).attrs.set(name, value);
        }
        if let Ok(back) = through_a_file(&graph) {
            prop_assert_eq!(encode_model(&back).unwrap(), encode_model(&graph).unwrap());
        }
    }
}
