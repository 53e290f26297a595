//! What is said of a line of a bank.

use serde::Serialize;

/// What can be said of a line besides that it is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// CANN's loader cannot read it.
    Damaged,
    /// Nothing stands there, at which CANN's loader stops.
    Blank,
    /// An earlier line is for the same; which of the two CANN uses is chance.
    Duplicate,
    /// CANN reads it and cannot use it: its `info_dict` makes no key.
    Unusable,
    /// CANN's operator stops with an error when it meets it.
    Refused,
    /// CANN's operator takes it, and its kernel does not compute the result with it.
    WouldNotCompute,
    /// The tiling breaks a limit of the hardware, or names no template of the operator.
    Illegal,
    /// It is of another operator or form than the file, or of a later version.
    Foreign,
    /// The stored id is not that of the `info_dict`.
    StaleId,
    /// Fields that nobody reads.
    UnknownFields,
    /// Fields of the tiling that are absent; CANN takes them for 0.
    MissingFields,
    /// Whether the tiling is legal cannot be told.
    NotJudged,
}

impl Status {
    /// Every status, worst first.
    pub const ALL: [Status; 12] = [
        Status::Damaged,
        Status::Blank,
        Status::Duplicate,
        Status::Unusable,
        Status::Refused,
        Status::WouldNotCompute,
        Status::Illegal,
        Status::Foreign,
        Status::StaleId,
        Status::UnknownFields,
        Status::MissingFields,
        Status::NotJudged,
    ];

    /// The words for it in a text.
    pub const fn words(self) -> &'static str {
        match self {
            Status::Damaged => "damaged",
            Status::Blank => "blank line",
            Status::Duplicate => "duplicate",
            Status::Unusable => "unusable",
            Status::Refused => "refused",
            Status::WouldNotCompute => "would not compute",
            Status::Illegal => "illegal",
            Status::Foreign => "foreign",
            Status::StaleId => "stale id",
            Status::UnknownFields => "unknown fields",
            Status::MissingFields => "missing fields",
            Status::NotJudged => "not judged",
        }
    }

    /// Whether CANN stumbles over such a line: it loses records, stops with an error, or computes something else.
    pub const fn stumbles(self) -> bool {
        use Status::{Blank, Damaged, Duplicate, Refused, Unusable, WouldNotCompute};
        matches!(self, Damaged | Blank | Duplicate | Unusable | Refused | WouldNotCompute)
    }
}

/// One thing said of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is.
    pub status: Status,
    /// Why, with the rule or field at fault.
    pub reason: String,
}

/// Everything said of one line; nothing of a good one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Line counted from 1.
    pub line: usize,
    /// What there is to say.
    pub remarks: Vec<Remark>,
}
