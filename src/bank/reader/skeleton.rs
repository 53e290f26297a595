//! Lines that differ only in numbers: what is the same in all of them, and where the numbers go.

mod learner;

use crate::bank::form::Form;
use crate::bank::json;
use crate::bank::layout::{Field, FieldType};
use learner::Learner;
use rustc_hash::FxHasher;
use serde_json::Value;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Longest run of digits that is read: every such number fits into 63 bits.
const MOST_DIGITS: usize = 18;
/// Longest run of digits that a `float` holds exactly, whatever the digits.
const MOST_FLOAT_DIGITS: usize = 7;

/// A line read by way of a value.
#[derive(Debug)]
pub(super) struct General {
    pub key: Vec<u8>,
    pub id: u64,
    pub is_complete: bool,
    pub knowledge: Value,
}

/// What a number in a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The record's id.
    Id,
    /// A field of the key.
    Key(Field),
    /// The field of the knowledge at this place in [`Form::knowledge_fields`], 32 bits without sign.
    Known(usize),
    /// A number that has to be whole and is not used.
    Whole,
    /// A number, `true` or `false` that is not used.
    Any,
}

/// A text and the number behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    literal: Box<[u8]>,
    slot: Slot,
}

/// A place in the texts: of which part, counted from 0, and how far in it.
type Place = (usize, usize);

/// The shape of a line.
#[derive(Debug, Clone)]
pub struct Skeleton {
    /// The same for skeletons with the same texts, whoever learnt them, and never 0.
    pub shape: u64,
    parts: Vec<Part>,
    tail: Box<[u8]>,
    knowledge: Range<Place>,
    /// The key and id of the line that it was learnt from; slots write over them.
    key: Vec<u8>,
    id: u64,
    /// Values of the known fields of the knowledge; slots write over them.
    known: Vec<u32>,
    /// Whether all fields that are written here are there.
    pub(super) is_complete: bool,
}

/// What is found in a line.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub key: Vec<u8>,
    pub id: u64,
    pub known: Vec<u32>,
    pub knowledge: Range<usize>,
}

impl Skeleton {
    /// Reads a line of this shape; `false` for any other, and for numbers written in an unusual way.
    pub(super) fn read(&self, line: &[u8], found: &mut Scratch) -> bool {
        self.find(line, found).is_some()
    }

    fn find(&self, line: &[u8], found: &mut Scratch) -> Option<()> {
        found.key.clone_from(&self.key);
        found.known.clone_from(&self.known);
        found.id = self.id;
        let mut rest = line;
        for (index, part) in self.parts.iter().enumerate() {
            self.note(index, line.len() - rest.len(), &mut found.knowledge);
            rest = rest.strip_prefix(&*part.literal)?;
            let length = part.slot.read(rest, found)?;
            rest = rest.get(length..)?;
        }
        self.note(self.parts.len(), line.len() - rest.len(), &mut found.knowledge);
        (*rest == *self.tail).then_some(())
    }

    /// Notes the ends of the knowledge where they lie in the text that begins here.
    fn note(&self, part: usize, at: usize, knowledge: &mut Range<usize>) {
        if part == self.knowledge.start.0 {
            knowledge.start = at + self.knowledge.start.1;
        }
        if part == self.knowledge.end.0 {
            knowledge.end = at + self.knowledge.end.1;
        }
    }

    /// The shape of a line that was read by way of a value; `None` where a key is repeated or has escapes,
    /// so that texts alone do not tell what is what, and for our own form, whose lines differ in more than
    /// numbers.
    pub(super) fn learn(form: Form, line: &[u8], general: &General) -> Option<Skeleton> {
        if !matches!(form, Form::Runtime(_)) || u32::try_from(line.len()).is_err() {
            return None;
        }
        // A field that is missing here is at its default in every line of this shape.
        let fields = form.knowledge(&general.knowledge).ok()?.to_fields().ok()?;
        let known = |name: &&str| {
            let value = fields.get(*name).and_then(json::integer);
            value.and_then(|value| u32::try_from(value).ok()).unwrap_or_default()
        };
        let known = form.knowledge_fields().iter().map(known).collect();
        let mut learner = Learner::of(form, line);
        learner.walk()?;
        let Learner { parts, taken, knowledge, .. } = learner;
        let tail: Box<[u8]> = line.get(taken..)?.into();
        let mut shape = FxHasher::default();
        for text in parts.iter().map(|part| &part.literal).chain([&tail]) {
            text.hash(&mut shape);
        }
        Some(Skeleton {
            shape: shape.finish().max(1),
            parts,
            tail,
            knowledge: knowledge?,
            key: general.key.clone(),
            id: general.id,
            known,
            is_complete: general.is_complete,
        })
    }
}

impl Slot {
    /// Reads the value at the beginning of a text; gives its length, or `None` for what is not written in
    /// the usual way.
    #[inline]
    fn read(self, text: &[u8], found: &mut Scratch) -> Option<usize> {
        match self {
            Slot::Key(field) => return read_field(&field, text, &mut found.key),
            Slot::Any => return any(text),
            _ => {}
        }
        let (number, length) = whole(text)?;
        match self {
            Slot::Id => found.id = number,
            Slot::Known(index) => *found.known.get_mut(index)? = u32::try_from(number).ok()?,
            _ => {}
        }
        Some(length)
    }
}

#[inline]
fn read_field(field: &Field, text: &[u8], key: &mut [u8]) -> Option<usize> {
    let place = key.get_mut(field.offset..)?;
    if field.kind == FieldType::Bool {
        let (value, length) = boolean(text)?;
        *place.first_mut()? = u8::from(value);
        return Some(length);
    }
    let (number, mut length) = whole(text)?;
    match field.kind {
        FieldType::I64 | FieldType::U64 => *place.first_chunk_mut()? = number.to_le_bytes(),
        FieldType::I32 => *place.first_chunk_mut()? = i32::try_from(number).ok()?.to_le_bytes(),
        FieldType::U32 => *place.first_chunk_mut()? = u32::try_from(number).ok()?.to_le_bytes(),
        FieldType::F32 if length > MOST_FLOAT_DIGITS => return None,
        FieldType::F32 => {
            *place.first_chunk_mut()? = (number as f32).to_le_bytes();
            if text.get(length) == Some(&b'.') {
                if text.get(length + 1) != Some(&b'0') {
                    return None;
                }
                length += 2;
            }
        }
        FieldType::Bool => {}
    }
    Some(length)
}

/// A number of digits only, and how many those are.
#[inline]
fn whole(text: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    let mut length = 0;
    for &byte in text.iter().take(MOST_DIGITS + 1) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number * 10 + u64::from(digit);
        length += 1;
    }
    let is_usual = (1..=MOST_DIGITS).contains(&length) && (length == 1 || text.first() != Some(&b'0'));
    is_usual.then_some((number, length))
}

fn boolean(text: &[u8]) -> Option<(bool, usize)> {
    match text.first()? {
        b't' if text.starts_with(b"true") => Some((true, 4)),
        b'f' if text.starts_with(b"false") => Some((false, 5)),
        _ => None,
    }
}

/// Length of a number with or without a point, of `true` or of `false`.
fn any(text: &[u8]) -> Option<usize> {
    if let Some((_, length)) = boolean(text) {
        return Some(length);
    }
    let (_, length) = whole(text)?;
    if text.get(length) != Some(&b'.') {
        return Some(length);
    }
    let digits = text.iter().skip(length + 1).take(MOST_DIGITS + 1).take_while(|b| b.is_ascii_digit()).count();
    (1..=MOST_DIGITS).contains(&digits).then_some(length + 1 + digits)
}
