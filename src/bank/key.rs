//! What identifies a record, and why one may be unusable.

use super::hash;
use prost::bytes::{Bytes, BytesMut};

/// Bytes of memory that keys made together share.
const SHARED: usize = 256 << 10;

/// What makes two records the same: CANN's packed structure, or the text of our `info_dict`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Bytes);

/// Makes the keys of a file, which share their memory: a million of them are then freed at once.
#[derive(Debug, Default)]
pub struct KeyMaker {
    room: BytesMut,
}

impl KeyMaker {
    /// The key with these bytes.
    pub fn key(&mut self, bytes: &[u8]) -> Key {
        if self.room.capacity() < bytes.len() {
            self.room = BytesMut::with_capacity(SHARED.max(bytes.len()));
        }
        self.room.extend_from_slice(bytes);
        Key(self.room.split().freeze())
    }
}

impl Key {
    /// The key with these bytes.
    pub fn new(bytes: Vec<u8>) -> Key {
        Key(bytes.into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The record's `id`.
    pub fn id(&self) -> u32 {
        hash::record_id(&self.0)
    }

    /// Names the key in a side file.
    pub fn digest(&self) -> u64 {
        hash::digest(&self.0)
    }
}

/// Why a record cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// It is damaged, or would keep CANN from loading what follows: set aside on the next write.
    Damaged(String),
    /// It is none of ours, or of a later version: kept as it is.
    Foreign(String),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Unusable::Damaged(reason) | Unusable::Foreign(reason)) = self;
        f.write_str(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyMaker, SHARED};

    #[test]
    fn keys_that_share_their_memory_are_those_that_do_not() {
        let mut maker = KeyMaker::default();
        let bytes = |number: usize| number.to_string().repeat(if number == 7 { SHARED } else { number % 2000 });
        let keys: Vec<_> = (0..1000).map(|number| maker.key(bytes(number).as_bytes())).collect();
        drop(maker);
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(*key, Key::new(bytes(number).into_bytes()));
        }
    }

    #[test]
    fn keys_of_a_file_lie_one_behind_the_other() {
        let mut maker = KeyMaker::default();
        let keys: Vec<_> = (0..1000_u64).map(|number| maker.key(&number.to_le_bytes().repeat(24))).collect();
        for pair in keys.windows(2) {
            assert_eq!(pair[0].bytes().as_ptr_range().end, pair[1].bytes().as_ptr());
        }
    }
}
