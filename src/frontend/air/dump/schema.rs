//! The messages of `ge_ir.proto`, and what GE's ONNX-shaped view of a graph has of ONNX's.
//!
//! Attribute groups are for the compiler alone, and no reader keeps them.

use crate::frontend::prototext::schema::Kind::{Bool, Bytes, Enum, Float, Int64, Message, Skipped, String, Uint32};
use crate::frontend::prototext::schema::Label::{Choice, Many, One};
use crate::frontend::prototext::schema::{Field, Kind, Label, Schema};
use crate::graph::DataType;

const fn field(name: &'static str, number: u32, label: Label, kind: Kind) -> Field {
    Field { name, number, label, kind }
}

/// `ModelDef`, what `ge_proto_*.txt` holds.
pub static MODEL: Schema = Schema {
    name: "ModelDef",
    fields: &[
        field("name", 1, One, String),
        field("version", 2, One, Uint32),
        field("custom_version", 3, One, String),
        field("graph", 7, Many, Message(&GRAPH)),
        field("attr", 11, Many, Message(&ENTRY)),
        field("attr_groups", 12, One, Skipped),
    ],
};

/// `GraphDef`, what torchair dumps.
pub static GRAPH: Schema = Schema {
    name: "GraphDef",
    fields: &[
        field("name", 1, One, String),
        field("input", 4, Many, String),
        field("output", 5, Many, String),
        field("op", 6, Many, Message(&OP)),
        field("attr", 11, Many, Message(&ENTRY)),
        field("attr_groups", 12, One, Skipped),
    ],
};

static OP: Schema = Schema {
    name: "OpDef",
    fields: &[
        field("name", 1, One, String),
        field("type", 2, One, String),
        field("input", 5, Many, String),
        field("attr", 10, Many, Message(&ENTRY)),
        field("attr_groups", 11, One, Skipped),
        field("has_out_attr", 20, One, Bool),
        field("id", 21, One, Int64),
        field("stream_id", 22, One, Int64),
        field("input_name", 23, Many, String),
        field("src_name", 24, Many, String),
        field("src_index", 25, Many, Int64),
        field("dst_name", 26, Many, String),
        field("dst_index", 27, Many, Int64),
        field("input_i", 28, Many, Int64),
        field("output_i", 29, Many, Int64),
        field("workspace", 30, Many, Int64),
        field("workspace_bytes", 31, Many, Int64),
        field("is_input_const", 32, Many, Bool),
        field("input_desc", 33, Many, Message(&TENSOR)),
        field("output_desc", 34, Many, Message(&TENSOR)),
        field("subgraph_name", 35, Many, String),
    ],
};

/// An entry of a `map<string, AttrDef>`.
static ENTRY: Schema =
    Schema { name: "attr", fields: &[field("key", 1, One, String), field("value", 2, One, Message(&VALUE))] };

static VALUE: Schema = Schema {
    name: "AttrDef",
    fields: &[
        field("list", 1, Choice, Message(&LIST)),
        field("s", 2, Choice, Bytes),
        field("i", 3, Choice, Int64),
        field("f", 4, Choice, Float),
        field("b", 5, Choice, Bool),
        field("bt", 7, Choice, Bytes),
        field("func", 10, Choice, Message(&NAMED)),
        field("td", 11, Choice, Message(&TENSOR)),
        field("t", 12, Choice, Message(&TENSOR_DEF)),
        field("g", 13, Choice, Message(&GRAPH)),
        field("list_list_int", 14, Choice, Message(&INT_LISTS)),
        field("dt", 15, Choice, Int64),
        field("list_list_float", 16, Choice, Message(&FLOAT_LISTS)),
        field("expression", 17, Choice, Bytes),
    ],
};

static LIST: Schema = Schema {
    name: "ListValue",
    fields: &[
        field("s", 2, Many, Bytes),
        field("i", 3, Many, Int64),
        field("f", 4, Many, Float),
        field("b", 5, Many, Bool),
        field("bt", 7, Many, Bytes),
        field("td", 8, Many, Message(&TENSOR)),
        field("t", 9, Many, Message(&TENSOR_DEF)),
        field("g", 10, Many, Message(&GRAPH)),
        field("na", 11, Many, Message(&NAMED)),
        field("dt", 12, Many, Int64),
        field("val_type", 20, One, Enum(list_type)),
    ],
};

static INT_LISTS: Schema = Schema { name: "ListListInt", fields: &[field("list_list_i", 1, Many, Message(&INT_LIST))] };
static INT_LIST: Schema = Schema { name: "ListInt", fields: &[field("list_i", 1, Many, Int64)] };
static FLOAT_LISTS: Schema =
    Schema { name: "ListListFloat", fields: &[field("list_list_f", 1, Many, Message(&FLOAT_LIST))] };
