//! What the bundled networks become: their kernels, and how many of them differ.

use aoe::frontend::{Framework, ModelOptions, load_file, load_memory};
use aoe::graph::{Graph, infer};
use aoe::lower::{Lowered, Settings, Switches, as_stored, graph_fusion, lower};
use aoe::soc::Soc;
use aoe::workload::{Operand, Workload};
use std::collections::HashSet;
use std::path::Path;

#[path = "../command_line/tune/resnet50.rs"]
mod resnet50;

fn lowered(file: &str) -> (Graph, Lowered) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models").join(file);
    let graph = load_file(&path, None, &ModelOptions::default()).unwrap();
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

/// The same where a mean that loses its axes, as `TensorFlow`'s does, leaves what one that keeps them does.
fn without_lost_axes(workload: Workload) -> Workload {
    let Workload::Reduce(mut w) = workload else { return workload };
    if w.op_type != "ReduceMeanD" {
        return Workload::Reduce(w);
    }
    w.outputs = w.outputs.into_iter().map(|o| Operand::new([o.elements()], o.dtype)).collect();
    Workload::Reduce(w)
}

#[test]
fn caffe_tensorflow_and_onnx_give_one_network_the_same_workloads_in_the_same_order() {
    let read = |framework: Framework, text: String| {
        load_memory(text.as_bytes(), "resnet50", Some(framework), &ModelOptions::default()).unwrap()
    };
    let caffe = read(Framework::Caffe, resnet50::resnet50(resnet50::Caffe::new()));
    let tensorflow = read(Framework::TensorFlow, resnet50::resnet50(resnet50::TensorFlow::new()));
    let (onnx, _) = lowered("resnet50.onnx");
    for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
        let soc = Soc::find(soc).unwrap();
        let workloads = |graph: &Graph| {
            let fused = graph_fusion(graph.clone(), &soc, &Settings::default(), &Switches::default()).unwrap().0;
            let mut lowered = lower(&fused, &soc, &Settings::default()).unwrap();
            // TensorFlow's images lie otherwise than the others' until they lie in blocks.
            as_stored(&fused, &mut lowered, &soc, &Settings::default());
            lowered.kernels.into_iter().map(|kernel| without_lost_axes(kernel.workload)).collect::<Vec<_>>()
        };
        let expected = workloads(&onnx);
        assert_eq!(expected.len(), 121);
        assert_eq!(workloads(&caffe), expected, "Caffe on {}", soc.name);
        assert_eq!(workloads(&tensorflow), expected, "TensorFlow on {}", soc.name);
    }
}

#[test]
fn graph_fusion_leaves_of_each_encoder_layer_what_cann_leaves() {
    let (graph, before) = lowered("bert_base.onnx");
    let fused = |soc: &str, switches: &Switches| {
        let soc = Soc::find(soc).unwrap();
        let (fused, report) = graph_fusion(graph.clone(), &soc, &Settings::default(), switches).unwrap();
        let kernels = lower(&fused, &soc, &Settings::default()).unwrap().kernels;
        let count = |op_type: &str| kernels.iter().filter(|k| fused.node(k.node).op_type == op_type).count();
        let counts = ["BatchMatMulV2", "Gelu", "AddLayerNorm", "LayerNorm", "SoftmaxV2", "Transpose"].map(count);
        let effects = report.iter().find(|f| f.pass == "MatMulBiasAddFusionPass").map_or(0, |f| f.effect_times);
        (counts, kernels.len(), effects)
    };
    // Six linear layers and two products of the attention in each of twelve layers.
    let ([products, gelu, sums, norms, softmax, transposes], all, biases) = fused("Ascend910B2", &Switches::default());
    assert_eq!((products, gelu, sums + norms, softmax, transposes), (96, 12, 25, 12, 48));
    assert!((24..=25).contains(&sums) && (220..=230).contains(&all), "{sums} {all}");
    assert_eq!(biases, 72);
    let ([products, gelu, sums, norms, ..], _, biases) = fused("Ascend310P3", &Switches::default());
    assert_eq!((products, gelu, sums, norms, biases), (96, 12, 0, 25, 72));
    assert_eq!(fused("Ascend910B2", &Switches::closed()).1, before.kernels.len());
}
