//! The reader of a record.

use serde::{Deserialize, Serialize};

/// The reader of an operator's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordReader {
    /// CANN's operator, from its runtime bank, whenever it is launched.
    RuntimeBank,
    /// TBE, from its unified bank, when it compiles the operator.
    UnifiedBank,
    /// This library alone.
    OwnForm,
}

impl RecordReader {
    /// All, those of CANN first.
    pub const ALL: [RecordReader; 3] = [RecordReader::RuntimeBank, RecordReader::UnifiedBank, RecordReader::OwnForm];

    /// The word for it in reports.
    pub const fn name(self) -> &'static str {
        match self {
            RecordReader::RuntimeBank => "runtime_bank",
            RecordReader::UnifiedBank => "unified_bank",
            RecordReader::OwnForm => "own_form",
        }
    }

    /// Whether a recorded tiling is one that CANN runs.
    pub const fn is_cann(self) -> bool {
        !matches!(self, RecordReader::OwnForm)
    }
}