static FLOAT_LIST: Schema = Schema { name: "ListFloat", fields: &[field("list_f", 1, Many, Float)] };
static NAMED: Schema =
    Schema { name: "NamedAttrs", fields: &[field("name", 1, One, String), field("attr", 2, Many, Message(&ENTRY))] };

static TENSOR: Schema = Schema {
    name: "TensorDescriptor",
    fields: &[
        field("name", 1, One, String),
        field("dtype", 2, One, Enum(data_type)),
        field("shape", 3, One, Message(&SHAPE)),
        field("layout", 4, One, String),
        field("attr", 5, Many, Message(&ENTRY)),
        field("attr_groups", 6, One, Skipped),
        field("has_out_attr", 9, One, Bool),
        field("size", 10, One, Int64),
        field("weight_size", 11, One, Int64),
        field("reuse_input", 12, One, Bool),
        field("output_tensor", 13, One, Bool),
        field("device_type", 14, One, String),
        field("input_tensor", 15, One, Bool),
        field("real_dim_cnt", 16, One, Int64),
        field("reuse_input_index", 17, One, Int64),
        field("data_offset", 18, One, Int64),
        field("cmps_size", 19, One, Int64),
        field("cmps_tab", 20, One, String),
        field("cmps_tab_offset", 21, One, Int64),
    ],
};

static SHAPE: Schema = Schema { name: "ShapeDef", fields: &[field("dim", 1, Many, Int64)] };
static TENSOR_DEF: Schema =
    Schema { name: "TensorDef", fields: &[field("desc", 1, One, Message(&TENSOR)), field("data", 2, One, Bytes)] };

/// Number in `ge.proto.DataType` of a name such as `DT_FLOAT16`.
pub fn data_type(name: &str) -> Option<i32> {
    DataType::from_serial_name(name).map(DataType::proto_number)
}

/// Names of the kinds of a list, by number.
const LIST_TYPES: [&str; 11] =
    ["NONE", "STRING", "INT", "FLOAT", "BOOL", "BYTES", "TENSOR_DESC", "TENSOR", "GRAPH", "NAMED_ATTRS", "DATA_TYPE"];

fn list_type(name: &str) -> Option<i32> {
    let name = name.strip_prefix("VT_LIST_")?;
    LIST_TYPES.iter().position(|&known| known == name).map(|number| number as i32)
}

/// `ModelProto` as `ge_onnx_*.pbtxt` has it.
pub static VIEW: Schema = Schema {
    name: "ModelProto",
    fields: &[
        field("ir_version", 1, One, Int64),
        field("producer_name", 2, One, Skipped),
        field("producer_version", 3, One, Skipped),
        field("domain", 4, One, Skipped),
        field("model_version", 5, One, Int64),
        field("doc_string", 6, One, Skipped),
        field("graph", 7, One, Message(&VIEW_GRAPH)),
        field("opset_import", 8, Many, Skipped),
        field("metadata_props", 14, Many, Skipped),
    ],
};

static VIEW_GRAPH: Schema = Schema {
    name: "GraphProto",
    fields: &[
        field("node", 1, Many, Message(&VIEW_NODE)),
        field("name", 2, One, String),
        field("initializer", 5, Many, Skipped),
        field("doc_string", 10, One, Skipped),
        field("input", 11, Many, Skipped),
        field("output", 12, Many, Skipped),
        field("value_info", 13, Many, Skipped),
    ],
};

static VIEW_NODE: Schema = Schema {
    name: "NodeProto",
    fields: &[
        field("input", 1, Many, String),
        field("output", 2, Many, Skipped),
        field("name", 3, One, String),
        field("op_type", 4, One, String),
        field("attribute", 5, Many, Message(&VIEW_ATTRIBUTE)),
        field("doc_string", 6, One, Skipped),
        field("domain", 7, One, String),
    ],
};

static VIEW_ATTRIBUTE: Schema = Schema {
    name: "AttributeProto",
    fields: &[
        field("name", 1, One, String),
        field("f", 2, One, Float),
        field("i", 3, One, Int64),
        field("s", 4, One, Bytes),
        field("t", 5, One, Skipped),
        field("g", 6, One, Message(&VIEW_GRAPH)),
        field("floats", 7, Many, Float),
        field("ints", 8, Many, Int64),
        field("strings", 9, Many, Bytes),
        field("doc_string", 13, One, Skipped),
        field("type", 20, One, Enum(attribute_type)),
        field("ref_attr_name", 21, One, Skipped),
    ],
};

/// Names of the kinds of ONNX's attributes, by number.
const ATTRIBUTE_TYPES: [&str; 11] =
    ["UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS"];

fn attribute_type(name: &str) -> Option<i32> {
    ATTRIBUTE_TYPES.iter().position(|&known| known == name).map(|number| number as i32)
}
