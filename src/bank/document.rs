//! An operator bank file line by line: what each line is for and says.

use super::form::Form;
use super::json;
use super::key::{Key, Unusable};
use super::knowledge::Knowledge;
use super::lines::{Judged, Lines, Use, by_parts};
use super::reader::{Judge, LineReader, Mended, Notes, repeated, written_line};
use super::record::Record;
use super::side::Side;
use crate::status::Result;
use prost::bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A bank file.
#[derive(Debug)]
pub struct Document {
    form: Form,
    op_type: String,
    /// Its lines, with what there is to tell of them.
    pub lines: Lines<Record>,
    /// Where the records stand, by their keys; hashed so that no file can make its keys collide.
    places: HashMap<Key, usize>,
    /// For each line that stays, its shape or 0, see [`Reading::shape`](super::reader::Reading::shape).
    shapes: Vec<u64>,
}

/// A record with what else matters when it is judged.
struct Parsed {
    record: Record,
    notes: Notes,
    /// The line as it was written here, where the one at hand is a damaged form of it.
    mended: Option<Vec<u8>>,
    /// The shape of the line that stays.
    shape: u64,
}

impl Document {
    /// Reads a file. Never fails: what cannot be used is left out and named in the lines' findings.
    pub fn parse(form: Form, op_type: &str, content: &Bytes, side: &Side) -> Document {
        let lines: Vec<_> = Lines::<Record>::split(content).collect();
        let mut document = Document {
            form,
            op_type: op_type.to_owned(),
            lines: Lines::default(),
            places: HashMap::with_capacity(lines.len()),
            shapes: Vec::new(),
        };
        let parsed = by_parts(&lines, |lines| {
            let mut reader = LineReader::new(form, op_type);
            lines.iter().map(|line| parse_line(&mut reader, line, side)).collect::<Vec<_>>()
        });
        let keys = parsed.iter().flatten().flatten().map(|parsed| parsed.record.key.bytes());
        let judge = Judge::new(form, side, keys);
        for (index, (line, parsed)) in lines.into_iter().zip(parsed.into_iter().flatten()).enumerate() {
            let shape = parsed.as_ref().map_or(0, |parsed| parsed.shape);
            let judged = parsed.and_then(|parsed| document.judge(parsed, &judge));
            let key = judged.as_ref().ok().map(|judged| judged.record.key.clone());
            let place = document.lines.take(index + 1, content.slice_ref(line), judged);
            if let Some((place, key)) = place.zip(key) {
                document.places.insert(key, place);
                document.set_shape(place, shape);
            }
        }
        document
    }

    fn judge(&self, parsed: Parsed, judge: &Judge<'_>) -> Result<Judged<Record>, Unusable> {
        let Parsed { record, notes, mended, .. } = parsed;
        if self.place(&record.key).is_some() {
            return Err(repeated());
        }
        let remark = judge.judge(&notes)?.map(|reason| (Use::Noted, reason.to_owned()));
        Ok(Judged { record, remark, mended })
    }

    /// The knowledge recorded for a key.
    pub fn get(&self, key: &Key) -> Option<&Knowledge> {
        self.lines.record(self.place(key)?).map(|r| &r.knowledge)
    }

    fn place(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// All usable records, in file order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.lines.records()
    }

    fn set_shape(&mut self, place: usize, shape: u64) {
        if self.shapes.len() <= place {
            self.shapes.resize(place + 1, 0);
        }
        if let Some(known) = self.shapes.get_mut(place) {
            *known = shape;
        }
    }

    fn shape(&self, place: usize) -> u64 {
        self.shapes.get(place).copied().unwrap_or_default()
    }

    /// Takes over a record of another file of this form with its line as it stands, unknown fields included: in
    /// place of the record with its key, whose fields stay where the new line has none of their name, else at the
    /// end. A stale id is set right.
    pub fn adopt(&mut self, other: &Document, place: usize) {
        let (Some(text), Some(record)) = (other.lines.text(place), other.lines.record(place)) else { return };
        let shape = other.shape(place);
        let old = self.place(&record.key);
        // Lines of one shape have the same fields; of a line whose shape is known the id is right.
        let is_whole = shape != 0 && old.is_none_or(|old| self.shape(old) == shape);
        let text = if is_whole { text.clone() } else { self.combined(text, old, &record.key).into() };
        let place = self.lines.put(old, text, record.clone());
        self.places.insert(record.key.clone(), place);
        self.set_shape(place, if is_whole { shape } else { 0 });
    }

    /// A line with its id set right and the fields that only the line at a place has.
    fn combined(&self, text: &[u8], old: Option<usize>, key: &Key) -> Vec<u8> {
        let parsed = |text: &[u8]| serde_json::from_slice::<Map<String, Value>>(text).unwrap_or_default();
        let mut fields = parsed(text);
        fields.insert("id".into(), key.id().into());
        if let Some(old) = old.and_then(|index| self.lines.text(index)) {
            keep_unknown(&mut fields, parsed(old), self.form);
        }
        json::to_sorted_text(&Value::Object(fields)).into_bytes()
    }

    /// Writes a record: in place of the one with its key, whose unknown fields stay, else at the end.
    pub fn put(&mut self, key: &Key, info: &Value, knowledge: Knowledge) -> Result<()> {
        let index = self.place(key);
        let old = index.and_then(|i| self.lines.text(i)).and_then(|text| serde_json::from_slice(text).ok());
        let mut fields: Map<String, Value> = old.unwrap_or_default();
        fields.entry("info_dict").or_insert_with(|| info.clone());
        let text = written_line(self.form, &self.op_type, key, &knowledge, fields)?;
        let place = self.lines.put(index, text, Record { key: key.clone(), knowledge });
        self.places.insert(key.clone(), place);
        self.set_shape(place, 0);
        Ok(())
    }
}

fn parse_line(reader: &mut LineReader<'_>, line: &[u8], side: &Side) -> Result<Parsed, Unusable> {
    let reading = reader.read(line)?;
    let key = reading.key();
    let (notes, mended) = reading.notes(side)?;
    let (knowledge, mended, shape) = match mended {
        Some(Mended { knowledge, text }) => (knowledge, Some(text), 0),
        None => (reading.knowledge()?, None, reading.shape(&notes)),
    };
    Ok(Parsed { record: Record { key, knowledge }, notes, mended, shape })
}

/// Adds the fields of an old record that a new one lacks, and those within `info_dict` and `knowledge` that no
/// tiling knows: a field that a tiling lacks is one at its default. Where all of `knowledge` is unknown, it is
/// one thing and the new one's.
fn keep_unknown(fields: &mut Map<String, Value>, old: Map<String, Value>, form: Form) {
    let known = form.knowledge_fields();
    for (name, old) in old {
        match (fields.get_mut(&name), old) {
            (None, old) => {
                fields.insert(name, old);
            }
            (Some(Value::Object(new)), Value::Object(old)) if name == "info_dict" || !known.is_empty() => {
                for (name, value) in old.into_iter().filter(|(name, _)| !known.contains(&name.as_str())) {
                    new.entry(name).or_insert(value);
                }
            }
            _ => {}
        }
    }
}
