//! Shapes and constants.

use super::proto;
use crate::frontend::limits::MAX_DIM;
use crate::graph::{Constant, DataType, Shape, TensorDesc, UNKNOWN_DIM, Weight};
use prost::Message;
use prost::bytes::Bytes;

/// Why something cannot be used; the caller knows where it stands.
pub type Reason = String;

/// Decodes a message.
pub fn decode<M: Message + Default>(bytes: Bytes) -> Result<M, Reason> {
    M::decode(bytes).map_err(|error| error.to_string())
}

/// The element type with this number.
pub fn data_type(number: i32) -> Result<DataType, Reason> {
    match DataType::from_tensorflow(number) {
        Some(DataType::Undefined) | None => Err(format!("element type {number} is not one that Ascend has")),
        Some(dtype) => Ok(dtype),
    }
}

/// A shape; -1 leaves a size open, and so does a size that makes no sense where that is allowed.
pub fn shape(bytes: Bytes, strict: bool) -> Result<Shape, Reason> {
    let shape: proto::Shape = decode(bytes)?;
    if shape.unknown_rank {
        return Ok(Shape::unknown_rank());
    }
    let mut dims = Vec::with_capacity(shape.dim.len());
    for (axis, bytes) in shape.dim.into_iter().enumerate() {
        let size = decode::<proto::Dimension>(bytes)?.size;
        if (UNKNOWN_DIM..=MAX_DIM).contains(&size) {
            dims.push(size);
        } else if strict {
            return Err(format!("dimension {axis} is {size}, not -1 to {MAX_DIM}"));
        } else {
            dims.push(UNKNOWN_DIM);
        }
    }
    Ok(Shape::new(dims))
}

/// Description and value of a constant; the values of large ones, and of those whose payload was taken out, are not
/// read.
pub fn constant(bytes: Bytes) -> Result<(TensorDesc, Constant), Reason> {
    let tensor: proto::Tensor = decode(bytes)?;
    let dtype = data_type(tensor.dtype)?;
    let desc = TensorDesc::new(dtype, shape(tensor.shape.clone(), true)?);
    let Some(elements) = desc.shape.elements().filter(|n| n.checked_mul(16).is_some_and(|n| i64::try_from(n).is_ok()))
    else {
        return Err(format!("a constant of shape {} has no size, or one too large", desc.shape));
    };
    if !tensor.content.is_empty() && tensor.content.len() as u64 != elements * dtype.bytes() && dtype.bits() >= 8 {
        let bytes = tensor.content.len();
        return Err(format!("shape {} of {} does not go with {bytes} bytes of content", desc.shape, dtype.name()));
    }
    if elements > Constant::MAX_VALUES {
        let weight = weight(tensor, dtype, elements);
        return Ok((desc, weight.map_or(Constant::Opaque, Constant::Stored)));
    }
    let value = if tensor.content.is_empty() {
        repeated(listed(&tensor, dtype), elements as usize)?
    } else {
        Constant::from_bytes(dtype, &tensor.content)
    };
    Ok((desc, value))
}

/// The elements of a large constant, which nobody reads; none where the payload was taken out.
fn weight(tensor: proto::Tensor, dtype: DataType, elements: u64) -> Option<Weight> {
    if !tensor.content.is_empty() {
        return Some(Weight::Bytes(tensor.content));
    }
    let given = Bytes::from(listed(&tensor, dtype).to_bytes(dtype)?);
    let size = dtype.bytes() as usize;
    match (given.len() / size.max(1)) as u64 {
        1 => Some(Weight::Repeat { element: given, count: elements }),
        count if count == elements => Some(Weight::Bytes(given)),
        0 => None,
        // The last one stands for all that are missing.
        count => {
            let last = given.slice(given.len() - size..);
            let missing = usize::try_from(elements.checked_sub(count)?).ok()?;
            Some(Weight::Bytes([&given[..], &last.repeat(missing)].concat().into()))
        }
    }
}

/// The values of the field that a type has of its own.
fn listed(tensor: &proto::Tensor, dtype: DataType) -> Constant {
    match dtype {
        DataType::Int64 => Constant::Ints(tensor.int64_val.clone()),
        DataType::Int32 | DataType::Int16 | DataType::Int8 | DataType::Uint8 | DataType::Uint16 => {
            Constant::Ints(tensor.int_val.iter().map(|&v| i64::from(v)).collect())
        }
        DataType::Bool => Constant::Ints(tensor.bool_val.iter().map(|&v| i64::from(v)).collect()),
        DataType::Uint32 => Constant::Ints(tensor.uint32_val.iter().map(|&v| i64::from(v)).collect()),
        DataType::Uint64 => Constant::Ints(tensor.uint64_val.iter().map(|v| v.cast_signed()).collect()),
        DataType::Float => Constant::Floats(tensor.float_val.iter().map(|&v| f64::from(v)).collect()),
        DataType::Double => Constant::Floats(tensor.double_val.clone()),
        DataType::Float16 | DataType::Bfloat16 => {
            let bits: Vec<u8> = tensor.half_val.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect();
            Constant::from_bytes(dtype, &bits)
        }
        _ => Constant::Opaque,
    }
}

/// A list that is shorter than the tensor repeats its last element.
fn repeated(mut value: Constant, elements: usize) -> Result<Constant, Reason> {
    let given = match &mut value {
        Constant::Ints(list) => stretch(list, elements),
        Constant::Floats(list) => stretch(list, elements),
        Constant::Stored(_) | Constant::Opaque => return Ok(value),
    };
    match given {
        0 if elements > 0 => Ok(Constant::Opaque),
        given if given > elements => Err(format!("{given} values for {elements} elements")),
        _ => Ok(value),
    }
}

fn stretch<T: Copy>(list: &mut Vec<T>, elements: usize) -> usize {
    let given = list.len();
    if let Some(&last) = list.last().filter(|_| given < elements) {
        list.resize(elements, last);
    }
    given
}
