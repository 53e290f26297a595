//! Subgraphs and strategies in the terms of the subgraph bank, and back.
//!
//! A record is for one subgraph: its feature has one part, whose nodes are the kernels in their order. CANN's
//! fields do not tell how nodes hang together, so each node has more of ours: `from`, `reads`, `batch`, `out` and `work`.
//! Of a strategy CANN's four lists say all: kernels with one positive `scopeId` are one kernel; `cut` is the
//! number of parts of the batch; `fusionType` is true for each kernel of a cut group but its first, so that
//! neighbouring groups with equal cuts stay apart.

use super::network::Network;
use super::price::Pricer;
use super::rules::Pass;
use super::scope;
use super::steps::Subgraph;
use super::strategy::priced;
use super::{Group, Strategy};
use crate::bank::subgraph::{self as bank, Feature, Node, Part};
use crate::graph::Port;
use crate::lower::{Read, Source};
use crate::soc::Arch;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a subgraph is to the bank. `in` has the shapes of the graph at hand: those of a network as its
/// framework states them, the device's where GE wrote the graph.
pub fn feature(network: &Network<'_>, subgraph: &Subgraph) -> Feature {
    let mut outside = FxHashMap::default();
    let nodes = subgraph.kernels.clone().map(|at| node(network, &subgraph.kernels, at, &mut outside));
    Feature { parts: vec![Part { nodes: nodes.collect(), other: Map::new() }], other: Map::new() }
}

fn node(network: &Network<'_>, kernels: &Range<u32>, at: u32, outside: &mut FxHashMap<Port, i64>) -> Node {
    let (stage, graph, precision) = (network.stage(at), network.graph(), network.settings().precision);
    let mut inputs = Vec::new();
    let mut element_bytes = Vec::new();
    for port in &graph.node(stage.node).inputs {
        let desc = port.map(|port| graph.desc(port));
        inputs.push(desc.and_then(|d| d.shape.known()).map_or_else(|| vec![-1], <[i64]>::to_vec));
        element_bytes.push(desc.map_or(0, |d| u64::from(precision.stored(d.dtype).bits()).div_ceil(8)));
    }
    let from = stage.reads.iter().map(|read| match read.source {
        Source::Kernel(from) if kernels.contains(&from) => i64::from(from - kernels.start),
        _ => {
            let next = -1 - outside.len() as i64;
            *outside.entry(read.origin).or_insert(next)
        }
    });
    let from: Vec<i64> = from.collect();
    let reads: Vec<String> = stage.reads.iter().map(|read| words(network, read)).collect();
    let is_read_outside = stage.leaves || stage.users.last().is_none_or(|&user| user >= kernels.end);
    let other = Map::from_iter([
        ("from".to_owned(), Value::from(from)),
        ("out".to_owned(), Value::from(is_read_outside)),
        ("reads".to_owned(), Value::from(reads)),
        ("batch".to_owned(), Value::from(network.batch_of(at))),
        ("work".to_owned(), Value::from(stage.workload.to_string())),
    ]);
    Node { op: network.op_type(at).to_owned(), inputs, element_bytes, other }
}

/// What else decides how a kernel that reads a tensor may be fused and cut.
fn words(network: &Network<'_>, read: &Read) -> String {
    let words =
        [("weight", read.source == Source::Constant), ("batch", network.carries(read)), ("converted", read.converted)];
    words.into_iter().filter(|(_, holds)| *holds).map(|(word, _)| word).collect::<Vec<_>>().join(" ")
}

/// What a strategy says of one kernel, in the bank's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Place of the kernel.
    pub at: u32,
    /// Parts of the batch that it runs on.
    pub cut: i64,
    /// Whether it runs on what the kernel before it left in L2.
    pub fused_through_l2: bool,
    /// The scope that it belongs to, counted from 1; negative for a kernel on its own.
    pub scope: i64,
    /// The pass that fuses its scope.
    pub pass: Option<Pass>,
}

