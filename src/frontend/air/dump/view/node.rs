//! What the attributes of a node in a view say: its operator's, and descriptions of its tensors.

use super::super::schema;
use super::ALL;
use crate::frontend::air::proto::{self as ge, encode, kind};
use crate::frontend::air::{attr, tensor};
use crate::frontend::onnx::proto::{self as onnx, decode, kind as onnx_kind};
use crate::graph::op::prototype::{AttrKind, prototype};
use crate::graph::{Attr, Format};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Attributes that are fields of GE's message, and none of a tuner's business.
const BOOKKEEPING: &[&str] = &[
    "stream_id",
    "input_name",
    "src_name",
    "src_index",
    "dst_name",
    "dst_index",
    "input_i",
    "output_i",
    "workspace",
    "workspace_bytes",
    "is_input_const",
    "send_event_id_list",
    "recv_event_id_list",
];

/// A tensor as the attributes describe it.
#[derive(Default)]
struct Shape {
    dtype: i32,
    dims: Vec<i64>,
    layout: String,
    origin_dims: Vec<i64>,
    origin_layout: String,
    device_type: String,
    data: Bytes,
    attr: Vec<Bytes>,
}

/// What the attributes of a node say.
#[derive(Default)]
pub(super) struct Node {
    id: i64,
    attr: Vec<Bytes>,
    inputs: BTreeMap<usize, Shape>,
    outputs: BTreeMap<usize, Shape>,
    /// Attributes that are tensors.
    tensors: BTreeMap<String, Shape>,
    /// Whether the view has descriptions at all.
    is_described: bool,
    /// An attribute of text that is not there, though GE's operators have all of them.
    pub without: Option<&'static str>,
}

impl Node {
    pub fn read(node: &onnx::Node, op_type: &str, place: &dyn Fn() -> String) -> Result<Node> {
        let prototype = prototype(op_type);
        let attributes = node.attribute.iter().map(|bytes| decode::<onnx::Attribute>(bytes.clone(), place));
        let attributes: Vec<_> = attributes.collect::<Result<_>>()?;
        let mut read = Node::default();
        let texts = prototype.iter().flat_map(|known| &known.attrs);
        let mut texts = texts.filter(|rule| matches!(rule.kind, AttrKind::Str | AttrKind::Strs));
        if let Some(rule) = texts.find(|rule| !attributes.iter().any(|given| given.name == rule.name)) {
            if rule.required {
                let reason = format!("its attribute `{}` is not there; have the view written with {ALL}", rule.name);
                return Err(Error::graph(place(), reason));
            }
            read.without = Some(rule.name);
        }
        for attribute in &attributes {
            if let Some(name) = attribute.name.strip_suffix("_desc_dtype") {
                read.tensors.insert(name.to_owned(), Shape::default());
            }
        }
        let most = attributes.len();
        for attribute in attributes {
            let name = attribute.name.clone();
            let at = || format!("{}, attribute `{name}`", place());
            if let Some(rest) = name.strip_prefix("input_desc_") {
                read.is_described = true;
                describe(&mut read.inputs, rest, attribute, most, &at)?;
            } else if let Some(rest) = name.strip_prefix("output_desc_") {
                read.is_described = true;
                describe(&mut read.outputs, rest, attribute, most, &at)?;
            } else if name == "id" {
                read.id = attribute.i.unwrap_or(0);
            } else if !BOOKKEEPING.contains(&name.as_str()) && !read.tensor_part(&name, &attribute, &at)? {
                let wanted = prototype.and_then(|known| known.attr(&name)).map(|rule| rule.kind);
                read.attr.push(attr::entry(&name, value(attribute, wanted, &at)?));
            }
        }
        Ok(read)
    }

    /// Takes an attribute that is a part of one that is a tensor.
    fn tensor_part(&mut self, name: &str, attribute: &onnx::Attribute, place: &dyn Fn() -> String) -> Result<bool> {
        let parts = [("_desc_dtype", "dtype"), ("_desc_shape", "shape"), ("_desc_layout", "layout"), ("_data", "data")];
        let parts = parts.into_iter().chain([("_desc_device_type", "device_type")]);
        let mut found = parts.filter_map(|(suffix, part)| Some((name.strip_suffix(suffix)?, part)));
        let Some((tensor, part)) = found.find(|(tensor, _)| self.tensors.contains_key(*tensor)) else {
            return Ok(false);
        };
        if let Some(shape) = self.tensors.get_mut(tensor) {
            shape.set(part, attribute, place)?;
        }
        Ok(true)
    }

    pub fn finish(self, node: &onnx::Node, op_type: String, place: &dyn Fn() -> String) -> Result<ge::Op> {
        if !self.is_described {
            let reason = format!("the view does not describe its tensors; have it written with {ALL}, not 3");
            return Err(Error::graph(place(), reason));
        }
        let mut attr = self.attr;
        for (name, tensor) in self.tensors {
            let data = tensor.data.clone();
            // Without sizes it is a scalar where it has a value, and else nothing is known of it.
            let is_meant = !tensor.dims.is_empty() || !data.is_empty();
            let desc = tensor.descriptor(is_meant);
            let value = ge::Value { t: Some(encode(&ge::TensorDef { desc, data })), ..ge::Value::default() };
            attr.push(attr::entry(&name, encode(&value)));
        }
        let descriptors = |shapes: BTreeMap<usize, Shape>| {
            let count = shapes.keys().next_back().map_or(0, |last| last + 1);
            let mut shapes: FxHashMap<usize, Shape> = shapes.into_iter().collect();
            (0..count).map(|index| shapes.remove(&index).unwrap_or_default().descriptor(false)).collect()
        };
        Ok(ge::Op {
            name: node.name.clone(),
            op_type,
            input: node.input.clone(),
            attr,
            has_out_attr: true,
            id: self.id,
            input_desc: descriptors(self.inputs),
            output_desc: descriptors(self.outputs),
            subgraph_name: Vec::new(),
        })
    }
}

