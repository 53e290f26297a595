//! Getting at a model's bytes, and telling whose they are.

use super::{Framework, onnx};
use crate::input_file;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::Path;

/// No protobuf message is larger.
pub const MAX_BYTES: usize = i32::MAX as usize;

/// What is wrong with one that is.
pub const TOO_LARGE: &str = "is larger than 2 GiB, the limit of protobuf; store the weights outside the model file";

/// Reads a whole model file.
pub fn read(path: &Path) -> Result<Bytes> {
    let data = input_file::read(path, MAX_BYTES as u64, TOO_LARGE)?;
    if data.is_empty() {
        return Err(Error::file("read", path, "is empty"));
    }
    Ok(Bytes::from(data))
}

/// The framework of a file by its suffix, and by its content where the suffix leaves it open.
pub fn framework_of(path: &Path, data: &Bytes) -> Result<Framework> {
    let suffix = path.extension().map_or_else(String::new, |s| s.to_string_lossy().to_ascii_lowercase());
    match suffix.as_str() {
        "onnx" => Ok(Framework::Onnx),
        "air" => Ok(Framework::Air),
        "prototxt" | "caffemodel" => Ok(Framework::Caffe),
        "pbtxt" => Ok(Framework::TensorFlow),
        // ONNX files are sometimes called so too.
        "pb" if !onnx::is_model(data) => Ok(Framework::TensorFlow),
        _ => match framework_by_content(data)? {
            Some(framework) => Ok(framework),
            None => Err(Error::file(
                "read",
                path,
                "neither the suffix nor the content tells the framework; give option framework",
            )),
        },
    }
}

/// The framework whose models begin like this, when it can be told.
pub fn framework_by_content(data: &Bytes) -> Result<Option<Framework>> {
    // Magic number of an om file, as its bytes stand.
    if data.starts_with(b"IMOD") {
        return Err(Error::Unsupported {
            what: "reading om models".to_owned(),
            reason: "an om file is compiled already; give the model it was made from".to_owned(),
        });
    }
    if onnx::is_model(data) {
        return Ok(Some(Framework::Onnx));
    }
    Ok(None)
}
