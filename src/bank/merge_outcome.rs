//! What a merge tells: its counts, and what became of single records.

use serde::Serialize;
use std::path::PathBuf;

/// What became of a record of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The bank did not have it.
    Added,
    /// It took the place of another tiling.
    Updated,
    /// The bank has it, or has a better one.
    Kept,
    /// The built-in bank has it, or has a better one; or it would not compute.
    Refused,
}

/// A record of a source and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedRecord {
    /// What became of it.
    pub fate: Fate,
    /// The file that it stands in.
    pub source: PathBuf,
    /// Its line there.
    pub line: usize,
    /// What it is for.
    pub record: String,
    /// Why.
    pub reason: String,
}

/// What a merge did. Every usable record of every source counts once, as added, updated, kept or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeOutcome {
    /// Records that the bank did not have.
    pub added: usize,
    /// Records that took the place of another one.
    pub updated: usize,
    /// Records that the bank has already, or has better.
    pub kept: usize,
    /// Records that the built-in bank has already, or has better, and those that are `broken`.
    pub refused: usize,
    /// Of the refused, records at which CANN's operator would stop, or with which its kernel would not compute the result.
    pub broken: usize,
    /// Lines taken over that no rule reads: of other operators, of later versions, without a key.
    pub foreign: usize,
    /// Bank files that were written.
    pub changed: Vec<PathBuf>,
    /// What was found wrong in the files, each with file and line.
    pub warnings: Vec<String>,
    /// Bank files of the sources that were not merged, or directories without any; `warnings` say why.
    pub unmerged: Vec<PathBuf>,
    /// What became of each record of the banks that are one file each: unified, subgraph, gradient.
    pub records: Vec<MergedRecord>,
}

/// Records that are not taken over and named one by one.
const MOST_NAMED: usize = 100;

impl MergeOutcome {
    /// Counts a record that CANN's operator would stop at, or whose kernel would not compute, and names the first ones:
    /// `rule` is the one that it breaks, and what it is for.
    pub(super) fn name_broken(&mut self, rule: impl FnOnce() -> Option<(String, String)>) {
        self.broken += 1;
        match self.broken {
            ..=MOST_NAMED => {
                self.warnings.extend(rule().map(|(rule, of)| format!("a record is not taken over: {rule} ({of})")));
            }
            n if n == MOST_NAMED + 1 => {
                self.warnings.push("more records that would not compute are counted, and not named".to_owned());
            }
            _ => {}
        }
    }

    /// Counts a record.
    pub(super) fn count(&mut self, fate: Fate) {
        *(match fate {
            Fate::Added => &mut self.added,
            Fate::Updated => &mut self.updated,
            Fate::Kept => &mut self.kept,
            Fate::Refused => &mut self.refused,
        }) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_would_not_compute_are_counted_and_the_first_are_named() {
        let mut outcome = MergeOutcome::default();
        for number in 0..MOST_NAMED {
            outcome.name_broken(|| Some(("a rule".to_owned(), format!("record {number}"))));
        }
        assert_eq!((outcome.broken, outcome.warnings.len()), (MOST_NAMED, MOST_NAMED));
        assert_eq!(outcome.warnings[99], "a record is not taken over: a rule (record 99)");
        for broken in [MOST_NAMED + 1, MOST_NAMED + 2] {
            outcome.name_broken(|| unreachable!("it is counted alone"));
            assert_eq!((outcome.broken, outcome.warnings.len()), (broken, MOST_NAMED + 1));
        }
        assert!(outcome.warnings[MOST_NAMED].contains("not named"), "{:?}", outcome.warnings[MOST_NAMED]);
    }

    #[test]
    fn each_fate_has_its_count() {
        let mut outcome = MergeOutcome::default();
        for (fate, times) in [(Fate::Added, 1), (Fate::Updated, 2), (Fate::Kept, 3), (Fate::Refused, 4)] {
            (0..times).for_each(|_| outcome.count(fate));
        }
        assert_eq!([outcome.added, outcome.updated, outcome.kept, outcome.refused], [1, 2, 3, 4]);
    }
}
