//! Records by their keys, so laid out that finding one waits for memory once.
//!
//! All records take a slot of the same size. Beside the slots there is a byte of each record's hash, eight to a group:
//! they are small enough to stay in the processor's cache, and tell which slot to look into, if any. A slot has the words
//! that its key has of its own, and of its knowledge what differs from others.

use super::keys::{self, Alike, Differences};
use super::packed::{Packed, Record};
use super::template::{Found, SLACK, Template};
use memmap2::{Advice, MmapMut};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::io;

/// Slots of a group.
const GROUP: usize = 8;
/// Of so many slots ...
const SLOTS: usize = 4;
/// ... so many are filled at most.
const FILLED: usize = 3;
/// The lowest bit of each byte of a group.
const LOWEST: u64 = u64::from_le_bytes([1; GROUP]);
/// Bytes of a slot before the key's own words: how the knowledge is kept, and the length of its values.
const HEADER: usize = 6;
/// Bytes that say where the rest of a record is which does not fit into its slot.
const PLACE: usize = 8;
/// One record of so many may be too large for its slot.
const LARGE: usize = 16;

/// Records by their keys. Nothing changes after it is filled, so that any number of threads may read.
#[derive(Debug)]
pub struct Table {
    /// `None` where each key is kept whole, with the rest of its record.
    alike: Option<Alike>,
    templates: Vec<Template>,
    /// For each slot a byte of its key's hash, 0 where it is free.
    groups: Vec<u64>,
    /// Slots, and [`SLACK`] bytes; in large pages where the system has them, of which the processor remembers enough.
    slots: MmapMut,
    /// Bytes of a slot.
    size: usize,
    /// What does not fit into its slot, and [`SLACK`] bytes.
    rests: Vec<u8>,
    count: usize,
}

/// Where a key's record may be: its first group, and its byte in all of them.
#[derive(Debug, Clone, Copy)]
struct Address {
    group: usize,
    byte: u64,
}

