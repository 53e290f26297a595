//! Reductions as the tensors that they read are stored.

use super::op;
use crate::graph::infer::infer;
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::lower::{Batch, DeviceLayout, Layouts, Settings, with_conversions};
use crate::soc::Soc;
use crate::workload::{Operand, Reduce, Workload};

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// A mean over the space of images, behind a convolution or not.
fn mean(batch: i64, channels: i64, convolved: bool) -> Graph {
    let mut graph = Graph::new("net");
    let desc = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut x = graph.add_input("x", desc(&[batch, channels, 7, 7])).unwrap();
    if convolved {
        let filter = graph.add_const("w", desc(&[channels, channels, 1, 1]), Constant::Opaque).unwrap();
        let mut conv = Node::new("conv", "Conv2D").with_inputs([x, filter]);
        conv.attrs.set("data_format", Attr::Str("NCHW".into()));
        x = Port::first(graph.add(conv).unwrap());
    }
    let mut mean = Node::new("mean", "ReduceMeanD").with_inputs([x]);
    mean.attrs.set("axes", Attr::Ints(vec![2, 3]));
    mean.attrs.set("keep_dims", Attr::Bool(true));
    let mean = Port::first(graph.add(mean).unwrap());
    graph.add_output(mean);
    infer(&mut graph).unwrap();
    graph
}

/// The mean's kernel, and the network that it is in.
fn reduction(graph: Graph) -> (Graph, NodeId, Reduce) {
    let (graph, lowered) = with_conversions(graph, &soc(), &Settings::default()).unwrap();
    let of = |kernel: &crate::lower::Kernel| match &kernel.workload {
        Workload::Reduce(w) => Some((kernel.node, w.clone())),
        _ => None,
    };
    let (node, w) = lowered.kernels.iter().find_map(of).unwrap();
    (graph, node, w)
}

fn work(w: &Reduce) -> ([u64; 3], [u64; 2]) {
    ([w.outer, w.axis, w.inner], [w.inputs[0].elements(), w.outputs[0].elements()])
}

#[test]
fn a_mean_behind_a_convolution_deals_images_and_blocks_of_channels() {
    // 72 channels are five blocks of 16, the last half full.
    let (.., w) = reduction(mean(2, 72, true));
    assert_eq!(work(&w), ([10, 49, 16], [10 * 49 * 16, 10 * 16]));
    // As a profile of the kernel has them, so that both have one price.
    let operand = |shape| Operand { format: Format::Nc1hwc0, ..Operand::new(shape, DataType::Float16) };
    assert_eq!((&w.inputs[0], &w.outputs[0]), (&operand([2, 5, 7, 7, 16]), &operand([2, 5, 1, 1, 16])));
    assert_eq!(work(&reduction(mean(2, 64, true)).2), ([8, 49, 16], [8 * 49 * 16, 8 * 16]));
    // An image that no kernel blocks lies as the network has it.
    assert_eq!(work(&reduction(mean(2, 72, false)).2), ([144, 49, 1], [144 * 49, 144]));
}

#[test]
fn a_part_of_the_batch_is_reduced_as_the_smaller_network_reduces_it() {
    let (graph, node, _) = reduction(mean(4, 72, true));
    let batch = Batch::of(&graph).unwrap().unwrap();
    let blocks = DeviceLayout::Channels(1);
    let here = (node, Layouts { works: blocks, result: blocks });
    let part = batch.slice(&graph, &soc(), &Settings::default(), here, 2);
    assert_eq!(part, Some(Workload::Reduce(reduction(mean(2, 72, true)).2)));
}

#[test]
fn what_normalises_over_several_axes_writes_as_much_as_it_reads() {
    let Workload::Reduce(w) = op("MVNV2").x(&[4, 24, 7, 9]).list("axes", &[0, 2, 3]).one() else { panic!() };
    assert_eq!(work(&w), ([24, 4 * 63, 1], [4 * 24 * 63; 2]));
}
