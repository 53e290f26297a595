//! What the search for strategies promises, on random networks.

mod blocks;
mod casts;
mod job;
mod layout;
mod optimum;
mod record;
mod residency;
mod settled;
mod workload;

use super::groups::Solver;
use super::network::Network;
use super::price::Pricer;
use super::scope::MOST_MEMBERS;
use super::solve;
use super::steps::partition;
use crate::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Lowered, Settings, as_stored, lower};
use crate::soc::Soc;
use proptest::prelude::*;

/// Operators of a [`Plan`]: adds a second input, ...
const OTHER: usize = 6;
/// ... multiplies each column by a number, ...
const BIAS: usize = 7;
/// ... and sums up columns.
const SUM: usize = 8;

/// One node to be: what it does, and which earlier results it reads.
#[derive(Debug, Clone)]
struct Plan {
    op: usize,
    reads: [usize; 2],
}

/// A network of nodes on tensors of twice `batch` rows, which are the batch that it may be cut along.
#[derive(Debug, Clone)]
struct Sketch {
    batch: i64,
    columns: i64,
    plans: Vec<Plan>,
    outputs: Vec<usize>,
}

/// Networks of up to so many nodes.
fn sketches(nodes: usize) -> impl Strategy<Value = Sketch> {
    sketches_of(6, nodes)
}

/// Networks of the first so many operators, and up to so many nodes.
fn sketches_of(ops: usize, nodes: usize) -> impl Strategy<Value = Sketch> {
    let plan = (0..ops, any::<[prop::sample::Index; 2]>());
    let plans = prop::collection::vec(plan, 2..=nodes);
    // From what stays in L2 to what does not by far; products where their weights are of a size.
    let sizes = [(1i64, 64i64), (2, 4096), (4, 1 << 20), (6, 1 << 21), (12, 1 << 18), (1 << 14, 512), (1 << 15, 256)];
    let sizes = prop::sample::select(sizes.to_vec());
    (sizes, plans, any::<[prop::sample::Index; 2]>()).prop_map(|((batch, columns), plans, outputs)| {
        let plans: Vec<Plan> = plans
            .into_iter()
            .enumerate()
            .map(|(at, (op, reads))| Plan { op, reads: reads.map(|index| index.index(at + 1)) })
            .collect();
        let outputs = outputs.iter().map(|index| index.index(plans.len()) + 1).collect();
        Sketch { batch, columns, plans, outputs }
    })
}

impl Sketch {
    fn graph(&self) -> Graph {
        let mut graph = Graph::new("sketch");
        let desc = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
        // Wide networks would need weights beyond all memory: products keep a narrow inner extent.
        let whole = [self.batch * 2, self.columns];
        let mut results = vec![graph.add_input("x", desc(&whole)).unwrap()];
        let other = self.plans.iter().any(|plan| plan.op == OTHER).then(|| graph.add_input("y", desc(&whole)).unwrap());
        for (at, plan) in self.plans.iter().enumerate() {
            let [a, b] = plan.reads.map(|read| results[read]);
            let name = format!("n{at}");
            let node = match plan.op {
                0 => Node::new(&name, "Relu").with_inputs([a]),
                1 => Node::new(&name, "Sigmoid").with_inputs([a]),
                2 => Node::new(&name, "Add").with_inputs([a, b]),
                3 => Node::new(&name, "Mul").with_inputs([a, b]),
                4 if self.columns <= 4096 => {
                    let weight = TensorDesc::new(DataType::Float16, Shape::new([self.columns, self.columns]));
                    let weight = graph.add_const(format!("w{at}"), weight, Constant::Opaque).unwrap();
                    let mut node = Node::new(&name, "MatMulV2").with_inputs([a, weight]);
                    node.attrs.set("transpose_x1", Attr::Bool(false));
                    node
                }
                OTHER => Node::new(&name, "Add").with_inputs([a, other.unwrap()]),
                BIAS => {
                    let bias = graph.add_const(format!("b{at}"), desc(&[self.columns]), Constant::Opaque).unwrap();
                    Node::new(&name, "Mul").with_inputs([a, bias])
                }
                SUM => {
                    let axes = TensorDesc::new(DataType::Int64, Shape::new([1]));
                    let axes = graph.add_const(format!("a{at}"), axes, Constant::Ints(vec![1])).unwrap();
                    Node::new(&name, "ReduceSum").with_inputs([a, axes])
                }
                _ => Node::new(&name, "SoftmaxV2").with_inputs([a]),
            };
            let result = Port::first(graph.add(node).unwrap());
            // A sum has another size: whoever would read it reads what it sums up.
            results.push(if plan.op == SUM { a } else { result });
        }
        for &output in &self.outputs {
            graph.add_output(results[output]);
        }
        infer::infer(&mut graph).unwrap();
        graph
    }
}

