//! Model files to a [`Graph`], by framework.

pub mod onnx;

use crate::graph::Graph;
use crate::status::{Error, Result};
use std::path::Path;

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
pub fn load_file(path: &Path, framework: Option<Framework>, inputs: &InputOptions) -> Result<Graph> {
    let _ = (framework, inputs);
    Err(Error::file("read", path, "not built yet"))
}

/// As [`load_file`], from memory; `name` becomes the graph's name where the file gives none.
pub fn load_memory(data: &[u8], name: &str, framework: Option<Framework>, inputs: &InputOptions) -> Result<Graph> {
    let _ = (data, framework, inputs);
    Err(Error::graph(name, "not built yet"))
}
