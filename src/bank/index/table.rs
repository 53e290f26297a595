//! Records packed one after another, and where each key's record begins.
//!
//! A record keeps its key whole and of its knowledge only what differs from the others: the numbers, to be
//! put between the texts of a template that many records share. A thousand times less is read from memory than
//! a tree of values would take, and the text that comes out is the one that was read.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// Bytes of a text copied at once; each text that is copied so is followed by as many that may be read.
const STEP: usize = 32;
/// Bytes copied for each number: no longer one is kept as such, but its record's knowledge as a text.
const LONGEST_TOKEN: usize = 16;
/// Bytes before a record's key: its template, the length of its key and of its values.
const HEADER: usize = 10;
/// Template of a record whose knowledge is kept as a text.
const WHOLE: u16 = u16::MAX;
/// Bits of an entry that say where the record begins; the others are those of its key's hash.
const PLACE_BITS: u32 = 40;

/// The texts between the numbers of a knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// All texts, and `STEP` bytes after the last.
    texts: Box<[u8]>,
    pieces: Box<[Range<u32>]>,
    /// Bytes of all texts.
    length: usize,
}

impl Template {
    /// The template of these texts, one more than there are numbers.
    pub fn new(texts: &[Box<[u8]>]) -> Template {
        let mut all: Vec<u8> = Vec::new();
        let mut pieces = Vec::with_capacity(texts.len());
        for text in texts {
            let start = all.len() as u32;
            all.extend_from_slice(text);
            pieces.push(start..all.len() as u32);
        }
        let length = all.len();
        all.resize(length + STEP, 0);
        Template { texts: all.into(), pieces: pieces.into(), length }
    }
}

/// Records one after another, not yet looked up in.
#[derive(Debug, Default)]
pub struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// Adds a record whose knowledge is a text.
    pub fn push_text(&mut self, key: &[u8], text: &[u8]) {
        self.begin(WHOLE, key);
        self.bytes.extend_from_slice(text);
        self.end(key, text.len());
    }

    /// Adds a record whose knowledge is a template with these numbers; `false` where one is too long.
    pub fn push(&mut self, key: &[u8], template: u16, tokens: impl ExactSizeIterator<Item: AsRef<[u8]>>) -> bool {
        let start = self.bytes.len();
        self.begin(template, key);
        // All lengths come first: where a number goes is then known before those before it are read.
        let lengths = self.bytes.len();
        self.bytes.resize(lengths + tokens.len(), 0);
        for (index, token) in tokens.enumerate() {
            let token = token.as_ref();
            match self.bytes.get_mut(lengths + index) {
                Some(length) if token.len() <= LONGEST_TOKEN => *length = token.len() as u8,
                _ => {
                    self.bytes.truncate(start);
                    return false;
                }
            }
            self.bytes.extend_from_slice(token);
        }
        self.end(key, self.bytes.len() - lengths);
        true
    }

    fn begin(&mut self, template: u16, key: &[u8]) {
        self.bytes.extend_from_slice(&template.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.extend_from_slice(key);
    }

    fn end(&mut self, key: &[u8], values: usize) {
        let header = self.bytes.len() - values - key.len() - HEADER;
        if let Some(lengths) = self.bytes.get_mut(header + 2..header + HEADER) {
            lengths[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
            lengths[4..].copy_from_slice(&(values as u32).to_le_bytes());
        }
    }

    /// The records, in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let record = Record::at(&self.bytes, at)?;
            at += record.bytes();
            Some(record)
        })
    }
}

/// A packed record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    template: u16,
    /// Its key.
    pub key: &'a [u8],
    /// Its values, and what lies behind them.
    values: &'a [u8],
    length: usize,
}

