//! What every section of a result has: the name and time of the tuning, counts of records, and how it is written.

use crate::soc::CorrectedBy;
use crate::status::{Error, Result};
use crate::tune::{BankStatus, OpatOutcome, Tuning};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What was tuned.
#[derive(Debug, Serialize, Deserialize)]
pub struct Basic<'a> {
    /// Ours: the calibration that corrected predicted times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Cow<'a, CorrectedBy>>,
    tuning_name: Cow<'a, str>,
    /// Absent while tuning runs and after an interruption.
    #[serde(rename = "tuning_time(s)", skip_serializing_if = "Option::is_none")]
    tuning_time_s: Option<f64>,
}

/// What was tuned, and how long it took where it has ended.
pub fn basic(tuning: &Tuning) -> Basic<'_> {
    Basic {
        calibration: tuning.calibration.as_ref().map(Cow::Borrowed),
        tuning_name: tuning.graph.as_str().into(),
        tuning_time_s: tuning.finished.then(|| (tuning.elapsed.as_secs_f64() * 1e3).round() / 1e3),
    }
}

/// Counts of operators by what became of their records.
///
/// `repo_hit_num = repo_update_num + repo_reserved_num`, `total_num = repo_add_num + repo_hit_num +
/// repo_unsatisfied_num`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoSummary {
    /// New records.
    #[serde(rename = "repo_add_num")]
    pub add: usize,
    /// Operators that had a record.
    #[serde(rename = "repo_hit_num")]
    pub hit: usize,
    /// Records that stay.
    #[serde(rename = "repo_reserved_num")]
    pub reserved: usize,
    /// Operators without a record, for which nothing better than the default was found, or nothing that is sure to be.
    #[serde(rename = "repo_unsatisfied_num")]
    pub unsatisfied: usize,
    /// Records replaced by better ones.
    #[serde(rename = "repo_update_num")]
    pub update: usize,
    /// Operators tuned.
    #[serde(rename = "total_num")]
    pub total: usize,
}

impl RepoSummary {
    /// Counts an outcome. Operators that are not tuned or failed do not count.
    pub fn of(outcome: &OpatOutcome) -> RepoSummary {
        RepoSummary::counting(|status| outcome.count_on_disk(&status))
    }

    /// Counts by status; what is not tuned or failed does not count.
    pub fn counting(count: impl Fn(BankStatus) -> usize) -> RepoSummary {
        let unsatisfied = [BankStatus::Unsatisfied, BankStatus::NotSure, BankStatus::ToMeasure];
        let (add, unsatisfied) = (count(BankStatus::Added), unsatisfied.into_iter().map(&count).sum::<usize>());
        let (update, reserved) = (count(BankStatus::Updated), count(BankStatus::Reserved));
        RepoSummary {
            add,
            hit: update + reserved,
            reserved,
            unsatisfied,
            update,
            total: add + update + reserved + unsatisfied,
        }
    }
}

/// JSON text with an indent of four and a line feed at the end.
pub fn to_text(value: &impl Serialize) -> Result<String> {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let wrong = |message: String| Error::Internal { place: "report".into(), message };
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut text, format))
        .map_err(|e| wrong(e.to_string()))?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|e| wrong(e.to_string()))
}
