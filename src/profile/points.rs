//! The nodes that `fp_point` and `bp_point` name.

use super::build::fused;
use super::options::Options;
use super::timed::Form;
use crate::spelling;
use crate::status::{Error, Result};

/// Checks that the nodes that a profile is to be cut at run kernels, before a tuning begins.
///
/// Fails with [`Error::Option`] that names the key and the node.
pub fn check(options: &Options, forms: &[Form<'_>]) -> Result<()> {
    for (key, node) in [("fp_point", &options.fp_point), ("bp_point", &options.bp_point)] {
        let Some(node) = node else { continue };
        let Some(form) = forms.iter().find(|form| !runs(form, node)) else { continue };
        let reason = if form.graph.find(node).is_some() {
            format!("`{key}`: node `{node}` runs no kernel")
        } else {
            let near = spelling::nearest(node, form.graph.iter().map(|(_, node)| node.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("`{key}`: the network has no node `{node}`{hint}")
        };
        return Err(Error::option("profiling_options", reason));
    }
    Ok(())
}

fn runs(form: &Form<'_>, node: &str) -> bool {
    form.lowered.kernels.iter().any(|kernel| {
        form.graph.node(kernel.node).name == node || fused(form.graph, kernel).iter().any(|name| name == node)
    })
}
