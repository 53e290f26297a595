//! Model files to a [`Graph`], by framework.
//!
//! [`load_file`] and [`load_memory`] tell the framework, read the model, bind the inputs to what the
//! caller says of them ([`bind_inputs`]) and infer the shapes. [`onnx`] is the one reader so far.

mod bind;
mod file;
pub mod onnx;
#[cfg(test)]
mod tests;

pub use crate::graph::infer::DIM_NAMES;
pub use bind::{BATCH_OPTION, SHAPE_OPTION, bind_inputs};

use crate::graph::{Attr, Graph, NodeId, infer};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::Path;

/// Attribute of a node whose single entry in `axes` stands for that axis and all behind it, until
/// the rank is known.
const AXES_TO_END: &str = "_axes_to_end";

/// Framework of a model file, with CANN's numbers (`--framework`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    /// Caffe prototxt.
    Caffe = 0,
    /// GE's serialised IR (`.air`).
    Air = 1,
    /// TensorFlow frozen `GraphDef`.
    TensorFlow = 3,
    /// ONNX.
    Onnx = 5,
}

impl Framework {
    /// The framework's name.
    pub const fn name(self) -> &'static str {
        match self {
            Framework::Caffe => "Caffe",
            Framework::Air => "AIR",
            Framework::TensorFlow => "TensorFlow",
            Framework::Onnx => "ONNX",
        }
    }
}

/// What a caller says about the inputs of a model.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// Shapes by input name (`input_shape`); -1 keeps a dimension open.
    pub shapes: Vec<(String, Vec<i64>)>,
    /// Value for the batch dimension of every input whose first dimension is open
    /// (`dynamic_batch_size`).
    pub batch: Option<i64>,
}

/// Reads a model file; the framework is told by the option or else by the suffix and the content.
/// The result is validated, its inputs are bound and its shapes inferred as far as they can be.
///
/// Fails with [`Error::File`] when the file cannot be read, [`Error::Unsupported`] for a framework
/// without a reader, [`Error::Graph`] when the model is malformed and [`Error::Option`] when
/// `inputs` does not fit it.
pub fn load_file(path: &Path, framework: Option<Framework>, inputs: &InputOptions) -> Result<Graph> {
    let data = file::read(path)?;
    let framework = match framework {
        Some(framework) => framework,
        None => file::framework_of(path, &data)?,
    };
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let base = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    load(data, &name, base, framework, inputs)
}

/// As [`load_file`], from memory; `name` becomes the graph's name where the file gives none. Without
/// a suffix to go by, what is not recognised is taken for ONNX.
pub fn load_memory(data: &[u8], name: &str, framework: Option<Framework>, inputs: &InputOptions) -> Result<Graph> {
    if data.is_empty() {
        return Err(Error::graph(format!("model `{name}`"), "the model is empty"));
    }
    if data.len() > file::MAX_BYTES {
        return Err(Error::graph(format!("model `{name}`"), file::TOO_LARGE));
    }
    let data = Bytes::copy_from_slice(data);
    let framework = match framework {
        Some(framework) => framework,
        None => file::framework_by_content(&data)?.unwrap_or(Framework::Onnx),
    };
    load(data, name, None, framework, inputs)
}

/// `base` is the directory of the model file, where there is one.
fn load(data: Bytes, name: &str, base: Option<&Path>, framework: Framework, inputs: &InputOptions) -> Result<Graph> {
    let mut graph = match framework {
        Framework::Onnx => onnx::read(data, name, base)?,
        other => {
            return Err(Error::Unsupported {
                what: format!("reading {} models (`{name}`)", other.name()),
                reason: "convert the model to ONNX".to_owned(),
            });
        }
    };
    bind_inputs(&mut graph, inputs)?;
    infer::infer(&mut graph)?;
    settle_axes(&mut graph);
    Ok(graph)
}

/// Writes out axes that depend on a rank, where the rank is known by now: the open-ended ones of
/// [`AXES_TO_END`], and the spatial ones of a global maximum, which is a reduction on the device.
fn settle_axes(graph: &mut Graph) {
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let node = graph.node(id);
        let Some(rank) = node.input(0).and_then(|port| graph.desc(port).shape.rank()) else { continue };
        let rank = rank as i64;
        if node.attrs.bool(AXES_TO_END) == Some(true) {
            let Some(&[axis]) = node.attrs.ints("axes") else { continue };
            let first = if axis < 0 { axis + rank } else { axis };
            let node = graph.node_mut(id);
            node.attrs.remove(AXES_TO_END);
            if (0..rank).contains(&first) {
                node.attrs.set("axes", Attr::Ints((first..rank).collect()));
            }
        } else if node.op_type == "GlobalMaxPool" {
            let node = graph.node_mut(id);
            "ReduceMaxD".clone_into(&mut node.op_type);
            node.attrs.set("axes", Attr::Ints((2..rank).collect()));
            node.attrs.set("keep_dims", Attr::Bool(true));
        }
    }
}