impl<'a> Record<'a> {
    #[inline]
    fn at(bytes: &'a [u8], at: usize) -> Option<Record<'a>> {
        let (header, rest) = bytes.get(at..)?.split_first_chunk::<HEADER>()?;
        let [t0, t1, lengths @ ..] = header;
        let lengths = u64::from_le_bytes(*lengths);
        let (key, length) = (lengths as u32 as usize, (lengths >> 32) as usize);
        let (key, values) = rest.split_at_checked(key)?;
        Some(Record { template: u16::from_le_bytes([*t0, *t1]), key, values, length })
    }

    fn bytes(&self) -> usize {
        HEADER + self.key.len() + self.length
    }
}

/// Records by their keys. Nothing changes after it is made, so that any number of threads may read.
#[derive(Debug)]
pub struct Table {
    templates: Vec<Template>,
    bytes: Vec<u8>,
    /// 0 where there is none, else one more than where a record begins below bits of its key's hash.
    entries: Vec<u64>,
    count: usize,
}

/// The knowledge found for a key.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    template: Option<&'a Template>,
    values: &'a [u8],
    length: usize,
}

impl Table {
    /// An empty table for so many records of so many bytes, with these templates.
    pub fn with_capacity(records: usize, bytes: usize, templates: Vec<Template>) -> Table {
        let entries = vec![0; (records + records / 2 + 1).next_power_of_two()];
        Table { templates, bytes: Vec::with_capacity(bytes + STEP), entries, count: 0 }
    }

    /// Bytes that so many packed records take.
    pub fn bytes_of<'p>(packed: impl Iterator<Item = &'p Packed>) -> usize {
        packed.map(|packed| packed.bytes.len()).sum()
    }

    /// Records that it holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let templates = self.templates.iter().map(|t| t.texts.len() + t.pieces.len() * 8 + size_of::<Template>());
        self.bytes.capacity() + self.entries.capacity() * 8 + templates.sum::<usize>()
    }

    /// Adds a record; `false` where there is one with its key.
    pub fn insert(&mut self, record: &Record<'_>) -> bool {
        let hash = hash(record.key);
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.entries.get(at) {
                Some(0) | None => break,
                Some(&entry) if self.is_key(entry, hash, record.key) => return false,
                Some(_) => at = (at + 1) & mask,
            }
        }
        let place = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&record.template.to_le_bytes());
        self.bytes.extend_from_slice(&(record.key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(record.length as u32).to_le_bytes());
        self.bytes.extend_from_slice(record.key);
        self.bytes.extend_from_slice(record.values.get(..record.length).unwrap_or_default());
        if let Some(entry) = self.entries.get_mut(at) {
            *entry = (hash >> PLACE_BITS << PLACE_BITS) | (place + 1);
        }
        self.count += 1;
        true
    }

    /// Ends the filling: what is copied in steps may read beyond the last record.
    pub fn finish(&mut self) {
        self.bytes.resize(self.bytes.len() + STEP, 0);
        self.bytes.shrink_to_fit();
    }

    #[inline]
    fn record(&self, entry: u64) -> Option<Record<'_>> {
        Record::at(&self.bytes, ((entry & ((1 << PLACE_BITS) - 1)) as usize).checked_sub(1)?)
    }

    #[inline]
    fn is_key(&self, entry: u64, hash: u64, key: &[u8]) -> bool {
        (entry ^ hash) >> PLACE_BITS == 0 && self.record(entry).is_some_and(|record| record.key == key)
    }

    /// What is recorded for a key. All bytes of it are compared.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<Found<'_>> {
        let hash = hash(key);
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = *self.entries.get(at).filter(|&&entry| entry != 0)?;
            if self.is_key(entry, hash, key) {
                let Record { template, values, length, .. } = self.record(entry)?;
                return Some(Found { template: self.templates.get(usize::from(template)), values, length });
            }
            at = (at + 1) & mask;
        }
    }
}

/// Keys come from users' banks; whoever makes them collide on purpose slows down their own compiler only.
#[inline]
fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

impl Found<'_> {
    /// The text of the knowledge: JSON, as it stands in the file. A buffer that is used again does not grow again.
    #[inline]
    pub fn text<'b>(&self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        let length = match self.template {
            // Each number has a byte before them all that is none of the text's.
            Some(template) => template.length + self.length - (template.pieces.len() - 1),
            None => self.length,
        };
        if buffer.len() < length + STEP {
            buffer.resize(length + STEP, 0);
        }
        let written = match self.template {
            Some(template) => render(template, self.values, buffer),
            None => copy(self.values, &(0..self.length as u32), buffer, 0),
        };
        // What does not fit is a bug of `Packed`.
        debug_assert_eq!(written, Some(length));
        buffer.get(..length).unwrap_or_default()
    }
}

