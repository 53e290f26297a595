//! The closed loops: ask the search, measure on the backend, keep the best in the bank.

mod baseline;
mod cases;
mod confirm;
mod earlier;
pub mod evaluate;
pub mod gdat;
mod opat;
pub mod outcome;
mod recordable;
mod settings;
pub mod sgat;
#[cfg(test)]
mod tests;
mod trials;
mod workers;

pub use cases::Variant;
pub use opat::{OpatJob, opat};
pub use outcome::{BankStatus, CaseOutcome, Improvement, OpatOutcome, SkippedKernel, TunedNode};
pub use settings::{Interrupt, OpFilter, OpatSettings};

/// Told about the progress of a tuning, always from the thread that started it.
pub trait Observer<Outcome = OpatOutcome> {
    /// Called once before the first case and after each one. `outcome` holds the cases finished so
    /// far; its `finished` is false until the last call.
    fn progress(&mut self, progress: &Progress, outcome: &Outcome);
}

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
}
