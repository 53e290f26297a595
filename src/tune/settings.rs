//! What a caller may decide about a tuning.

use crate::search::{Algorithm, StopReason};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Settings of operator tuning.
#[derive(Debug, Clone)]
pub struct OpatSettings {
    /// Seed of every search; the operator's place in the graph is mixed in.
    pub seed: u64,
    /// Search algorithm.
    pub algorithm: Algorithm,
    /// Measurements for each distinct operator at most.
    pub max_trials: usize,
    /// Distinct operators tuned at a time. The result does not depend on it.
    pub parallel: usize,
    /// Tune operators again that a bank already holds (`REPEAT_TUNE`, `base_result`).
    pub repeat_tune: bool,
    /// Which operators to tune.
    pub filter: OpFilter,
    /// No new measurement is begun after this moment.
    pub deadline: Option<Instant>,
    /// From within searches nobody is told sooner than so long after the last time.
    pub pause: Duration,
}

impl OpatSettings {
    /// What suits people who look on.
    pub const PAUSE: Duration = Duration::from_millis(200);
}

/// Which operators to tune: all, or those named in a `tune_ops_file`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpFilter {
    /// Node names (`tune_ops_name`).
    pub names: Vec<String>,
    /// Operator types (`tune_ops_type`).
    pub types: Vec<String>,
}

impl OpFilter {
    /// Whether it selects everything, because it names nothing.
    pub fn is_open(&self) -> bool {
        self.names.is_empty() && self.types.is_empty()
    }

    /// Whether the filter selects a node: whole-word match of its name or of one of its types. An
    /// empty filter selects everything.
    pub fn selects(&self, name: &str, types: &[&str]) -> bool {
        self.is_open() || self.asks(name, types).next().is_some()
    }

    /// What it names that is this node, by place: names first, then types.
    pub fn asks<'a>(&'a self, name: &'a str, types: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
        let named = self.names.iter().map(move |n| n == name);
        let typed = self.types.iter().map(|t| types.contains(&t.as_str()));
        named.chain(typed).enumerate().filter_map(|(at, asked)| asked.then_some(at))
    }

    /// All that it names: names, then types.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.names.iter().chain(&self.types).map(String::as_str)
    }
}

/// What may end a tuning early: the caller's cancel flag or the time limit.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt<'a> {
    /// Set from any thread.
    pub cancel: &'a AtomicBool,
    /// No new measurement is begun after this moment.
    pub deadline: Option<Instant>,
}

impl Interrupt<'_> {
    /// Whether the caller asked to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Acquire)
    }

    /// Why no further measurement should begin; `None` while one may.
    pub fn reason(&self) -> Option<StopReason> {
        if self.cancelled() {
            Some(StopReason::Cancelled)
        } else if self.deadline.is_some_and(|d| Instant::now() >= d) {
            Some(StopReason::TimeLimit)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpFilter;

    #[test]
    fn a_filter_is_the_union_of_names_and_types_and_matches_whole_words() {
        let filter = OpFilter { names: vec!["conv1".into()], types: vec!["MatMulV2".into()] };
        assert!(filter.selects("conv1", &["Conv2D"]));
        assert!(filter.selects("fc", &["MatMulV2", "Gemm"]));
        assert!(!filter.selects("conv10", &["Conv2D"]));
        assert!(!filter.selects("fc", &["MatMulV20"]));
        assert!(OpFilter::default().selects("anything", &[]));
    }
}
