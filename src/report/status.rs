//! What became of something that was tuned, without the reason: the word in reports.

use crate::tune::BankStatus;
use serde::{Deserialize, Serialize};

/// The statuses: each with that of the tuning which it tells of, its word in files and its words on a page.
macro_rules! statuses {
    ($($name:ident = $of:pat, $word:literal, $shown:literal;)*) => {
        /// What became of an operator, a subgraph or the gradients; [`BankStatus`] says what each means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "BankStatus documents them")]
        pub enum Status {
            $(#[serde(rename = $word)] $name,)*
        }

        impl From<&BankStatus> for Status {
            fn from(status: &BankStatus) -> Status {
                match status { $($of => Status::$name,)* }
            }
        }

        impl Status {
            /// The word for it in files.
            pub const fn name(self) -> &'static str {
                match self { $(Status::$name => $word,)* }
            }

            /// The same on a page.
            pub(super) const fn words(self) -> &'static str {
                match self { $(Status::$name => $shown,)* }
            }
        }

        #[cfg(test)]
        const ALL: &[Status] = &[$(Status::$name,)*];
    };
}

statuses! {
    Added = BankStatus::Added, "added", "added";
    Updated = BankStatus::Updated, "updated", "updated";
    Reserved = BankStatus::Reserved, "reserved", "kept";
    Unsatisfied = BankStatus::Unsatisfied, "unsatisfied", "default stays";
    NotSure = BankStatus::NotSure, "not_sure", "not sure";
    ToMeasure = BankStatus::ToMeasure, "to_measure", "to measure";
    Unsaved = BankStatus::Unsaved, "unsaved", "unsaved";
    NotTuned = BankStatus::NotTuned, "not_tuned", "not tuned";
    NotTunable = BankStatus::NotTunable(_), "not_tunable", "nothing to choose";
    NotModelled = BankStatus::NotModelled, "not_modelled", "unknown operator";
    NotMeasured = BankStatus::NotMeasured(_), "not_measured", "not measured";
    Failed = BankStatus::Failed(_), "failed", "failed";
}

#[cfg(test)]
mod tests {
    use super::{ALL, Status};

    #[test]
    fn a_status_is_read_by_the_word_that_it_has_and_no_two_share_one() {
        for &status in ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
            assert_eq!(serde_json::from_value::<Status>(status.name().into()).unwrap(), status);
        }
    }
}