/// Takes what an attribute says of one of several tensors: `shape:0`, or `attr_NAME:0` for an attribute of its own.
fn describe(
    tensors: &mut BTreeMap<usize, Shape>,
    part: &str,
    attribute: onnx::Attribute,
    most: usize,
    place: &dyn Fn() -> String,
) -> Result<()> {
    // How many there are shows by those that are described.
    let Some((part, index)) = part.rsplit_once(':') else { return Ok(()) };
    let Some(own) = part.strip_prefix("attr_").map(str::to_owned) else {
        let index = index.parse().ok().filter(|&index: &usize| index < most);
        let index = index.ok_or_else(|| Error::graph(place(), "describes no tensor that there can be"))?;
        return tensors.entry(index).or_default().set(part, &attribute, place);
    };
    // A list of lists has a number of its own behind the tensor's; tuning reads none of those.
    if let Some(index) = index.parse().ok().filter(|&index: &usize| index < most) {
        let value = value(attribute, None, place)?;
        tensors.entry(index).or_default().attr.push(attr::entry(&own, value));
    }
    Ok(())
}

impl Shape {
    fn set(&mut self, part: &str, attribute: &onnx::Attribute, place: &dyn Fn() -> String) -> Result<()> {
        let text = || {
            let text = std::str::from_utf8(attribute.s.as_deref().unwrap_or_default());
            text.map(str::to_owned).map_err(|_| Error::graph(place(), "is no text, for its bytes are not UTF-8"))
        };
        match part {
            "dtype" => {
                let name = text()?;
                self.dtype = schema::data_type(&name)
                    .ok_or_else(|| Error::graph(place(), format!("`{name}` is no element type of GE's")))?;
            }
            "shape" => self.dims.clone_from(&attribute.ints),
            "origin_shape" => self.origin_dims.clone_from(&attribute.ints),
            "layout" => self.layout = text()?,
            "origin_layout" => self.origin_layout = text()?,
            "device_type" => self.device_type = text()?,
            "data" => self.data = attribute.s.clone().unwrap_or_default(),
            _ => {}
        }
        Ok(())
    }

    /// The descriptor; `is_meant` says that the shape is one, though it has no sizes.
    fn descriptor(self, is_meant: bool) -> Bytes {
        let mut attrs = self.attr;
        let mut set = |name: &str, value: Attr| attrs.push(attr::entry(name, attr::write(&value)));
        // A format may have a number behind a colon, that of the groups of a convolution.
        let plain = |name: &str| name.split(':').next().and_then(Format::from_name);
        if let Some(format) = plain(&self.layout) {
            set(tensor::FORMAT, Attr::Int(i64::from(format.ge_number())));
        }
        if let Some(format) = plain(&self.origin_layout) {
            set(tensor::ORIGIN_FORMAT, Attr::Int(i64::from(format.ge_number())));
            set(tensor::ORIGIN_FORMAT_NAME, Attr::Str(format.name().to_owned()));
        }
        let is_set = is_meant || !self.origin_dims.is_empty();
        let origin = if is_meant && self.origin_dims.is_empty() { self.dims.clone() } else { self.origin_dims };
        if is_set {
            set(tensor::ORIGIN_SHAPE, Attr::Ints(origin));
        }
        set(tensor::ORIGIN_SHAPE_SET, Attr::Bool(is_set));
        encode(&ge::Tensor {
            dtype: self.dtype,
            shape: Some(ge::Shape { dim: self.dims }),
            layout: plain(&self.layout).map_or(self.layout, |format| format.name().to_owned()),
            attr: attrs,
            has_out_attr: true,
            device_type: self.device_type,
            ..ge::Tensor::default()
        })
    }
}

/// The `AttrDef` of an attribute; `wanted` is its kind where the operator is known, for truth values are numbers in a view.
fn value(attribute: onnx::Attribute, wanted: Option<AttrKind>, place: &dyn Fn() -> String) -> Result<Bytes> {
    let list = |list: ge::ListValue| ge::Value { list: Some(encode(&list)), ..ge::Value::default() };
    let of = |val_type: i32| ge::ListValue { val_type, ..ge::ListValue::default() };
    Ok(encode(&match attribute.kind {
        onnx_kind::FLOAT => ge::Value { f: Some(attribute.f.unwrap_or(0.0)), ..ge::Value::default() },
        onnx_kind::INT if wanted == Some(AttrKind::Bool) => {
            ge::Value { b: Some(attribute.i.unwrap_or(0) != 0), ..ge::Value::default() }
        }
        onnx_kind::INTS if wanted == Some(AttrKind::Bools) => {
            list(ge::ListValue { b: attribute.ints.iter().map(|&i| i != 0).collect(), ..of(kind::BOOL) })
        }
        onnx_kind::INT => ge::Value { i: Some(attribute.i.unwrap_or(0)), ..ge::Value::default() },
        onnx_kind::STRING => ge::Value { s: Some(attribute.s.unwrap_or_default()), ..ge::Value::default() },
        onnx_kind::FLOATS => list(ge::ListValue { f: attribute.floats, ..of(kind::FLOAT) }),
        onnx_kind::INTS => list(ge::ListValue { i: attribute.ints, ..of(kind::INT) }),
        onnx_kind::STRINGS => list(ge::ListValue { s: attribute.strings, ..of(kind::STRING) }),
        other => return Err(Error::graph(place(), format!("is of kind {other}, which no view of GE's has"))),
    }))
}
