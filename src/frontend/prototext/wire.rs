//! Protobuf text to the bytes of the same message.
//!
//! Nothing is kept but the bytes and the messages that are open: memory goes with the result, which is a fraction of the
//! text. Fields stand in the order of the text, numbers in a row are packed, and lengths are as short as they can be, so that a
//! text whose fields are in the order of their numbers gives the very bytes of the binary form.

use super::input::Input;
use super::scalar::Scalar;
use super::schema::{Field, Kind, Label, Schema};
use super::varint::{put_varint, tag_length, varint_length};
use crate::frontend::limits::MAX_BYTES;
use crate::status::{Error, Result};
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
    let root = Frame::of(schema, 0, None, 0, 1);
    Encoder { input, out: Vec::new(), open: vec![root], unknown: FxHashSet::default(), taken: number, take }.run()
}

/// A message while its fields are read.
struct Frame {
    schema: &'static Schema,
    /// Which field it is; 0 for the whole text.
    number: u32,
    /// What ends it; `None` for the whole text.
    close: Option<u8>,
    /// Where its bytes begin.
    start: usize,
    /// Line where it was opened.
    line: u64,
    /// Places in the schema of the fields that were there.
    seen: u64,
    /// Place in the schema of the last field.
    last: usize,
    /// Field whose values are being packed, and where its bytes begin.
    packed: Option<(u32, usize)>,
    /// Field whose list is open, and whether a value has just been read.
    list: Option<(&'static Field, bool)>,
}

impl Frame {
    fn of(schema: &'static Schema, number: u32, close: Option<u8>, start: usize, line: u64) -> Frame {
        Frame { schema, number, close, start, line, seen: 0, last: 0, packed: None, list: None }
    }
}

/// The bytes as far as the text was read.
pub(super) struct Encoder<'p, 't, R> {
    pub(super) input: Input<'p, R>,
    out: Vec<u8>,
    /// The whole text first; never empty.
    open: Vec<Frame>,
    /// Those that a warning has named, with their message.
    pub(super) unknown: FxHashSet<(&'static str, String)>,
    /// The field that is given to `take`; 0 for none.
    taken: u32,
    take: &'t mut dyn FnMut(&[u8]) -> Result<()>,
}

impl<R: Read> Encoder<'_, '_, R> {
    fn run(mut self) -> Result<Vec<u8>> {
        loop {
            let next = self.input.peek()?;
            let &mut Frame { close, list, schema, line, .. } = self.frame();
            match (next, close) {
                (Some(_), _) if list.is_some() => self.list_item()?,
                (None, None) if list.is_none() => {
                    self.end_packed();
                    return Ok(self.out);
                }
                (None, _) => {
                    let reason = format!("the file ends inside `{}`, which begins in line {line}", schema.name);
                    return Err(self.input.error(reason));
                }
                (Some(byte), Some(close)) if byte == close => {
                    self.input.take(1);
                    self.end_message()?;
                    self.separator()?;
                }
                _ => self.field()?,
            }
            if self.out.len() > MAX_BYTES {
                return Err(Error::graph(
                    self.input.place(),
                    "takes more than 2 GiB as a message, which protobuf does not have",
                ));
            }
        }
    }

    fn frame(&mut self) -> &mut Frame {
        let top = self.open.len() - 1;
        &mut self.open[top]
    }

    /// Takes what may stand between fields.
    pub(super) fn separator(&mut self) -> Result<()> {
        if self.frame().list.is_none() && !self.input.accept(b';')? {
            self.input.accept(b',')?;
        }
        Ok(())
    }

    fn field(&mut self) -> Result<()> {
        let after = self.frame().last;
        let schema = self.frame().schema;
        let name = self.input.run(|b| b.is_ascii_alphanumeric() || b == b'_')?;
        let (length, place) = (name.len(), schema.find(name, after));
        let Some(place) = place else { return self.unknown_field(schema) };
        self.input.take(length);
        let field = &schema.fields[place];
        self.check_occurrence(schema, place)?;
        let has_colon = self.input.accept(b':')?;
        match field.kind {
            Kind::Skipped => {
                self.skip_value(field.name)?;
                return self.separator();
            }
            Kind::Message(_) => {}
            _ if !has_colon => return Err(self.wrong(format_args!("`:` is expected after `{}`", field.name))),
            _ => {}
        }
        if has_colon && self.input.accept(b'[')? {
            if field.label != Label::Many {
                return Err(self.input.error(format!("`{}` takes one value, not a list", field.name)));
            }
            self.frame().list = Some((field, false));
            return Ok(());
        }
        self.value(field)?;
        match field.kind {
            Kind::Message(_) => Ok(()),
            _ => self.separator(),
        }
    }

    /// Marks a field as read; fails where it may not occur again.
    fn check_occurrence(&mut self, schema: &'static Schema, place: usize) -> Result<()> {
        let frame = self.frame();
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
        let line = self.frame().line;
        Err(self.input.error(format!("{reason} in the `{}` that begins in line {line}", schema.name)))
    }

