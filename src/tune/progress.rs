//! How far a tuning is, and how long it will go on.

use std::time::{Duration, Instant};

/// How far a tuning is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// What is counted: `operators`, or `subgraphs` while these are tuned.
    pub unit: &'static str,
    /// Distinct operators (subgraphs, while these are tuned) finished.
    pub done: usize,
    /// Distinct operators (subgraphs) in all.
    pub total: usize,
    /// Name of the node whose operator was finished last, of a subgraph its first; empty before the first. Where
    /// `searching` is not 0, that whose operator is being searched.
    pub node: String,
    /// Measurements made for the operator that is being searched; 0 where the call does not come from within a search.
    pub searching: usize,
    /// Time of the operators finished in microseconds, with what CANN will take of what was found, and of those being searched
    /// the best measured so far.
    pub network_us: f64,
    /// Time of the same before tuning in microseconds.
    pub baseline_us: f64,
    /// Seconds since the tuning began.
    pub elapsed_s: f64,
    /// Candidates measured for these operators; 0 while subgraphs are tuned.
    pub trials: usize,
    /// Seconds that this job will go on at its pace so far; `None` until there is a pace.
    pub remaining_s: Option<f64>,
}

impl Progress {
    /// How far a job is, its times before and after, but for the node and the time that it takes.
    pub(super) fn of(unit: &'static str, [done, total]: [usize; 2], [baseline_us, network_us]: [f64; 2]) -> Progress {
        Progress { unit, done, total, network_us, baseline_us, ..Progress::default() }
    }
}

/// Seconds for the rest of the work at the pace of what is done, whole and in part, at most until the deadline; `None`
/// before anything is done.
pub fn remaining_s(elapsed: Duration, done: f64, total: usize, deadline: Option<Instant>) -> Option<f64> {
    let total = total as f64;
    if done >= total {
        return Some(0.0);
    }
    let pace = (done > 0.0).then(|| elapsed.as_secs_f64() / done)?;
    let until = deadline.map_or(f64::INFINITY, |at| at.saturating_duration_since(Instant::now()).as_secs_f64());
    Some((pace * (total - done)).min(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done_and_no_longer_than_the_deadline() {
        let elapsed = Duration::from_secs(30);
        assert_eq!(remaining_s(elapsed, 0.0, 4, None), None);
        assert_eq!(remaining_s(elapsed, 3.0, 4, None), Some(10.0));
        assert_eq!(remaining_s(elapsed, 0.5, 1, None), Some(30.0), "half an operator tells as well");
        assert_eq!(remaining_s(elapsed, 4.0, 4, None), Some(0.0));
        assert_eq!(remaining_s(elapsed, 1.0, 4, Some(Instant::now())), Some(0.0));
    }
}
