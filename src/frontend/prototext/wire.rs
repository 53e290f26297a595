//! Protobuf text to the bytes of the same message.
//!
//! Nothing is kept but the bytes and the messages that are open: memory goes with the result, which is a fraction of the
//! text. Fields stand in the order of the text, numbers in a row are packed, and lengths are as short as they can be, so that a
//! text whose fields are in the order of their numbers gives the very bytes of the binary form.

use super::input::Input;
use super::scalar::Scalar;
use super::schema::{Field, Kind, Label, Schema};
use crate::frontend::limits::MAX_BYTES;
use crate::status::{Error, Result};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use rustc_hash::FxHashSet;
use std::io::Read;

/// Messages inside messages. A graph in an attribute of an operator of a graph, with a list of tensors in it, takes ten.
pub(super) const MAX_DEPTH: usize = 64;

/// Messages that are open where one of those that are taken ends: the whole text, and one in it.
const TAKEN_DEPTH: usize = 2;

/// The bytes of the message in a text; `place` names the text in errors, which give line and column too.
///
/// A field that the schema does not have is passed over with a warning that names it. Fails with [`Error::Graph`] where
/// the text is none, is cut short, gives a field twice that occurs once, or nests without end.
pub fn encode(text: impl Read, schema: &'static Schema, place: &str) -> Result<Vec<u8>> {
    encode_without(text, schema, place, 0, &mut |_| Ok(()))
}

/// The same without the messages that are the field of this number in a message of the whole text: as soon as one of them was
/// read, `take` gets its bytes, and nothing of it is kept. Fails where `take` does, too.
pub fn encode_without(
    text: impl Read,
    schema: &'static Schema,
    place: &str,
    number: u32,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let input = Input::new(text, place)?;
    let mut encoder = Encoder { input, out: Vec::new(), unknown: FxHashSet::default(), taken: number, take };
    encoder.message(Frame::of(schema, 1), None, 1)?;
    Ok(encoder.out)
}

/// A message while its fields are read.
struct Frame {
    schema: &'static Schema,
    /// Line where it was opened.
    line: u64,
    /// Places in the schema of the fields that were there.
    seen: u64,
    /// Place in the schema of the last field.
    last: usize,
    /// Field whose values are being packed, and where its bytes begin.
    packed: Option<(u32, usize)>,
}

impl Frame {
    fn of(schema: &'static Schema, line: u64) -> Frame {
        Frame { schema, line, seen: 0, last: 0, packed: None }
    }
}

/// The bytes as far as the text was read.
pub(super) struct Encoder<'p, 't, R> {
    pub(super) input: Input<'p, R>,
    out: Vec<u8>,
    /// Those that a warning has named, with their message.
    pub(super) unknown: FxHashSet<(&'static str, String)>,
    /// The field that is given to `take`; 0 for none.
    taken: u32,
    take: &'t mut dyn FnMut(&[u8]) -> Result<()>,
}

impl<R: Read> Encoder<'_, '_, R> {
    /// The fields of a message up to what closes it; `depth` counts the messages that are open, it and the whole text included.
    fn message(&mut self, mut frame: Frame, close: Option<u8>, depth: usize) -> Result<()> {
        loop {
            match (self.input.peek()?, close) {
                (None, None) => break,
                (None, _) => {
                    let Frame { schema, line, .. } = frame;
                    let reason = format!("the file ends inside `{}`, which begins in line {line}", schema.name);
                    return Err(self.input.error(reason));
                }
                (Some(byte), Some(close)) if byte == close => {
                    self.input.take(1);
                    break;
                }
                _ => self.field(&mut frame, depth)?,
            }
            if self.out.len() > MAX_BYTES {
                return Err(Error::graph(
                    self.input.place(),
                    "takes more than 2 GiB as a message, which protobuf does not have",
                ));
            }
        }
        self.end_packed(&mut frame);
        Ok(())
    }

    /// Takes what may stand between fields.
    pub(super) fn separator(&mut self) -> Result<()> {
        if !self.input.accept(b';')? {
            self.input.accept(b',')?;
        }
        Ok(())
    }

    fn field(&mut self, frame: &mut Frame, depth: usize) -> Result<()> {
        let schema = frame.schema;
        let name = self.input.run(|b| b.is_ascii_alphanumeric() || b == b'_')?;
        let (length, place) = (name.len(), schema.find(name, frame.last));
        let Some(place) = place else { return self.unknown_field(schema) };
        self.input.take(length);
        let field = &schema.fields[place];
        self.check_occurrence(frame, place)?;
        let has_colon = self.input.accept(b':')?;
        if !has_colon && !matches!(field.kind, Kind::Skipped | Kind::Message(_)) {
            return Err(self.input.wrong(format_args!("`:` is expected after `{}`", field.name)));
        }
        if matches!(field.kind, Kind::Skipped) || !has_colon || !self.input.accept(b'[')? {
            self.value(frame, field, depth)?;
            return self.separator();
        }
        if field.label != Label::Many {
            return Err(self.input.error(format!("`{}` takes one value, not a list", field.name)));
        }
        while !self.input.accept(b']')? {
            self.value(frame, field, depth)?;
            if !self.input.accept(b',')? && self.input.peek()? != Some(b']') {
                return Err(self.input.wrong(format_args!("`,` or `]` is expected in the list `{}`", field.name)));
            }
        }
        self.separator()
    }

