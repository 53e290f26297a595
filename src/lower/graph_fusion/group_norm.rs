//! Group normalisation out of the instance normalisation that exporters write for it.

use super::rewrite::Fusion;
use crate::graph::{Attr, Attrs, NodeId, Port};

impl Fusion<'_> {
    /// x -> `Reshape` to groups -> `InstanceNorm` -> `Reshape` back -> `Mul` -> `Add`, with a factor and a summand for
    /// each channel. CANN names it behind the product, as public configurations of its networks have it.
    pub(super) fn group_norm(&mut self, id: NodeId) -> Option<bool> {
        let (product, beta) = self.either(id, |this, port| this.made(port, &["Mul"]))?;
        let (back, gamma) = self.either(product, |this, port| this.made(port, &["Reshape"]))?;
        let normalised = self.graph.node(back).input(0)?;
        let norm = self.made(normalised, &["InstanceNorm", "InstanceNormV2"])?;
        let grouped = self.graph.node(norm).input(0)?;
        let view = self.made(grouped, &["Reshape"])?;
        let x = self.graph.node(view).input(0)?;
        let (Some(&[batch, channels, ref space @ ..]), Some(&[stack, groups, ..])) = (self.dims(x), self.dims(grouped))
        else {
            return Some(false);
        };
        let same = self.dims(Port::first(back)) == self.dims(x) && self.dims(Port::first(id)) == self.dims(x);
        let is_parameter = |port: Port| {
            let dims = self.dims(port).unwrap_or_default();
            let along = 1 + space.len();
            let ends = dims.len().checked_sub(along).is_some_and(|ones| {
                dims[..ones].iter().all(|&size| size == 1) && dims[ones + 1..].iter().all(|&size| size == 1)
            });
            ends && self.graph.desc(port).shape.elements() == u64::try_from(channels).ok()
                && self.is_constant(Some(port))
        };
        let divides = groups > 0 && channels % groups == 0 && batch == stack;
        if space.is_empty() || !same || !divides || !is_parameter(gamma) || !is_parameter(beta) {
            return Some(false);
        }
        let mut attrs = Attrs::default();
        attrs.set("num_groups", Attr::Int(groups));
        attrs.set("data_format", Attr::Str("NCHW".into()));
        attrs.set("is_training", Attr::Bool(false));
        if let Some(epsilon) = self.graph.node(norm).attrs.get("epsilon").or(self.graph.node(norm).attrs.get("eps")) {
            attrs.set("eps", epsilon.clone());
        }
        let inputs = vec![Some(x), Some(gamma), Some(beta)];
        let name = format!("{}/GroupNorm", self.graph.node(product).name);
        self.become_one(id, "GroupNorm", attrs, inputs, &[view, norm, back, product]);
        self.call(id, &name);
        Some(true)
    }
}
