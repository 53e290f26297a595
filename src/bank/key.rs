//! What identifies a record, and why one may be unusable.

use super::hash;
use prost::bytes::Bytes;

/// What makes two records the same: CANN's packed structure, or the text of our `info_dict`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Bytes);

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
