//! The closed loops: ask the search, measure on the backend, keep the best in the bank.

mod asked;
mod baseline;
mod cases;
mod confirm;
mod copy;
mod earlier;
pub mod evaluate;
mod finding;
pub mod gdat;
mod job;
mod keeper;
mod nodes;
mod opat;
mod operators;
mod order;
pub mod outcome;
mod progress;
mod recordable;
mod settings;
pub mod sgat;
#[cfg(test)]
mod tests;
mod trials;
mod tuned;
mod tuner;
mod watched;
mod workers;

pub use cases::Variant;
#[cfg(test)]
pub(crate) use cases::distinct;
pub(crate) use cases::unmapped;
pub use copy::copy;
pub use finding::Finding;
pub use nodes::{SkippedKernel, TunedNode, UNKNOWN};
pub use opat::opat;
pub use operators::{OpatJob, ToMeasure};
pub use outcome::{BankStatus, CaseOutcome, Improvement, OpatOutcome, Timed, Tuning, Unsaved};
pub use progress::Progress;
pub use settings::{Interrupt, OpFilter, OpatSettings};
pub use tuned::Tuned;

/// What was found counts as better only when the gain shows in a report with two decimals.
const MINIMUM_GAIN: f64 = 1e-4;

/// Told about the progress of a tuning, always from the thread that started it.
pub trait Observer {
    /// Called before the first unit of work, after each one and at the end; where measuring takes long also now and then
    /// from within the search for an operator, when `progress.searching` is not 0. `tuned` holds what is finished so far;
    /// its `finished` is false until the last call.
    fn progress(&mut self, progress: &Progress, tuned: Tuned<'_>);
}

/// Nobody looks on.
impl Observer for () {
    fn progress(&mut self, _: &Progress, _: Tuned<'_>) {}
}
