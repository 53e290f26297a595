//! A part of a batch is worth what a network with the smaller batch is.

use super::{Case, op};
use crate::graph::infer::infer;
use crate::graph::{Attr, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::lower::{Batch, Layouts, Settings, lower};
use crate::soc::Soc;
use crate::workload::Workload;
use proptest::prelude::*;

const BATCH: i64 = 12;

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// What a node does, in a network of its own size.
fn work(graph: &Graph, node: NodeId) -> Option<Workload> {
    let lowered = lower(graph, &soc(), &Settings::default()).unwrap();
    lowered.kernels.into_iter().find(|kernel| kernel.node == node).map(|kernel| kernel.workload)
}

/// Slices of the operator for 2, 3, 4, 6 and 12 parts, each with what the operator does in a network with so
/// small a batch.
fn slices(build: &dyn Fn(i64) -> Case) -> Vec<(Option<Workload>, Option<Workload>)> {
    let (graph, node) = build(BATCH).built();
    let batch = Batch::of(&graph).unwrap().unwrap();
    assert_eq!(batch.size(), BATCH as u64);
    let slice = |parts: i64| {
        let (smaller, same) = build(BATCH / parts).built();
        (batch.slice(&graph, &soc(), &Settings::default(), (node, Layouts::PLAIN), parts as u64), work(&smaller, same))
    };
    [2, 3, 4, 6, 12].map(slice).into()
}

type Build = &'static dyn Fn(i64) -> Case;

#[test]
fn an_operator_on_a_part_does_what_it_does_in_a_smaller_network() {
    let all: &[(&str, Build)] = &[
        ("product", &|b| op("MatMulV2").x(&[b, 64]).w(&[64, 128]).w(&[128])),
        ("stack on one matrix", &|b| op("BatchMatMulV2").x(&[b, 16, 64]).w(&[64, 32])),
        ("transposed stack on one matrix", &|b| op("BatchMatMulV2").x(&[b, 64, 16]).w(&[64, 32]).flag("adj_x1")),
        ("stack on stack", &|b| op("BatchMatMulV2").x(&[b, 4, 16, 8]).x(&[b, 4, 8, 16])),
        ("convolution", &|b| op("Conv2D").x(&[b, 16, 8, 8]).w(&[32, 16, 3, 3]).w(&[32]).text("data_format", "NCHW")),
        ("elementwise", &|b| op("Relu").x(&[b, 16, 8, 8])),
        ("broadcast weight", &|b| op("Add").x(&[b, 24]).w(&[24])),
        ("broadcast images", &|b| op("Mul").x(&[b, 16, 4, 4]).x(&[b, 16, 1, 1])),
        ("weight of one element", &|b| op("Mul").x(&[b, 1]).w(&[1, 1])),
        ("per channel", &|b| op("BNInfer").x(&[b, 16, 4, 4]).w(&[16]).w(&[16]).text("data_format", "NCHW")),
        ("softmax", &|b| op("SoftmaxV2").x(&[b, 8, 16])),
        ("reduction of a later axis", &|b| op("ReduceMeanD").x(&[b, 8, 16]).list("axes", &[1])),
        ("layer norm", &|b| {
            op("LayerNorm").x(&[b, 8, 16]).w(&[16]).w(&[16]).outputs(3).set("begin_norm_axis", Attr::Int(-1))
        }),
        ("global pool", &|b| op("GlobalAveragePool").x(&[b, 8, 4, 4])),
        ("transpose of later axes", &|b| op("Transpose").x(&[b, 3, 4, 5]).ints(&[0, 2, 3, 1])),
        ("concat of channels", &|b| op("ConcatD").x(&[b, 8]).x(&[b, 16]).set("concat_dim", Attr::Int(1))),
        ("split of channels", &|b| op("SplitD").x(&[b, 10]).set("split_dim", Attr::Int(1)).outputs(2)),
        ("rows of a table", &|b| op("GatherV2").w(&[30522, 768]).typed(DataType::Int64, &[b, 128]).ints(&[0])),
        ("columns of a matrix", &|b| op("GatherV2").x(&[b, 8, 16]).ints(&[2, 0]).ints(&[1])),
        ("triangles of matrices", &|b| op("Tril").x(&[b, 12, 12])),
        ("padded images", &|b| op("PadD").x(&[b, 8]).list("paddings", &[0, 0, 1, 1])),
        ("unknown layout change", &|b| op("TensorMove").x(&[b, 8])),
    ];
    for (name, build) in all {
        for (slice, smaller) in slices(build) {
            assert!(slice.is_some(), "{name}");
            assert_eq!(slice, smaller, "{name}");
        }
    }
}

#[test]
fn an_operator_that_needs_the_whole_batch_has_no_slice() {
    let all: &[(&str, Build)] = &[
        ("sum over the batch", &|b| op("ReduceSumD").x(&[b, 8]).list("axes", &[0])),
        ("sum of all", &|b| op("ReduceSumD").x(&[b, 8]).list("axes", &[0, 1])),
        ("batch as inner axis", &|b| op("MatMulV2").x(&[b, 64]).x(&[b, 32]).flag("transpose_x1")),
        ("batch as columns", &|b| op("MatMulV2").x(&[64, 32]).x(&[b, 32]).flag("transpose_x2")),
        ("a constant with a row for each image", &|b| op("Add").x(&[b, 8]).w(&[b, 8])),
        ("batch moved away", &|b| op("Transpose").x(&[b, 3]).ints(&[1, 0])),
        ("batches joined", &|b| op("ConcatD").x(&[b, 8]).x(&[b, 8]).set("concat_dim", Attr::Int(0))),
        ("softmax over the batch", &|b| op("SoftmaxV2").x(&[b, 8]).list("axes", &[0])),
        ("images in reverse order", &|b| op("ReverseV2").x(&[b, 8]).ints(&[0])),
        ("images shifted", &|b| op("Roll").x(&[b, 8]).list("shifts", &[1]).list("dims", &[0])),
        ("images taken from behind", &|b| {
            let op = op("StridedSliceD").x(&[b, 8]).list("begin", &[-1, 0]).list("end", &[i64::MIN, 8]);
            op.list("strides", &[-1, 1])
        }),
        ("images picked by number", &|b| op("GatherV2").x(&[b, 8]).ints(&(0..b).rev().collect::<Vec<_>>()).ints(&[0])),
        ("images updated by number", &|b| op("ScatterUpdate").x(&[b, 8]).ints(&[1]).x(&[b, 8])),
        ("triangle of a matrix", &|b| op("Tril").x(&[b, 12])),
        ("gradient of a filter", &|b| op("Conv2DBackpropFilter").x(&[b, 4, 8, 8]).ints(&[8, 4, 3, 3]).x(&[b, 8, 6, 6])),
    ];
    for (name, build) in all {
        let (graph, node) = build(BATCH).built();
        let Some(batch) = Batch::of(&graph).unwrap() else { continue };
        // One batch of 64 rows would be another's columns: what counts is that no slice is wrong.
        if batch.size() != BATCH as u64 {
            assert_eq!(*name, "batch as columns");
            continue;
        }
        assert_eq!(batch.slice(&graph, &soc(), &Settings::default(), (node, Layouts::PLAIN), 2), None, "{name}");
    }
}

/// A network of a few operators on tensors of `batch` images or rows.
fn network(batch: i64, plan: &[(u8, usize)]) -> Graph {
    let mut graph = Graph::new("net");
    let desc = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut made = vec![graph.add_input("x", desc(&[batch, 8, 6, 6])).unwrap()];
    made.push(graph.add_input("y", desc(&[batch, 8, 6, 6])).unwrap());
    let filter = graph.add_const("w", desc(&[8, 8, 1, 1]), crate::graph::Constant::Opaque).unwrap();
    for (at, &(kind, read)) in plan.iter().enumerate() {
        let (a, b) = (made[read % made.len()], made[(read / 7) % made.len()]);
        let name = format!("n{at}");
        let conv = || Node::new(&name, "Conv2D").with_inputs([a, filter]);
        let mut node = match kind % 6 {
            0 => conv(),
            1 => Node::new(&name, "Relu").with_inputs([a]),
            2 => Node::new(&name, "Add").with_inputs([a, b]),
            3 => Node::new(&name, "SoftmaxV2").with_inputs([a]),
            4 => Node::new(&name, "BatchMatMulV2").with_inputs([a, b]),
            _ => Node::new(&name, "SoftmaxV2").with_inputs([b]),
        };
        if kind % 6 == 5 {
            node.attrs.set("axes", Attr::Ints(vec![0]));
        }
        made.push(Port::first(graph.add(node).unwrap()));
    }
    graph.add_output(*made.last().unwrap());
    infer(&mut graph).unwrap();
    graph
}

proptest! {
    #[test]
    fn every_slice_of_a_network_is_a_kernel_of_the_smaller_network(
        plan in prop::collection::vec((any::<u8>(), 0..400usize), 1..12),
        parts in prop::sample::select(vec![2i64, 3, 4, 6, 12]),
    ) {
        let (whole, smaller) = (network(BATCH, &plan), network(BATCH / parts, &plan));
        let batch = Batch::of(&whole).unwrap().unwrap();
        for kernel in lower(&whole, &soc(), &Settings::default()).unwrap().kernels {
            let plain = (kernel.node, Layouts::PLAIN);
            if let Some(slice) = batch.slice(&whole, &soc(), &Settings::default(), plain, parts as u64) {
                prop_assert_eq!(Some(slice), work(&smaller, kernel.node));
            }
        }
    }
}
