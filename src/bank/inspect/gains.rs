//! What the records of a bank file were measured to cost, from the side file beside it.

use super::record::Record;
use super::source::Source;
use crate::bank::disk::DISK;
use crate::bank::form::Form;
use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::bank::side::{Side, Verdict, side_path};
use crate::bank::storage::Storage;
use crate::workload::DefaultOrigin;
use serde::Serialize;

/// What a record was measured to cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Times {
    /// Microseconds of the tiling that CANN would have run.
    pub before_us: f64,
    /// Microseconds of the recorded one.
    pub after_us: f64,
    /// Who measured.
    pub backend: String,
    /// SoC that was measured.
    pub soc: String,
    /// Day of the measurement, `YYYY-MM-DD`.
    pub date: String,
    /// Version of the space that was searched; 0 where that is not known.
    #[serde(skip)]
    pub space: u32,
    /// Whether the tiling of before is CANN's by its public rules.
    pub default: DefaultOrigin,
    /// Digest of the SoC's description: times of different ones do not compare.
    #[serde(skip)]
    pub soc_fields: u64,
}

impl Times {
    /// How much faster the recorded tiling is than CANN's, as AOE counts it: 0.25 for 5 us instead of 4.
    pub fn gain(&self) -> f64 {
        self.before_us / self.after_us - 1.0
    }
}

/// The side file of a bank file; without records where there is none that can be read.
#[derive(Debug, Default)]
pub struct Gains {
    content: Vec<u8>,
    /// What it says, for each form that was asked for.
    sides: Vec<(Form, Side)>,
}

impl Gains {
    /// Reads the side file of a bank file.
    pub fn of(source: &Source) -> Gains {
        Gains { content: DISK.read(&side_path(source.path())).ok().flatten().unwrap_or_default(), sides: Vec::new() }
    }

    /// The times of a record whose tiling is the one that was measured.
    pub fn times(&mut self, record: &Record) -> Option<Times> {
        self.times_of(record.form, &record.key, &record.tiling().ok()?)
    }

    /// The times of a tiling of this form and key, where it is the one that was measured.
    pub fn times_of(&mut self, form: Form, key: &Key, knowledge: &Knowledge) -> Option<Times> {
        if self.content.is_empty() {
            return None;
        }
        if self.sides.iter().all(|(known, _)| *known != form) {
            self.sides.push((form, Side::parse(form, &self.content)));
        }
        let (_, side) = self.sides.iter().find(|(known, _)| *known == form)?;
        match side.verdict(key, knowledge) {
            Verdict::Vouched(m) => Some(Times {
                before_us: m.before_us,
                after_us: m.after_us,
                backend: m.backend.clone(),
                soc: m.soc.clone(),
                date: m.date.clone(),
                space: m.space,
                default: m.default,
                soc_fields: m.soc_fields,
            }),
            Verdict::Unknown | Verdict::Changed => None,
        }
    }
}