/// Lowers a sketch and hands its network on.
fn with_network<T>(sketch: &Sketch, soc: &Soc, use_it: impl FnOnce(&Graph, &Lowered, &Network<'_>) -> T) -> T {
    let graph = sketch.graph();
    let settings = Settings::default();
    let mut lowered = lower(&graph, soc, &settings).unwrap();
    as_stored(&graph, &mut lowered, soc, &settings);
    let network = Network::new(&graph, &lowered, soc, &settings).unwrap();
    use_it(&graph, &lowered, &network)
}

proptest! {
    #![proptest_config(aoe_testing::cases(32))]

    #[test]
    fn a_strategy_covers_every_kernel_once_in_an_order_that_can_run(sketch in sketches(24), mixed: bool) {
        let soc = Soc::find("Ascend910A").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            let mut covered = Vec::new();
            for case in solve(network, &soc, mixed).unwrap() {
                prop_assert!(case.after.us <= case.before.us, "{} after {}", case.after.us, case.before.us);
                let first = &case.subgraphs[0];
                for strategy in [&case.before, &case.after] {
                    let scopes: Vec<Vec<u32>> = strategy.groups.iter().flat_map(|g| g.scopes.clone()).collect();
                    let mut done = std::collections::BTreeSet::new();
                    for members in &scopes {
                        for &at in members {
                            for read in &network.stage(at).reads {
                                if let crate::lower::Source::Kernel(from) = read.source {
                                    let ready = from < first.kernels.start || done.contains(&from) || members.contains(&from);
                                    prop_assert!(ready, "kernel {at} runs before {from}");
                                }
                            }
                        }
                        for &at in members {
                            prop_assert!(done.insert(at), "kernel {at} runs twice");
                        }
                    }
                    prop_assert_eq!(done.into_iter().collect::<Vec<_>>(), first.kernels.clone().collect::<Vec<_>>());
                }
                covered.extend(case.subgraphs.iter().flat_map(|s| s.kernels.clone()));
            }
            covered.sort_unstable();
            prop_assert_eq!(covered, (0..network.stages().len() as u32).collect::<Vec<_>>());
            Ok(())
        })?;
    }
}

/// Networks of so many blocks, each of which has these operators; the blocks are then preceded by others.
fn repeated(before: usize, block: &[usize], blocks: usize) -> Sketch {
    let ops = std::iter::repeat_n(1, before).chain(std::iter::repeat_n(block, blocks).flatten().copied());
    let plans: Vec<Plan> = ops.enumerate().map(|(at, op)| Plan { op, reads: [at, at.saturating_sub(1)] }).collect();
    Sketch { batch: 4, columns: 64, outputs: vec![plans.len()], plans }
}

#[test]
fn blocks_that_repeat_are_one_case_whatever_their_length_and_what_is_before_them() {
    let block = [4, 1, 3, 5, 4, 0, 2, 5, 5, 4, 1, 5, 0, 0, 4, 2, 1, 5, 4, 3, 5];
    for (before, length) in [(0, 4), (3, 7), (11, 13), (40, 17), (5, 21)] {
        let sketch = repeated(before, &block[..length], 420 / length);
        let soc = Soc::find("Ascend910A").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            let cases = solve(network, &soc, true).unwrap();
            let subgraphs: usize = cases.iter().map(|case| case.subgraphs.len()).sum();
            // What is before the blocks, with the first of them; the blocks; the last of them.
            assert!(subgraphs >= 6 && cases.len() <= 4, "{length}: {subgraphs} subgraphs, {} different", cases.len());
        });
    }
}