    /// What stands in a list after its bracket or a value.
    fn list_item(&mut self) -> Result<()> {
        let Some((field, after_value)) = self.frame().list else { return Ok(()) };
        if self.input.accept(b']')? {
            self.frame().list = None;
            self.separator()
        } else if !after_value {
            self.frame().list = Some((field, true));
            self.value(field)
        } else if self.input.accept(b',')? {
            self.frame().list = Some((field, false));
            Ok(())
        } else {
            Err(self.wrong(format_args!("`,` or `]` is expected in the list `{}`", field.name)))
        }
    }

    pub(super) fn wrong(&mut self, wanted: std::fmt::Arguments<'_>) -> Error {
        match self.input.found() {
            Ok(found) => self.input.error(format!("{wanted}, found {found}")),
            Err(error) => error,
        }
    }

    /// One value, or the beginning of a message.
    fn value(&mut self, field: &'static Field) -> Result<()> {
        match field.kind {
            Kind::Message(schema) => self.begin_message(field, schema),
            Kind::String | Kind::Bytes => self.string(field),
            Kind::Skipped => self.skip_value(field.name),
            _ => self.word(field),
        }
    }

    fn begin_message(&mut self, field: &'static Field, schema: &'static Schema) -> Result<()> {
        let close = match self.input.peek()? {
            Some(b'{') => b'}',
            Some(b'<') => b'>',
            _ => return Err(self.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted()))),
        };
        if self.open.len() > MAX_DEPTH {
            return Err(self.input.error(format!("messages nest deeper than {MAX_DEPTH}")));
        }
        let (line, _) = self.input.position();
        self.input.take(1);
        let start = self.begin_record(field.number);
        self.open.push(Frame::of(schema, field.number, Some(close), start, line));
        Ok(())
    }

    fn end_message(&mut self) -> Result<()> {
        self.end_packed();
        let Some(frame) = self.open.pop() else { return Ok(()) };
        if self.open.len() == TAKEN_DEPTH && frame.number == self.taken {
            (self.take)(&self.out[frame.start..])?;
            self.out.truncate(frame.start - 1 - tag_length(frame.number));
        } else {
            self.end_record(frame.start);
        }
        Ok(())
    }

    fn string(&mut self, field: &'static Field) -> Result<()> {
        if !matches!(self.input.peek()?, Some(b'"' | b'\'')) {
            return Err(self.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted())));
        }
        let start = self.begin_record(field.number);
        self.input.strings(matches!(field.kind, Kind::String), &mut self.out)?;
        if field.label == Label::One && self.out.len() == start {
            // Proto3 leaves out what is as it would be anyway.
            self.out.truncate(start - 1 - tag_length(field.number));
        } else {
            self.end_record(start);
        }
        Ok(())
    }

    /// A number, a truth value or a name.
    fn word(&mut self, field: &'static Field) -> Result<()> {
        let is_negative = self.input.accept(b'-')?;
        if is_negative {
            self.input.peek()?;
        }
        let word = self.input.run(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-'))?;
        let length = word.len();
        let Some(value) = Scalar::read(word, is_negative, field.kind) else {
            let word = String::from_utf8_lossy(&word[..length.min(40)]).into_owned();
            if word.is_empty() {
                return Err(self.wrong(format_args!("`{}` takes {}", field.name, field.kind.wanted())));
            }
            let sign = if is_negative { "-" } else { "" };
            return Err(self.input.error(format!(
                "`{}` takes {}, found `{sign}{word}`",
                field.name,
                field.kind.wanted()
            )));
        };
        self.input.take(length);
        self.put(field, value);
        Ok(())
    }

    fn put(&mut self, field: &Field, value: Scalar) {
        if field.label == Label::Many {
            if self.frame().packed.is_none_or(|(number, _)| number != field.number) {
                let start = self.begin_record(field.number);
                self.frame().packed = Some((field.number, start));
            }
        } else if field.label == Label::One && value.is_zero() {
            return;
        } else {
            self.end_packed();
            put_varint(&mut self.out, u64::from(field.number) << 3 | value.wire_type());
        }
        value.put(&mut self.out);
    }

    /// Begins a record whose length is not known yet; answers where its bytes begin.
    fn begin_record(&mut self, number: u32) -> usize {
        self.end_packed();
        put_varint(&mut self.out, u64::from(number) << 3 | 2);
        self.out.push(0);
        self.out.len()
    }

    fn end_packed(&mut self) {
        if let Some((_, start)) = self.frame().packed.take() {
            self.end_record(start);
        }
    }

    /// Writes the length of a record in front of its bytes, which make room where one byte is not enough.
    fn end_record(&mut self, start: usize) {
        let end = self.out.len();
        let length = (end - start) as u64;
        let more = varint_length(length) - 1;
        if more > 0 {
            self.out.resize(end + more, 0);
            self.out.copy_within(start..end, start + more);
        }
        let mut rest = length;
        for byte in &mut self.out[start - 1..start + more] {
            *byte = (rest & 0x7f) as u8 | 0x80;
            rest >>= 7;
        }
        self.out[start + more - 1] &= 0x7f;
    }
}
