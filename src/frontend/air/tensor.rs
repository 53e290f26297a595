//! `TensorDescriptor` and `TensorDef` to descriptions and small constants, and back.

use super::proto::{self, decode, encode};
use super::{attr, proto::Tensor};
use crate::frontend::device_view::framework_view;
use crate::frontend::limits::MAX_DIM;
use crate::graph::{Attr, Attrs, Constant, DataType, Format, Shape, TensorDesc, UNKNOWN_DIM};
use crate::status::{Error, Result};
use prost::bytes::Bytes;

/// Attribute of a constant that holds its elements.
pub const VALUE: &str = "value";
/// Attribute of the tensors at the border of a called graph: which input or output of the call they are.
pub const PARENT_INDEX: &str = "_parent_node_index";

/// GE's mark of a rank that is not known.
const UNKNOWN_RANK: i64 = -2;
/// GE's mark of a tensor that is none.
const DUMMY: i64 = -3;

pub const FORMAT: &str = "format_for_int";
pub const ORIGIN_FORMAT: &str = "origin_format_for_int";
pub const ORIGIN_FORMAT_NAME: &str = "origin_format";
pub const ORIGIN_SHAPE: &str = "origin_shape";
pub const ORIGIN_SHAPE_SET: &str = "origin_shape_initialized";
/// Number in `ge::DataType` of a type that the message has no number for.
const OWN_TYPE: &str = "__tensor_desc_data_type__";

/// What a descriptor says.
#[derive(Debug, Default)]
pub struct Described {
    /// Type, shape and format in the framework's view. No sizes at all are a shape that is not known, because that is
    /// GE's default; a scalar is told by a shape that was set.
    pub desc: Option<TensorDesc>,
    /// Whether the framework's shape was set, as GE's inference of shapes does.
    pub is_set: bool,
    /// Which input or output of a call the tensor is.
    pub parent_index: Option<i64>,
    /// A layout that is no format's name, beside which no other field tells the format: ND was taken.
    pub unknown_layout: Option<String>,
}

/// Reads a descriptor.
pub fn read(bytes: Bytes, place: &dyn Fn() -> String) -> Result<Described> {
    let tensor: Tensor = decode(bytes, place)?;
    let attrs = attr::read_all(&tensor.attr, place)?;
    check_layout(&tensor.layout, place)?;
    let (layout, origin_format) = formats(&tensor, &attrs);
    let unknown_layout = unknown_layout(&tensor, &attrs);
    let dims = tensor.shape.map(|shape| shape.dim).unwrap_or_default();
    let origin_shape = origin_shape(&attrs, &dims, place)?;
    let is_set = origin_shape.is_some();
    let shape = match dims {
        dims if dims.is_empty() => Shape::unknown_rank(),
        dims => shape(dims, place)?,
    };
    let (shape, format) = framework_view(shape, layout, origin_shape, origin_format);
    let desc = TensorDesc { dtype: data_type(tensor.dtype, &attrs, place)?, shape, format };
    Ok(Described { desc: Some(desc), is_set, parent_index: attrs.int(PARENT_INDEX), unknown_layout })
}

/// Fails where a layout is no name at all: a cut or mixed-up text would count as ND without a word. A name that is not known
/// here may be that of a newer CANN's format in memory, beside which its origin counts.
fn check_layout(layout: &str, place: &dyn Fn() -> String) -> Result<()> {
    if layout.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')) {
        return Ok(());
    }
    let reason = format!("its layout is `{}`, which is no name of a format", layout.escape_debug());
    Err(Error::graph(place(), reason))
}

/// The format in memory and the framework's. A framework's format that was not set is ND in the file: beside a format in
/// memory that frameworks know, that one is meant.
fn formats(tensor: &Tensor, attrs: &Attrs) -> (Format, Option<Format>) {
    let layout = Format::from_name(&tensor.layout).or_else(|| numbered(attrs, FORMAT));
    let layout = layout.filter(|format| *format != Format::Reserved).unwrap_or(Format::Nd);
    (layout, origin_format(attrs).filter(|origin| *origin != Format::Nd || !layout.is_framework()))
}

