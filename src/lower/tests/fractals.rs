//! Products in fractals, and what keeps them: the parts whose cube wants `FRACTAL_NZ`.

use super::settings;
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, NodeId, Port, Shape, TensorDesc, infer};
use crate::lower::{DeviceLayout, Source};
use crate::lower::{Lowered, Precision, Settings, Switches, flows, graph_fusion, tensors, with_conversions};
use crate::soc::Soc;
use crate::workload::Workload;
use proptest::prelude::*;

const PARTS: [&str; 2] = ["Ascend310P3", "Ascend910A"];

/// A network in float16 under construction.
struct Net {
    graph: Graph,
    end: Port,
}

impl Net {
    fn new(dims: &[i64]) -> Net {
        let mut graph = Graph::new("net");
        let end = graph.add_input("x", TensorDesc::new(DataType::Float16, Shape::new(dims))).unwrap();
        Net { graph, end }
    }

    fn weight(&mut self, dims: &[i64]) -> Port {
        let desc = TensorDesc::new(DataType::Float16, Shape::new(dims));
        self.graph.add_const(format!("w{}", self.graph.len()), desc, Constant::Opaque).unwrap()
    }

    fn then(&mut self, op_type: &str, others: &[Port], attrs: &[(&str, Attr)]) -> Port {
        let inputs = [self.end].into_iter().chain(others.iter().copied());
        let mut node = Node::new(format!("{op_type}{}", self.graph.len()), op_type).with_inputs(inputs);
        for (name, value) in attrs {
            node.attrs.set(*name, value.clone());
        }
        self.end = Port::first(self.graph.add(node).unwrap());
        self.end
    }

    fn linear(&mut self, inner: i64, columns: i64) -> Port {
        let weight = self.weight(&[inner, columns]);
        self.then("BatchMatMulV2", &[weight], &[])
    }

    fn view(&mut self, dims: &[i64]) -> Port {
        let desc = TensorDesc::new(DataType::Int64, Shape::new([dims.len() as i64]));
        let name = format!("shape{}", self.graph.len());
        let shape = self.graph.add_const(name, desc, Constant::Ints(dims.to_vec())).unwrap();
        self.then("Reshape", &[shape], &[])
    }

    fn transpose(&mut self, order: &[i64]) -> Port {
        self.then("TransposeD", &[], &[("perm", Attr::Ints(order.to_vec()))])
    }

    /// Queries, keys or values: `heads` of a linear layer of `rows` x `width`, by this order of axes.
    fn heads(&mut self, rows: i64, width: i64, heads: i64, order: &[i64]) -> Port {
        self.linear(width, width);
        self.view(&[1, rows, heads, width / heads]);
        self.transpose(order)
    }

    fn done(mut self, outputs: &[Port]) -> Graph {
        self.graph.set_outputs(if outputs.is_empty() { vec![self.end] } else { outputs.to_vec() });
        infer::infer(&mut self.graph).unwrap();
        self.graph
    }
}

fn compiled(graph: Graph, soc: &str) -> (Graph, Lowered) {
    let (soc, settings) = (Soc::find(soc).unwrap(), settings(Precision::ForceFp16));
    let (fused, _) = graph_fusion(graph, &soc, &settings, &Switches::default()).unwrap();
    with_conversions(fused, &soc, &settings).unwrap()
}

fn count((graph, lowered): &(Graph, Lowered), op_type: &str) -> usize {
    lowered.launched().filter(|kernel| graph.node(kernel.node).op_type == op_type).count()
}

/// Attention over rows of `width`, as encoders have it, with what is around it.
fn attention(rows: i64, width: i64, heads: i64) -> Graph {
    let mut net = Net::new(&[1, rows, width]);
    let x = net.end;
    let query = net.heads(rows, width, heads, &[0, 2, 1, 3]);
    net.end = x;
    let key = net.heads(rows, width, heads, &[0, 2, 3, 1]);
    net.end = x;
    let value = net.heads(rows, width, heads, &[0, 2, 1, 3]);
    net.end = query;
    net.then("BatchMatMulV2", &[key], &[]);
    net.then("SoftmaxV2", &[], &[("axes", Attr::Ints(vec![-1]))]);
    net.then("BatchMatMulV2", &[value], &[]);
    net.transpose(&[0, 2, 1, 3]);
    net.view(&[1, rows, width]);
    net.linear(width, width);
    net.then("Add", &[x], &[]);
    net.done(&[])
}