    /// Marks a field as read; fails where it may not occur again.
    fn check_occurrence(&self, frame: &mut Frame, place: usize) -> Result<()> {
        let schema = frame.schema;
        frame.last = place;
        let field = &schema.fields[place];
        let excluded = match field.label {
            Label::Many => 0,
            Label::One => 1 << place,
            Label::Choice => {
                let choices = schema.fields.iter().enumerate().filter(|(_, field)| field.label == Label::Choice);
                choices.fold(0, |all, (place, _)| all | 1 << place)
            }
        };
        let other = frame.seen & excluded;
        frame.seen |= 1 << place;
        if other == 0 {
            return Ok(());
        }
        let first = schema.fields[other.trailing_zeros() as usize].name;
        let name = field.name;
        let reason = if first == name {
            format!("`{name}` is given twice")
        } else {
            format!("both `{first}` and `{name}` are given")
        };
        Err(self.input.error(format!("{reason} in the `{}` that begins in line {}", schema.name, frame.line)))
    }

    /// One value.
    fn value(&mut self, frame: &mut Frame, field: &'static Field, depth: usize) -> Result<()> {
        match field.kind {
            Kind::Message(schema) => self.nested(frame, field, schema, depth),
            Kind::String | Kind::Bytes => self.string(frame, field),
            Kind::Skipped => self.input.skip_value(field.name),
            _ => self.word(frame, field),
        }
    }

    fn nested(&mut self, frame: &mut Frame, field: &Field, schema: &'static Schema, depth: usize) -> Result<()> {
        let close = match self.input.peek()? {
            Some(b'{') => b'}',
            Some(b'<') => b'>',
            _ => return Err(self.input.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted()))),
        };
        if depth > MAX_DEPTH {
            return Err(self.input.error(format!("messages nest deeper than {MAX_DEPTH}")));
        }
        let (line, _) = self.input.position();
        self.input.take(1);
        let start = self.begin_record(frame, field.number);
        self.message(Frame::of(schema, line), Some(close), depth + 1)?;
        if depth == TAKEN_DEPTH && field.number == self.taken {
            (self.take)(&self.out[start..])?;
            self.out.truncate(start - 1 - key_len(field.number));
        } else {
            self.end_record(start);
        }
        Ok(())
    }

    fn string(&mut self, frame: &mut Frame, field: &Field) -> Result<()> {
        if !matches!(self.input.peek()?, Some(b'"' | b'\'')) {
            return Err(self.input.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted())));
        }
        let start = self.begin_record(frame, field.number);
        self.input.strings(matches!(field.kind, Kind::String), &mut self.out)?;
        if field.label == Label::One && self.out.len() == start {
            // Proto3 leaves out what is as it would be anyway.
            self.out.truncate(start - 1 - key_len(field.number));
        } else {
            self.end_record(start);
        }
        Ok(())
    }

    /// A number, a truth value or a name.
    fn word(&mut self, frame: &mut Frame, field: &Field) -> Result<()> {
        let is_negative = self.input.accept(b'-')?;
        if is_negative {
            self.input.peek()?;
        }
        let word = self.input.run(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-'))?;
        let length = word.len();
        let Some(value) = Scalar::read(word, is_negative, field.kind) else {
            let word = String::from_utf8_lossy(&word[..length.min(40)]).into_owned();
            if word.is_empty() {
                return Err(self.input.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted())));
            }
            let sign = if is_negative { "-" } else { "" };
            return Err(self.input.error(format!(
                "`{}` takes {}, found `{sign}{word}`",
                field.name,
                field.kind.wanted()
            )));
        };
        self.input.take(length);
        self.put(frame, field, value);
        Ok(())
    }

    fn put(&mut self, frame: &mut Frame, field: &Field, value: Scalar) {
        if field.label == Label::Many {
            if frame.packed.is_none_or(|(number, _)| number != field.number) {
                let start = self.begin_record(frame, field.number);
                frame.packed = Some((field.number, start));
            }
        } else if field.label == Label::One && value.is_zero() {
            return;
        } else {
            self.end_packed(frame);
            encode_key(field.number, value.wire_type(), &mut self.out);
        }
        value.put(&mut self.out);
    }

    /// Begins a record whose length is not known yet; answers where its bytes begin.
    fn begin_record(&mut self, frame: &mut Frame, number: u32) -> usize {
        self.end_packed(frame);
        encode_key(number, WireType::LengthDelimited, &mut self.out);
        self.out.push(0);
        self.out.len()
    }

    fn end_packed(&mut self, frame: &mut Frame) {
        if let Some((_, start)) = frame.packed.take() {
            self.end_record(start);
        }
    }

    /// Writes the length of a record in front of its bytes, in place of the zero that stands there.
    fn end_record(&mut self, start: usize) {
        let mut length = Vec::with_capacity(encoded_len_varint(u64::MAX));
        encode_varint((self.out.len() - start) as u64, &mut length);
        self.out.splice(start - 1..start, length);
    }
}
