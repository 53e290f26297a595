//! What the search for strategies promises, on random networks.

mod job;
mod layout;
mod record;
mod workload;

use super::groups::Solver;
use super::network::Network;
use super::price::{Pricer, Run};
use super::steps::{Subgraph, partition};
use super::{default, scope, solve};
use crate::graph::{Attr, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Lowered, Settings, lower};
use crate::soc::Soc;
use proptest::prelude::*;
use std::ops::Range;

/// Nodes of the networks whose strategies are all listed: listing takes time that doubles with each.
fn listed_nodes() -> usize {
    std::env::var("LIBAOE_TEST_NODES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// One node to be: what it does, and which earlier results it reads.
#[derive(Debug, Clone)]
struct Plan {
    op: usize,
    reads: [usize; 2],
}

/// A network of nodes on tensors of `batch` rows.
#[derive(Debug, Clone)]
struct Sketch {
    batch: i64,
    columns: i64,
    plans: Vec<Plan>,
    outputs: Vec<usize>,
}

/// Networks of up to so many nodes.
fn sketches(nodes: usize) -> impl Strategy<Value = Sketch> {
    let plan = (0..6usize, any::<[prop::sample::Index; 2]>());
    let plans = prop::collection::vec(plan, 2..=nodes);
    let sizes = (prop::sample::select(vec![1i64, 4, 6]), prop::sample::select(vec![64i64, 4096, 1 << 20]));
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
                    let weight = graph.add_input(format!("w{at}"), weight).unwrap();
                    let mut node = Node::new(&name, "MatMulV2").with_inputs([a, weight]);
                    node.attrs.set("transpose_x1", Attr::Bool(false));
                    node
                }
                _ => Node::new(&name, "SoftmaxV2").with_inputs([a]),
            };
            results.push(Port::first(graph.add(node).unwrap()));
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
    let lowered = lower(&graph, soc, &settings).unwrap();
    let network = Network::new(&graph, &lowered, soc, &settings).unwrap();
    use_it(&graph, &lowered, &network)
}

/// The cheapest scopes of a step by looking at every way to part it.
fn every_parting(pricer: &mut Pricer<'_>, step: &Range<u32>, run: Run) -> f64 {
    let network = pricer.network();
    let arch = pricer.soc().arch;
    let mut legal: Vec<(u32, Vec<u32>, f64)> = Vec::new();
    for set in 1u32..1 << step.len() {
        let members: Vec<u32> = step.clone().filter(|at| set & 1 << (at - step.start) != 0).collect();
        if members.len() == 1 || scope::pass(network, arch, &members).is_some() {
            legal.extend(pricer.scope_us(&members, run).map(|us| (set, members, us)));
        }
    }
    let mut best = f64::INFINITY;
    let mut chosen = Vec::new();
    parting(network, step, &legal, (1u32 << step.len()) - 1, 0.0, &mut chosen, &mut best);
    best
}

/// Adds to `chosen` scopes that cover what is `left`, in every way.
fn parting(
    network: &Network<'_>,
    step: &Range<u32>,
    legal: &[(u32, Vec<u32>, f64)],
    left: u32,
    us: f64,
    chosen: &mut Vec<Vec<u32>>,
    best: &mut f64,
) {
    if left == 0 {
        if us < *best && default::ordered(network, step, chosen.clone()).is_some() {
            *best = us;
        }
        return;
    }
    let lowest = left & left.wrapping_neg();
    for (set, members, price) in legal.iter().filter(|(set, ..)| set & lowest != 0 && set & !left == 0) {
        chosen.push(members.clone());
        parting(network, step, legal, left & !set, us + price, chosen, best);
        chosen.pop();
    }
}

/// The cheapest way to run the steps from `begin` on, by looking at every way to group them.
fn every_grouping(pricer: &mut Pricer<'_>, subgraph: &Subgraph, begin: usize) -> f64 {
    let steps = &subgraph.steps;
    if begin == steps.len() {
        return 0.0;
    }
    let alone = every_parting(pricer, &steps[begin], Run::WHOLE) + every_grouping(pricer, subgraph, begin + 1);
    let cuts = pricer.network().cuts();
    let mut best = alone;
    for end in begin + 1..=steps.len() {
        for &parts in cuts {
            let kernels = steps[begin].start..steps[end - 1].end;
            // Inputs of these networks are no constants: there are no weights to keep.
            let run = Run { parts, from: kernels.start, to: kernels.end, keeps_weights: true };
            let group: f64 = steps[begin..end].iter().map(|step| every_parting(pricer, step, run)).sum();
            if group.is_finite() {
                best = best.min(group + every_grouping(pricer, subgraph, end));
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_strategy_found_is_the_best_of_all_that_can_be_listed(sketch in sketches(listed_nodes())) {
        let soc = Soc::find("Ascend310P3").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            let mut pricer = Pricer::new(network, &soc);
            let subgraphs = partition(network, soc.arch);
            let listed: f64 = subgraphs.iter().map(|s| every_grouping(&mut pricer, s, 0)).sum();
            let mut solver = Solver::new(pricer);
            let found = subgraphs.iter().flat_map(|s| solver.groups(s, true).unwrap()).map(|g| g.us).sum::<f64>();
            prop_assert!((found - listed).abs() <= 1e-9 * listed, "found {found}, listed {listed}");
            Ok(())
        })?;
    }

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
            cases.iter().flat_map(|case| case.after.groups.iter().map(|g| g.parts)).max().unwrap()
        })
    };
    assert_eq!(parts(256), 1);
    assert!(parts(1 << 20) > 1);
}
