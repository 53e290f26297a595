//! Warnings of what keeps no graph from being tuned.

/// Findings of one kind that a tuning tells one by one.
const TOLD: usize = 10;

/// Warns of findings that keep no graph from being tuned: of the first by its words, of the others by their number, which
/// `more` ends.
pub fn warn(mut findings: impl Iterator<Item = String>, more: &str) {
    for words in findings.by_ref().take(TOLD) {
        log::warn!("{words}");
    }
    let others = findings.count();
    if others > 0 {
        log::warn!("{others} {more}; `aoe model check` lists them");
    }
}
