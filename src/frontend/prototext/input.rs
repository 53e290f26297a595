//! A text that is read piece by piece, and where it has been read to.

use super::escape;
use crate::status::{Error, Result};
use std::io::{ErrorKind, Read};

/// What is read at once.
const BUFFER_BYTES: usize = 256 << 10;
/// What can be looked at without having been taken: the longest name or number, and more than the longest escape.
const AHEAD: usize = 256;
/// UTF-8's mark of the byte order.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A text while it is read.
pub struct Input<'p, R> {
    source: R,
    /// Bytes read; those from `at` to `end` are not taken yet.
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    /// Whether the source has no more.
    is_done: bool,
    /// Bytes taken before the buffer's first.
    before: u64,
    /// Line, from 1.
    line: u64,
    /// Where the line begins, in bytes taken.
    line_start: u64,
    /// Bytes of the line that only continue a character.
    continued: u64,
    place: &'p str,
}

impl<'p, R: Read> Input<'p, R> {
    /// A text from its beginning; `place` names it in errors.
    ///
    /// Fails with [`Error::Graph`] where the first bytes are those of another encoding than UTF-8.
    pub fn new(source: R, place: &'p str) -> Result<Self> {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let mut input = Input {
            source,
            buffer,
            at: 0,
            end: 0,
            is_done: false,
            before: 0,
            line: 1,
            line_start: 0,
            continued: 0,
            place,
        };
        let head = input.ahead()?;
        if let Some(encoding) = other_encoding(head) {
            return Err(input.error(format!("it is {encoding}; convert it to UTF-8")));
        }
        if head.starts_with(MARK) {
            input.take(MARK.len());
            input.line_start = MARK.len() as u64;
        }
        Ok(input)
    }

    /// An error at this place of the text.
    pub fn error(&self, reason: impl std::fmt::Display) -> Error {
        let (line, column) = self.position();
        let place = format!("{}, line {line}, column {column}", self.place);
        Error::graph(place, format!("is not protobuf text: {reason}"))
    }

    /// Line and column, both from 1; a column is a character.
    pub fn position(&self) -> (u64, u64) {
        (self.line, (self.before + self.at as u64) - self.line_start - self.continued + 1)
    }

    /// The name of the text.
    pub fn place(&self) -> &'p str {
        self.place
    }

    /// The next bytes: [`AHEAD`] of them at least, or all that are left.
    pub fn ahead(&mut self) -> Result<&[u8]> {
        if self.end - self.at < AHEAD && !self.is_done {
            self.fill()?;
        }
        Ok(&self.buffer[self.at..self.end])
    }

    /// Reads on until the buffer is full or the source is at its end.
    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.before += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_done = true;
                    break;
                }
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let (line, _) = self.position();
                    let place = format!("{}, after line {line}", self.place);
                    return Err(Error::graph(place, format!("cannot be read on: {error}")));
                }
            }
        }
        Ok(())
    }

    /// Takes bytes that were seen by [`Input::ahead`] and hold no line end.
    pub fn take(&mut self, count: usize) {
        self.at += count;
    }

    /// The next byte that is neither space nor comment; it is not taken. `None` at the end of the text.
    pub fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            while self.at < self.end {
                match self.buffer[self.at] {
                    b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                    b'\n' => self.end_line(),
                    b'#' => self.comment()?,
                    other => return Ok(Some(other)),
                }
            }
            if self.ahead()?.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Takes the line end that stands here.
    fn end_line(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.before + self.at as u64;
        self.continued = 0;
    }

    /// Takes what comes before the end of the line.
    fn comment(&mut self) -> Result<()> {
        loop {
            let rest = self.ahead()?;
            let Some(length) = memchr::memchr(b'\n', rest).or_else(|| Some(rest.len()).filter(|&n| n > 0)) else {
                return Ok(());
            };
            let ended = length < rest.len();
            self.take(length);
            if ended {
                return Ok(());
            }
        }
    }

    /// Takes the next byte where it is the one that is wanted.
    pub fn accept(&mut self, wanted: u8) -> Result<bool> {
        let found = self.peek()? == Some(wanted);
        self.at += usize::from(found);
        Ok(found)
    }

    /// What stands here, for an error.
    fn found(&mut self) -> Result<String> {
        Ok(match self.peek()? {
            None => "the end of the file".to_owned(),
            Some(0) => "a zero byte: is the text UTF-16? convert it to UTF-8".to_owned(),
            Some(_) => {
                let head = self.ahead()?;
                match String::from_utf8_lossy(&head[..head.len().min(4)]).chars().next() {
                    Some(c) => format!("`{}`", c.escape_debug()),
                    None => "nothing".to_owned(),
                }
            }
        })
    }

    /// The longest run of such bytes from here, not taken; empty where the first is another.
    pub fn run(&mut self, belongs: impl Fn(u8) -> bool) -> Result<&[u8]> {
        let head = self.ahead()?;
        let length = head.iter().take(AHEAD).take_while(|&&b| belongs(b)).count();
        if length >= AHEAD {
            return Err(self.error(format!("a name or number has more than {} characters", AHEAD - 1)));
        }
        Ok(&self.buffer[self.at..self.at + length])
    }

    /// The same as a text of its own.
    pub fn word(&mut self, belongs: impl Fn(u8) -> bool) -> Result<Box<str>> {
        Ok(String::from_utf8_lossy(self.run(belongs)?).into())
    }

    /// The error where something else is expected than what stands here.
    pub fn wrong(&mut self, wanted: impl std::fmt::Display) -> Error {
        match self.found() {
            Ok(found) => self.error(format!("{wanted}, found {found}")),
            Err(error) => error,
        }
    }

    /// Takes the strings that stand here, of which several in a row are one, and appends what they stand for.
    ///
    /// Fails where one does not end on its line, is not UTF-8 or has an escape that is none, and, with `is_text`, where
    /// the whole is not UTF-8 by its escapes.
    pub fn strings(&mut self, is_text: bool, out: &mut Vec<u8>) -> Result<()> {
        let (start, mut has_escapes) = (out.len(), false);
        while let Some(quote @ (b'"' | b'\'')) = self.peek()? {
            self.at += 1;
            has_escapes |= self.string(quote, out)?;
        }
        if is_text && has_escapes && std::str::from_utf8(&out[start..]).is_err() {
            return Err(self.error(format!("a string is no text: {}", escape::NO_TEXT)));
        }
        Ok(())
    }

    /// A string after its quote; answers whether it has an escape.
    fn string(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<bool> {
        let mut has_escapes = false;
        loop {
            let rest = self.ahead()?;
            let plain = memchr::memchr3(quote, b'\\', b'\n', rest).unwrap_or(rest.len());
            if plain > 0 {
                self.plain(plain, out)?;
                continue;
            }
            match rest.first() {
                Some(b'\\') => {
                    has_escapes = true;
                    let read = escape::read(&rest[1..rest.len().min(1 + escape::LONGEST)]);
                    let (length, escaped) = read.map_err(|reason| self.error(reason))?;
                    self.at += 1 + length;
                    out.extend_from_slice(escaped.as_bytes());
                }
                Some(&byte) if byte == quote => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                Some(_) => return Err(self.error("a string does not end on its line")),
                None => return Err(self.error("the file ends inside a string")),
            }
        }
    }

    /// Takes at most so many bytes that stand for themselves.
    fn plain(&mut self, count: usize, out: &mut Vec<u8>) -> Result<()> {
        let rest = &self.buffer[self.at..self.end];
        let (run, is_cut) = (&rest[..count], count == rest.len() && !self.is_done);
        let valid = match std::str::from_utf8(run) {
            Ok(_) => count,
            // The rest of the character comes with the next piece.
            Err(error) if error.error_len().is_none() && is_cut && error.valid_up_to() > 0 => error.valid_up_to(),
            Err(error) => {
                let (good, byte) = (error.valid_up_to(), run[error.valid_up_to()]);
                self.continued += continuations(&run[..good]);
                self.at += good;
                let reason = format!("byte 0x{byte:02x} is not UTF-8; if the text is latin-1 or another, convert it");
                return Err(self.error(reason));
            }
        };
        out.extend_from_slice(&run[..valid]);
        self.continued += continuations(&run[..valid]);
        self.at += valid;
        Ok(())
    }
}

fn continuations(text: &[u8]) -> u64 {
    text.iter().filter(|&&b| b & 0xc0 == 0x80).count() as u64
}

/// The name of an encoding that is not UTF-8, by the mark that a text begins with, or by the zeros between its first
/// characters.
pub fn other_encoding(head: &[u8]) -> Option<&'static str> {
    let utf32 = Some("UTF-32 text");
    let utf16 = Some("UTF-16 text");
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => utf32,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => utf16,
        _ if is_spread(head, 4) => utf32,
        _ if is_spread(head, 2) => utf16,
        _ => None,
    }
}

/// Whether the first eight characters are of text without accents, each of so many bytes, in either order. No protobuf
/// message begins so: a field of no bytes is followed by the number of another, which is no character of a text.
fn is_spread(head: &[u8], size: usize) -> bool {
    let is_text = |b: u8| b.is_ascii_graphic() || matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    let is_all = |place: usize| {
        let is_one =
            |unit: &[u8]| unit.iter().enumerate().all(|(at, &b)| if at == place { is_text(b) } else { b == 0 });
        head.len() >= 8 * size && head.chunks_exact(size).take(8).all(is_one)
    };
    is_all(0) || is_all(size - 1)
}
