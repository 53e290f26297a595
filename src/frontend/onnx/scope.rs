//! Names and parameters within a graph that is laid out in the place of a node.

use super::proto::{self, Parameters, decode};
use crate::status::Result;
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;

/// How the names of one graph are called outside.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The graph around a branch, whose tensors and parameters the branch may name; a function sees nothing around it.
    pub(super) around: Option<&'a Scope<'a>>,
    /// Names of tensors that stand for others.
    pub(super) names: FxHashMap<String, String>,
    /// The node that the graph stands for, whose name the others begin with; `None` for the model's graph.
    pub(super) inside: Option<String>,
    /// The values of the parameters that attributes within may refer to.
    pub(super) given: Parameters,
    pub(super) opset: i64,
}

impl Scope<'_> {
    /// What a tensor is called outside.
    pub(super) fn name(&self, tensor: &str) -> String {
        self.outward().find_map(|scope| scope.names.get(tensor)).map_or_else(|| tensor.to_owned(), String::clone)
    }

    /// The value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&proto::Attribute> {
        self.outward().find_map(|scope| scope.given.get(name))
    }

    /// This graph and those around it.
    pub(super) fn outward(&self) -> impl Iterator<Item = &Scope<'_>> {
        std::iter::successors(Some(self), |scope| scope.around)
    }

    /// What a name of the graph's own becomes.
    pub(super) fn own(&self, name: &str) -> String {
        self.inside.as_ref().map_or_else(|| name.to_owned(), |inside| format!("{inside}/{name}"))
    }

    /// Where an error is; empty in the model's graph.
    pub(super) fn place(&self) -> String {
        self.inside.as_ref().map_or_else(String::new, |inside| format!("graph of `{inside}`, "))
    }
}

/// The attributes of a function's call, with the function's defaults.
pub(super) fn parameters(call: &proto::Node, function: &proto::Function, place: &str) -> Result<Parameters> {
    let mut given = Parameters::default();
    for bytes in function.attribute_proto.iter().chain(&call.attribute) {
        let attr: proto::Attribute = decode(bytes.clone(), || format!("{place}an attribute"))?;
        given.insert(attr.name.clone(), attr);
    }
    Ok(given)
}

/// A node's attributes with the values of the parameters to which they refer; one whose parameter has none goes.
pub(super) fn substituted(attrs: &[Bytes], scope: &Scope<'_>) -> Result<Vec<Bytes>> {
    let mut found = Vec::with_capacity(attrs.len());
    for bytes in attrs {
        let attr: proto::Attribute = decode(bytes.clone(), || format!("{}an attribute", scope.place()))?;
        if attr.ref_attr_name.is_empty() {
            found.push(bytes.clone());
        } else if let Some(value) = scope.parameter(&attr.ref_attr_name) {
            let value = proto::Attribute { name: attr.name, ..value.clone() };
            found.push(value.encode_to_vec().into());
        }
    }
    Ok(found)
}
