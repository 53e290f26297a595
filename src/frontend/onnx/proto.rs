//! The part of ONNX's protobuf messages that a tuner needs, by wire number (facts: ONNX `onnx.proto`).
//!
//! Repeated sub-messages are kept as undecoded [`Bytes`] and decoded one at a time where they are
//! used. So a hostile file cannot grow by more than a small factor while it is read (32 bytes of
//! handle for the two bytes that an empty message takes), a subgraph's depth costs no stack because
//! subgraphs are never opened, and a weight's bytes are shared with the file's, not copied.

use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;

/// The operators that a model defines itself, by domain and name.
pub type Functions = FxHashMap<(String, String), Function>;

/// The values of a function's parameters, by name.
pub type Parameters = FxHashMap<String, Attribute>;

/// `ModelProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    /// Version of the file format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// `GraphProto`s; protobuf merges a message field that occurs more than once.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub graph: Vec<Bytes>,
    /// `OperatorSetIdProto`s.
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub opset_import: Vec<Bytes>,
    /// `FunctionProto`s.
    #[prost(bytes = "bytes", repeated, tag = "25")]
    pub functions: Vec<Bytes>,
}

/// `OperatorSetIdProto`.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    /// Empty or `ai.onnx` for ONNX's own operators.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The opset.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// `FunctionProto`: an operator defined by the model itself.
#[derive(Clone, PartialEq, Message)]
pub struct Function {
    /// Operator type that calls it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Names of the tensors that it takes.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Names of the tensors that it gives.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// `NodeProto`s.
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub node: Vec<Bytes>,
    /// `OperatorSetIdProto`s.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub opset_import: Vec<Bytes>,
    /// Domain of that operator type.
    #[prost(string, tag = "10")]
    pub domain: String,
    /// `AttributeProto`s: parameters with their defaults.
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub attribute_proto: Vec<Bytes>,
}

/// `GraphProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// `NodeProto`s.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub node: Vec<Bytes>,
    /// Name of the graph.
    #[prost(string, tag = "2")]
    pub name: String,
    /// `TensorProto`s.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub initializer: Vec<Bytes>,
    /// `ValueInfoProto`s.
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub input: Vec<Bytes>,
    /// `ValueInfoProto`s.
    #[prost(bytes = "bytes", repeated, tag = "12")]
    pub output: Vec<Bytes>,
    /// `ValueInfoProto`s.
    #[prost(bytes = "bytes", repeated, tag = "13")]
    pub value_info: Vec<Bytes>,
    /// `SparseTensorProto`s.
    #[prost(bytes = "bytes", repeated, tag = "15")]
    pub sparse_initializer: Vec<Bytes>,
}

/// `NodeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// Names of the tensors read; empty for an optional one left out.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the tensors written; empty for an optional one left out.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name, often empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Operator type.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// `AttributeProto`s.
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub attribute: Vec<Bytes>,
    /// Domain of the operator type.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// Of a `NodeProto` what tells its operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeHead {
    /// Operator type.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Domain of the operator type.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// `AttributeProto`. Subgraphs stay closed; that they are there is all that is asked.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Name of the attribute.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A string; bytes in the format.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A `TensorProto`.
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub t: Option<Bytes>,
    /// A `GraphProto`.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub g: Option<Bytes>,
    /// Numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Strings.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Which of the fields counts; 0 in files older than IR version 2.
    #[prost(int32, tag = "20")]
    pub kind: i32,
    /// Name of a function parameter whose value this attribute takes.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
    /// A `SparseTensorProto`.
    #[prost(bytes = "bytes", optional, tag = "22")]
    pub sparse_tensor: Option<Bytes>,
}

/// `TensorProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    /// Sizes.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// ONNX number of the element type.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Values of `FLOAT`.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Values of the integer types up to 32 bits, of `BOOL`, and bit patterns of the 16-bit floats.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Values of `INT64`.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name, when the tensor is an initializer.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Little-endian values of any type but `STRING`.
    #[prost(bytes = "bytes", tag = "9")]
    pub raw_data: Bytes,
    /// Values of `DOUBLE`.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Values of `UINT32` and `UINT64`.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// `StringStringEntryProto`s that say where the values lie.
    #[prost(bytes = "bytes", repeated, tag = "13")]
    pub external_data: Vec<Bytes>,
    /// 1 when the values lie in another file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// `SparseTensorProto`.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensor {
    /// The values that are not zero, a `TensorProto`; bears the name.
    #[prost(bytes = "bytes", tag = "1")]
    pub values: Bytes,
    /// Sizes of the tensor.
    #[prost(int64, repeated, tag = "3")]
    pub dims: Vec<i64>,
}

/// `StringStringEntryProto`.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `ValueInfoProto`.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfo {
    /// Name of the tensor.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub kind: Option<Type>,
}

/// `TypeProto`; only tensors are opened, of the others it is told that they are there.
#[derive(Clone, PartialEq, Message)]
pub struct Type {
    /// The type of a dense tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
    /// The type of a sequence.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub sequence: Option<Bytes>,
    /// The type of a map.
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub map: Option<Bytes>,
    /// The type of a sparse tensor.
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub sparse: Option<Bytes>,
    /// The type of what may be absent.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub optional: Option<Bytes>,
}

impl Type {
    /// What it is of, where that is no dense tensor.
    pub fn other(&self) -> Option<&'static str> {
        let others = [
            (&self.sequence, "a sequence"),
            (&self.map, "a map"),
            (&self.sparse, "a sparse tensor"),
            (&self.optional, "an optional"),
        ];
        let found = others.into_iter().find(|(bytes, _)| bytes.is_some());
        found.filter(|_| self.tensor.is_none()).map(|(_, what)| what)
    }
}

/// `TypeProto.Tensor`.
#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    /// ONNX number of the element type.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Absent when not even the rank is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShape>,
}

/// `TensorShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShape {
    /// `Dimension`s.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub dim: Vec<Bytes>,
}

/// `TensorShapeProto.Dimension`: a size, a symbol, or neither.
#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    /// The size.
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    /// The symbol.
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}

/// ONNX's numbers of the attribute types.
pub mod kind {
    pub const FLOAT: i32 = 1;
    pub const INT: i32 = 2;
    pub const STRING: i32 = 3;
    pub const TENSOR: i32 = 4;
    pub const GRAPH: i32 = 5;
    pub const FLOATS: i32 = 6;
    pub const INTS: i32 = 7;
    pub const STRINGS: i32 = 8;
}

/// Decodes one message; `place` says where it stands, for the error.
pub fn decode<M: Message + Default>(bytes: Bytes, place: impl FnOnce() -> String) -> Result<M> {
    M::decode(bytes).map_err(|e| Error::graph(place(), e.to_string()))
}
