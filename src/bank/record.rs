//! A record, and what is known of how it was found.

use super::key::Key;
use super::knowledge::Knowledge;
use crate::workload::DefaultOrigin;

/// A usable record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is for.
    pub key: Key,
    /// What it says.
    pub knowledge: Knowledge,
}

/// What a measurement found.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Microseconds of the tiling that CANN would have run.
    pub before_us: f64,
    /// Microseconds of the recorded one.
    pub after_us: f64,
    /// Name of the backend that measured.
    pub backend: String,
    /// Version of the space that was searched; 0 where that is not known.
    pub space: u32,
    /// Whether the tiling of before is CANN's by its public rules.
    pub default: DefaultOrigin,
}
