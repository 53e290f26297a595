//! Records by their keys, one behind the other in memory.

use memmap2::{Advice, MmapMut};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::io;

/// Bytes before a key: the lengths of the key and of the text.
const HEADER: usize = 8;
/// Bytes whose multiple each record takes: a place is told in 32 bits, and a key lies in as few lines of the processor's
/// cache as it can.
const UNIT: usize = 64;

/// Keys and what is recorded for them, one behind the other.
#[derive(Debug, Default)]
pub struct Records(Vec<u8>);

impl Records {
    /// Adds one; gives its place.
    pub fn push(&mut self, key: &[u8], text: &[u8]) -> usize {
        let place = self.0.len();
        for length in [key.len(), text.len()] {
            self.0.extend_from_slice(&(length as u32).to_le_bytes());
        }
        self.0.extend_from_slice(key);
        self.0.extend_from_slice(text);
        self.0.resize(self.0.len().next_multiple_of(UNIT), 0);
        place
    }

    /// Key and text at a place.
    pub fn at(&self, place: usize) -> Option<(&[u8], &[u8])> {
        split(self.0.get(place..)?)
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// Key and text of the record at the beginning.
#[inline]
fn split(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, rest) = records.split_first_chunk::<HEADER>()?;
    let lengths = u64::from_le_bytes(*header);
    let (key, rest) = rest.split_at_checked(lengths as u32 as usize)?;
    Some((key, rest.get(..(lengths >> 32) as usize)?))
}

/// Bytes of a slot: four of a key's hash, and the place of its record in units from 1 on; 0 where there is none.
const SLOT: usize = 8;

/// Records by their keys. Nothing changes after it is filled, so that any number of threads may read.
///
/// What tells a key from others stands beside the place of its record: a look-up waits for memory twice, at the slot and
/// at the record, where a map of places would be asked for its tags, for a place, and for the record.
#[derive(Debug)]
pub struct Table {
    records: MmapMut,
    /// Bytes of them that are filled.
    filled: usize,
    /// A power of two of slots, at most half of which are taken.
    slots: MmapMut,
    count: usize,
}

impl Table {
    /// An empty table with room for so many records of so many bytes together. Fails where there is no memory.
    pub fn with_room(count: usize, bytes: usize) -> io::Result<Table> {
        let slots = count.max(1).saturating_mul(2).next_power_of_two();
        Ok(Table { records: memory(bytes)?, filled: 0, slots: memory(slots.saturating_mul(SLOT))?, count: 0 })
    }

    /// Records that it holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.records.len() + self.slots.len()
    }

    /// Adds a record that room was made for; `false` where there is one with its key, which stays.
    pub fn insert(&mut self, from: &Records, place: usize) -> bool {
        let Some((key, text)) = from.at(place) else { return false };
        let record = place..(place + HEADER + key.len() + text.len()).next_multiple_of(UNIT);
        let end = self.filled + record.len();
        let Probe::Free { at, tag } = self.probe(key) else { return false };
        let (Some(record), Ok(unit)) = (from.0.get(record), u32::try_from(self.filled / UNIT + 1)) else {
            return false;
        };
        // One slot stays free for each that is taken, so that a key that is not there is soon known.
        let is_room = 2 * (self.count + 1) * SLOT <= self.slots.len();
        let Some(room) = self.records.get_mut(self.filled..end).filter(|_| is_room) else { return false };
        room.copy_from_slice(record);
        let slot = u64::from(tag) << 32 | u64::from(unit);
        self.slots[at * SLOT..][..SLOT].copy_from_slice(&slot.to_le_bytes());
        (self.filled, self.count) = (end, self.count + 1);
        true
    }

    /// The text that is recorded for a key. All bytes of it are compared.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        match self.probe(key) {
            Probe::Found(text) => Some(text),
            Probe::Free { .. } => None,
        }
    }

    /// Goes along the slots from where a key's hash points to, until its record or a free one.
    #[inline]
    fn probe(&self, key: &[u8]) -> Probe<'_> {
        let hash = hash(key);
        let (mask, tag) = (self.slots.len() / SLOT - 1, (hash >> 32) as u32);
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at * SLOT..].first_chunk::<SLOT>().map_or(0, |slot| u64::from_le_bytes(*slot));
            let Some(unit) = (slot as u32 as usize).checked_sub(1) else { return Probe::Free { at, tag } };
            if (slot >> 32) as u32 == tag
                && let Some((other, text)) = self.records.get(unit * UNIT..).and_then(split)
                && other == key
            {
                return Probe::Found(text);
            }
            at = (at + 1) & mask;
        }
    }
}

/// What stands where a key's hash points to.
enum Probe<'t> {
    /// The text of its record.
    Found(&'t [u8]),
    /// A slot for it, and what would stand there of its hash.
    Free { at: usize, tag: u32 },
}

/// Memory of so many bytes, at least one unit, in large pages where the system has them: they are had faster, and the
/// processor remembers enough of them.
pub fn memory(bytes: usize) -> io::Result<MmapMut> {
    let memory = MmapMut::map_anon(bytes.max(UNIT))?;
    if let Err(e) = memory.advise(Advice::HugePage) {
        log::debug!("a bank is looked up in more slowly: no large pages: {e}");
    }
    Ok(memory)
}

/// Whoever makes keys of a bank collide on purpose slows down their own compiler only.
#[inline]
fn hash(key: &[u8]) -> u64 {
    FxBuildHasher.hash_one(key)
}
