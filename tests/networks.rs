//! What the bundled networks become: their kernels, and how many of them differ.

use aoe::frontend::{InputOptions, load_file};
use aoe::graph::{Graph, infer};
use aoe::lower::{Lowered, Settings, lower};
use aoe::soc::Soc;
use aoe::workload::Workload;
use std::collections::HashSet;
use std::path::Path;

fn lowered(file: &str) -> (Graph, Lowered) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models").join(file);
    let graph = load_file(&path, None, &InputOptions::default()).unwrap();
    let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    (graph, lowered)
}

fn count(lowered: &Lowered, test: fn(&Workload) -> bool) -> usize {
    lowered.kernels.iter().filter(|k| test(&k.workload)).count()
}

#[test]
fn inferring_again_changes_nothing() {
    let (mut graph, _) = lowered("bert_base.onnx");
    let before = format!("{graph:?}");
    infer::infer(&mut graph).unwrap();
    assert_eq!(format!("{graph:?}"), before);
}

#[test]
fn a_residual_network_becomes_its_kernels_and_nothing_else() {
    let (graph, lowered) = lowered("resnet50.onnx");
    assert_eq!(count(&lowered, |w| matches!(w, Workload::Conv(_))), 53);
    assert_eq!(count(&lowered, |w| matches!(w, Workload::MatMul(_))), 1);
    assert_eq!(count(&lowered, |w| matches!(w, Workload::Vector(_))), 49 + 16);
    assert_eq!(count(&lowered, |w| matches!(w, Workload::Reduce(_))), 2);
    assert_eq!(count(&lowered, |w| matches!(w, Workload::Move(_))), 0);
    let order: Vec<_> = lowered.kernels.iter().map(|k| k.node).collect();
    let topological: Vec<_> = graph.topological_order().unwrap().into_iter().filter(|n| order.contains(n)).collect();
    assert_eq!(order, topological);
}

#[test]
fn twelve_equal_layers_are_the_workloads_of_one() {
    let (_, lowered) = lowered("bert_base.onnx");
    let products: HashSet<_> = lowered.kernels.iter().map(|k| &k.workload).filter(|w| w.is_cube()).collect();
    // Query, key, value and output projection are one; scores, context, both feed-forwards, the pooler.
    assert_eq!(products.len(), 6, "{products:?}");
    let distinct: HashSet<_> = lowered.kernels.iter().map(|k| &k.workload).collect();
    assert!(distinct.len() * 10 < lowered.kernels.len(), "{} of {}", distinct.len(), lowered.kernels.len());
}
