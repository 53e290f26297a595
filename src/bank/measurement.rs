//! What a record was measured to cost.

use super::key::Key;
use super::knowledge::Knowledge;
use super::record::Measured;
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

/// What the measurements of one save have in common.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// Name of the SoC.
    pub soc: String,
    /// Digest of its description, see [`soc_digest`](super::side::soc_digest).
    pub soc_fields: u64,
    /// Day, `YYYY-MM-DD`.
    pub date: String,
}

impl Stamp {
    /// The side entry of a record measured now.
    pub fn measurement(&self, key: &Key, knowledge: &Knowledge, measured: &Measured) -> Measurement {
        Measurement {
            key: key.digest(),
            id: key.id(),
            knowledge: knowledge.clone(),
            before_us: measured.before_us,
            after_us: measured.after_us,
            backend: measured.backend.clone(),
            soc: self.soc.clone(),
            soc_fields: self.soc_fields,
            date: self.date.clone(),
            space: measured.space,
            default: measured.default,
            line: None,
        }
    }
}
