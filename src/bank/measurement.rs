//! What a record was measured to cost.

use super::knowledge::Knowledge;
use crate::workload::DefaultOrigin;

/// One measured record.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Digest of the record's key.
    pub key: u64,
    /// The record's id.
    pub id: u32,
    /// What was measured.
    pub knowledge: Knowledge,
    /// Microseconds of the tiling that CANN would have run.
    pub before_us: f64,
    /// Microseconds of the recorded one.
    pub after_us: f64,
    /// Backend that measured.
    pub backend: String,
    /// Name of the SoC.
    pub soc: String,
    /// Digest of the SoC's description: a changed one makes the times void.
    pub soc_fields: u64,
    /// Day of the measurement, `YYYY-MM-DD`.
    pub date: String,
    /// Version of the space that was searched; 0 where that is not known.
    pub space: u32,
    /// Whether the tiling of before is CANN's by its public rules.
    pub default: DefaultOrigin,
    /// The line of a later version that says more than this: it is written again as it stands.
    pub line: Option<Box<str>>,
}
