//! Records by their keys, one behind the other in memory.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
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

/// Records by their keys. Nothing changes after it is filled, so that any number of threads may read.
#[derive(Debug)]
pub struct Table {
    records: MmapMut,
    /// Bytes of them that are filled.
    filled: usize,
    /// Where they stand, in units.
    places: HashTable<u32>,
}

impl Table {
    /// An empty table with room for so many records of so many bytes together. Fails where there is no memory.
    pub fn with_room(count: usize, bytes: usize) -> io::Result<Table> {
        Ok(Table { records: memory(bytes)?, filled: 0, places: HashTable::with_capacity(count) })
    }

    /// Records that it holds.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.records.len() + self.places.allocation_size()
    }

    /// Adds a record that room was made for; `false` where there is one with its key, which stays.
    pub fn insert(&mut self, from: &Records, place: usize) -> bool {
        let Some((key, text)) = from.at(place) else { return false };
        let Table { records, filled, places } = self;
        let key_at = |place: &u32| Some(split(records.get(*place as usize * UNIT..)?)?.0);
        let rehash = |place: &u32| key_at(place).map_or(0, hash);
        let Entry::Vacant(free) = places.entry(hash(key), |place| key_at(place) == Some(key), rehash) else {
            return false;
        };
        let record = place..(place + HEADER + key.len() + text.len()).next_multiple_of(UNIT);
        let end = *filled + record.len();
        let (Some(room), Some(record), Ok(place)) =
            (records.get_mut(*filled..end), from.0.get(record), u32::try_from(*filled / UNIT))
        else {
            return false;
        };
        free.insert(place);
        room.copy_from_slice(record);
        *filled = end;
        true
    }

    /// The text that is recorded for a key. All bytes of it are compared.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = |place: &u32| split(self.records.get(*place as usize * UNIT..)?);
        let place = self.places.find(hash(key), |place| at(place).is_some_and(|(other, _)| other == key))?;
        at(place).map(|(_, text)| text)
    }
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
