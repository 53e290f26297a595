//! What a line of an operator bank says: the one set of rules for everything that reads such a file.
//!
//! A line is read by way of a JSON value, or, where one like it was read before, by its skeleton: the same
//! texts with other numbers between them. Both ways give the same, but for the time they take.

mod mend;
mod skeleton;

#[cfg(test)]
mod tests;

pub use mend::{Mended, written_line};

use super::fields::Fields;
use super::form::Form;
use super::key::{Key, Unusable};
use super::knowledge::Knowledge;
use super::side::{Side, Verdict};
use super::{hash, json};
use mend::mend;
use rustc_hash::FxHashSet;
use serde_json::Value;
use skeleton::{General, Scratch, Skeleton};
use std::borrow::Cow;

/// Skeletons that a reader keeps. A file written by one program has one; one in which every line is built
/// differently is read the long way.
const MOST_SKELETONS: usize = 8;

/// Reads the lines of one file.
#[derive(Debug)]
pub struct LineReader<'a> {
    form: Form,
    op_type: &'a str,
    /// The one that fitted last comes first.
    skeletons: Vec<Skeleton>,
    scratch: Scratch,
}

/// What a line says.
#[derive(Debug)]
pub struct Reading<'r> {
    /// Bytes of its key.
    pub key: &'r [u8],
    id: u64,
    is_complete: bool,
    form: Form,
    op_type: &'r str,
    line: &'r [u8],
    content: Content<'r>,
}

/// Where the knowledge of a line is.
#[derive(Debug)]
enum Content<'r> {
    /// In the text, as a skeleton found it.
    Found { skeleton: &'r Skeleton, scratch: &'r Scratch },
    /// In a value.
    Value(Value),
}

impl<'a> LineReader<'a> {
    /// A reader of the records of an operator type.
    pub fn new(form: Form, op_type: &'a str) -> LineReader<'a> {
        LineReader { form, op_type, skeletons: Vec::new(), scratch: Scratch::default() }
    }

    /// Reads a line without byte order mark, carriage return and blanks around it.
    pub fn read<'r>(&'r mut self, line: &'r [u8]) -> Result<Reading<'r>, Unusable> {
        let fits = |skeleton: &Skeleton| skeleton.read(line, &mut self.scratch);
        if let Some(place) = self.skeletons.iter().position(fits) {
            self.skeletons[..=place].rotate_right(1);
            return Ok(self.found(line));
        }
        let general = self.read_value(line)?;
        let Some(skeleton) = Skeleton::learn(self.form, line, &general) else {
            self.scratch.key = general.key;
            let content = Content::Value(general.knowledge);
            let General { id, is_complete, .. } = general;
            let (form, op_type) = (self.form, self.op_type);
            return Ok(Reading { key: &self.scratch.key, id, is_complete, form, op_type, line, content });
        };
        self.skeletons.truncate(MOST_SKELETONS - 1);
        self.skeletons.insert(0, skeleton);
        // Read again, so that what is found of a line does not depend on the lines before it.
        let fits = self.skeletons[0].read(line, &mut self.scratch);
        debug_assert!(fits, "a skeleton fits its own line");
        Ok(self.found(line))
    }

    /// The reading by the first skeleton.
    fn found<'r>(&'r self, line: &'r [u8]) -> Reading<'r> {
        let (skeleton, scratch) = (&self.skeletons[0], &self.scratch);
        let content = Content::Found { skeleton, scratch };
        let (key, id, is_complete) = (&*scratch.key, scratch.id, skeleton.is_complete);
        Reading { key, id, is_complete, form: self.form, op_type: self.op_type, line, content }
    }

    fn read_value(&self, line: &[u8]) -> Result<General, Unusable> {
        let Fields { id, info, knowledge, op, version, .. } = Fields::parse(line).map_err(Unusable::Damaged)?;
        if op != self.op_type {
            return Err(Unusable::Foreign(format!("`op` is {op:?}, the file is one of {}", self.op_type)));
        }
        if !self.form.reads_version(version) {
            return Err(Unusable::Foreign(format!("version {version} is later than this library")));
        }
        let key = self.form.key(&info)?.bytes().to_vec();
        self.form.knowledge(&knowledge)?;
        let is_complete = self.form.knowledge_fields().iter().all(|name| knowledge.get(name).is_some());
        Ok(General { key, id, is_complete, knowledge })
    }
}

impl Reading<'_> {
    /// Its key.
    pub fn key(&self) -> Key {
        Key::new(self.key.to_vec())
    }

