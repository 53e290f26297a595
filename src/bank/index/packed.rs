//! Records one after another, as the threads that read a file leave them.

use super::keys::Differences;
use super::template::push_values;

/// Bytes before a record's key: its template, the length of its key and of its values.
const HEADER: usize = 10;

/// Longest values that are counted by their length.
const LONGEST: usize = 128;

/// How the knowledge of a record is kept: by the number of its template, or as a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept(pub u16);

impl Kept {
    /// As a text.
    pub const TEXT: Kept = Kept(u16::MAX);
}

/// Records one after another, not yet looked up in.
#[derive(Debug, Default)]
pub struct Packed {
    bytes: Vec<u8>,
    count: usize,
    /// Records whose values are so long, for each length.
    lengths: Vec<u32>,
    /// What tells their keys apart.
    pub differences: Differences,
}

impl Packed {
    /// Adds a record whose knowledge is a text.
    pub fn push_text(&mut self, key: &[u8], text: &[u8]) {
        self.push(key, Kept::TEXT, |values| {
            values.extend_from_slice(text);
            true
        });
    }

    /// Adds a record whose knowledge is a template with these numbers; `false` where one is too long.
    pub fn push_tokens(
        &mut self,
        key: &[u8],
        template: Kept,
        tokens: impl ExactSizeIterator<Item: AsRef<[u8]>>,
    ) -> bool {
        self.push(key, template, |values| push_values(values, tokens))
    }

    fn push(&mut self, key: &[u8], kept: Kept, add_values: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&kept.0.to_le_bytes());
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(key);
        let values = self.bytes.len();
        if !add_values(&mut self.bytes) {
            self.bytes.truncate(start);
            return false;
        }
        let length = (self.bytes.len() - values) as u32;
        if let Some(place) = self.bytes.get_mut(start + 6..start + HEADER) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        self.differences.add(key);
        self.count += 1;
        if length as usize <= LONGEST {
            count_length(&mut self.lengths, length as usize, 1);
        }
        true
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds to how many records have values of each length.
    pub fn add_lengths(&self, lengths: &mut Vec<u32>) {
        self.lengths.iter().enumerate().for_each(|(length, records)| count_length(lengths, length, *records));
    }

    /// The records, in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            let (record, others) = Record::split(rest)?;
            rest = others;
            Some(record)
        })
    }
}

fn count_length(lengths: &mut Vec<u32>, length: usize, records: u32) {
    if lengths.len() <= length {
        lengths.resize(length + 1, 0);
    }
    if let Some(count) = lengths.get_mut(length) {
        *count += records;
    }
}

/// A packed record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// How its knowledge is kept.
    pub kept: Kept,
    /// Its key.
    pub key: &'a [u8],
    /// Its knowledge, so kept.
    pub values: &'a [u8],
}

impl<'a> Record<'a> {
    /// The first record and what comes after it.
    fn split(bytes: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        let ([k0, k1, lengths @ ..], rest) = bytes.split_first_chunk::<HEADER>()?;
        let lengths = u64::from_le_bytes(*lengths);
        let (key, rest) = rest.split_at_checked(lengths as u32 as usize)?;
        let (values, rest) = rest.split_at_checked((lengths >> 32) as usize)?;
        Some((Record { kept: Kept(u16::from_le_bytes([*k0, *k1])), key, values }, rest))
    }
}
