//! How far a tuning is, and how long it will go on.

use std::time::{Duration, Instant};

/// How far a tuning is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is counted: `operators`, or `subgraphs` while these are tuned.
    pub unit: &'static str,
    /// Distinct operators (subgraphs, while these are tuned) finished.
    pub done: usize,
    /// Distinct operators (subgraphs) in all.
    pub total: usize,
    /// Name of the node whose operator was finished last, of a subgraph its first; empty before the first.
    pub node: String,
    /// Time of the whole network so far in microseconds: tuned where finished, baseline elsewhere.
    pub network_us: f64,
    /// Time of the whole network before tuning in microseconds, as far as known.
    pub baseline_us: f64,
    /// Seconds since the tuning began.
    pub elapsed_s: f64,
    /// Candidates measured for the operators that are finished; 0 while subgraphs are tuned.
    pub trials: usize,
    /// Seconds that this job will go on at its pace so far; `None` until there is a pace.
    pub remaining_s: Option<f64>,
}

/// Seconds for the rest of the work at the pace of what is done, at most until the deadline; `None` before anything is
/// done.
pub fn remaining_s(elapsed: Duration, done: usize, total: usize, deadline: Option<Instant>) -> Option<f64> {
    if done >= total {
        return Some(0.0);
    }
    let pace = (done > 0).then(|| elapsed.as_secs_f64() / done as f64)?;
    let until = deadline.map_or(f64::INFINITY, |at| at.saturating_duration_since(Instant::now()).as_secs_f64());
    Some((pace * (total - done) as f64).min(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done_and_no_longer_than_the_deadline() {
        let elapsed = Duration::from_secs(30);
        assert_eq!(remaining_s(elapsed, 0, 4, None), None);
        assert_eq!(remaining_s(elapsed, 3, 4, None), Some(10.0));
        assert_eq!(remaining_s(elapsed, 4, 4, None), Some(0.0));
        assert_eq!(remaining_s(elapsed, 1, 4, Some(Instant::now())), Some(0.0));
    }
}
