//! A scope ends where what it holds would have to be turned over on the device.

use crate::bank::subgraph::Feature;
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Settings, as_stored, lower};
use crate::soc::Soc;
use crate::tune::sgat::steps::Subgraph;
use crate::tune::sgat::{Network, record, solve};

/// A chain of operators from one input.
struct Chain {
    graph: Graph,
    last: Port,
}

impl Chain {
    fn new(dims: &[i64]) -> Chain {
        let mut graph = Graph::new("chain");
        let desc = TensorDesc { format: Format::Nchw, ..TensorDesc::new(DataType::Float16, Shape::new(dims)) };
        let last = graph.add_input("x", desc).unwrap();
        Chain { graph, last }
    }

    fn constant(&mut self, dims: &[i64]) -> Port {
        let desc = TensorDesc { format: Format::Nchw, ..TensorDesc::new(DataType::Float16, Shape::new(dims)) };
        self.graph.add_const(format!("c{}", self.graph.len()), desc, Constant::Opaque).unwrap()
    }

    fn then(mut self, op: &str, more: &[Port], attrs: &[(&str, Attr)]) -> Chain {
        let name = format!("{op}{}", self.graph.len());
        let mut node = Node::new(&name, op).with_inputs(std::iter::once(self.last).chain(more.iter().copied()));
        for (name, value) in attrs {
            node.attrs.set(*name, value.clone());
        }
        self.last = Port::first(self.graph.add(node).unwrap());
        self
    }

    /// A convolution of 1 x 1.
    fn conv(mut self, cin: i64, cout: i64) -> Chain {
        let filter = self.constant(&[cout, cin, 1, 1]);
        let four = |values: [i64; 4]| Attr::Ints(values.to_vec());
        self.then("Conv2D", &[filter], &[("strides", four([1; 4])), ("pads", four([0; 4]))])
    }

    fn product(mut self, k: i64, n: i64) -> Chain {
        let weight = self.constant(&[k, n]);
        self.then("BatchMatMulV2", &[weight], &[])
    }

    fn reshape(mut self, dims: &[i64]) -> Chain {
        let desc = TensorDesc::new(DataType::Int64, Shape::new([dims.len() as i64]));
        let name = format!("c{}", self.graph.len());
        let shape = self.graph.add_const(name, desc, Constant::Ints(dims.to_vec())).unwrap();
        self.then("Reshape", &[shape], &[])
    }

    fn relu(self) -> Chain {
        self.then("Relu", &[], &[])
    }

    /// With an operand of these sizes beside it.
    fn add(mut self, dims: &[i64]) -> Chain {
        let operand = self.constant(dims);
        self.then("Add", &[operand], &[])
    }

    /// Kernels in each scope that CANN fuses by default, on a part.
    fn scopes(&self, soc: &str) -> Vec<usize> {
        let mut graph = self.graph.clone();
        graph.add_output(self.last);
        infer::infer(&mut graph).unwrap();
        let (soc, settings) = (Soc::find(soc).unwrap(), Settings::default());
        let mut lowered = lower(&graph, &soc, &settings).unwrap();
        as_stored(&graph, &mut lowered, &soc, &settings);
        let network = Network::new(&graph, &lowered, &soc, &settings).unwrap();
        let cases = solve(&network, &soc, false).unwrap();
        cases.iter().flat_map(|case| &case.before.groups).flat_map(|group| &group.scopes).map(Vec::len).collect()
    }
}

const ALL: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9589"];

#[test]
fn a_view_that_turns_blocks_of_channels_over_ends_the_scope_of_a_convolution() {
    let image = || Chain::new(&[2, 32, 14, 14]).conv(32, 64);
    let matrix = image().reshape(&[2, 64 * 14 * 14]).relu();
    // Sizes that differ in the space alone lie alike in blocks of channels.
    let space = image().reshape(&[2, 64, 196, 1]).relu();
    let mixed = image().reshape(&[2, 32, 28, 14]).relu();
    for soc in &ALL[..3] {
        assert_eq!(image().relu().scopes(soc), [2], "{soc}");
        assert_eq!(space.scopes(soc), [2], "{soc}");
        assert_eq!(matrix.scopes(soc), [1, 1], "{soc}");
        assert_eq!(mixed.scopes(soc), [1, 1], "{soc}");
    }
    // The 950 fuses nothing.
    for chain in [image().relu(), space, matrix, mixed] {
        assert_eq!(chain.scopes(ALL[3]), [1, 1]);
    }
}

#[test]
fn a_view_that_turns_fractals_over_ends_the_scope_of_a_product() {
    let product = || Chain::new(&[4, 32, 64]).product(64, 128);
    let rows = product().reshape(&[128, 128]).relu();
    let stacks = product().reshape(&[2, 2, 32, 128]).relu();
    let heads = product().reshape(&[4, 32, 8, 16]).relu();
    for (chain, fractals) in [(product().relu(), 2), (stacks, 2), (rows, 1), (heads, 1)] {
        for soc in &ALL[..2] {
            assert_eq!(chain.scopes(soc)[0], fractals, "{soc}");
        }
        // The 910B's batched products fuse with nothing, nor does anything on the 950.
        for soc in &ALL[2..] {
            assert_eq!(chain.scopes(soc), [1, 1], "{soc}");
        }
    }
}

