//! Protobuf's text format: fields, nested messages, lists.
//!
//! It is read in two ways. Dumps of GE may have hundreds of megabytes and one schema: [`wire`] makes the bytes of the
//! same message of them, piece by piece, and what reads the binary form reads those ([`schema`], [`input`]).
//! [`parse`] is for Caffe's nets and TensorFlow's text graphs, whose fields have hundreds of names.
//! No schema is needed there: a field is what its name and value say, and a reader asks a [`Message`] for the
//! fields that it knows ([`message`]). Values are slices of the text, so a hostile file cannot grow by more than the
//! size of a [`Field`] for every two of its bytes; depth and size are bounded.

mod escape;
pub mod input;
pub mod message;
mod scalar;
pub mod schema;
mod unknown;
mod varint;
pub mod wire;

use crate::status::{Error, Result};
use std::borrow::Cow;

/// Messages inside messages; a net's own nest four deep.
const MAX_DEPTH: usize = 32;
/// Largest text; nets and graphs without their weights stay below one megabyte.
pub const MAX_BYTES: usize = 16 << 20;

/// The fields of a message, in the order of the file.
#[derive(Debug, Default)]
pub struct Message<'a> {
    pub fields: Vec<Field<'a>>,
}

/// One occurrence of a field.
#[derive(Debug)]
pub struct Field<'a> {
    pub name: &'a str,
    pub value: Value<'a>,
    /// Line of the file, from 1.
    pub line: u32,
}

/// Value of a field.
#[derive(Debug)]
pub enum Value<'a> {
    /// A number, a truth value or the name of an enumeration's value, as written.
    Word(Cow<'a, str>),
    /// A quoted string; only a reader knows whether it is text or bytes.
    Text(Vec<u8>),
    /// A message.
    Message(Message<'a>),
}

/// Reads a text; `place` names it in errors, which give the line too.
pub fn parse<'a>(text: &'a str, place: &str) -> Result<Message<'a>> {
    if text.len() > MAX_BYTES {
        return Err(Error::graph(
            place,
            format!("is larger than {} MiB, too large for a network in text", MAX_BYTES >> 20),
        ));
    }
    let mut parser = Parser { text, at: 0, line: 1, place };
    parser.message(None, 0)
}

/// Where the text has been read to.
struct Parser<'a, 'p> {
    text: &'a str,
    at: usize,
    line: u32,
    place: &'p str,
}

impl<'a> Parser<'a, '_> {
    fn error(&self, reason: impl std::fmt::Display) -> Error {
        Error::graph(format!("{}, line {}", self.place, self.line), format!("is not protobuf text: {reason}"))
    }

    /// The next character that is neither space nor comment.
    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = &self.text[self.at..];
            let c = rest.chars().next()?;
            match c {
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '\n' => {
                    self.at += 1;
                    self.line += 1;
                }
                _ if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                _ => return Some(c),
            }
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    /// The longest run of such characters from here; may be empty.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let run = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    /// What stands here, for an error.
    fn found(&mut self) -> String {
        self.peek().map_or_else(|| "the end of the file".to_owned(), |c| format!("`{}`", c.escape_debug()))
    }

    /// Fields up to the closing bracket, or to the end of the text where there is none to come.
    fn message(&mut self, end: Option<char>, depth: usize) -> Result<Message<'a>> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("messages nest deeper than {MAX_DEPTH}")));
        }
        let mut message = Message::default();
        loop {
            match (self.peek(), end) {
                (None, None) => return Ok(message),
                (None, Some(end)) => return Err(self.error(format!("the end of the file comes before `{end}`"))),
                (Some(c), Some(end)) if c == end => {
                    self.at += 1;
                    return Ok(message);
                }
                _ => self.field(&mut message, depth)?,
            }
        }
    }

    fn field(&mut self, message: &mut Message<'a>, depth: usize) -> Result<()> {
        let line = self.line;
        if !self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
            let found = self.found();
            return Err(self.error(format!("a field's name is expected, found {found}")));
        }
        let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        let colon = self.take(':');
        if colon && self.take('[') {
            while !self.take(']') {
                let value = self.value(name, depth, colon)?;
                message.fields.push(Field { name, value, line });
                if !self.take(',') && self.peek() != Some(']') {
                    let found = self.found();
                    return Err(self.error(format!("`,` or `]` is expected in the list `{name}`, found {found}")));
                }
            }
        } else {
            let value = self.value(name, depth, colon)?;
            message.fields.push(Field { name, value, line });
        }
        if !self.take(';') {
            self.take(',');
        }
        Ok(())
    }

    fn value(&mut self, name: &str, depth: usize, colon: bool) -> Result<Value<'a>> {
        for (open, close) in [('{', '}'), ('<', '>')] {
            if self.take(open) {
                return self.message(Some(close), depth + 1).map(Value::Message);
            }
        }
        if !colon {
            let found = self.found();
            return Err(self.error(format!("`:` or `{{` is expected after `{name}`, found {found}")));
        }
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.string().map(Value::Text);
        }
        let minus = self.take('-') && self.peek().is_some();
        let word = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'));
        if word.is_empty() {
            let found = self.found();
            return Err(self.error(format!("`{name}` has no value, found {found}")));
        }
        Ok(Value::Word(if minus { format!("-{word}").into() } else { word.into() }))
    }

    /// Quoted strings; several in a row are one.
    fn string(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.at += 1;
            loop {
                let Some(c) = self.text[self.at..].chars().next().filter(|&c| c != '\n') else {
                    return Err(self.error("a string does not end on its line"));
                };
                self.at += c.len_utf8();
                match c {
                    _ if c == quote => break,
                    '\\' => self.escape(&mut bytes)?,
                    _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                }
            }
        }
        Ok(bytes)
    }

    /// What follows a backslash.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (length, escaped) = escape::read(rest).map_err(|reason| self.error(reason))?;
        self.at += length;
        bytes.extend_from_slice(escaped.as_bytes());
        Ok(())
    }
}
