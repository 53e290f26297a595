//! The part of TensorFlow's protobuf messages that a tuner needs, by wire number.
//!
//! As with ONNX, nested messages stay [`Bytes`] until they are looked at, so that a hostile file cannot grow by more
//! than a small factor, and functions inside the graph are never opened.

use prost::Message;
use prost::bytes::Bytes;

/// `GraphDef`.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// `NodeDef`s.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub node: Vec<Bytes>,
}

/// `NodeDef`.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// Name, unique in the graph.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Operator type.
    #[prost(string, tag = "2")]
    pub op: String,
    /// What it reads: `name`, `name:output`, and `^name` for an order without data.
    #[prost(string, repeated, tag = "3")]
    pub input: Vec<String>,
    /// Attributes, as [`Entry`]s of a map.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub attr: Vec<Bytes>,
}

/// An entry of the map of attributes.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// Name of the attribute.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<Value>,
}

/// `AttrValue`; at most one field is there.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    /// A [`List`].
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub list: Option<Bytes>,
    /// A text.
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
    /// An element type.
    #[prost(int32, optional, tag = "6")]
    pub kind: Option<i32>,
    /// A [`Shape`].
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub shape: Option<Bytes>,
    /// A [`Tensor`].
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub tensor: Option<Bytes>,
}

/// `AttrValue.ListValue`.
#[derive(Clone, PartialEq, Message)]
pub struct List {
    /// Integers.
    #[prost(int64, repeated, tag = "3")]
    pub i: Vec<i64>,
    /// Numbers.
    #[prost(float, repeated, tag = "4")]
    pub f: Vec<f32>,
    /// [`Shape`]s.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub shape: Vec<Bytes>,
}

/// `TensorShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    /// [`Dimension`]s.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub dim: Vec<Bytes>,
    /// Whether not even the rank is known.
    #[prost(bool, tag = "3")]
    pub unknown_rank: bool,
}

/// `TensorShapeProto.Dim`.
#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    /// The size, -1 where it is open.
    #[prost(int64, tag = "1")]
    pub size: i64,
}

/// `TensorProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    /// TensorFlow's number of the element type.
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    /// A [`Shape`].
    #[prost(bytes = "bytes", tag = "2")]
    pub shape: Bytes,
    /// Little-endian elements.
    #[prost(bytes = "bytes", tag = "4")]
    pub content: Bytes,
    /// Values of `DT_FLOAT`.
    #[prost(float, repeated, tag = "5")]
    pub float_val: Vec<f32>,
    /// Values of `DT_DOUBLE`.
    #[prost(double, repeated, tag = "6")]
    pub double_val: Vec<f64>,
    /// Values of the integer types up to 32 bits.
    #[prost(int32, repeated, tag = "7")]
    pub int_val: Vec<i32>,
    /// Values of `DT_INT64`.
    #[prost(int64, repeated, tag = "10")]
    pub int64_val: Vec<i64>,
    /// Values of `DT_BOOL`.
    #[prost(bool, repeated, tag = "11")]
    pub bool_val: Vec<bool>,
    /// Bits of `DT_HALF` and `DT_BFLOAT16`.
    #[prost(int32, repeated, tag = "13")]
    pub half_val: Vec<i32>,
    /// Values of `DT_UINT32`.
    #[prost(uint32, repeated, tag = "16")]
    pub uint32_val: Vec<u32>,
    /// Values of `DT_UINT64`.
    #[prost(uint64, repeated, tag = "17")]
    pub uint64_val: Vec<u64>,
}
