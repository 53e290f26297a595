//! The runs that ended in one results folder, side by side: each keeps its reports in a folder of its own in `runs/`.

use super::summary::Summary;
use crate::input_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The folder of all runs.
pub const RUNS: &str = "runs";
/// The file of a run that says what it came to.
pub const SUMMARY: &str = "summary.json";
/// Largest such file that is read.
const MAX_BYTES: u64 = 1 << 24;
/// Runs that are told: the newest.
const MOST: usize = 50;

/// What a run of this folder came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    pub(super) after_us: f64,
    pub(super) before_us: f64,
    /// When it began, `YYYYMMDD_HHMMSSmmm`, which is its folder in `runs/`.
    pub(super) began: String,
    pub(super) graph: String,
    pub(super) improvement: String,
    pub(super) interval: Option<[String; 2]>,
    /// Whether it was ended early.
    pub(super) is_part: bool,
}

/// The runs that left their reports in a results folder, the newest first. What is no run's is passed over.
pub fn earlier(folder: &Path) -> Vec<Earlier> {
    let entries = std::fs::read_dir(folder.join(RUNS)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // Names are times.
    names.sort_unstable_by(|a, b| b.cmp(a));
    let read = |began: String| {
        let text = input_file::read(&folder.join(RUNS).join(&began).join(SUMMARY), MAX_BYTES, "too large").ok()?;
        let Summary { after_us, before_us, finished, gains, graph, performance_improvement, .. } =
            serde_json::from_slice(&text).ok()?;
        let interval = gains.and_then(|gains| gains.over_default.interval);
        let (graph, improvement) = (graph.into_owned(), performance_improvement);
        Some(Earlier { after_us, before_us, began, graph, improvement, interval, is_part: !finished })
    };
    names.into_iter().filter_map(read).take(MOST).collect()
}