#[test]
fn an_attention_of_whole_fractals_is_converted_at_its_edges_only() {
    for soc in PARTS {
        let made = compiled(attention(128, 768, 12), soc);
        assert_eq!(count(&made, "TransData"), 2, "{soc}");
        assert_eq!((count(&made, "ConfusionTransposeD"), count(&made, "TransposeD")), (4, 0), "{soc}");
    }
    // What the 910B does of all this is nothing: its products read matrices as the network has them.
    let made = compiled(attention(128, 768, 12), "Ascend910B2");
    let counts = ["TransData", "ConfusionTransposeD", "TransposeD"].map(|op_type| count(&made, op_type));
    assert_eq!(counts, [0, 0, 4]);
}

#[test]
fn rows_that_fill_no_fractals_are_plain_wherever_they_are_turned_or_summed_along() {
    for soc in PARTS {
        let made = compiled(attention(100, 768, 12), soc);
        // Each of the four transposes between two movers, but the input for three layers once; softmax between two.
        let (movers, transposes) = (count(&made, "TransData"), count(&made, "TransposeD"));
        assert_eq!((transposes, count(&made, "ConfusionTransposeD")), (4, 0), "{soc}");
        assert_eq!(movers, 2 + 2 * 4 + 2, "{soc}");
    }
}

#[test]
fn a_mask_that_kernels_make_stays_a_plain_row_beside_fractals() {
    for soc in PARTS {
        let mut net = Net::new(&[1, 128, 768]);
        let x = net.end;
        let query = net.heads(128, 768, 12, &[0, 2, 1, 3]);
        net.end = x;
        let key = net.heads(128, 768, 12, &[0, 2, 3, 1]);
        let given = TensorDesc::new(DataType::Int64, Shape::new([1, 1, 1, 128]));
        net.end = net.graph.add_input("mask", given).unwrap();
        net.then("Cast", &[], &[("dst_type", Attr::Type(DataType::Float16))]);
        let mask = net.then("Relu", &[], &[]);
        net.end = query;
        net.then("BatchMatMulV2", &[key], &[]);
        net.then("Add", &[mask], &[]);
        let made = compiled(net.done(&[]), soc);
        // The input into fractals, the result out of them.
        assert_eq!(count(&made, "TransData"), 2, "{soc}");
    }
}

#[test]
fn a_transpose_in_fractals_moves_them_whole() {
    for soc in PARTS {
        let (graph, lowered) = compiled(attention(128, 768, 12), soc);
        let turned = lowered.kernels.iter().filter(|k| graph.node(k.node).op_type == "ConfusionTransposeD");
        for kernel in turned {
            let Workload::Move(moved) = &kernel.workload else { panic!("{kernel:?}") };
            assert_eq!(moved.run_bytes, 0);
            assert!(moved.inputs.iter().chain(&moved.outputs).all(|o| o.format == Format::FractalNz), "{moved:?}");
        }
    }
}

/// One step of a random network of matrices.
#[derive(Debug, Clone)]
enum Step {
    Linear(i64),
    Relu,
    Softmax,
    Sum,
    /// A sum with what kernels make: one row, or a matrix for all of a stack.
    Stretched {
        rows: bool,
    },
    Norm,
    Heads(i64),
    Rows,
    Turn,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let width = prop::sample::select(vec![16i64, 32, 48, 40]);
    let step = prop_oneof![
        width.prop_map(Step::Linear),
        Just(Step::Relu),
        Just(Step::Softmax),
        Just(Step::Sum),
        any::<bool>().prop_map(|rows| Step::Stretched { rows }),
        Just(Step::Norm),
        prop::sample::select(vec![1i64, 2, 4]).prop_map(Step::Heads),
        Just(Step::Rows),
        Just(Step::Turn),
    ];
    prop::collection::vec(step, 1..14)
}