#[test]
fn an_operand_that_blocks_cannot_stretch_ends_the_scope() {
    let conv = || Chain::new(&[2, 32, 8, 8]).conv(32, 64);
    let product = || Chain::new(&[64, 48]).product(48, 96);
    for soc in &ALL[..2] {
        assert_eq!(conv().add(&[64, 1, 1]).scopes(soc), [2], "{soc}");
        assert_eq!(conv().add(&[1]).scopes(soc), [2], "{soc}");
        assert_eq!(conv().add(&[8, 8]).scopes(soc), [1, 1], "{soc}");
        assert_eq!(product().add(&[96]).scopes(soc), [2], "{soc}");
        assert_eq!(product().add(&[64, 1]).scopes(soc), [1, 1], "{soc}");
    }
}

#[test]
fn a_type_of_other_blocks_ends_the_scope() {
    let cast = |chain: Chain, to: DataType| chain.then("Cast", &[], &[("dst_type", Attr::Type(to))]);
    let conv = || Chain::new(&[2, 32, 8, 8]).conv(32, 64);
    for soc in &ALL[..2] {
        // A block is 16 values of two bytes or more, but 32 of one byte.
        let four_bytes = cast(cast(conv().relu(), DataType::Int32), DataType::Float16);
        assert_eq!(four_bytes.scopes(soc), [4], "{soc}");
        assert_eq!(cast(conv().relu(), DataType::Int8).scopes(soc), [2, 1], "{soc}");
        let back = cast(cast(conv().relu(), DataType::Int8), DataType::Float16);
        assert_eq!(back.scopes(soc), [2, 2], "{soc}");
    }
}

#[test]
fn elementwise_work_takes_over_the_blocks_around_it() {
    // Relu, view, Relu, Conv2D: the view is free for both, but what is before the convolution lies in its blocks.
    let chain = |dims: &[i64]| Chain::new(&[2, 32, 8, 8]).relu().reshape(dims).relu().conv(32, 16);
    assert_eq!(chain(&[2, 32, 8, 8]).scopes("Ascend310P3"), [2, 1]);
    assert_eq!(chain(&[2, 32, 16, 4]).scopes("Ascend310P3"), [2, 1]);
    let turned = Chain::new(&[2, 16, 16, 8]).relu().reshape(&[2, 32, 8, 8]).relu();
    assert_eq!(turned.scopes("Ascend310P3"), [2]);
    assert_eq!(turned.conv(32, 16).scopes("Ascend310P3"), [1, 1, 1]);
}

#[test]
fn what_waits_for_a_product_joins_the_chain_of_its_other_operand() {
    // A gate: x -> Sigmoid, times x, times a product that is made between the two.
    let mut gate = Chain::new(&[1, 128, 64]);
    let x = gate.last;
    gate = gate.then("Sigmoid", &[], &[]).then("Mul", &[x], &[]);
    let gated = gate.last;
    gate.last = x;
    gate = gate.product(64, 64).then("Mul", &[gated], &[]);
    let mut scopes = gate.scopes("Ascend910B2");
    scopes.sort_unstable();
    assert_eq!(scopes, [1, 3]);
}

/// What the bank is asked of the last kernels of a chain.
fn feature_of_last(chain: &Chain, kernels: u32) -> Feature {
    let soc = Soc::find("Ascend310P3").unwrap();
    let mut graph = chain.graph.clone();
    graph.add_output(chain.last);
    infer::infer(&mut graph).unwrap();
    let mut lowered = lower(&graph, &soc, &Settings::default()).unwrap();
    as_stored(&graph, &mut lowered, &soc, &Settings::default());
    let network = Network::new(&graph, &lowered, &soc, &Settings::default()).unwrap();
    let end = network.stages().len() as u32;
    record::feature(&network, &Subgraph { kernels: end - kernels..end, steps: Vec::new(), borders: Vec::new() })
}

#[test]
fn subgraphs_that_differ_in_formats_or_in_the_batch_alone_are_two_to_the_bank() {
    let behind = |chain: Chain| chain.relu().reshape(&[2, 12_544]).relu();
    let plain = feature_of_last(&behind(Chain::new(&[2, 64, 14, 14])), 2);
    let again = feature_of_last(&behind(Chain::new(&[2, 64, 14, 14]).relu()), 2);
    let blocks = feature_of_last(&behind(Chain::new(&[2, 64, 14, 14]).conv(64, 64)), 2);
    assert_eq!(plain.bare(), blocks.bare());
    assert_eq!(plain.graph_id().unwrap(), again.graph_id().unwrap());
    assert_ne!(plain.graph_id().unwrap(), blocks.graph_id().unwrap(), "a conversion stands between the two");
    let rows = |batch: i64| feature_of_last(&Chain::new(&[batch, 64 / batch, 32]).relu().reshape(&[64, 32]).relu(), 1);
    assert_eq!(rows(4).bare(), rows(8).bare());
    assert_ne!(rows(4).graph_id().unwrap(), rows(8).graph_id().unwrap(), "other cuts are possible");
}
