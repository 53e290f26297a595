//! Where the forward pass begins and the backward pass ends: at the nodes that `fp_point` and `bp_point` name, else at
//! what the operator types tell.

use super::build::fused;
use super::options::Options;
use super::timed::Form;
use crate::lower::Kernel;
use crate::spelling;
use crate::status::{Error, Result};

/// What decides whether a kernel is one of the points.
pub struct Candidate<'a> {
    /// Ascend operator type of its first node.
    pub op_type: &'a str,
    /// All nodes that it runs.
    pub nodes: Vec<&'a str>,
}

/// The place among these, which are in the order in which they run, where the forward pass begins, and the one where
/// the backward pass ends. Nobody tells the former by itself; the latter is the last gradient.
pub fn find<'a>(options: &Options, candidates: impl Iterator<Item = Candidate<'a>>) -> [Option<usize>; 2] {
    let [fp, bp] = [options.fp_point.as_deref(), options.bp_point.as_deref()];
    let [mut first, mut last] = [None; 2];
    for (at, Candidate { op_type, nodes }) in candidates.enumerate() {
        if first.is_none() && fp.is_some_and(|node| nodes.contains(&node)) {
            first = Some(at);
        }
        if bp.map_or_else(|| is_gradient(op_type), |node| nodes.contains(&node)) {
            last = Some(at);
        }
    }
    [first, last]
}

/// Whether a kernel belongs to a backward pass, as the names of Ascend's operator types tell.
fn is_gradient(op_type: &str) -> bool {
    op_type.contains("Grad") || op_type.contains("Backprop")
}

/// Checks the nodes that a profile is to be cut at, before a tuning begins: each runs a kernel, and the backward pass
/// does not end before the forward pass begins.
///
/// Fails with [`Error::Option`] that names the key and the node.
pub fn check(options: &Options, forms: &[Form<'_>]) -> Result<()> {
    for (key, node) in [("fp_point", &options.fp_point), ("bp_point", &options.bp_point)] {
        let Some(node) = node else { continue };
        let Some(form) = forms.iter().find(|form| !runs(form, node)) else { continue };
        let reason = if form.graph.find(node).is_some() {
            format!("`{key}`: node `{node}` runs no kernel")
        } else {
            let hint = spelling::meant(node, form.graph.iter().map(|(_, node)| node.name.as_str()));
            format!("`{key}`: the network has no node `{node}`{hint}")
        };
        return Err(Error::option("profiling_options", reason));
    }
    forms.iter().try_for_each(|form| in_order(options, form))
}

fn runs(form: &Form<'_>, node: &str) -> bool {
    form.lowered.kernels.iter().any(|kernel| {
        form.graph.node(kernel.node).name == node || fused(form.graph, kernel).iter().any(|name| name == node)
    })
}

fn in_order(options: &Options, form: &Form<'_>) -> Result<()> {
    let name = |kernel: &Kernel| form.graph.node(kernel.node).name.as_str();
    let fused: Vec<Vec<String>> = form.lowered.kernels.iter().map(|kernel| fused(form.graph, kernel)).collect();
    let kernels = form.lowered.kernels.iter().zip(&fused);
    let candidates = kernels.map(|(kernel, fused)| Candidate {
        op_type: &form.graph.node(kernel.node).op_type,
        nodes: std::iter::once(name(kernel)).chain(fused.iter().map(String::as_str)).collect(),
    });
    let [Some(fp), Some(bp)] = find(options, candidates) else { return Ok(()) };
    if fp <= bp {
        return Ok(());
    }
    let first = options.fp_point.as_deref().unwrap_or_else(|| name(&form.lowered.kernels[fp]));
    let reason = match options.bp_point.as_deref() {
        Some(last) => format!(
            "the backward pass would end at `bp_point` `{last}`, before the forward pass begins at `fp_point` `{first}`"
        ),
        None => format!(
            "`fp_point`: node `{first}` runs after the last gradient, `{}`, with which the backward pass ends; name an \
             earlier node, or the last one of the backward pass as `bp_point`",
            name(&form.lowered.kernels[bp])
        ),
    };
    Err(Error::option("profiling_options", reason))
}
