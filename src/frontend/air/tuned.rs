//! The attributes in which a tuned graph carries what tuning found. Nothing reads them to tune again; a file that has
//! them has to make sense all the same.

use crate::graph::{Attr, Attrs, Format, Graph, Node};
use crate::status::{Error, Result};
use crate::workload::Schedule;
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// Most kernels in one scope: as many as CANN's automatic UB fusion joins. The unified buffer ends most scopes earlier.
pub const MOST_MEMBERS: usize = 29;
/// Most parts that a batch is cut into.
pub const MOST_PARTS: u64 = 64;

/// Attribute of the tuned graph: the SoC that it was tuned for.
pub const SOC_VERSION: &str = "_aoe_soc_version";
/// Attribute of a tuned node: its tiling as JSON, in the form of [`Schedule`].
pub const TILING: &str = "_aoe_tiling";
/// Attribute of a node that is fused: the number of its scope, under the name that GE's fusion passes use.
pub const FUSION_SCOPE: &str = "fusion_scope";
/// Attribute of a node that runs on parts of the batch: their number.
pub const CUT: &str = "_aoe_cut";
/// Attribute of a node that runs on what the node before it left in L2.
pub const L2_FUSION: &str = "_aoe_l2_fusion";
/// Attribute of a node that is fused: the pass that fuses it.
pub const UB_PASS: &str = "_aoe_ub_pass";
/// Attribute of a node whose work another does: that one's name.
pub const FUSED_INTO: &str = "_aoe_fused_into";
/// Attribute of a node: the formats of its inputs on the device, by CANN's names; empty for one that is left out.
pub const INPUT_FORMATS: &str = "_aoe_input_formats";
/// Attribute of a node: the formats of its outputs on the device.
pub const OUTPUT_FORMATS: &str = "_aoe_output_formats";

/// All of a node.
pub const OF_NODES: [&str; 8] =
    [TILING, FUSION_SCOPE, CUT, L2_FUSION, UB_PASS, FUSED_INTO, INPUT_FORMATS, OUTPUT_FORMATS];

/// Checks what a graph that says that it was tuned says of it.
///
/// Fails with [`Error::Graph`] that names the node and the attribute: of another type, out of range, or in
/// contradiction to another one.
pub fn check(graph: &Graph) -> Result<()> {
    let at_graph = |reason: &str| Error::graph(format!("graph `{}`, attribute `{SOC_VERSION}`", graph.name), reason);
    match graph.attrs.get(SOC_VERSION) {
        None => return Ok(()),
        Some(Attr::Str(soc)) if !soc.is_empty() => {}
        Some(_) => return Err(at_graph("is not the name of a SoC")),
    }
    let mut scopes: FxHashMap<i64, (&Node, usize)> = FxHashMap::default();
    for (_, node) in graph.iter().filter(|(_, node)| OF_NODES.iter().any(|name| node.attrs.get(name).is_some())) {
        check_node(graph, node)?;
        let Some(scope) = node.attrs.int(FUSION_SCOPE) else { continue };
        let (first, members) = scopes.entry(scope).or_insert((node, 0));
        *members += 1;
        if let Some(name) = [CUT, UB_PASS].into_iter().find(|name| first.attrs.get(name) != node.attrs.get(name)) {
            return Err(wrong(node, name, format!("differs from that of `{}` in scope {scope}", first.name)));
        }
    }
    // By name, so that the same file gives the same error.
    let broken = scopes.into_iter().filter(|(_, (_, members))| !(2..=MOST_MEMBERS).contains(members));
    match broken.min_by_key(|(scope, _)| *scope) {
        Some((scope, (node, members))) => {
            let reason = format!("scope {scope} has {members} nodes, not 2 to {MOST_MEMBERS}");
            Err(wrong(node, FUSION_SCOPE, reason))
        }
        None => Ok(()),
    }
}

fn wrong(node: &Node, name: &str, reason: impl Into<String>) -> Error {
    Error::graph(format!("node `{}` ({}), attribute `{name}`", node.name, node.op_type), reason)
}

fn check_node(graph: &Graph, node: &Node) -> Result<()> {
    let attrs = &node.attrs;
    let rule = |name: &'static str, holds: &dyn Fn(&Attr) -> bool, reason: &str| match attrs.get(name) {
        Some(value) if !holds(value) => Err(wrong(node, name, reason)),
        _ => Ok(()),
    };
    let is_int = |range: RangeInclusive<i64>| move |value: &Attr| matches!(value, Attr::Int(n) if range.contains(n));
    rule(FUSION_SCOPE, &is_int(1..=graph.len() as i64), "is not the number of a scope: 1 up to the number of nodes")?;
    rule(CUT, &is_int(2..=MOST_PARTS as i64), "is not a number of parts: 2 to 64")?;
    let in_group = |value: &Attr| matches!(value, Attr::Bool(fused) if !fused || attrs.get(CUT).is_some());
    rule(L2_FUSION, &in_group, "is not a truth value, or is true of a node that is not cut")?;
    let is_pass = |value: &Attr| matches!(value, Attr::Str(_)) && attrs.get(FUSION_SCOPE).is_some();
    rule(UB_PASS, &is_pass, "is not the name of a pass, or of a node that is in no scope")?;
    let is_other =
        |value: &Attr| matches!(value, Attr::Str(other) if graph.find(other).is_some() && *other != node.name);
    rule(FUSED_INTO, &is_other, "is not the name of another node")?;
    check_tiling(node)?;
    let inputs = node.inputs.iter().map(Option::is_some);
    check_formats(node, INPUT_FORMATS, inputs.collect())?;
    check_formats(node, OUTPUT_FORMATS, vec![true; node.outputs.len()])
}

fn check_tiling(node: &Node) -> Result<()> {
    let Some(tiling) = node.attrs.get(TILING) else { return Ok(()) };
    let Attr::Str(text) = tiling else { return Err(wrong(node, TILING, "is not text")) };
    match serde_json::from_str::<Schedule>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(node, TILING, format!("is not a tiling: {error}"))),
    }
}

/// `there` says which tensors there are; what is left out at the end need not be listed.
fn check_formats(node: &Node, name: &'static str, mut there: Vec<bool>) -> Result<()> {
    let Some(formats) = node.attrs.get(name) else { return Ok(()) };
    let Attr::Strs(formats) = formats else { return Err(wrong(node, name, "is not a list of formats")) };
    there.resize(there.len().max(formats.len()), false);
    for (index, is_there) in there.into_iter().enumerate() {
        let format = formats.get(index).map_or("", String::as_str);
        if is_there != Format::from_name(format).is_some() || !is_there && !format.is_empty() {
            let tensor = if is_there { "a tensor" } else { "none" };
            return Err(wrong(node, name, format!("`{format}` at {index}, where there is {tensor}")));
        }
    }
    Ok(())
}

/// Takes all of it out of a graph.
pub fn clear(graph: &mut Graph) {
    let tuned = |attrs: &Attrs| OF_NODES.iter().any(|name| attrs.get(name).is_some());
    let nodes: Vec<_> = graph.iter().filter(|(_, node)| tuned(&node.attrs)).map(|(id, _)| id).collect();
    for id in nodes {
        let attrs = &mut graph.node_mut(id).attrs;
        for name in OF_NODES {
            attrs.remove(name);
        }
    }
    graph.attrs.remove(SOC_VERSION);
}
