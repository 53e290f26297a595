//! What became of something that was tuned, without the reason: the word in reports.

use crate::tune::BankStatus;
use serde::{Deserialize, Serialize};

/// What became of an operator, a subgraph or the gradients; [`BankStatus`] says what each means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "BankStatus documents them")]
pub enum Status {
    Added,
    Updated,
    Reserved,
    Unsatisfied,
    NotSure,
    ToMeasure,
    Unsaved,
    NotTuned,
    NotTunable,
    NotModelled,
    NotMeasured,
    Failed,
}

impl From<&BankStatus> for Status {
    fn from(status: &BankStatus) -> Status {
        match status {
            BankStatus::Added => Status::Added,
            BankStatus::Updated => Status::Updated,
            BankStatus::Reserved => Status::Reserved,
            BankStatus::Unsatisfied => Status::Unsatisfied,
            BankStatus::NotSure => Status::NotSure,
            BankStatus::ToMeasure => Status::ToMeasure,
            BankStatus::Unsaved => Status::Unsaved,
            BankStatus::NotTuned => Status::NotTuned,
            BankStatus::NotTunable(_) => Status::NotTunable,
            BankStatus::NotModelled => Status::NotModelled,
            BankStatus::NotMeasured(_) => Status::NotMeasured,
            BankStatus::Failed(_) => Status::Failed,
        }
    }
}

impl Status {
    /// The word for it in files.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Added => "added",
            Status::Updated => "updated",
            Status::Reserved => "reserved",
            Status::Unsatisfied => "unsatisfied",
            Status::NotSure => "not_sure",
            Status::ToMeasure => "to_measure",
            Status::Unsaved => "unsaved",
            Status::NotTuned => "not_tuned",
            Status::NotTunable => "not_tunable",
            Status::NotModelled => "not_modelled",
            Status::NotMeasured => "not_measured",
            Status::Failed => "failed",
        }
    }

    /// The same on a page.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Status::Reserved => "kept",
            Status::Unsatisfied => "default stays",
            Status::NotSure => "not sure",
            Status::ToMeasure => "not sure, to measure",
            Status::NotTuned => "not tuned",
            Status::NotMeasured => "not measured",
            other => other.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn a_status_is_read_by_the_word_that_it_has() {
        use Status::{
            Added, Failed, NotMeasured, NotModelled, NotSure, NotTunable, NotTuned, Reserved, ToMeasure, Unsatisfied,
            Unsaved, Updated,
        };
        for status in [
            Added,
            Updated,
            Reserved,
            Unsatisfied,
            NotSure,
            ToMeasure,
            Unsaved,
            NotTuned,
            NotTunable,
            NotModelled,
            NotMeasured,
            Failed,
        ] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
            assert_eq!(serde_json::from_value::<Status>(status.name().into()).unwrap(), status);
        }
    }
}