/// What a strategy says of each kernel of its subgraph, in the kernels' order.
pub fn marks(network: &Network<'_>, arch: Arch, strategy: &Strategy) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut scopes = 0;
    for group in &strategy.groups {
        let first = group.scopes.iter().flatten().min().copied();
        for members in &group.scopes {
            scopes += 1;
            let pass = if members.len() > 1 { scope::pass(network, arch, members) } else { None };
            marks.extend(members.iter().map(|&at| Mark {
                at,
                cut: group.run.parts as i64,
                fused_through_l2: group.run.parts > 1 && Some(at) != first,
                scope: if members.len() > 1 { scopes } else { -scopes },
                pass,
            }));
        }
    }
    marks.sort_unstable_by_key(|mark| mark.at);
    marks
}

/// A strategy as the bank has it.
pub fn to_bank(network: &Network<'_>, arch: Arch, model: &str, strategy: &Strategy) -> bank::Strategy {
    let marks = marks(network, arch, strategy);
    let mut passes: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for mark in &marks {
        let Some(pass) = mark.pass else { continue };
        let scopes = passes.entry(pass.name().to_owned()).or_default();
        if !scopes.contains(&mark.scope) {
            scopes.push(mark.scope);
        }
    }
    let group = bank::Group {
        cut: marks.iter().map(|mark| mark.cut).collect(),
        fusion_type: marks.iter().map(|mark| mark.fused_through_l2).collect(),
        scope_id: marks.iter().map(|mark| mark.scope).collect(),
        ub_pass: passes,
        other: Map::new(),
    };
    bank::Strategy {
        model_name: Some(model.to_owned()),
        end2_end_time: (strategy.us * 1e3).round() as u64,
        groups: vec![group],
        other: Map::new(),
    }
}

/// A recorded strategy for a subgraph, priced. `None` where it does not fit the subgraph: scopes that may not
/// be one kernel, cuts that the batch does not allow, a kernel that cannot run so.
pub fn from_bank(pricer: &mut Pricer<'_>, subgraph: &Subgraph, recorded: &bank::Strategy) -> Option<Strategy> {
    let [group] = recorded.groups.as_slice() else { return None };
    let count = subgraph.kernels.len();
    if [group.cut.len(), group.fusion_type.len(), group.scope_id.len()] != [count; 3] {
        return None;
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut taken = FxHashSet::default();
    let mut begin = 0;
    while begin < count {
        let is_cut = group.cut[begin] > 1;
        let goes_on = |at: usize| group.cut[at] == group.cut[begin] && group.fusion_type[at] == is_cut;
        let end = (begin + 1..count).find(|&at| !goes_on(at)).unwrap_or(count);
        let parts = u64::try_from(group.cut[begin]).ok().filter(|&parts| parts > 0)?;
        let ids = &group.scope_id[begin..end];
        // A group begins with a kernel that continues none, and no scope is in two.
        if group.fusion_type[begin] || ids.iter().any(|id| taken.contains(id)) {
            return None;
        }
        taken.extend(ids.iter().copied().filter(|&id| id > 0));
        let kernels = subgraph.kernels.start + begin as u32..subgraph.kernels.start + end as u32;
        let run = pricer.run(&kernels, parts)?;
        let scopes = scopes_of(pricer, &kernels, ids)?;
        groups.push(Group { kernels, run, scopes, us: 0.0 });
        begin = end;
    }
    priced(pricer, groups)
}

/// The scopes of a group by the numbers of its kernels; `None` where some may not be one kernel.
fn scopes_of(pricer: &Pricer<'_>, kernels: &Range<u32>, ids: &[i64]) -> Option<Vec<Vec<u32>>> {
    let network = pricer.network();
    let mut scopes: Vec<Vec<u32>> = Vec::new();
    let mut homes: FxHashMap<i64, usize> = FxHashMap::default();
    for (at, &id) in kernels.clone().zip(ids) {
        let home = *homes.entry(id).or_insert(scopes.len());
        match scopes.get_mut(home).filter(|_| id > 0) {
            Some(scope) => scope.push(at),
            None => scopes.push(vec![at]),
        }
    }
    let legal = |members: &Vec<u32>| members.len() == 1 || scope::pass(network, pricer.soc().arch, members).is_some();
    scopes.iter().all(legal).then_some(scopes)
}
