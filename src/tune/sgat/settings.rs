//! What a caller may decide about subgraph tuning.

use std::path::PathBuf;
use std::time::Instant;

/// What a caller may decide about subgraph tuning.
#[derive(Debug, Clone, Default)]
pub struct SgatSettings {
    /// Whether the groups of one subgraph may be cut into different numbers of parts (`nonhomo_split`).
    pub mixed: bool,
    /// Search again for subgraphs that a bank already holds (`REPEAT_TUNE`).
    pub repeat_tune: bool,
    /// Distinct subgraphs worked on at a time; 0 is 1. The result does not depend on it.
    pub parallel: usize,
    /// No new search is begun after this moment.
    pub deadline: Option<Instant>,
    /// Directory of a bank for records that the bank does not take.
    pub rescue: Option<PathBuf>,
}
