//! Graphs that CANN dumps as text: `ge_proto_*.txt`, which is a `ModelDef`, and `ge_onnx_*.pbtxt`, the same graph as
//! something that viewers of ONNX show. torchair's own dump is a `GraphDef`.
//!
//! Both become the bytes of a `ModelDef`, which the reader of the binary form reads: [`schema`] says what the messages are,
//! [`view`] leads the second form back to the first, [`names`] says which file of a folder is which graph at which stage.

pub mod names;
mod schema;
#[cfg(test)]
mod tests;
mod view;

use super::proto::{Model, encode};
use crate::frontend::prototext::input::{Input, other_encoding};
use crate::frontend::prototext::wire;
use crate::status::Result;
use prost::bytes::Bytes;
use std::io::Read;

/// How much of a text tells what it is.
pub const HEAD_BYTES: usize = 64 << 10;

/// Which of the two forms a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Model,
    View,
    /// A `GraphDef` by itself, as torchair dumps it.
    Graph,
}

/// Whether a file that begins so is a dump, in whatever encoding.
pub fn is_dump(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD_BYTES)];
    form(head).is_some() || without_zeros(head).is_some_and(|text| form(&text).is_some())
}

/// Whether bytes that should be a model are text, be it a dump or not.
pub fn is_text(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD_BYTES)];
    // Each operator of a binary model has a control character before its type.
    let is_printable = |&b: &u8| b >= 0x80 || b.is_ascii_graphic() || b.is_ascii_whitespace();
    let is_plain = || head.iter().all(is_printable) && head.iter().any(|b| b"{:<".contains(b));
    is_dump(head) || other_encoding(head).is_some() || is_plain()
}

/// The `ModelDef` that a text stands for; it is read piece by piece. `place` names it in errors, which give line and
/// column too.
///
/// Fails with [`Error::Graph`](crate::status::Error::Graph) where it is no such text, or not enough of one.
pub fn encode_model(mut text: impl Read, place: &str) -> Result<Bytes> {
    let mut head = Vec::new();
    // What cannot be read shows below.
    let _ = text.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
    let form = form(&head);
    let text = head.as_slice().chain(text);
    match form {
        Some(Form::View) => view::model_of(text, place),
        Some(Form::Graph) => {
            let graph = wire::encode(text, &schema::GRAPH, place)?;
            Ok(encode(&Model { graph: vec![graph.into()], ..Model::default() }))
        }
        _ => wire::encode(text, &schema::MODEL, place).map(Bytes::from),
    }
}

/// The form of a text: both have a message `graph`, which no model of another framework has, and in that it tells which
/// operators are called. Fields may come in any order and any spelling.
fn form(head: &[u8]) -> Option<Form> {
    // Characters of another encoding do not hide what a text is: whoever reads it tells where they stand.
    let plain = |&byte: &u8| if byte.is_ascii() { byte } else { b'?' };
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text: Vec<u8> = if other_encoding(head).is_some() { Vec::new() } else { text.iter().map(plain).collect() };
    let mut text = Input::new(text.as_slice(), "").ok()?;
    let mut has_version = false;
    loop {
        let name = field_name(&mut text)?;
        if name == "graph" {
            if is_message(&mut text)? {
                break;
            }
            return None;
        }
        if name == "op" && is_message(&mut text)? {
            // Another text of this form lists the operators of a framework, which have no types.
            return is_operator(&mut text)?.then_some(Form::Graph);
        }
        has_version |= name == "ir_version";
        text.skip_value(&name).ok()?;
    }
    // Behind what can be seen of the text there may be operators, too: without any, the version tells.
    while let Some(name) = field_name(&mut text) {
        match name.as_str() {
            "op" => return Some(Form::Model),
            "node" => return Some(Form::View),
            _ if text.skip_value(&name).is_err() => break,
            _ => {}
        }
    }
    Some(if has_version { Form::View } else { Form::Model })
}

/// Takes the beginning of a message, or of a list of them.
fn is_message(text: &mut Input<'_, &[u8]>) -> Option<bool> {
    text.accept(b'[').ok()?;
    Some(text.accept(b'{').ok()? || text.accept(b'<').ok()?)
}

/// Whether what stands in a message is an operator with its type.
fn is_operator(text: &mut Input<'_, &[u8]>) -> Option<bool> {
    while let Some(name) = field_name(text) {
        if name == "type" {
            return Some(true);
        }
        text.skip_value(&name).ok()?;
    }
    Some(false)
}

/// Takes the name of a field with what stands before it and its colon; `None` at the end of a message or of the text.
fn field_name(text: &mut Input<'_, &[u8]>) -> Option<String> {
    while text.accept(b',').ok()? || text.accept(b';').ok()? {}
    let is_extension = text.accept(b'[').ok()?;
    text.peek().ok()??;
    let belongs = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || is_extension && matches!(b, b'.' | b'/');
    let name = String::from_utf8_lossy(text.run(belongs).ok()?).into_owned();
    text.take(name.len());
    if is_extension {
        text.accept(b']').ok()?;
    }
    text.accept(b':').ok()?;
    Some(name).filter(|name| !name.is_empty())
}

/// A text in UTF-16 or UTF-32, with or without its mark, or one in which bytes are zero that should not be, as far as it
/// can be told what it is: without what no byte holds.
fn without_zeros(head: &[u8]) -> Option<Vec<u8>> {
    if other_encoding(head).is_none() && !head.contains(&0) {
        return None;
    }
    let mark = [&[0xff, 0xfe, 0, 0][..], &[0, 0, 0xfe, 0xff], &[0xff, 0xfe], &[0xfe, 0xff]];
    let text = mark.iter().find_map(|mark| head.strip_prefix(*mark)).unwrap_or(head);
    Some(text.iter().copied().filter(|&b| b != 0).collect())
}