/// The format whose number an attribute is.
fn numbered(attrs: &Attrs, name: &str) -> Option<Format> {
    attrs.int(name).and_then(|n| i32::try_from(n).ok()).and_then(Format::from_ge)
}

fn origin_format(attrs: &Attrs) -> Option<Format> {
    numbered(attrs, ORIGIN_FORMAT).or_else(|| attrs.str(ORIGIN_FORMAT_NAME).and_then(Format::from_name))
}

/// A layout that is no format's name where nothing else tells the format.
fn unknown_layout(tensor: &Tensor, attrs: &Attrs) -> Option<String> {
    let is_told = tensor.layout.is_empty()
        || Format::from_name(&tensor.layout).or_else(|| numbered(attrs, FORMAT)).is_some()
        || origin_format(attrs).is_some();
    (!is_told).then(|| tensor.layout.clone())
}

/// What the descriptor of an operator's input states.
#[derive(Debug)]
pub struct Stated {
    /// The framework's format; ND where it states none.
    pub format: Format,
    /// The input's name in the operator's interface; empty where it states none.
    pub name: String,
    /// Its sizes as they lie in memory; empty where it states none.
    pub own: Vec<i64>,
    /// As [`Described::unknown_layout`].
    pub unknown_layout: Option<String>,
}

/// The shape that a descriptor of an operator's input states, where it contradicts that of the node that makes the tensor: open sizes
/// contradict none, and a scalar is as good as a list of one. What makes no sense states nothing: no size follows from it.
pub fn described_otherwise(bytes: &Bytes, made: &[i64]) -> Option<Shape> {
    let shape = read(bytes.clone(), &String::new).ok()?.desc?.shape;
    let dims = shape.dims()?;
    let agrees = |(a, b): (&i64, &i64)| *a < 0 || *b < 0 || a == b;
    let is_one = |dims: &[i64]| dims.len() <= 1 && dims.iter().all(|&dim| dim == 1);
    let fits = dims.len() == made.len() && dims.iter().zip(made).all(agrees) || is_one(dims) && is_one(made);
    (!fits).then_some(shape)
}

/// Reads the descriptor of an operator's input.
pub fn stated(bytes: Bytes, place: &dyn Fn() -> String) -> Result<Stated> {
    let mut tensor: Tensor = decode(bytes, place)?;
    let own = tensor.shape.take().map(|shape| shape.dim).unwrap_or_default();
    // Of the many that are ND no attribute is looked at.
    if tensor.layout.is_empty() || tensor.layout == Format::Nd.name() {
        return Ok(Stated { format: Format::Nd, name: tensor.name, own, unknown_layout: None });
    }
    let attrs = attr::read_all(&tensor.attr, place)?;
    let (layout, origin) = formats(&tensor, &attrs);
    let format = origin.or(Some(layout)).filter(|format| format.is_framework()).unwrap_or(Format::Nd);
    let unknown_layout = unknown_layout(&tensor, &attrs);
    Ok(Stated { format, name: tensor.name, own, unknown_layout })
}

fn data_type(number: i32, attrs: &Attrs, place: &dyn Fn() -> String) -> Result<DataType> {
    let own = match attrs.get(OWN_TYPE) {
        Some(Attr::Type(dtype)) => Some(*dtype),
        Some(Attr::Int(number)) => i32::try_from(*number).ok().and_then(DataType::from_ge),
        _ => None,
    };
    match DataType::from_proto(number) {
        Some(DataType::Undefined) => Ok(own.unwrap_or(DataType::Undefined)),
        Some(dtype) => Ok(dtype),
        None => own.ok_or_else(|| Error::graph(place(), format!("element type {number} is not one that GE has"))),
    }
}

