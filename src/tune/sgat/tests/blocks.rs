//! What lies in blocks of odd sizes has a time, and is never made slower.

use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Settings, with_conversions};
use crate::soc::Soc;
use crate::tune::sgat::price::Pricer;
use crate::tune::sgat::{Network, solve};
use proptest::prelude::*;

/// Parts whose kernels work in blocks, of each kind.
const PARTS: [&str; 4] = ["Ascend910B2", "Ascend310P3", "Ascend910A", "Ascend310"];

/// A node to be: its operator, which earlier result it reads, and numbers that decide its attributes.
#[derive(Debug, Clone)]
struct Step {
    op: usize,
    read: prop::sample::Index,
    axes: Vec<i64>,
    window: i64,
    flag: bool,
}

/// Images or stacks of matrices, and what is done with them.
#[derive(Debug, Clone)]
struct Plan {
    dims: Vec<i64>,
    channels_last: bool,
    made: i64,
    steps: Vec<Step>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let size = prop_oneof![9 => prop::sample::select(vec![1i64, 2, 3, 5, 7, 15, 16, 17, 33, 40]), 1 => Just(0i64)];
    let step =
        (0..12usize, any::<prop::sample::Index>(), prop::collection::vec(-5..5i64, 1..4), 1..70i64, any::<bool>())
            .prop_map(|(op, read, axes, window, flag)| Step { op, read, axes, window, flag });
    let dims = prop::collection::vec(size, 3..=5);
    (dims, any::<bool>(), 1..50i64, prop::collection::vec(step, 1..9))
        .prop_map(|(dims, channels_last, made, steps)| Plan { dims, channels_last, made, steps })
}

/// An operator with its attributes.
fn node(name: &str, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]) -> Node {
    let mut node = Node::new(name, op_type).with_inputs(inputs.iter().copied());
    for (name, value) in attrs {
        node.attrs.set(*name, value.clone());
    }
    node
}

impl Plan {
    fn format(&self) -> Format {
        match (self.dims.len(), self.channels_last) {
            (4, false) => Format::Nchw,
            (4, true) => Format::Nhwc,
            (5, false) => Format::Ncdhw,
            (5, true) => Format::Ndhwc,
            _ => Format::Nd,
        }
    }

    fn desc(&self, dims: &[i64]) -> TensorDesc {
        TensorDesc { format: self.format(), ..TensorDesc::new(DataType::Float16, Shape::new(dims)) }
    }

    fn layout(&self) -> Attr {
        Attr::Str(self.format().name().to_owned())
    }

    /// The graph: a convolution or a product, and those of the steps whose shapes can be inferred.
    fn graph(&self) -> Graph {
        let mut graph = Graph::new("blocks");
        let x = graph.add_input("x", self.desc(&self.dims)).unwrap();
        let first = self.cube(&mut graph, x);
        let mut results = vec![x];
        Self::grow(&mut graph, first, &mut results);
        for (at, step) in self.steps.iter().enumerate() {
            let read = *step.read.get(&results);
            let mut grown = graph.clone();
            let node = self.node(&mut grown, &format!("n{at}"), step, [read, *results.last().unwrap()]);
            if Self::grow(&mut grown, node, &mut results) {
                graph = grown;
            }
        }
        for &result in &results[1..] {
            graph.add_output(result);
        }
        infer::infer(&mut graph).unwrap();
        graph
    }

    /// Adds a node if its results can be inferred.
    fn grow(graph: &mut Graph, node: Node, results: &mut Vec<Port>) -> bool {
        let mut grown = graph.clone();
        let outputs = node.outputs.len().max(1);
        let Ok(id) = grown.add(node) else { return false };
        let known = |graph: &Graph| (0..outputs).all(|output| graph.node(id).outputs[output].shape.known().is_some());
        if infer::infer(&mut grown).is_err() || !known(&grown) {
            return false;
        }
        results.extend((0..outputs).map(|output| Port { node: id, output: output as u32 }));
        *graph = grown;
        true
    }

    /// What lies in blocks on the device.
    fn cube(&self, graph: &mut Graph, x: Port) -> Node {
        let rank = self.dims.len();
        let channels = if self.channels_last || rank == 3 { self.dims[rank - 1] } else { self.dims[1] };
        let (op_type, filter) = match rank {
            3 => ("BatchMatMulV2", vec![channels, self.made]),
            4 => ("Conv2D", vec![self.made, channels, 1, 1]),
            _ => ("Conv3D", vec![self.made, channels, 1, 1, 1]),
        };
        let mut filter = TensorDesc::new(DataType::Float16, Shape::new(filter));
        filter.format = [Format::Nd, Format::Nchw, Format::Ncdhw][rank - 3];
        let filter = graph.add_const("w", filter, Constant::Opaque).unwrap();
        let attrs = [
            ("strides", Attr::Ints(vec![1; rank])),
            ("pads", Attr::Ints(vec![0; 2 * (rank - 2)])),
            ("data_format", self.layout()),
        ];
        node("cube", op_type, &[x, filter], if rank == 3 { &[] } else { &attrs })
    }