/// Puts numbers between texts. Copies whole steps, of which the next one writes over what is too much: most texts
/// are shorter than one, and copies of a fixed size need no call.
#[inline]
fn render(template: &Template, values: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    let (last, pieces) = template.pieces.split_last()?;
    let (lengths, mut tokens) = values.split_at_checked(pieces.len())?;
    for (piece, &length) in pieces.iter().zip(lengths) {
        at = copy(&template.texts, piece, out, at)?;
        let token = tokens.first_chunk::<LONGEST_TOKEN>()?;
        *out.get_mut(at..)?.first_chunk_mut()? = *token;
        at += usize::from(length);
        tokens = tokens.get(usize::from(length)..)?;
    }
    copy(&template.texts, last, out, at)
}

#[inline]
fn copy(texts: &[u8], piece: &Range<u32>, out: &mut [u8], at: usize) -> Option<usize> {
    let (start, end) = (piece.start as usize, piece.end as usize);
    let mut done = start;
    while done < end {
        *out.get_mut(at + done - start..)?.first_chunk_mut::<STEP>()? = *texts.get(done..)?.first_chunk::<STEP>()?;
        done += STEP;
    }
    Some(at + end - start)
}

#[cfg(test)]
mod tests {
    use super::{Packed, Table, Template};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn template(texts: &[&str]) -> Template {
        Template::new(&texts.iter().map(|text| text.as_bytes().into()).collect::<Vec<_>>())
    }

    fn text(table: &Table, key: &[u8]) -> Option<String> {
        let mut buffer = b"what was there".to_vec();
        let found = table.get(key)?;
        let text = found.text(&mut buffer);
        Some(String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn a_record_is_its_template_with_its_numbers() {
        let mut packed = Packed::default();
        assert!(packed.push(b"one", 0, ["1", "22", ""].iter()));
        assert!(!packed.push(b"long", 0, ["1".repeat(17)].iter()), "too long for a number");
        packed.push_text(b"two", b"{}");
        assert!(packed.push(b"three", 1, ["7"].iter()));
        let long = "x".repeat(100);
        let templates = vec![template(&["{", ",", &long, "}"]), template(&["", ""])];
        let mut table = Table::with_capacity(3, Table::bytes_of([&packed].into_iter()), templates);
        assert!(packed.iter().all(|record| table.insert(&record)));
        assert!(packed.iter().all(|record| !table.insert(&record)), "the first record of a key stays");
        table.finish();
        assert_eq!(text(&table, b"one"), Some(format!("{{1,22{long}}}")));
        assert_eq!(text(&table, b"two").unwrap(), "{}");
        assert_eq!(text(&table, b"three").unwrap(), "7");
        assert_eq!((text(&table, b"four"), text(&table, b""), table.len()), (None, None, 3));
    }

    proptest! {
        #[test]
        fn a_table_finds_what_a_map_finds(records in prop::collection::vec(("[ab]{0,6}", "\\PC{0,50}"), 0..200)) {
            let mut packed = Packed::default();
            let mut map = BTreeMap::new();
            for (key, value) in &records {
                packed.push_text(key.as_bytes(), value.as_bytes());
                map.entry(key.clone()).or_insert(value.clone());
            }
            let mut table = Table::with_capacity(records.len(), Table::bytes_of([&packed].into_iter()), vec![]);
            for record in packed.iter() {
                table.insert(&record);
            }
            table.finish();
            prop_assert_eq!(table.len(), map.len());
            for key in map.keys().map(String::as_str).chain(["", "a", "bb", "abab", "c"]) {
                prop_assert_eq!(text(&table, key.as_bytes()), map.get(key).cloned());
            }
        }
    }
}
