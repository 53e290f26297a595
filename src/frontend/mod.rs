//! Model files to a [`Graph`], by framework, and graphs to files.
//!
//! [`load_file`] and [`load_memory`] tell the framework, read the model, cut it at the outputs asked for
//! ([`cut`]), bind the inputs to what the caller says of them and infer the shapes ([`bind_inputs`]);
//! `registry` is the table of the readers.
//! [`check`] judges whether GE would compile a graph; [`save_file`] writes what [`air`] and [`om`] make of a graph.

pub mod air;
mod bind;
mod caffe;
pub mod check;
mod chooses;
mod content;
mod device_view;
mod ends;
mod file;
mod gear;
mod limits;
mod miscount;
mod names;
pub mod om;
pub mod onnx;
mod out_nodes;
mod prototext;
mod registry;
mod restate;
mod save;
pub mod singleop;
mod stated;
mod tensorflow;
#[cfg(test)]
mod tests;
mod unreadable;
pub(crate) mod warnings;

pub use crate::graph::infer::DIM_NAMES;
pub use air::dump::names as dumps;
pub use bind::{OPEN_DIMS, SHAPE_OPTION, bind_inputs};
pub use content::Content;
pub use ends::note as note_ends;
pub use file::{is_model_file, is_om_file};
pub use gear::Gear;
pub use out_nodes::{OutNode, cut};
pub use registry::Framework;
pub use save::{file_content, save_file};

use crate::graph::{Attr, Format, Graph, Node, NodeId, op};
use crate::spelling;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use stated::Stated;
use std::path::{Path, PathBuf};

/// Option that names the file of a Caffe net's weights.
const WEIGHT_OPTION: &str = "weight";

/// What a caller says about a model.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// Shapes of inputs by name, in the order given (`input_shape`); they count, whatever the model states; -1 opens a
    /// dimension.
    pub shapes: Vec<(String, Vec<i64>)>,
    /// Values for the dimensions that are open (`dynamic_batch_size`, `dynamic_image_size`, `dynamic_dims`).
    pub gear: Option<Gear>,
    /// Values that the open dimensions will get later, one after the other: what hangs on them is found for each.
    pub gears: Vec<Gear>,
    /// Layout of the inputs (`input_format`), where the caller names it.
    pub format: Option<Format>,
    /// Outputs of the network (`out_nodes`); empty for those of the model.
    pub out_nodes: Vec<OutNode>,
    /// File of a Caffe net's weights (`weight`).
    pub weights: Option<PathBuf>,
}

/// Reads a model file; the framework is told by the option or else by the suffix and the content.
/// The result is validated, its inputs are bound and its shapes inferred as far as they can be.
///
/// Fails with [`Error::File`] when the file cannot be read, [`Error::Unsupported`] for a version of a
/// format that is not read, [`Error::Graph`] when the model is malformed and [`Error::Option`] when
/// `options` do not fit it.
pub fn load_file(path: &Path, framework: Option<Framework>, options: &ModelOptions) -> Result<Graph> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let base = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let read = file::read_model(path, &name, framework);
    read.and_then(|(data, framework)| load(data, &name, base, framework, options)).map_err(|error| match error {
        Error::Graph { location, reason } => Error::graph(format!("{}: {location}", path.display()), reason),
        other => other,
    })
}

/// As [`load_file`], from memory; `name` becomes the graph's name where the file gives none. Without
/// a suffix to go by, what is not recognised is taken for ONNX.
pub fn load_memory(data: &[u8], name: &str, framework: Option<Framework>, options: &ModelOptions) -> Result<Graph> {
    if let Some(reason) = unreadable::nothing(data) {
        return Err(Error::graph(format!("model `{name}`"), reason));
    }
    if data.len() > limits::MAX_BYTES {
        return Err(Error::graph(format!("model `{name}`"), limits::TOO_LARGE));
    }
    let data = Bytes::copy_from_slice(data);
    let framework = match framework {
        Some(framework) => framework,
        None => registry::by_content(&data).unwrap_or(Framework::Onnx),
    };
    load(data, name, None, framework, options)
}

/// Warns of inputs that a graph of GE's describes otherwise than the node that makes them does.
fn tell_described(graph: &mut Graph) {
    let mut said = Vec::new();
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        if graph.node(id).attrs.get(air::DESCRIBED_OTHERWISE).is_none() {
            continue;
        }
        let node = graph.node_mut(id);
        if let Some(Attr::Strs(inputs)) = node.attrs.remove(air::DESCRIBED_OTHERWISE) {
            said.extend(
                inputs.into_iter().map(|input| {
                    format!("node `{}` ({}) describes {input}: the latter counts", node.name, node.op_type)
                }),
            );
        }
    }
    warnings::warn(said.into_iter(), "more inputs are described otherwise");
}

/// Says which operators of a graph of GE's lack what their interface requires.
fn tell_lacking(graph: &Graph) {
    let lack = |(_, node): (NodeId, &Node)| {
        let lacks = check::lacking(node);
        let (Node { name, op_type, .. }, what) = (node, lacks.join("; it "));
        (!lacks.is_empty()).then(|| format!("node `{name}` ({op_type}) {what}: GE does not compile it"))
    };
    warnings::warn(graph.iter().filter_map(lack), "more operators lack inputs or attributes");
}

/// What is taken for parameters without a default that convolutions of a graph of GE's lack, in words.
fn assumed(graph: &Graph) -> Vec<String> {
    let lacks = |node: &Node, name: &str| {
        let rule = op::prototype::prototype(&node.op_type).and_then(|known| known.attr(name));
        let is_empty = node.attrs.ints(name).is_none_or(<[i64]>::is_empty);
        rule.is_some_and(|rule| rule.required) && is_empty && node.attrs.get("auto_pad").is_none()
    };
    let said = |(name, taken): (&str, i64)| {
        let nodes = graph.iter().map(|(_, node)| node);
        let nodes = nodes.filter(|node| node.mapped && op::class(&node.op_type) == op::OpClass::Conv);
        let names: Vec<&str> = nodes.filter(|node| lacks(node, name)).map(|node| node.name.as_str()).collect();
        let listed = spelling::listed(&names);
        let lack =
            format!("attribute `{name}`, which has no default, is absent or empty: {taken} is taken at {listed}");
        (!names.is_empty()).then_some(lack)
    };
    [("strides", 1), ("pads", 0)].into_iter().filter_map(said).collect()
}

/// `base` is the directory of the model file, where there is one.
fn load(data: Bytes, name: &str, base: Option<&Path>, framework: Framework, options: &ModelOptions) -> Result<Graph> {
    if options.weights.is_some() && framework != Framework::Caffe {
        let reason = format!("belongs to a Caffe net, and `{name}` is read as {}", framework.name());
        return Err(Error::option(WEIGHT_OPTION, reason));
    }
    let mut graph = framework.read(registry::Source { data, name, base, options })?;
    if framework.is_ges() {
        tell_described(&mut graph);
        for said in assumed(&graph) {
            log::warn!("{said}");
        }
        tell_lacking(&graph);
    }
    cut(&mut graph, &options.out_nodes)?;
    let stated = framework.must_agree().then(|| Stated::of(&graph));
    bind_inputs(&mut graph, options)?;
    if let Some(stated) = stated {
        stated.check(&graph)?;
    }
    framework.settle(&mut graph)?;
    Ok(graph)
}
