//! The distinct tuning problems of a graph.

use super::settings::OpFilter;
use super::{SkippedKernel, TunedNode};
use crate::backend::{Backend, Standing};
use crate::bank::hash;
use crate::graph::{Attr, Graph, NodeId, WHY_UNMAPPED, op};
use crate::lower::{FUSED_NODES, Lowered, Priced, STATED_TYPE};
use crate::workload::Workload;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// One distinct workload and the nodes that run it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The nodes, in graph order; never empty.
    pub nodes: Vec<TunedNode>,
    /// What they do.
    pub workload: Workload,
    /// Whether to search for a better tiling.
    pub tune: bool,
    /// What the caller's filter names that is among its nodes, by place there.
    pub asked: BTreeSet<usize>,
    /// Whether it is known how it works; else no time is told of it.
    pub known: bool,
    /// What its launches find in L2, in the order in which they first occur; one entry for each difference.
    pub standings: Vec<Standing>,
}

impl Case {
    /// Whether what runs before it decides what it finds in L2.
    pub fn is_within(&self) -> bool {
        self.standings.iter().any(|standing| standing.missed.is_some())
    }

    /// Who measured trials of it, by which they are found again: those of other networks say nothing where the backend heeds
    /// what L2 holds.
    pub fn measured_by(&self, backend: &dyn Backend) -> String {
        let name = backend.describe_for(&self.workload).name;
        if !self.is_within() || !backend.heeds_network() {
            return name;
        }
        let standing = |s: &Standing| format!("{:?} {};", s.missed.map(f64::to_bits), s.launches);
        let standings: String = self.standings.iter().map(standing).collect();
        format!("{name} within {:016x}", hash::digest(standings.as_bytes()))
    }

    fn stand(&mut self, missed: Option<f64>, launches: u32) {
        let same = |standing: &&mut Standing| standing.missed.map(f64::to_bits) == missed.map(f64::to_bits);
        match self.standings.iter_mut().find(same) {
            Some(known) => known.launches += u64::from(launches),
            None => self.standings.push(Standing { missed, launches: launches.into() }),
        }
    }
}

/// One form of the graph to tune: with several batch sizes there are several.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Added to node names where there are several variants, for example `@batch=4`; else empty.
    pub label: String,
    /// The graph, its shapes known.
    pub graph: Graph,
    /// Its kernels.
    pub lowered: Lowered,
}

/// Operators of all variants that have no Ascend type.
pub fn unmapped(variants: &[Variant]) -> Vec<SkippedKernel> {
    variants.iter().flat_map(|variant| unmapped_of(&variant.graph, &variant.lowered, &variant.label)).collect()
}

/// Nodes that are named one by one where nothing is tuned; the others are counted.
const NAMED: usize = 3;

/// Why operators of the variants run no kernel that could be tuned, to be said behind why nothing is; empty where all are known.
pub fn because_left_out(variants: &[Variant]) -> String {
    let all = unmapped(variants);
    let named: Vec<String> = all.iter().take(NAMED).map(SkippedKernel::in_words).collect();
    match all.len() {
        0 => String::new(),
        count if count <= NAMED => format!("; {}", named.join("; ")),
        count => format!("; {}; and {} more like these", named.join("; "), count - NAMED),
    }
}

/// What several variants are called; nothing where there is one.
pub fn gears(variants: &[Variant]) -> Vec<String> {
    if variants.len() < 2 {
        return Vec::new();
    }
    variants.iter().map(|variant| variant.label.trim_start_matches('@').to_owned()).collect()
}

/// Operators of one graph that have no Ascend type; the label is added to their names.
pub fn unmapped_of(graph: &Graph, lowered: &Lowered, label: &str) -> Vec<SkippedKernel> {
    let untimed: FxHashSet<NodeId> =
        lowered.kernels.iter().filter(|kernel| !kernel.priced.is_timed()).map(|kernel| kernel.node).collect();
    let named = |&id: &NodeId| {
        let node = graph.node(id);
        SkippedKernel {
            name: format!("{}{label}", node.name),
            origin_type: node.origin_type.clone(),
            priced: if untimed.contains(&id) { Priced::None } else { Priced::Movement },
            reason: node.attrs.str(WHY_UNMAPPED).map(str::to_owned),
        }
    };
    lowered.unmapped.iter().map(named).collect()
}

/// Groups the kernels of all variants by workload, in the order in which the workloads first occur.
pub fn distinct(variants: &[Variant], filter: &OpFilter) -> Vec<Case> {
    let mut index: FxHashMap<&Workload, usize> = FxHashMap::default();
    let mut cases: Vec<Case> = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        for kernel in variant.lowered.launched() {
            let node = variant.graph.node(kernel.node);
            let at = *index.entry(&kernel.workload).or_insert_with(|| {
                let workload = kernel.workload.clone();
                let (nodes, standings, asked) = (Vec::new(), Vec::new(), BTreeSet::new());
                cases.push(Case { nodes, workload, tune: false, known: kernel.priced.is_timed(), asked, standings });
                cases.len() - 1
            });
            cases[at].stand(kernel.missed, kernel.launches);
            // A fused kernel is tuned for any of its nodes.
            for &id in std::iter::once(&kernel.node).chain(&kernel.fused) {
                let node = variant.graph.node(id);
                let stated = node.attrs.str(STATED_TYPE).unwrap_or(&node.op_type);
                let types = [node.op_type.as_str(), stated, node.origin_type.as_str(), kernel.workload.op_type()];
                let by_itself = filter.asks(&node.name, &types);
                // What was fused into a node on the graph goes by its own name, too.
                let parts =
                    if let Some(Attr::Strs(names)) = node.attrs.get(FUSED_NODES) { names.as_slice() } else { &[] };
                let by_part = parts.iter().flat_map(|name| filter.asks(name, &[]));
                let asked: Vec<usize> = by_itself.chain(by_part).filter(|_| node.mapped).collect();
                // What is asked for by name is tuned whatever CANN's own tuning covers.
                cases[at].tune |= !asked.is_empty() || filter.is_open() && node.mapped && op::tunable(&node.op_type);
                cases[at].asked.extend(asked);
            }
            // A profile calls a kernel by the names of all its nodes, one behind the other.
            let name = kernel.name(&variant.graph);
            let by_name: Vec<usize> = filter.asks(&name, &[]).filter(|_| node.mapped).collect();
            cases[at].tune |= !by_name.is_empty();
            cases[at].asked.extend(by_name);
            let name = format!("{name}{}", variant.label);
            let op_type = node.op_type.clone();
            let launches = kernel.launches;
            cases[at].nodes.push(TunedNode { name, variant: number, id: kernel.node, op_type, launches });
        }
    }
    cases
}
