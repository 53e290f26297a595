//! Caffe nets: a prototxt to a [`Graph`] of Ascend operator types.
//!
//! [`text`] parses protobuf's text format, [`message`] asks what was parsed for fields, [`net`] knows inputs, layers
//! and phases, [`op`] is one layer as a mapping rule sees it, [`map`] holds the rules. A prototxt gives no shape to a
//! weight: what follows from the layer's parameters is written down while reading, the rest (input channels, the
//! inner size of a product) by [`settle()`] once the shapes of the layers' inputs are known.

mod map;
mod message;
mod net;
mod op;
mod settle;
#[cfg(test)]
mod tests;
mod text;

pub use settle::settle;

use crate::graph::Graph;
use crate::status::{Error, Result};
use op::Builder;

/// Reads the text of a net, in the new form (`layer`) or the old one (`layers`). `name` becomes the graph's name
/// where the file gives none.
///
/// Inputs are not bound and shapes not inferred. Fails with [`Error::Graph`] that names the line of what is not
/// protobuf text, or the layer whose parameters or inputs make no sense.
pub fn read(data: &[u8], name: &str) -> Result<Graph> {
    let place = format!("net `{name}`");
    let Ok(text) = std::str::from_utf8(data) else {
        let reason = "is not text: give the .prototxt as the model, a .caffemodel holds no net that can be read alone";
        return Err(Error::graph(place, reason));
    };
    let net = text::parse(text, &place)?;
    let title = net.text("name").map_err(|reason| Error::graph(&*place, reason))?.filter(|title| !title.is_empty());
    let (inputs, layers) = (net::inputs(&net, &place)?, net::layers(&net, &place)?);
    if layers.is_empty() {
        return Err(Error::graph(place, "has no layer that runs at inference"));
    }
    let mut builder = Builder::new(title.unwrap_or(name));
    for input in inputs {
        builder.input(&input.name, &input.name, input.shape)?;
    }
    for layer in &layers {
        map::apply(&mut op::Op::open(&mut builder, layer)?)?;
    }
    let graph = builder.finish();
    graph.validate()?;
    Ok(graph)
}
