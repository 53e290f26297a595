//! Taking a line apart that was read by way of a value.

use super::{Part, Place, Scratch, Slot};
use crate::bank::form::Form;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Walks through a line that is known to be JSON.
pub(super) struct Learner<'l> {
    form: Form,
    line: &'l [u8],
    pub parts: Vec<Part>,
    /// Bytes that the parts hold already.
    pub taken: usize,
    path: Vec<Level<'l>>,
    pub knowledge: Option<Range<Place>>,
}

/// An object or array that is open.
#[derive(Default)]
struct Level<'l> {
    key: &'l [u8],
    keys: FxHashSet<&'l [u8]>,
}

impl<'l> Learner<'l> {
    /// At the beginning of a line.
    pub fn of(form: Form, line: &'l [u8]) -> Learner<'l> {
        Learner { form, line, parts: Vec::new(), taken: 0, path: Vec::new(), knowledge: None }
    }

    /// Takes the line apart; `None` where keys do not tell what its values are.
    pub fn walk(&mut self) -> Option<()> {
        let mut at = 0;
        while let Some(&byte) = self.line.get(at) {
            match byte {
                b'{' | b'[' => {
                    if self.path.len() == 1 && self.key(0) == b"knowledge" {
                        let place = self.place(at);
                        self.knowledge = Some(place..place);
                    }
                    self.path.push(Level::default());
                    at += 1;
                }
                b'}' | b']' => {
                    self.path.pop()?;
                    at += 1;
                    if self.path.len() == 1 && self.key(0) == b"knowledge" {
                        let end = self.place(at);
                        self.knowledge.as_mut()?.end = end;
                    }
                }
                b'"' => at = self.string(at)?,
                b'-' | b'0'..=b'9' | b'a'..=b'z' => at = self.scalar(at)?,
                _ => at += 1,
            }
        }
        Some(())
    }

    /// The key under which a level's current value stands; nothing in an array.
    fn key(&self, level: usize) -> &'l [u8] {
        self.path.get(level).map_or(&[], |level| level.key)
    }

    fn place(&self, at: usize) -> Place {
        (self.parts.len(), at - self.taken)
    }

    /// Passes over a string; one that a colon follows is a key.
    fn string(&mut self, start: usize) -> Option<usize> {
        let mut end = start + 1;
        let mut has_escapes = false;
        loop {
            match self.line.get(end)? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    end += 2;
                }
                _ => end += 1,
            }
        }
        let rest = self.line.get(end + 1..)?;
        if rest.trim_ascii_start().first() == Some(&b':') {
            let level = self.path.last_mut()?;
            level.key = self.line.get(start + 1..end)?;
            if has_escapes || !level.keys.insert(level.key) {
                return None;
            }
        }
        Some(end + 1)
    }

    /// Passes over a number or a word and makes it a slot where another may stand in its place.
    fn scalar(&mut self, start: usize) -> Option<usize> {
        let is_part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let end = start + self.line.get(start..)?.iter().take_while(is_part).count();
        let token = self.line.get(start..end)?;
        let slot = self.slot();
        let mut trial = Scratch {
            key: vec![0; self.key_bytes()],
            known: vec![0; self.form.knowledge_fields().len()],
            ..Scratch::default()
        };
        if slot.read(token, &mut trial) == Some(token.len()) {
            let literal = self.line.get(self.taken..start)?.into();
            self.parts.push(Part { literal, slot });
            self.taken = end;
        }
        Some(end)
    }

    fn key_bytes(&self) -> usize {
        if let Form::Runtime(layout) = self.form { layout.bytes() } else { 0 }
    }

    /// What the scalar at this point is for.
    fn slot(&self) -> Slot {
        let name = self.path.last().map_or(&[][..], |level| level.key);
        let Form::Runtime(layout) = self.form else { return Slot::Any };
        match (self.path.len(), self.key(0)) {
            (1, b"id") => Slot::Id,
            (1, b"version") => Slot::Whole,
            (2, b"info_dict") => {
                let field = std::str::from_utf8(name).ok().and_then(|name| layout.field(name));
                field.map_or(Slot::Any, |field| Slot::Key(*field))
            }
            (2, b"knowledge") => {
                let known = self.form.knowledge_fields().iter().position(|known| known.as_bytes() == name);
                known.map_or(Slot::Any, Slot::Known)
            }
            _ => Slot::Any,
        }
    }
}