/// The network of these steps on so many rows, with what its steps made on the way as outputs where `leaving` says so.
fn network(rows: i64, steps: &[Step], leaving: u32) -> Graph {
    let mut dims = vec![1, rows, 32];
    let mut net = Net::new(&dims);
    let (mut earlier, mut outputs) = (net.end, Vec::new());
    let mut earlier_dims = dims.clone();
    for (at, step) in steps.iter().enumerate() {
        let (rank, columns) = (dims.len(), dims[dims.len() - 1]);
        match step {
            Step::Linear(width) => {
                net.linear(columns, *width);
                dims[rank - 1] = *width;
            }
            Step::Relu => drop(net.then("Relu", &[], &[])),
            Step::Softmax => drop(net.then("SoftmaxV2", &[], &[("axes", Attr::Ints(vec![-1]))])),
            Step::Sum if earlier_dims == dims => drop(net.then("Add", &[earlier], &[])),
            Step::Stretched { rows } => {
                let sizes = [if *rows { dims[rank - 2] } else { 1 }, columns];
                let given = TensorDesc::new(DataType::Float16, Shape::new(sizes));
                let name = format!("given{}", net.graph.len());
                let here = net.end;
                net.end = net.graph.add_input(name, given).unwrap();
                net.then("Relu", &[], &[]);
                let made = net.then("Cast", &[], &[("dst_type", Attr::Type(DataType::Float16))]);
                net.end = here;
                net.then("Add", &[made], &[]);
            }
            Step::Norm => {
                let [gamma, beta] = [0; 2].map(|_| net.weight(&[columns]));
                net.then("LayerNorm", &[gamma, beta], &[("begin_norm_axis", Attr::Int(-1))]);
            }
            Step::Heads(heads) if rank == 3 && columns % heads == 0 => {
                net.view(&[dims[0], dims[1], *heads, columns / heads]);
                net.transpose(&[0, 2, 1, 3]);
                dims = vec![dims[0], *heads, dims[1], columns / heads];
            }
            Step::Rows if rank == 4 => {
                net.transpose(&[0, 2, 1, 3]);
                dims = vec![dims[0], dims[2], dims[1] * columns];
                net.view(&dims.clone());
            }
            Step::Turn => {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                order.swap(rank - 1, rank - 2);
                net.transpose(&order);
                dims.swap(rank - 1, rank - 2);
            }
            _ => {}
        }
        if leaving >> at & 1 == 1 {
            outputs.push(net.end);
            (earlier, earlier_dims) = (net.end, dims.clone());
        }
    }
    outputs.push(net.end);
    outputs.dedup();
    net.done(&outputs)
}

/// The conversions of a graph: what each reads, and its layouts.
fn conversions(graph: &Graph) -> Vec<(NodeId, Port, DeviceLayout, DeviceLayout)> {
    let all = graph.iter().filter_map(|(id, node)| {
        let layouts = tensors::layouts(node).filter(|_| node.op_type == "TransData")?;
        Some((id, node.input(0)?, layouts.works, layouts.result))
    });
    all.collect()
}

proptest! {
    #![proptest_config(aoe_testing::cases(256))]

    #[test]
    fn every_kernel_reads_what_it_wants_and_no_mover_is_there_for_nothing(
        rows in prop::sample::select(vec![1i64, 16, 20, 64]), steps in steps(), leaving: u32, which in 0..2usize,
    ) {
        let soc = Soc::find(PARTS[which]).unwrap();
        let settings = Settings::default();
        let (graph, lowered) = compiled(network(rows, &steps, leaving), &soc.name);
        graph.validate().unwrap();
        let flows = flows(&graph, &lowered, &soc, &settings);
        prop_assert!(flows.reads.iter().flatten().all(|read| !read.converted));
        for ((reads, layouts), kernel) in flows.reads.iter().zip(&flows.layouts).zip(&lowered.kernels) {
            let node = graph.node(kernel.node);
            for read in reads.iter().filter(|read| read.port == read.origin) {
                if let Source::Kernel(from) = read.source {
                    let made = flows.layouts[from as usize].written(graph.desc(read.port), DataType::Float16);
                    let taken = layouts.read(&graph, node, read.port, DataType::Float16);
                    prop_assert_eq!(made, taken, "{} reads what lies otherwise", node.name);
                }
            }
        }
        for &(made_by, origin) in &flows.outputs {
            if let Source::Kernel(at) = made_by {
                let lies = flows.layouts[at as usize].of(graph.desc(origin));
                prop_assert_eq!(lies, DeviceLayout::Plain, "an output leaves in blocks");
            }
        }
        let movers = conversions(&graph);
        for (at, (id, read, works, result)) in movers.iter().enumerate() {
            prop_assert_ne!(works, result);
            let same = |other: &(NodeId, Port, DeviceLayout, DeviceLayout)| (&other.1, &other.3) == (read, result);
            prop_assert!(!movers[..at].iter().any(same), "{} is made twice", graph.node(*id).name);
            let is_read = graph.iter().any(|(_, node)| node.inputs.contains(&Some(Port::first(*id))));
            prop_assert!(is_read || graph.outputs().contains(&Port::first(*id)), "nobody reads {}", graph.node(*id).name);
        }
        let (again, kernels) = with_conversions(graph.clone(), &soc, &settings).unwrap();
        prop_assert_eq!((again.len(), kernels.kernels.len()), (graph.len(), lowered.kernels.len()));
    }

    #[test]
    fn every_product_works_in_fractals(
        rows in prop::sample::select(vec![1i64, 16, 20, 64]), steps in steps(), which in 0..2usize,
    ) {
        let soc = Soc::find(PARTS[which]).unwrap();
        let (graph, lowered) = compiled(network(rows, &steps, 0), &soc.name);
        let flows = flows(&graph, &lowered, &soc, &Settings::default());
        for (kernel, layouts) in lowered.kernels.iter().zip(&flows.layouts) {
            if kernel.workload.is_cube() {
                prop_assert_eq!(layouts.works, DeviceLayout::Fractals);
            }
        }
    }
}
