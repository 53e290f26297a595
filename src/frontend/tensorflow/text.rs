//! Text graphs (`.pbtxt`): protobuf text to the messages that a binary graph has.

use super::proto;
use super::tensor::Reason;
use crate::frontend::prototext::{self, Message};
use crate::status::{Error, Result};
use prost::bytes::Bytes;

/// Names of element types and TensorFlow's numbers of them.
#[rustfmt::skip]
const TYPES: &[(&str, i32)] = &[
    ("DT_FLOAT", 1), ("DT_DOUBLE", 2), ("DT_INT32", 3), ("DT_UINT8", 4), ("DT_INT16", 5), ("DT_INT8", 6), ("DT_STRING", 7),
    ("DT_COMPLEX64", 8), ("DT_INT64", 9), ("DT_BOOL", 10), ("DT_QINT8", 11), ("DT_QUINT8", 12), ("DT_QINT32", 13),
    ("DT_BFLOAT16", 14), ("DT_QINT16", 15), ("DT_QUINT16", 16), ("DT_UINT16", 17), ("DT_COMPLEX128", 18), ("DT_HALF", 19),
    ("DT_RESOURCE", 20), ("DT_VARIANT", 21), ("DT_UINT32", 22), ("DT_UINT64", 23),
];

/// Whether a text is a graph: protobuf text with a node that has an operator type.
pub fn is_graph(text: &str) -> bool {
    let nodes = prototext::parse(text, "").ok().and_then(|graph| {
        let nodes = graph.messages("node").ok()?;
        Some(nodes.iter().any(|node| node.has("op")))
    });
    nodes == Some(true)
}

/// The graph in a text; `place` names it in errors, which give the line or the node too.
pub fn read(text: &str, place: &str) -> Result<proto::Graph> {
    let graph = prototext::parse(text, place)?;
    let nodes = graph.messages("node").map_err(|reason| Error::graph(place, reason))?;
    let encoded = |(index, message): (usize, &Message)| {
        let at =
            || message.text("name").ok().flatten().map_or_else(|| format!("node {index}"), |n| format!("node `{n}`"));
        node(message).map_err(|reason| Error::graph(format!("{place}, {}", at()), reason))
    };
    Ok(proto::Graph { node: nodes.into_iter().enumerate().map(encoded).collect::<Result<_>>()? })
}

fn encode(message: &impl prost::Message) -> Bytes {
    message.encode_to_vec().into()
}

fn node(message: &Message) -> Result<Bytes, Reason> {
    let entry = |entry: &Message| {
        let key = entry.text("key")?.unwrap_or_default().to_owned();
        let value =
            entry.message("value")?.map(value).transpose().map_err(|reason| format!("attribute `{key}`: {reason}"))?;
        Ok::<_, Reason>(encode(&proto::Entry { key, value }))
    };
    Ok(encode(&proto::Node {
        name: message.text("name")?.unwrap_or_default().to_owned(),
        op: message.text("op")?.unwrap_or_default().to_owned(),
        input: message.texts("input")?,
        attr: message.messages("attr")?.into_iter().map(entry).collect::<Result<_, _>>()?,
    }))
}

fn value(message: &Message) -> Result<proto::Value, Reason> {
    Ok(proto::Value {
        list: message.message("list")?.map(list).transpose()?,
        s: message.bytes("s")?.map(Bytes::copy_from_slice),
        i: message.int("i")?,
        f: message.float("f")?.map(|f| f as f32),
        b: message.bool("b")?,
        kind: message.word("type")?.map(type_number).transpose()?,
        shape: message.message("shape")?.map(shape).transpose()?,
        tensor: message.message("tensor")?.map(tensor).transpose()?,
    })
}

fn list(message: &Message) -> Result<Bytes, Reason> {
    Ok(encode(&proto::List {
        i: message.ints("i")?,
        f: singles(message, "f")?,
        shape: message.messages("shape")?.into_iter().map(shape).collect::<Result<_, _>>()?,
    }))
}

fn singles(message: &Message, name: &str) -> Result<Vec<f32>, Reason> {
    Ok(message.floats(name)?.into_iter().map(|f| f as f32).collect())
}

/// A type by its name or number; that of a reference is 100 more.
fn type_number(word: &str) -> Result<i32, Reason> {
    let (base, offset) = word.strip_suffix("_REF").map_or((word, 0), |base| (base, 100));
    let named = TYPES.iter().find(|(name, _)| *name == base).map(|(_, number)| number + offset);
    named.or_else(|| word.parse().ok()).ok_or_else(|| format!("`{word}` is no element type"))
}

fn shape(message: &Message) -> Result<Bytes, Reason> {
    let dim = |dim: &Message| Ok::<_, Reason>(encode(&proto::Dimension { size: dim.int("size")?.unwrap_or(0) }));
    Ok(encode(&proto::Shape {
        dim: message.messages("dim")?.into_iter().map(dim).collect::<Result<_, _>>()?,
        unknown_rank: message.bool("unknown_rank")?.unwrap_or(false),
    }))
}

fn tensor(message: &Message) -> Result<Bytes, Reason> {
    fn narrow<T: TryFrom<i64>>(message: &Message, name: &str) -> Result<Vec<T>, Reason> {
        let values = message.ints(name)?.into_iter();
        values.map(|v| T::try_from(v).map_err(|_| format!("`{name}` holds {v}, which its type does not"))).collect()
    }
    Ok(encode(&proto::Tensor {
        dtype: message.word("dtype")?.map(type_number).transpose()?.unwrap_or(0),
        shape: message.message("tensor_shape")?.map(shape).transpose()?.unwrap_or_default(),
        content: message.bytes("tensor_content")?.map(Bytes::copy_from_slice).unwrap_or_default(),
        float_val: singles(message, "float_val")?,
        double_val: message.floats("double_val")?,
        int_val: narrow(message, "int_val")?,
        int64_val: message.ints("int64_val")?,
        bool_val: message.bools("bool_val")?,
        half_val: narrow(message, "half_val")?,
        uint32_val: narrow(message, "uint32_val")?,
        uint64_val: narrow(message, "uint64_val")?,
    }))
}