/// The framework's shape, when the file has set one; `own` are the sizes in memory.
fn origin_shape(attrs: &Attrs, own: &[i64], place: &dyn Fn() -> String) -> Result<Option<Shape>> {
    let Some(dims) = attrs.ints(ORIGIN_SHAPE) else {
        // That a shape was set, and no sizes anywhere, is how a scalar may be written.
        let is_scalar = own.is_empty() && attrs.bool(ORIGIN_SHAPE_SET) == Some(true);
        return Ok(is_scalar.then(Shape::scalar));
    };
    // An empty list is a scalar only where the file says that it is meant.
    let meant = attrs.bool(ORIGIN_SHAPE_SET).unwrap_or(!dims.is_empty());
    if meant { shape(dims.to_vec(), place).map(Some) } else { Ok(None) }
}

fn shape(dims: Vec<i64>, place: &dyn Fn() -> String) -> Result<Shape> {
    if matches!(dims[..], [UNKNOWN_RANK | DUMMY]) {
        return Ok(Shape::unknown_rank());
    }
    match dims.iter().enumerate().find(|(_, d)| !(UNKNOWN_DIM..=MAX_DIM).contains(*d)) {
        Some((axis, dim)) => {
            Err(Error::graph(place(), format!("dimension {axis} is {dim}, neither 0 to {MAX_DIM} nor -1")))
        }
        None => Ok(Shape::new(dims)),
    }
}

/// Attribute of a node: the shapes of its outputs as TensorFlow had them.
pub const OUTPUT_SHAPES: &str = "_output_shapes";

/// A shape that a framework said, as far as it is one; no sizes may be a scalar or nothing.
pub fn stated_shape(dims: &[i64]) -> Shape {
    let known = !dims.is_empty() && dims.iter().all(|dim| (UNKNOWN_DIM..=MAX_DIM).contains(dim));
    if known { Shape::new(dims) } else { Shape::unknown_rank() }
}

/// The descriptor of a tensor; GE sees the framework's view on both sides until it compiles.
pub fn write(desc: &TensorDesc, parts: Parts) -> Bytes {
    let dims = desc.shape.dims().map_or_else(|| vec![UNKNOWN_RANK], <[i64]>::to_vec);
    let number = Attr::Int(i64::from(desc.format.ge_number()));
    let mut attrs = Attrs::default();
    attrs.set(FORMAT, number.clone());
    attrs.set(ORIGIN_FORMAT, number);
    attrs.set(ORIGIN_FORMAT_NAME, Attr::Str(desc.format.name().to_owned()));
    attrs.set(ORIGIN_SHAPE, Attr::Ints(dims.clone()));
    attrs.set(ORIGIN_SHAPE_SET, Attr::Bool(true));
    encode(&Tensor {
        dtype: desc.dtype.proto_number(),
        shape: Some(proto::Shape { dim: dims }),
        layout: desc.format.name().to_owned(),
        attr: attr::write_all(attrs.iter()),
        has_out_attr: true,
        device_type: "NPU".to_owned(),
        weight_size: parts.weight_size,
        data_offset: parts.data_offset,
        ..Tensor::default()
    })
}

/// Where a weight lies outside the descriptor's message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    /// Its bytes.
    pub weight_size: i64,
    /// Where the first of them is.
    pub data_offset: i64,
}

/// A constant as a file has it.
#[derive(Debug)]
pub struct Stored {
    /// Its description.
    pub desc: TensorDesc,
    /// Its elements, when they are few.
    pub value: Constant,
    /// Whether the elements are in the file, but not in `value`.
    pub kept_apart: bool,
    /// The elements, where they came from the weights of an om file.
    pub data: Option<Bytes>,
    /// As [`Described::unknown_layout`].
    pub unknown_layout: Option<String>,
}