    /// What is noted of it, next to what was written here; and that, where this line is a damaged form of it.
    pub fn notes(&self, side: &Side) -> Result<(Notes, Option<Mended>), Unusable> {
        let stale = (self.id != u64::from(hash::record_id(self.key))).then_some(self.id);
        let mut notes = Notes { stale, is_changed: false, is_complete: self.is_complete, is_mended: false };
        if side.is_empty() {
            return Ok((notes, None));
        }
        let key = self.key();
        let verdict = side.verdict(&key, &self.knowledge()?);
        notes.is_changed = verdict == Verdict::Changed;
        if !notes.is_changed && (stale.is_none() || verdict == Verdict::Unknown) {
            return Ok((notes, None));
        }
        let mut written = side.of_key(&key).iter().map(|measurement| &measurement.knowledge);
        let mended = written.find_map(|knowledge| mend(self.form, self.op_type, self.line, &key, knowledge));
        notes.is_mended = mended.is_some();
        Ok((notes, mended))
    }

    /// What it says of its key.
    pub fn knowledge(&self) -> Result<Knowledge, Unusable> {
        match &self.content {
            Content::Found { scratch, .. } => {
                if let Some(knowledge) = self.form.knowledge_with(&scratch.known) {
                    return Ok(knowledge);
                }
                let value = serde_json::from_slice(&self.text()).map_err(|e| Unusable::Damaged(e.to_string()))?;
                self.form.knowledge(&value)
            }
            Content::Value(value) => self.form.knowledge(value),
        }
    }

    /// The shape of its line, which lines share that differ in numbers only; 0 where that is not known, and for a
    /// line whose id is not its key's.
    pub fn shape(&self, notes: &Notes) -> u64 {
        match &self.content {
            Content::Found { skeleton, .. } if notes.stale.is_none() => skeleton.shape,
            _ => 0,
        }
    }

    /// The text of its knowledge: as it stands, or written anew where keys are repeated or hold escapes.
    pub fn text(&self) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Found { scratch, .. } => {
                Cow::Borrowed(self.line.get(scratch.knowledge.clone()).unwrap_or_default())
            }
            Content::Value(value) => Cow::Owned(json::to_sorted_text(value).into_bytes()),
        }
    }
}

/// What is noted of a record besides what it says.
#[derive(Debug, Clone, Copy)]
pub struct Notes {
    /// Its `id` where that is not the key's: CANN's files hold stale ids, ours never do.
    pub stale: Option<u64>,
    /// Whether something else was written here for its key.
    pub is_changed: bool,
    /// Whether its knowledge has all fields that are written here.
    pub is_complete: bool,
    /// Whether it is used as it was written here, and not as it stands.
    pub is_mended: bool,
}

/// Judges records by what was written here.
#[derive(Debug)]
pub struct Judge<'s> {
    form: Form,
    side: &'s Side,
    /// Digests of the keys that the file has.
    present: FxHashSet<u64>,
}

impl<'s> Judge<'s> {
    /// The judge of a file's records, which has these keys.
    pub fn new<'k>(form: Form, side: &'s Side, keys: impl Iterator<Item = &'k [u8]>) -> Judge<'s> {
        // A digest takes a while, and only what was written here asks for it.
        let present = if side.is_empty() { FxHashSet::default() } else { keys.map(hash::digest).collect() };
        Judge { form, side, present }
    }

    /// Whether a record may be used, and what there is to tell of one that is.
    pub fn judge(&self, notes: &Notes) -> Result<Option<&'static str>, Unusable> {
        if notes.is_mended {
            return Ok(Some("damaged record: one byte is not as it was written here; used as it was written"));
        }
        if let Some(id) = notes.stale {
            let ours = u32::try_from(id).map_or(&[][..], |id| self.side.keys_of_id(id));
            if self.form == Form::Canonical || ours.iter().any(|key| !self.present.contains(key)) {
                return Err(Unusable::Damaged(format!("id {id} belongs to another info_dict")));
            }
        }
        if notes.is_changed && !notes.is_complete {
            return Err(Unusable::Damaged("it was written here, and now lacks fields".into()));
        }
        let changed = "changed by another program since it was written here: its measured time no longer counts";
        Ok(notes.is_changed.then_some(changed))
    }
}

/// The reason for which a second record with one key is not used.
pub fn repeated() -> Unusable {
    Unusable::Damaged("an earlier line has the same info_dict; the first is used".into())
}
