//! The part of GE's protobuf messages (`ge_ir.proto`) that a tuner needs, by wire number.
//!
//! As in the ONNX reader, repeated sub-messages stay undecoded [`Bytes`] until they are used: a hostile
//! file grows by a small factor at most, nesting costs no stack, weights are shared with the file's
//! bytes. Maps are lists of [`Entry`], so that the writer decides their order.

use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;

/// `ModelDef`: what an `.air` file is.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    /// Name of the model.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Version of the model.
    #[prost(uint32, tag = "2")]
    pub version: u32,
    /// Version that the model's author gave.
    #[prost(string, tag = "3")]
    pub custom_version: String,
    /// `GraphDef`s: the root, then the subgraphs that nodes refer to by name.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub graph: Vec<Bytes>,
    /// Attributes, [`Entry`]s.
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub attr: Vec<Bytes>,
}

/// `GraphDef`.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// Name of the graph.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Inputs as `name:0`.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Outputs as `name:index`.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// `OpDef`s.
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub op: Vec<Bytes>,
    /// Attributes, [`Entry`]s.
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub attr: Vec<Bytes>,
}

/// `OpDef`.
#[expect(clippy::struct_field_names, reason = "`type` is a keyword")]
#[derive(Clone, PartialEq, Message)]
pub struct Op {
    /// Name, unique within the graph.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Operator type.
    #[prost(string, tag = "2")]
    pub op_type: String,
    /// Sources: `name:index`, empty for an optional input left out, `name:-1` for a control edge.
    #[prost(string, repeated, tag = "5")]
    pub input: Vec<String>,
    /// Attributes, [`Entry`]s.
    #[prost(bytes = "bytes", repeated, tag = "10")]
    pub attr: Vec<Bytes>,
    /// Whether the attributes are complete.
    #[prost(bool, tag = "20")]
    pub has_out_attr: bool,
    /// Place of the node in its graph.
    #[prost(int64, tag = "21")]
    pub id: i64,
    /// `TensorDescriptor`s of the inputs.
    #[prost(bytes = "bytes", repeated, tag = "33")]
    pub input_desc: Vec<Bytes>,
    /// `TensorDescriptor`s of the outputs.
    #[prost(bytes = "bytes", repeated, tag = "34")]
    pub output_desc: Vec<Bytes>,
    /// Names of the graphs that the operator calls.
    #[prost(string, repeated, tag = "35")]
    pub subgraph_name: Vec<String>,
}

/// One entry of a `map<string, AttrDef>`.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// Name of the attribute.
    #[prost(string, tag = "1")]
    pub key: String,
    /// An `AttrDef`.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// `AttrDef`: the one field that is there is the value. Kinds that tuning does not read are left out.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    /// A [`ListValue`].
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub list: Option<Bytes>,
    /// Text, or any bytes.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub s: Option<Bytes>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A number.
    #[prost(float, optional, tag = "4")]
    pub f: Option<f32>,
    /// A truth value.
    #[prost(bool, optional, tag = "5")]
    pub b: Option<bool>,
    /// A [`TensorDef`].
    #[prost(bytes = "bytes", optional, tag = "12")]
    pub t: Option<Bytes>,
    /// A [`ListListInt`].
    #[prost(bytes = "bytes", optional, tag = "14")]
    pub list_list_int: Option<Bytes>,
    /// A `ge::DataType` number.
    #[prost(int64, optional, tag = "15")]
    pub dt: Option<i64>,
}

/// `AttrDef.ListValue`.
#[derive(Clone, PartialEq, Message)]
pub struct ListValue {
    /// Texts.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub s: Vec<Bytes>,
    /// Integers.
    #[prost(int64, repeated, tag = "3")]
    pub i: Vec<i64>,
    /// Numbers.
    #[prost(float, repeated, tag = "4")]
    pub f: Vec<f32>,
    /// Truth values.
    #[prost(bool, repeated, tag = "5")]
    pub b: Vec<bool>,
    /// Bytes.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub bt: Vec<Bytes>,
    /// `TensorDescriptor`s.
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub td: Vec<Bytes>,
    /// `TensorDef`s.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub t: Vec<Bytes>,
    /// `GraphDef`s.
    #[prost(bytes = "bytes", repeated, tag = "10")]
    pub g: Vec<Bytes>,
    /// `NamedAttrs`.
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub na: Vec<Bytes>,
    /// `ge::DataType` numbers.
    #[prost(int64, repeated, tag = "12")]
    pub dt: Vec<i64>,
    /// Which of the fields counts: a number of [`kind`].
    #[prost(int32, tag = "20")]
    pub val_type: i32,
}

/// Values of [`ListValue::val_type`].
pub mod kind {
    /// Not said: the field that is filled counts.
    pub const NONE: i32 = 0;
    /// Field `s`.
    pub const STRING: i32 = 1;
    /// Field `i`.
    pub const INT: i32 = 2;
    /// Field `f`.
    pub const FLOAT: i32 = 3;
    /// Field `b`.
    pub const BOOL: i32 = 4;
    /// Field `g`.
    pub const GRAPH: i32 = 8;
}

/// `AttrDef.ListListInt`.
#[derive(Clone, PartialEq, Message)]
pub struct ListListInt {
    /// [`ListInt`]s.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub lists: Vec<Bytes>,
}

/// `AttrDef.ListListInt.ListInt`.
#[derive(Clone, PartialEq, Message)]
pub struct ListInt {
    /// Integers.
    #[prost(int64, repeated, tag = "1")]
    pub values: Vec<i64>,
}

/// `TensorDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    /// Name of the tensor.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Number in `ge.proto.DataType`.
    #[prost(int32, tag = "2")]
    pub dtype: i32,
    /// Sizes as they lie in memory.
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    /// Name of the memory format.
    #[prost(string, tag = "4")]
    pub layout: String,
    /// Attributes, [`Entry`]s: among them the framework's view of the tensor.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub attr: Vec<Bytes>,
    /// Whether the attributes are complete.
    #[prost(bool, tag = "9")]
    pub has_out_attr: bool,
    /// Bytes of a weight.
    #[prost(int64, tag = "11")]
    pub weight_size: i64,
    /// `NPU` or `CPU`.
    #[prost(string, tag = "14")]
    pub device_type: String,
    /// Where a weight lies in the weights of an om file.
    #[prost(int64, tag = "18")]
    pub data_offset: i64,
}

/// `ShapeDef`.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    /// Sizes; -1 is not known, a single -2 an unknown rank.
    #[prost(int64, repeated, tag = "1")]
    pub dim: Vec<i64>,
}

/// `TensorDef`.
#[derive(Clone, PartialEq, Message)]
pub struct TensorDef {
    /// A [`Tensor`].
    #[prost(bytes = "bytes", tag = "1")]
    pub desc: Bytes,
    /// Little-endian elements.
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
}

/// Decodes one message; `place` says where it stands, for the error.
pub fn decode<M: Message + Default>(bytes: Bytes, place: impl FnOnce() -> String) -> Result<M> {
    M::decode(bytes).map_err(|e| Error::graph(place(), e.to_string()))
}

/// The bytes of a message.
pub fn encode(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}
