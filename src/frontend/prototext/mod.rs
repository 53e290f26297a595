//! Protobuf's text format: fields, nested messages, lists.
//!
//! It is read in two ways, over one [`input`]. Dumps of GE may have hundreds of megabytes and one schema: [`wire`] makes the
//! bytes of the same message of them, piece by piece, and what reads the binary form reads those ([`schema`]).
//! [`parse`] is for Caffe's nets and TensorFlow's text graphs, whose fields have hundreds of names.
//! No schema is needed there: a field is what its name and value say, and a reader asks a [`Message`] for the
//! fields that it knows ([`message`]). A hostile file grows by a small factor at most; depth and size are bounded.

mod escape;
pub mod input;
pub mod message;
mod scalar;
pub mod schema;
mod unknown;
pub mod wire;

use crate::status::{Error, Result};
use input::Input;
use std::sync::Arc;

/// Messages inside messages; a net's own nest four deep.
const MAX_DEPTH: usize = 32;
/// Largest text; nets and graphs without their weights stay below one megabyte.
pub const MAX_BYTES: usize = 16 << 20;

/// The fields of a message, in the order of the file.
#[derive(Debug, Default)]
pub struct Message {
    pub fields: Vec<Field>,
}

/// One occurrence of a field.
#[derive(Debug)]
pub struct Field {
    /// Shared by all values of a list.
    pub name: Arc<str>,
    pub value: Value,
    /// Line of the file, from 1.
    pub line: u64,
}

/// Value of a field.
#[derive(Debug)]
pub enum Value {
    /// A number, a truth value or the name of an enumeration's value, as written.
    Word(Box<str>),
    /// A quoted string; only a reader knows whether it is text or bytes.
    Text(Vec<u8>),
    /// A message.
    Message(Message),
}

/// Reads a text; `place` names it in errors, which give line and column too.
pub fn parse(text: &str, place: &str) -> Result<Message> {
    if text.len() > MAX_BYTES {
        return Err(Error::graph(
            place,
            format!("is larger than {} MiB, too large for a network in text", MAX_BYTES >> 20),
        ));
    }
    Parser { input: Input::new(text.as_bytes(), place)? }.message(None, 0)
}

struct Parser<'t, 'p> {
    input: Input<'p, &'t [u8]>,
}

impl Parser<'_, '_> {
    /// Fields up to the closing bracket, or to the end of the text where there is none to come.
    fn message(&mut self, end: Option<u8>, depth: usize) -> Result<Message> {
        if depth > MAX_DEPTH {
            return Err(self.input.error(format!("messages nest deeper than {MAX_DEPTH}")));
        }
        let mut message = Message::default();
        loop {
            match (self.input.peek()?, end) {
                (None, None) => return Ok(message),
                (None, Some(end)) => {
                    let end = char::from(end);
                    return Err(self.input.error(format!("the end of the file comes before `{end}`")));
                }
                (Some(byte), Some(end)) if byte == end => {
                    self.input.take(1);
                    return Ok(message);
                }
                _ => self.field(&mut message, depth)?,
            }
        }
    }

    fn field(&mut self, message: &mut Message, depth: usize) -> Result<()> {
        let (line, _) = self.input.position();
        let name = self.input.word(|b| b.is_ascii_alphanumeric() || b == b'_')?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(self.input.wrong("a field's name is expected"));
        }
        self.input.take(name.len());
        let name: Arc<str> = name.into();
        let mut add = |value| message.fields.push(Field { name: name.clone(), value, line });
        let colon = self.input.accept(b':')?;
        if colon && self.input.accept(b'[')? {
            while !self.input.accept(b']')? {
                add(self.value(&name, depth, colon)?);
                if !self.input.accept(b',')? && self.input.peek()? != Some(b']') {
                    return Err(self.input.wrong(format_args!("`,` or `]` is expected in the list `{name}`")));
                }
            }
        } else {
            add(self.value(&name, depth, colon)?);
        }
        if !self.input.accept(b';')? {
            self.input.accept(b',')?;
        }
        Ok(())
    }

    fn value(&mut self, name: &str, depth: usize, colon: bool) -> Result<Value> {
        for (open, close) in [(b'{', b'}'), (b'<', b'>')] {
            if self.input.accept(open)? {
                return self.message(Some(close), depth + 1).map(Value::Message);
            }
        }
        if !colon {
            return Err(self.input.wrong(format_args!("`:` or `{{` is expected after `{name}`")));
        }
        if matches!(self.input.peek()?, Some(b'"' | b'\'')) {
            let mut bytes = Vec::new();
            self.input.strings(false, &mut bytes)?;
            return Ok(Value::Text(bytes));
        }
        let minus = if self.input.accept(b'-')? { "-" } else { "" };
        self.input.peek()?;
        let word = self.input.word(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-'))?;
        if word.is_empty() {
            return Err(self.input.wrong(format_args!("`{name}` has no value")));
        }
        self.input.take(word.len());
        Ok(Value::Word(format!("{minus}{word}").into()))
    }
}
