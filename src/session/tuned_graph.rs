//! The tuned graph: the network as it was given, with what tuning found as attributes.
//!
//! What is tuned is the network after graph fusion; its nodes have the names of those that were given, so that what was
//! found goes back to them. The network itself stays what it was, its weights with it.

use crate::graph::{Attr, Graph};
use crate::lower::{FUSED_NODES, Lowered};
use crate::soc::Soc;
use crate::tune::sgat::Mark;
use crate::tune::{OpatOutcome, Variant};

/// Attribute of the tuned graph: the SoC that it was tuned for.
const SOC_VERSION: &str = "_aoe_soc_version";
/// Attribute of a tuned node: its tiling as JSON, in the form of [`crate::workload::Schedule`].
const TILING: &str = "_aoe_tiling";
/// Attribute of a node that is fused: the number of its scope, under the name that GE's fusion passes use.
const FUSION_SCOPE: &str = "fusion_scope";
/// Attribute of a node that runs on parts of the batch: their number.
const CUT: &str = "_aoe_cut";
/// Attribute of a node that runs on what the node before it left in L2.
const L2_FUSION: &str = "_aoe_l2_fusion";
/// Attribute of a node that is fused: the pass that fuses it.
const UB_PASS: &str = "_aoe_ub_pass";
/// Attribute of a node whose work another does: that one's name.
const FUSED_INTO: &str = "_aoe_fused_into";

/// A graph that was given, on its way to the tuned one.
pub struct TunedGraph(Graph);

impl TunedGraph {
    /// The graph that is tuned for this SoC.
    pub fn new(mut stated: Graph, soc: &Soc) -> TunedGraph {
        stated.attrs.set(SOC_VERSION, Attr::Str(soc.name.clone()));
        TunedGraph(stated)
    }

    /// The tuned graph: what was found for the first of the variants stands at the nodes that were given.
    pub fn with(self, variants: &[Variant]) -> Graph {
        let TunedGraph(mut graph) = self;
        for (_, node) in variants.iter().take(1).flat_map(|first| first.graph.iter()) {
            let Some(id) = graph.find(&node.name) else { continue };
            for name in [TILING, FUSION_SCOPE, CUT, L2_FUSION, UB_PASS] {
                if let Some(found) = node.attrs.get(name) {
                    graph.node_mut(id).attrs.set(name, found.clone());
                }
            }
            let Some(Attr::Strs(fused)) = node.attrs.get(FUSED_NODES) else { continue };
            for id in fused.iter().filter_map(|name| graph.find(name)).collect::<Vec<_>>() {
                graph.node_mut(id).attrs.set(FUSED_INTO, Attr::Str(node.name.clone()));
            }
        }
        graph
    }
}

/// Says of each tuned node of the first variant's graph which tiling it has.
pub fn set_tilings(graph: &mut Graph, outcome: &OpatOutcome) {
    for case in outcome.cases.iter().filter(|case| case.status.is_tuned()) {
        let Ok(tiling) = serde_json::to_string(&case.after) else { continue };
        for node in case.nodes.iter().filter(|node| node.variant == 0) {
            graph.node_mut(node.id).attrs.set(TILING, Attr::Str(tiling.clone()));
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