/// Reads the constant in an attribute's `TensorDef`, which describes itself. The description of the node's output, which
/// GE leaves at its default until it infers shapes, tells what that does not. `weights` are those of an om file, where
/// elements may lie.
pub fn read_constant(
    bytes: Bytes,
    output: Option<&TensorDesc>,
    weights: Option<&Bytes>,
    place: &dyn Fn() -> String,
) -> Result<Stored> {
    let tensor: proto::TensorDef = decode(bytes, place)?;
    let Described { desc: own, unknown_layout, .. } = read(tensor.desc.clone(), place)?;
    let own = own.unwrap_or_else(TensorDesc::unknown);
    let outside = weights.filter(|_| tensor.data.is_empty());
    let data = match outside {
        Some(weights) => apart(tensor.desc, weights, place)?,
        None => tensor.data,
    };
    let desc = constant_desc(own, output, data.len());
    if data.is_empty() && desc.shape.elements() != Some(0) {
        return Ok(Stored { desc, value: Constant::Opaque, kept_apart: false, data: None, unknown_layout });
    }
    if desc.shape.known().is_none() {
        return Err(Error::graph(place(), format!("a constant has shape {}", desc.shape)));
    }
    let Some(size) = desc.bytes() else {
        return Err(Error::graph(place(), format!("a constant of shape {} is too large", desc.shape)));
    };
    // Text has no fixed size, and numbers of fewer than 8 bits may be packed or not.
    let bytes = data.len() as u64;
    let is_loose = !desc.dtype.bits().is_multiple_of(8) && desc.shape.elements() == Some(bytes);
    if desc.dtype.bits() > 0 && size != bytes && !is_loose {
        let reason = format!("{} {} takes {size} bytes, its value has {}", desc.dtype.name(), desc.shape, data.len());
        return Err(Error::graph(place(), reason));
    }
    let few = desc.shape.elements().is_some_and(|n| n <= Constant::MAX_VALUES);
    let value = if few { Constant::from_bytes(desc.dtype, &data) } else { Constant::Opaque };
    Ok(Stored { desc, kept_apart: value == Constant::Opaque, value, data: outside.map(|_| data), unknown_layout })
}

/// What a constant is, by its own description, that of the node's output, and the bytes that it has.
fn constant_desc(own: TensorDesc, output: Option<&TensorDesc>, bytes: usize) -> TensorDesc {
    let unknown = TensorDesc::unknown();
    let output = output.unwrap_or(&unknown);
    let dtype = if own.dtype == DataType::Undefined { output.dtype } else { own.dtype };
    let of = |shape: &Shape| TensorDesc::new(dtype, shape.clone());
    // What lies in fractals does not tell its sizes, and no sizes at all may be those of one number.
    let tells = own.shape.known().is_some() && !own.format.hides_sizes();
    let fits = |shape: &Shape| bytes == 0 || of(shape).bytes() == Some(bytes as u64);
    let shape = if tells {
        own.shape
    } else if output.shape.known().is_some() && fits(&output.shape) {
        output.shape.clone()
    } else if bytes > 0 && own.shape.dims().is_none() && fits(&Shape::scalar()) {
        Shape::scalar()
    } else {
        own.shape
    };
    let stated = own.format.is_framework() && own.format != Format::Nd;
    let format = if stated || output.shape.rank() != shape.rank() { own.format } else { output.format };
    TensorDesc { dtype, shape, format }
}

/// Elements of a tensor that lie in the weights of an om file.
fn apart(desc: Bytes, weights: &Bytes, place: &dyn Fn() -> String) -> Result<Bytes> {
    let tensor: Tensor = decode(desc, place)?;
    let range = usize::try_from(tensor.data_offset).ok().zip(usize::try_from(tensor.weight_size).ok());
    let range = range.and_then(|(start, size)| Some(start..start.checked_add(size)?));
    range.filter(|r| r.end <= weights.len()).map(|range| weights.slice(range)).ok_or_else(|| {
        let (offset, size) = (tensor.data_offset, tensor.weight_size);
        Error::graph(place(), format!("its {size} bytes from {offset} on are not in the weights"))
    })
}
