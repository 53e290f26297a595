//! `TensorProto` and `ValueInfoProto` to descriptions and small constants.

use super::external;
use super::proto::{self, decode};
use crate::frontend::limits::MAX_DIM;
use crate::graph::{Constant, DataType, Shape, TensorDesc, UNKNOWN_DIM, Weight};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::Path;

/// Description and, where small, values of a tensor that stands in the file or, below the directory
/// `base`, beside it.
pub fn read(tensor: &proto::Tensor, base: Option<&Path>, place: &dyn Fn() -> String) -> Result<(TensorDesc, Constant)> {
    let dtype = data_type(tensor.data_type, place)?;
    let elements = count(&tensor.dims, dtype, place)?;
    let desc = TensorDesc::new(dtype, Shape::new(tensor.dims.clone()));
    let outside = tensor.data_location != 0 || !tensor.external_data.is_empty();
    if elements > if outside { external::MAX_VALUES } else { Constant::MAX_VALUES } {
        let weight = if outside { external::weight(tensor, base, &desc, place)? } else { weight(tensor, &desc, place) };
        return Ok((desc, weight.map_or(Constant::Opaque, Constant::Stored)));
    }
    let value = if outside {
        let bytes = external::read(tensor, base, &desc, place)?;
        bytes.map_or(Constant::Opaque, |bytes| Constant::from_bytes(dtype, &bytes))
    } else {
        values(tensor, dtype, elements, place)?
    };
    Ok((desc, value))
}

/// Name and description of a sparse tensor; its values are never needed.
pub fn read_sparse(bytes: Bytes, place: &dyn Fn() -> String) -> Result<(String, TensorDesc)> {
    let sparse: proto::SparseTensor = decode(bytes, place)?;
    let values: proto::Tensor = decode(sparse.values, place)?;
    let dtype = data_type(values.data_type, place)?;
    count(&sparse.dims, dtype, place)?;
    Ok((values.name, TensorDesc::new(dtype, Shape::new(sparse.dims))))
}

/// The element type with this ONNX number.
pub fn data_type(number: i32, place: &dyn Fn() -> String) -> Result<DataType> {
    match DataType::from_onnx(number) {
        Some(DataType::Undefined) | None => {
            Err(Error::graph(place(), format!("element type {number} is not one that Ascend has")))
        }
        Some(dtype) => Ok(dtype),
    }
}

/// Number of elements, when every dimension is in range and the tensor's size fits 63 bits.
fn count(dims: &[i64], dtype: DataType, place: &dyn Fn() -> String) -> Result<u64> {
    if let Some((axis, dim)) = dims.iter().enumerate().find(|(_, d)| !(0..=MAX_DIM).contains(*d)) {
        return Err(Error::graph(place(), format!("dimension {axis} is {dim}, not 0 to {MAX_DIM}")));
    }
    let bits = u64::from(dtype.bits().max(1));
    let elements = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d as u64));
    elements
        .filter(|n| n.checked_mul(bits).is_some_and(|bits| i64::try_from(bits).is_ok()))
        .ok_or_else(|| Error::graph(place(), format!("the tensor of shape {dims:?} is too large")))
}

/// The elements of a large tensor, which nobody reads; none where the payload was emptied, or is not of the size that the
/// shape asks for: what decides no shape keeps nobody from tuning.
fn weight(tensor: &proto::Tensor, desc: &TensorDesc, place: &dyn Fn() -> String) -> Option<Weight> {
    let bytes = if tensor.raw_data.is_empty() {
        Bytes::from(typed_values(tensor, desc.dtype).to_bytes(desc.dtype)?)
    } else {
        tensor.raw_data.clone()
    };
    if Some(bytes.len() as u64) == desc.bytes() {
        return Some(Weight::Bytes(bytes));
    }
    if !bytes.is_empty() {
        let (shape, held) = (&desc.shape, bytes.len());
        log::warn!("{}: the {held} bytes of its values do not go with shape {shape}; they are not used", place());
    }
    None
}

/// The values of a small tensor. A tensor whose payload was emptied counts as not read.
fn values(tensor: &proto::Tensor, dtype: DataType, elements: u64, place: &dyn Fn() -> String) -> Result<Constant> {
    let found = if tensor.raw_data.is_empty() {
        typed_values(tensor, dtype)
    } else {
        Constant::from_bytes(dtype, &tensor.raw_data)
    };
    let length = match &found {
        Constant::Ints(v) => v.len(),
        Constant::Floats(v) => v.len(),
        Constant::Stored(_) | Constant::Opaque => return Ok(found),
    };
    if length == 0 && elements > 0 && tensor.raw_data.is_empty() {
        return Ok(Constant::Opaque);
    }
    let surplus = tensor.raw_data.len() as u64 > elements * dtype.bytes();
    if length as u64 != elements || surplus {
        let more = if surplus { "more than " } else { "" };
        let reason = format!("shape {:?} asks for {elements} values, the file holds {more}{length}", tensor.dims);
        return Err(Error::graph(place(), reason));
    }
    Ok(found)
}

