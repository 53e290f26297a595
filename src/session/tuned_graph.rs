//! The tuned graph: the network as it was given, with what tuning found as attributes.
//!
//! What is tuned is the network after graph fusion; its nodes have the names of those that were given, so that what was
//! found goes back to them. The network itself stays what it was, its weights with it.

use crate::frontend::air::tuned::{
    self, CUT, FUSED_INTO, FUSION_SCOPE, INPUT_FORMATS, L2_FUSION, OUTPUT_FORMATS, SOC_VERSION, TILING, UB_PASS,
};
use crate::graph::{Attr, Format, Graph, Node, NodeId};
use crate::lower::{self, FUSED_NODES, Lowered, device_formats};
use crate::soc::Soc;
use crate::tune::gdat::{BY_ID, FUSION, FUSION_ID, Found};
use crate::tune::sgat::Mark;
use crate::tune::{OpatOutcome, Variant};
use rustc_hash::FxHashMap;

/// A graph that was given, on its way to the tuned one.
pub struct TunedGraph(Graph);

/// The tuned graphs: what was found for each of the variants stands at the nodes that were given.
pub fn tuned_graphs(stated: Vec<TunedGraph>, variants: &[Variant]) -> Vec<Graph> {
    stated.into_iter().zip(variants).map(|(graph, variant)| graph.with(&variant.graph)).collect()
}

impl TunedGraph {
    /// The graph that is tuned for this SoC. What an earlier tuning found is left behind.
    pub fn new(mut stated: Graph, soc: &Soc) -> TunedGraph {
        tuned::clear(&mut stated);
        stated.attrs.set(SOC_VERSION, Attr::Str(soc.name.clone()));
        TunedGraph(stated)
    }

    /// The tuned graph of which nothing is known but its SoC.
    pub fn bare(self) -> Graph {
        self.0
    }

    /// The tuned graph: what was found for its fused form stands at the nodes that were given.
    fn with(self, fused: &Graph) -> Graph {
        let TunedGraph(mut graph) = self;
        for (_, node) in fused.iter() {
            let Some(id) = graph.find(&node.name) else { continue };
            for name in [TILING, FUSION_SCOPE, CUT, L2_FUSION, UB_PASS] {
                if let Some(found) = node.attrs.get(name) {
                    graph.node_mut(id).attrs.set(name, found.clone());
                }
            }
            keep_formats(&mut graph, id, node);
            let Some(Attr::Strs(fused)) = node.attrs.get(FUSED_NODES) else { continue };
            for id in fused.iter().filter_map(|name| graph.find(name)).collect::<Vec<_>>() {
                graph.node_mut(id).attrs.set(FUSED_INTO, Attr::Str(node.name.clone()));
            }
        }
        drop_scopes_of_one(&mut graph);
        graph
    }
}

/// Takes away scopes of which the graph that was given has one node only: the others are conversions, which stand where GE
/// puts them, and a scope of one is none.
fn drop_scopes_of_one(graph: &mut Graph) {
    let mut members: FxHashMap<i64, Vec<NodeId>> = FxHashMap::default();
    for (id, node) in graph.iter() {
        if let Some(scope) = node.attrs.int(FUSION_SCOPE) {
            members.entry(scope).or_default().push(id);
        }
    }
    for id in members.into_values().filter(|nodes| nodes.len() == 1).flatten() {
        let attrs = &mut graph.node_mut(id).attrs;
        attrs.remove(FUSION_SCOPE);
        attrs.remove(UB_PASS);
    }
}

/// Says of each node that runs a kernel in which formats its tensors lie on the device.
pub fn set_formats(graph: &mut Graph, lowered: &Lowered, soc: &Soc, settings: lower::Settings) {
    for (kernel, [inputs, outputs]) in lowered.kernels.iter().zip(device_formats(graph, lowered, soc, &settings)) {
        let attrs = &mut graph.node_mut(kernel.node).attrs;
        for (name, formats) in [(INPUT_FORMATS, inputs), (OUTPUT_FORMATS, outputs)] {
            let names = formats.into_iter().map(|format| format.map_or("", Format::name).to_owned());
            attrs.set(name, Attr::Strs(names.collect()));
        }
    }
}

/// Says at a node that was given what is known of it after graph fusion, which may have given it another input.
fn keep_formats(graph: &mut Graph, id: NodeId, fused: &Node) {
    let node = graph.node(id);
    let inputs: Vec<_> = node.inputs.iter().map(|port| port.map(|port| graph.desc(port).format)).collect();
    let outputs: Vec<_> = node.outputs.iter().map(|desc| Some(desc.format)).collect();
    for (name, stated) in [(INPUT_FORMATS, inputs), (OUTPUT_FORMATS, outputs)] {
        let Some(Attr::Strs(found)) = fused.attrs.get(name) else { continue };
        let known = |index: usize| found.get(index).filter(|format| !format.is_empty()).cloned();
        let formats = stated.into_iter().enumerate().map(|(index, stated)| {
            stated.map_or_else(String::new, |stated| known(index).unwrap_or_else(|| stated.name().to_owned()))
        });
        let formats = Attr::Strs(formats.collect());
        graph.node_mut(id).attrs.set(name, formats);
    }
}

/// Says of each tuned node which tiling it has.
pub fn set_tilings(variants: &mut [Variant], outcome: &OpatOutcome) {
    for case in outcome.cases.iter().filter(|case| case.status.is_tuned()) {
        let Ok(tiling) = serde_json::to_string(&case.after) else { continue };
        for node in &case.nodes {
            let Some(variant) = variants.get_mut(node.variant) else { continue };
            variant.graph.node_mut(node.id).attrs.set(TILING, Attr::Str(tiling.clone()));
        }
    }
}

/// Says of each exchange of a gradient which others it is fused with, so that GE does that whatever its bank says. Numbers
/// that the graph uses already stay as they are.
pub fn set_segments(graph: &mut Graph, found: &Found) {
    let used = graph.iter().filter_map(|(_, node)| node.attrs.int(FUSION_ID)).max().unwrap_or(0).max(0);
    for (id, segment) in (used.saturating_add(1)..).zip(&found.after.plan.segments) {
        let members = found.sets.get(segment.set).and_then(|set| set.members.get(segment.gradients.clone()));
        let gradients = members.unwrap_or_default().iter().filter_map(|&at| found.training.gradients.get(at));
        for gradient in gradients {
            let Some(node) = graph.find(&gradient.all_reduce) else { continue };
            let attrs = &mut graph.node_mut(node).attrs;
            attrs.set(FUSION, Attr::Int(BY_ID));
            attrs.set(FUSION_ID, Attr::Int(id));
        }
    }
}

/// Says of each node of a graph how the strategies found run it.
pub fn set_strategies(graph: &mut Graph, lowered: &Lowered, marks: &[Mark]) {
    for mark in marks {
        let Some(kernel) = lowered.kernels.get(mark.at as usize) else { continue };
        let attrs = &mut graph.node_mut(kernel.node).attrs;
        if mark.scope > 0 {
            attrs.set(FUSION_SCOPE, Attr::Int(mark.scope));
        }
        if mark.cut > 1 {
            attrs.set(CUT, Attr::Int(mark.cut));
        }
        if mark.fused_through_l2 {
            attrs.set(L2_FUSION, Attr::Bool(true));
        }
        if let Some(pass) = mark.pass {
            attrs.set(UB_PASS, Attr::Str(pass.name().to_owned()));
        }
    }
}
