//! Caffe nets: a prototxt to a [`Graph`] of Ascend operator types.
//!
//! [`prototext`] parses protobuf's text format, [`net`] knows inputs, layers and phases, [`op`] is one layer as a mapping rule sees it, [`map`] holds the rules. A prototxt gives no shape to a
//! weight: what follows from the layer's parameters is written down while reading, the rest (input channels, the
//! inner size of a product) by [`settle()`] once the shapes of the layers' inputs are known. A file of weights
//! ([`weights`]) states all of them, and must agree.

mod map;
mod net;
mod op;
mod settle;
#[cfg(test)]
mod tests;
mod weights;

pub use settle::settle;

use crate::frontend::{prototext, unreadable};
use crate::graph::Graph;
use crate::status::{Error, Result};
use op::Builder;
use prost::bytes::Bytes;
use std::path::Path;
use weights::Weights;

/// Whether the bytes are the text of a net: protobuf text with a layer that has a type.
pub fn is_net(data: &Bytes) -> bool {
    let net = std::str::from_utf8(data).ok().and_then(|text| prototext::parse(text, "").ok());
    net.is_some_and(|net| {
        let layers = ["layer", "layers"].into_iter().filter_map(|form| net.messages(form).ok()).flatten();
        layers.into_iter().any(|layer| layer.has("type"))
    })
}

/// Reads the text of a net, in the new form (`layer`) or the old one (`layers`), and the shapes of its weights, where
/// there is a file of them. `name` becomes the graph's name where the file gives none.
///
/// Inputs are not bound and shapes not inferred. Fails with [`Error::Graph`] that names the line of what is not
/// protobuf text, or the layer whose parameters, inputs or weights make no sense, and with [`Error::File`] where the
/// weights cannot be read.
pub fn read(data: &[u8], name: &str, weights: Option<&Path>) -> Result<Graph> {
    let place = format!("net `{name}`");
    let Ok(text) = std::str::from_utf8(data) else {
        let binary = "is not text: give the .prototxt as the model, a .caffemodel holds no net that can be read alone";
        return Err(Error::graph(place, unreadable::not_utf8(data).unwrap_or_else(|| binary.to_owned())));
    };
    let net = prototext::parse(text, &place)?;
    let title = net.text("name").map_err(|reason| Error::graph(&*place, reason))?.filter(|title| !title.is_empty());
    let (inputs, layers) = (net::inputs(&net, &place)?, net::layers(&net, &place)?);
    if layers.is_empty() {
        return Err(Error::graph(place, "has no layer that runs at inference"));
    }
    let weights = weights.map(Weights::read).transpose()?;
    let mut builder = Builder::new(title.unwrap_or(name), weights);
    for input in inputs {
        builder.input(&input.name, &input.name, input.shape)?;
    }
    for layer in &layers {
        let mut op = op::Op::open(&mut builder, layer)?;
        map::apply(&mut op)?;
        op.close()?;
    }
    let graph = builder.finish();
    graph.validate()?;
    Ok(graph)
}
