//! Getting at a model's bytes, and telling whose they are.

use super::{Framework, onnx};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No protobuf message is larger.
pub const MAX_BYTES: usize = i32::MAX as usize;

/// What is wrong with one that is.
pub const TOO_LARGE: &str = "is larger than 2 GiB, the limit of protobuf; store the weights outside the model file";

/// Reads a whole model file.
pub fn read(path: &Path) -> Result<Bytes> {
    // Asked before opening: opening a pipe would wait for its writer.
    let meta = std::fs::metadata(path).map_err(|e| Error::file("open", path, e))?;
    if meta.is_dir() {
        return Err(Error::file("read", path, "is a directory; give a model file"));
    }
    if !meta.is_file() {
        return Err(Error::file("read", path, "is not a regular file"));
    }
    if meta.len() > MAX_BYTES as u64 {
        return Err(Error::file("read", path, TOO_LARGE));
    }
    let file = File::open(path).map_err(|e| Error::file("open", path, e))?;
    let mut data = Vec::with_capacity(meta.len() as usize);
    // The file may have grown meanwhile.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut data).map_err(|e| Error::file("read", path, e))?;
    match data.len() {
        0 => Err(Error::file("read", path, "is empty")),
        len if len > MAX_BYTES => Err(Error::file("read", path, TOO_LARGE)),
        _ => Ok(Bytes::from(data)),
    }
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
