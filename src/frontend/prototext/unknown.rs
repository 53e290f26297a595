//! Fields that a schema does not have, and values that are passed over.

use super::input::Input;
use super::schema::Schema;
use super::wire::{Encoder, MAX_DEPTH};
use crate::status::Result;
use std::io::Read;

/// Fields that are not known are named up to here.
const MAX_NAMED: usize = 16;

impl<R: Read> Encoder<'_, '_, R> {
    /// A field that the schema does not have: a newer CANN may write it, or a hand has misspelt one.
    pub(super) fn unknown_field(&mut self, schema: &'static Schema) -> Result<()> {
        let is_extension = self.input.accept(b'[')?;
        let is_name =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_') || is_extension && matches!(b, b'.' | b'/');
        let name = String::from_utf8_lossy(self.input.run(is_name)?).into_owned();
        if name.is_empty() {
            return Err(self.input.wrong(format_args!("a field's name is expected")));
        }
        let (line, column) = self.input.position();
        self.input.take(name.len());
        if is_extension && !self.input.accept(b']')? {
            return Err(self.input.wrong(format_args!("`]` is expected after the extension `{name}`")));
        }
        if self.unknown.len() < MAX_NAMED && self.unknown.insert((schema.name, name.clone())) {
            log::warn!(
                "{}, line {line}, column {column}: field `{name}` of `{}` is not known and is not read",
                self.input.place(),
                schema.name
            );
        }
        self.input.accept(b':')?;
        self.input.skip_value(&name)?;
        self.separator()
    }
}

impl<R: Read> Input<'_, R> {
    /// Takes a value of whatever kind.
    pub fn skip_value(&mut self, name: &str) -> Result<()> {
        // It cannot be longer than its text.
        let mut closing = Vec::new();
        let mut nothing = Vec::new();
        let (line, _) = self.position();
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.error(format!("the file ends inside `{name}`, which begins in line {line}")));
            };
            match byte {
                b'{' => closing.push(b'}'),
                b'<' => closing.push(b'>'),
                b'[' => closing.push(b']'),
                b'}' | b'>' | b']' => {
                    if closing.pop() != Some(byte) {
                        return Err(self.wrong(format_args!("a value of `{name}` is expected")));
                    }
                }
                b'"' | b'\'' => {
                    nothing.clear();
                    self.strings(false, &mut nothing)?;
                    if closing.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                b':' | b',' | b';' | b'-' if !closing.is_empty() || byte == b'-' => {
                    self.take(1);
                    continue;
                }
                _ => {
                    let length =
                        self.run(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-' | b'/'))?.len();
                    if length == 0 {
                        return Err(self.wrong(format_args!("a value of `{name}` is expected")));
                    }
                    self.take(length);
                    if closing.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
            }
            self.take(1);
            if closing.len() > MAX_DEPTH {
                return Err(self.error(format!("messages nest deeper than {MAX_DEPTH}")));
            }
            if closing.is_empty() {
                return Ok(());
            }
        }
    }
}