/// Values in the field that the type has of its own.
fn typed_values(tensor: &proto::Tensor, dtype: DataType) -> Constant {
    let from_i32 = || tensor.int32_data.iter();
    match dtype {
        DataType::Int64 => Constant::Ints(tensor.int64_data.clone()),
        DataType::Int32 | DataType::Int16 | DataType::Int8 | DataType::Uint8 | DataType::Uint16 => {
            Constant::Ints(from_i32().map(|&v| i64::from(v)).collect())
        }
        DataType::Bool => Constant::Ints(from_i32().map(|&v| i64::from(v != 0)).collect()),
        DataType::Uint32 | DataType::Uint64 => {
            Constant::Ints(tensor.uint64_data.iter().map(|v| v.cast_signed()).collect())
        }
        DataType::Float => Constant::Floats(tensor.float_data.iter().map(|&v| f64::from(v)).collect()),
        DataType::Double => Constant::Floats(tensor.double_data.clone()),
        DataType::Float16 | DataType::Bfloat16 => {
            let bits: Vec<u8> = from_i32().flat_map(|&v| (v as u16).to_le_bytes()).collect();
            Constant::from_bytes(dtype, &bits)
        }
        _ => Constant::Opaque,
    }
}

/// What `ValueInfoProto` says of a tensor.
#[derive(Clone)]
pub struct Declared {
    /// Type and shape; a symbolic or missing dimension is unknown.
    pub desc: TensorDesc,
    /// Symbols of the dimensions, empty where there is none.
    pub symbols: Vec<String>,
}

impl Declared {
    /// Nothing is said.
    pub fn nothing() -> Self {
        Declared { desc: TensorDesc::unknown(), symbols: Vec::new() }
    }
}

/// Reads the type of a graph input, where type and shape must make sense.
pub fn declared_input(info: &proto::ValueInfo) -> Result<Declared> {
    let place = || format!("input `{}`", info.name);
    let Some(tensor) = info.kind.as_ref().and_then(|k| k.tensor.as_ref()) else {
        return Err(Error::graph(place(), "has no type; state its element type and shape in the model"));
    };
    let dtype = data_type(tensor.elem_type, &place)?;
    let Some(shape) = &tensor.shape else {
        return Ok(Declared { desc: TensorDesc::new(dtype, Shape::unknown_rank()), symbols: Vec::new() });
    };
    let mut dims = Vec::with_capacity(shape.dim.len());
    let mut symbols = Vec::with_capacity(shape.dim.len());
    for (axis, bytes) in shape.dim.iter().enumerate() {
        let dim: proto::Dimension = decode(bytes.clone(), place)?;
        if let Some(size) = dim.dim_value.filter(|size| !(1..=MAX_DIM).contains(size)) {
            return Err(Error::graph(place(), format!("dimension {axis} is {size}, not 1 to {MAX_DIM}")));
        }
        dims.push(dim.dim_value.unwrap_or(UNKNOWN_DIM));
        symbols.push(dim.dim_param.filter(|_| dim.dim_value.is_none()).unwrap_or_default());
    }
    Ok(Declared { desc: TensorDesc::new(dtype, Shape::new(dims)), symbols })
}

/// Reads the type of a tensor inside the graph, which is a hint: what makes no sense in it counts
/// as not known.
pub fn declared_value(info: &proto::ValueInfo) -> Declared {
    let Some(tensor) = info.kind.as_ref().and_then(|k| k.tensor.as_ref()) else { return Declared::nothing() };
    let dtype = DataType::from_onnx(tensor.elem_type).unwrap_or(DataType::Undefined);
    let Some(shape) = &tensor.shape else {
        return Declared { desc: TensorDesc::new(dtype, Shape::unknown_rank()), symbols: Vec::new() };
    };
    let decoded = shape.dim.iter().map(|bytes| decode::<proto::Dimension>(bytes.clone(), String::new));
    let (dims, symbols): (Vec<i64>, Vec<String>) = decoded
        .map(|dim| {
            let dim = dim.unwrap_or_default();
            let size = dim.dim_value.filter(|size| (0..=MAX_DIM).contains(size));
            (size.unwrap_or(UNKNOWN_DIM), dim.dim_param.unwrap_or_default())
        })
        .unzip();
    Declared { desc: TensorDesc::new(dtype, Shape::new(dims)), symbols }
}
