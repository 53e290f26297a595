//! Constants that are one truth value, which an `If` may ask.

use super::proto::{self, decode};
use super::tensor;
use crate::graph::{Constant, DataType, TensorDesc};
use prost::bytes::Bytes;

/// Tensors of more bytes than this are no truth values.
const SMALL: usize = 1024;

/// The truth value that a constant is, if it is one; a number is none.
pub(super) fn truth((desc, value): (&TensorDesc, &Constant)) -> Option<bool> {
    match value {
        Constant::Ints(values) if desc.dtype == DataType::Bool => {
            <&[i64; 1]>::try_from(values.as_slice()).ok().map(|[value]| *value != 0)
        }
        _ => None,
    }
}

/// The truth value that an attribute of a `Constant` is, if it is one.
pub(super) fn attribute_truth(attr: Bytes) -> Option<bool> {
    let attr: proto::Attribute = decode(attr, String::new).ok()?;
    let bytes = attr.t.filter(|bytes| attr.name == "value" && bytes.len() <= SMALL)?;
    let tensor: proto::Tensor = decode(bytes, String::new).ok()?;
    let (desc, value) = tensor::read(&tensor, None, &String::new).ok()?;
    truth((&desc, &value))
}