#[test]
fn a_long_chain_loses_no_launch_where_it_is_taken_apart() {
    let soc = Soc::find("Ascend910A").unwrap();
    for length in [16usize, 49, 64, 200, 333] {
        // Elementwise work without a border.
        with_network(&repeated(0, &[0], length), &soc, |_, _, network| {
            let cases = solve(network, &soc, false).unwrap();
            let launches = |strategy: &super::Strategy| strategy.groups.iter().map(|g| g.scopes.len()).sum::<usize>();
            let of = |case: &super::Case| [&case.before, &case.after].map(|s| launches(s) * case.subgraphs.len());
            let [before, after] = cases.iter().map(of).fold([0; 2], |sum, new| [sum[0] + new[0], sum[1] + new[1]]);
            assert_eq!([before, after], [length.div_ceil(MOST_MEMBERS); 2], "{length}");
        });
    }
}

#[test]
fn what_a_network_without_repeats_leaves_in_the_memory_is_bounded() {
    // Each operand of its own size: no two scopes are alike.
    let mut graph = Graph::new("distinct");
    for chain in 0..500i64 {
        let desc = TensorDesc::new(DataType::Float16, Shape::new([2, 64 + chain]));
        let mut last = graph.add_input(format!("x{chain}"), desc).unwrap();
        for (at, op) in ["Relu", "Tanh", "Exp", "Sigmoid", "Relu"].iter().enumerate() {
            last = Port::first(graph.add(Node::new(format!("n{chain}_{at}"), *op).with_inputs([last])).unwrap());
        }
        graph.add_output(last);
    }
    infer::infer(&mut graph).unwrap();
    let (soc, settings) = (Soc::find("Ascend910A").unwrap(), Settings::default());
    let mut lowered = lower(&graph, &soc, &settings).unwrap();
    as_stored(&graph, &mut lowered, &soc, &settings);
    let network = Network::new(&graph, &lowered, &soc, &settings).unwrap();
    let mut solver = Solver::new(Pricer::new(&network, &soc));
    let mut most = 0;
    for subgraph in partition(&network, soc.arch) {
        solver.groups(&subgraph, false).unwrap();
        most = most.max(solver.pricer().remembered());
    }
    let last = solver.pricer().remembered();
    assert!(most <= 4096 + 30 && last < most, "{most} at most, {last} at last");
}

#[test]
fn a_subgraph_has_neither_few_nor_very_many_kernels() {
    let sketch = repeated(0, &[4, 1, 3, 5, 2, 5], 100);
    let soc = Soc::find("Ascend910A").unwrap();
    with_network(&sketch, &soc, |_, _, network| {
        let subgraphs = partition(network, soc.arch);
        let (_, all_but_last) = subgraphs.split_last().unwrap();
        for subgraph in all_but_last {
            assert!((32..=96).contains(&subgraph.kernels.len()), "{:?}", subgraph.kernels);
        }
    });
}

#[test]
fn a_batch_beyond_l2_is_cut_and_one_within_it_is_not() {
    let chain = |batch: i64| Sketch {
        batch,
        columns: 64,
        // Narrow products: what passes between two of them passes memory or L2.
        plans: (0..6).map(|at| Plan { op: 4, reads: [at, at] }).collect(),
        outputs: vec![6],
    };
    let soc = Soc::find("Ascend310P3").unwrap();
    let parts = |batch: i64| {
        with_network(&chain(batch), &soc, |_, _, network| {
            let cases = solve(network, &soc, true).unwrap();
            cases.iter().flat_map(|case| case.after.groups.iter().map(|g| g.run.parts)).max().unwrap()
        })
    };
    assert_eq!(parts(256), 1);
    assert!(parts(1 << 20) > 1);
}