impl Table {
    /// An empty table for these records, with these templates. Fails where there is no memory.
    pub fn with_room<'p>(packed: impl Iterator<Item = &'p Packed>, templates: Vec<Template>) -> io::Result<Table> {
        let mut differences = Differences::default();
        let (mut records, mut lengths) = (0, Vec::new());
        for packed in packed {
            differences.merge(&packed.differences);
            records += packed.count();
            packed.add_lengths(&mut lengths);
        }
        let alike = Alike::new(differences);
        let (words, values) =
            alike.as_ref().map_or((0, 0), |alike| (alike.own_bytes(), usual_length(&lengths, records)));
        let size = HEADER + words + values.max(PLACE);
        let groups = (records * SLOTS).div_ceil(FILLED * GROUP) + 1;
        let slots = MmapMut::map_anon(groups * GROUP * size + SLACK)?;
        if let Err(e) = slots.advise(Advice::HugePage) {
            log::debug!("a bank is looked up in more slowly: no large pages: {e}");
        }
        Ok(Table { alike, templates, groups: vec![0; groups], slots, size, rests: vec![0; SLACK], count: 0 })
    }

    /// Records that it holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let templates: usize = self.templates.iter().map(Template::memory).sum();
        let keys = self.alike.as_ref().map_or(0, Alike::memory);
        self.groups.capacity() * GROUP + self.slots.len() + self.rests.capacity() + templates + keys
    }

    /// Bytes of a slot that values have.
    fn room(&self) -> usize {
        self.size - HEADER - self.alike.as_ref().map_or(0, Alike::own_bytes)
    }

    #[inline]
    fn address(&self, hash: u64) -> Address {
        let scaled = |number: u64, count: u64| ((u128::from(number) * u128::from(count)) >> 64) as u64;
        Address { group: scaled(hash, self.groups.len() as u64) as usize, byte: 1 + scaled(hash.rotate_left(32), 255) }
    }

    /// Adds a record that room was made for; `false` where there is one with its key.
    pub fn insert(&mut self, record: &Record<'_>) -> bool {
        if self.get(record.key).is_some() {
            return false;
        }
        let slot = self.take_slot(self.hash(record.key));
        let is_whole = self.alike.is_some() && record.values.len() <= self.room();
        let place = if is_whole { [0; PLACE] } else { self.push_rest(record) };
        let mut at = slot * self.size;
        let mut put = |bytes: &[u8]| {
            if let Some(free) = self.slots.get_mut(at..at + bytes.len()) {
                free.copy_from_slice(bytes);
            }
            at += bytes.len();
        };
        put(&record.kept.0.to_le_bytes());
        put(&(record.values.len() as u32).to_le_bytes());
        self.alike.iter().flat_map(|alike| alike.own(record.key)).for_each(|word| put(word));
        put(if is_whole { record.values } else { &place });
        self.count += 1;
        true
    }

    /// Takes a free slot for a key of this hash.
    fn take_slot(&mut self, hash: u64) -> usize {
        let Address { mut group, byte } = self.address(hash);
        loop {
            let Some(bytes) = self.groups.get_mut(group) else {
                group = 0;
                continue;
            };
            let free = zero_bytes(*bytes);
            if free != 0 {
                let shift = free.trailing_zeros() & !7;
                *bytes |= byte << shift;
                return group * GROUP + shift as usize / 8;
            }
            group += 1;
        }
    }

    /// Adds what does not fit into a slot; gives its place.
    fn push_rest(&mut self, record: &Record<'_>) -> [u8; PLACE] {
        let place = self.rests.len() - SLACK;
        self.rests.truncate(place);
        if self.alike.is_none() {
            self.rests.extend_from_slice(&(record.key.len() as u32).to_le_bytes());
            self.rests.extend_from_slice(record.key);
        }
        self.rests.extend_from_slice(record.values);
        self.rests.resize(self.rests.len() + SLACK, 0);
        (place as u64).to_le_bytes()
    }

    /// Ends the filling.
    pub fn finish(&mut self) {
        self.rests.shrink_to_fit();
    }

    fn hash(&self, key: &[u8]) -> u64 {
        match &self.alike {
            Some(alike) => keys::hash(alike.own(key)),
            None => hash_whole(key),
        }
    }

    /// What is recorded for a key. All bytes of it are compared.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<Found<'_>> {
        let Some(alike) = &self.alike else { return self.get_whole(key) };
        if !alike.is_long(key) {
            return None;
        }
        let own = alike.own_bytes();
        let found = self.search(keys::hash(alike.own(key)), |slot| {
            let (words, values) = slot.get(HEADER..)?.split_at_checked(own)?;
            words.as_chunks().0.iter().eq(alike.own(key)).then_some(values)
        })?;
        // Last, so that memory is asked for before.
        if !alike.is_common(key) {
            return None;
        }
        let is_whole = found.length <= self.size - HEADER - own;
        Some(if is_whole { found } else { Found { values: self.rest(found.values)?, ..found } })
    }

    #[inline(never)]
    fn get_whole(&self, key: &[u8]) -> Option<Found<'_>> {
        self.search(hash_whole(key), |slot| {
            let (length, rest) = self.rest(slot.get(HEADER..)?)?.split_first_chunk()?;
            let (own, values) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            (own == key).then_some(values)
        })
    }

    /// The rest of a record that begins with its place.
    fn rest(&self, place: &[u8]) -> Option<&[u8]> {
        self.rests.get(u64::from_le_bytes(*place.first_chunk::<PLACE>()?) as usize..)
    }

    /// The record of a hash whose slot has values for us.
    #[inline]
    fn search<'t>(&'t self, hash: u64, values: impl Fn(&'t [u8]) -> Option<&'t [u8]>) -> Option<Found<'t>> {
        let Address { mut group, byte } = self.address(hash);
        loop {
            // There is a free slot in some group: more are made than records are.
            let Some(&bytes) = self.groups.get(group) else {
                group = 0;
                continue;
            };
            let mut alike = zero_bytes(bytes ^ (LOWEST * byte));
            while alike != 0 {
                let at = group * GROUP + alike.trailing_zeros() as usize / 8;
                let slot = self.slots.get(at * self.size..)?;
                if let Some(values) = values(slot) {
                    let [k0, k1, length @ ..] = *slot.first_chunk::<HEADER>()?;
                    let template = self.templates.get(usize::from(u16::from_le_bytes([k0, k1])));
                    return Some(Found { template, values, length: u32::from_le_bytes(length) as usize });
                }
                alike &= alike - 1;
            }
            if zero_bytes(bytes) != 0 {
                return None;
            }
            group += 1;
        }
    }
}

/// The highest bit of each byte that is 0; of bytes above one that is 0 maybe too.
#[inline]
const fn zero_bytes(bytes: u64) -> u64 {
    bytes.wrapping_sub(LOWEST) & !bytes & (LOWEST << 7)
}

fn hash_whole(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

/// The length of values, given how many records have each, that nearly all have at most; 0 where it is too large.
fn usual_length(lengths: &[u32], records: usize) -> usize {
    let mut larger = records;
    for (length, count) in lengths.iter().enumerate() {
        larger -= *count as usize;
        if larger <= records / LARGE {
            return length;
        }
    }
    0
}
