//! Gradients of training graphs.

use crate::bank::gradient::model_hash;
use crate::graph::{Attr, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Settings, lower};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::gdat::{ALL_REDUCE, Backward, FUSION, Training};
use crate::workload::Workload;

fn desc(sizes: &[i64]) -> TensorDesc {
    TensorDesc::new(DataType::Float, Shape::new(sizes))
}

fn exchange(graph: &mut Graph, name: &str, gradient: Port) -> Port {
    let mut node = Node::new(name, ALL_REDUCE).with_inputs([gradient]);
    node.attrs.set(FUSION, Attr::Int(1));
    node.attrs.set("reduction", Attr::Str("sum".into()));
    Port::first(graph.add(node).unwrap())
}

fn add(graph: &mut Graph, name: &str, op_type: &str, inputs: &[Port]) -> Port {
    Port::first(graph.add(Node::new(name, op_type).with_inputs(inputs.iter().copied())).unwrap())
}

/// Three products one after the other; the third is exchanged before the first, the last work is of nobody.
fn training() -> Graph {
    let mut graph = Graph::new("net");
    let x = graph.add_input("x", desc(&[64, 64])).unwrap();
    let one = add(&mut graph, "one", "MatMulV2", &[x, x]);
    let two = add(&mut graph, "two", "MatMulV2", &[one, x]);
    let three = add(&mut graph, "three", "Relu", &[two]);
    let last = add(&mut graph, "last", "Sigmoid", &[three]);
    // Listed in an order of their own.
    let third = exchange(&mut graph, "ar3", three);
    let first = exchange(&mut graph, "ar1", one);
    // The optimiser's step is no part of the backward pass.
    let step = add(&mut graph, "step", "Add", &[first, x]);
    for output in [last, third, step] {
        graph.add_output(output);
    }
    graph
}

fn read(mut graph: Graph, price: impl Fn(&Workload) -> f64) -> Result<Training> {
    infer::infer(&mut graph)?;
    let lowered = lower(&graph, &Soc::find("Ascend910B2")?, &Settings::default())?;
    let backward = Backward::of(&graph, &lowered)?;
    backward.training(&backward.times(|workload| (price(workload), true)))
}

#[test]
fn gradients_are_ready_when_the_kernels_before_them_have_run() {
    let price = |workload: &Workload| match workload {
        Workload::MatMul(_) => 10.0,
        Workload::Vector(w) if w.op_type == "Relu" => 2.5,
        Workload::Vector(w) if w.op_type == "Sigmoid" => 0.25,
        other => panic!("{other} is not of the backward pass"),
    };
    let training = read(training(), price).unwrap();
    let names: Vec<_> = training.gradients.iter().map(|g| (g.node.as_str(), g.all_reduce.as_str(), g.bytes)).collect();
    assert_eq!(names, [("one", "ar1", 64 * 64 * 4), ("three", "ar3", 64 * 64 * 4)]);
    assert_eq!(training.times_ns, [10_000, 12_500]);
    let step = training.step();
    assert_eq!((step.ready_us, step.backward_us), (vec![10.0, 22.5], 22.75));
    assert_eq!(training.hash, model_hash([(DataType::Float, 0); 2]));
    assert_eq!(training.entry().size, [16_384; 2]);
}

#[test]
fn what_cannot_be_tuned_is_named() {
    let mut plain = Graph::new("plain");
    let x = plain.add_input("x", desc(&[4])).unwrap();
    let relu = add(&mut plain, "relu", "Relu", &[x]);
    plain.add_output(relu);
    let error = read(plain, |_| 1.0).unwrap_err();
    assert!(matches!(&error, Error::NothingToTune { reason } if reason.contains("no HcomAllReduce")), "{error}");

    let mut unfused = training();
    for name in ["ar1", "ar3"] {
        let id = unfused.find(name).unwrap();
        unfused.node_mut(id).attrs.set(FUSION, Attr::Int(0));
    }
    let error = read(unfused, |_| 1.0).unwrap_err();
    assert!(matches!(&error, Error::NothingToTune { reason } if reason.contains("2 HcomAllReduce, none")), "{error}");

    let mut chained = training();
    let first = Port::first(chained.find("ar1").unwrap());
    exchange(&mut chained, "again", first);
    let error = read(chained, |_| 1.0).unwrap_err().to_string();
    assert!(error.contains("`again`") && error.contains("another exchange"), "{error}");
}

#[test]
fn gradients_of_two_groups_are_two_sets() {
    let mut mixed = training();
    let id = mixed.find("ar3").unwrap();
    mixed.node_mut(id).attrs.set("group", Attr::Str("other".into()));
    let training = read(mixed, |_| 1.0).unwrap();
    let sets: Vec<_> = training.sets().into_iter().map(|set| (set.group, set.members)).collect();
    assert_eq!(sets, [("hccl_world_group".to_owned(), vec![0]), ("other".to_owned(), vec![1])]);
    assert_eq!(training.step().sets, [[0], [1]]);
}

#[test]
fn times_that_look_like_a_placeholder_do_not_stay_one() {
    let gradient = read(training(), |_| 1.0).unwrap().gradients[0].clone();
    let training =
        Training { gradients: vec![gradient; 5], times_ns: vec![0; 5], rest_us: 0.0, from_begin: true, hash: 1 };
    assert!(!training.entry().is_placeholder());
}