    fn node(&self, graph: &mut Graph, name: &str, step: &Step, [read, last]: [Port; 2]) -> Node {
        let dims = graph.desc(read).shape.known().unwrap().to_vec();
        let axis = Attr::Int(step.axes[0]);
        let axes = Attr::Ints(step.axes.clone());
        let reduction = [("axes", axes.clone()), ("keep_dims", Attr::Bool(step.flag))];
        match step.op {
            0 => node(name, "Relu", &[read], &[]),
            1 => node(name, "Add", &[read, last], &[]),
            2 => node(name, if step.flag { "ReduceMeanD" } else { "ReduceMaxD" }, &[read], &reduction),
            3 => node(name, "ReduceSumD", &[read], &reduction),
            4 => node(name, "SoftmaxV2", &[read], &[("axes", axes)]),
            5 => self.pool(name, step, read),
            6 => node(name, "ConcatD", &[read, last], &[("concat_dim", axis), ("N", Attr::Int(2))]),
            7 => {
                let parts = 1 + step.window % 4;
                let mut split = node(name, "SplitD", &[read], &[("split_dim", axis), ("num_split", Attr::Int(parts))]);
                split.outputs = vec![self.desc(&[]); parts as usize];
                split
            }
            8 => {
                let size: Vec<i64> = dims.iter().map(|size| (size + 1) / 2).collect();
                let offsets = dims.iter().map(|size| size / 2).collect();
                node(name, "SliceD", &[read], &[("offsets", Attr::Ints(offsets)), ("size", Attr::Ints(size))])
            }
            9 => {
                let turned: Vec<i64> = (0..dims.len() as i64).rev().collect();
                node(name, "TransposeD", &[read], &[("perm", Attr::Ints(turned))])
            }
            10 => {
                // Lowering refuses axes that the tensor does not have.
                let here = |axis: &i64| axis.checked_rem_euclid(dims.len() as i64);
                let axes = step.axes.iter().filter_map(here).collect();
                node(name, "MVNV2", &[read], &[("axes", Attr::Ints(axes))])
            }
            _ => {
                let bias = graph.add_const(
                    format!("{name}b"),
                    self.desc(&dims[dims.len().saturating_sub(1)..]),
                    Constant::Opaque,
                );
                node(name, "Mul", &[read, bias.unwrap()], &[])
            }
        }
    }

    fn pool(&self, name: &str, step: &Step, read: Port) -> Node {
        let rank = self.dims.len();
        let channels = if self.channels_last { rank - 1 } else { 1 };
        let of = |value: i64| (0..rank).map(|at| if at == 0 || at == channels { 1 } else { value }).collect::<Vec<_>>();
        let attrs = [
            ("ksize", Attr::Ints(of(step.window))),
            ("strides", Attr::Ints(of(1 + step.window % 3))),
            ("pads", Attr::Ints(vec![step.window / 2; 2 * (rank - 2)])),
            ("padding_mode", Attr::Str("CALCULATED".to_owned())),
            ("data_format", self.layout()),
        ];
        let op_type = match (rank, step.flag) {
            (5, _) => "MaxPool3D",
            (_, true) => "MaxPoolV3",
            _ => "AvgPoolV2",
        };
        node(name, op_type, &[read], &attrs)
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(64))]

    #[test]
    fn kernels_in_blocks_of_odd_sizes_have_times_and_are_not_made_slower(plan in plans(), part in 0..PARTS.len()) {
        let (soc, settings) = (Soc::find(PARTS[part]).unwrap(), Settings::default());
        let (graph, lowered) = with_conversions(plan.graph(), &soc, &settings).unwrap();
        let network = Network::new(&graph, &lowered, &soc, &settings).unwrap();
        let mut pricer = Pricer::new(&network, &soc);
        for kernel in lowered.launched().filter(|kernel| kernel.priced.is_timed()) {
            let us = pricer.kernel_us(kernel);
            prop_assert!(us.is_some_and(|us| us.is_finite() && us > 0.0), "{us:?}: {:?}", kernel.workload);
            let whole = graph.desc(Port::first(kernel.node)).shape.elements();
            let written = kernel.workload.operands().and_then(|(_, written)| written.first());
            if let (Some(whole), Some(written)) = (whole, written) {
                prop_assert!(written.elements() >= whole, "{whole} elements in {:?}", kernel.workload);
            }
        }
        for case in solve(&network, &soc, true).unwrap() {
            let [before, after] = [case.before.us, case.after.us];
            prop_assert!(after.is_finite() && after > 0.0 && after <= before, "{after} after {before}");
        }
    }
}
