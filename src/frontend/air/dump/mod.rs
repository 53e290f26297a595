//! Graphs that CANN dumps as text: `ge_proto_*.txt`, which is a `ModelDef`, and `ge_onnx_*.pbtxt`, the same graph as
//! something that viewers of ONNX show.
//!
//! Both become the bytes of a `ModelDef`, which the reader of the binary form reads: [`schema`] says what the messages are,
//! [`view`] leads the second form back to the first, [`names`] says which file of a folder is which graph at which stage.

pub mod names;
mod schema;
#[cfg(test)]
mod tests;
mod view;

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
}

/// Whether a file that begins so is a dump, in whatever encoding.
pub fn is_dump(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD_BYTES)];
    form(head).is_some() || from_utf16(head).is_some_and(|text| form(text.as_bytes()).is_some())
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
    let is_view = form(&head) == Some(Form::View);
    let text = head.as_slice().chain(text);
    if is_view {
        return view::model_of(wire::encode(text, &schema::VIEW, place)?.into(), place);
    }
    wire::encode(text, &schema::MODEL, place).map(Bytes::from)
}

/// The form of a text, by the first message in it: both have a graph there, and no model of another framework has.
fn form(head: &[u8]) -> Option<Form> {
    let mut text = Input::new(head, "").ok()?;
    let mut has_version = false;
    loop {
        let name = text_name(&mut text)?;
        let has_colon = text.accept(b':').ok()?;
        match text.peek().ok()?? {
            b'{' | b'<' if name == "graph" => {
                text.take(1);
                break;
            }
            b'"' | b'\'' if has_colon => text.strings(false, &mut Vec::new()).ok()?,
            b'{' | b'<' | b'[' => return None,
            _ if has_colon => {
                let length = text.run(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')).ok()?.len();
                if length == 0 {
                    return None;
                }
                text.take(length);
            }
            _ => return None,
        }
        has_version |= name == "ir_version";
    }
    // The first message tells; strings come before it.
    let mut first = || {
        loop {
            let name = text_name(&mut text)?;
            if name == "op" || name == "node" {
                return Some(name);
            }
            if !text.accept(b':').ok()? {
                return Some(name);
            }
            text.strings(false, &mut Vec::new()).ok()?;
        }
    };
    match first().as_deref() {
        Some("node") => Some(Form::View),
        None if has_version => Some(Form::View),
        _ => Some(Form::Model),
    }
}

/// Takes the name of a field.
fn text_name(text: &mut Input<'_, &[u8]>) -> Option<String> {
    text.peek().ok()??;
    let name = String::from_utf8_lossy(text.run(|b| b.is_ascii_alphanumeric() || b == b'_').ok()?).into_owned();
    text.take(name.len());
    Some(name).filter(|name| !name.is_empty())
}

/// A text in UTF-16 that begins with its mark, as far as it can be read.
fn from_utf16(head: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match head {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = head[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}
