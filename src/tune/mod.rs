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
mod keeper;
mod opat;
mod order;
pub mod outcome;
mod progress;
mod recordable;
mod settings;
pub mod sgat;
#[cfg(test)]
mod tests;
mod trials;
mod tuner;
mod watched;
mod workers;

pub use cases::Variant;
pub use copy::copy;
pub use finding::Finding;
pub use keeper::ToMeasure;
pub use opat::{OpatJob, opat};
pub use outcome::{BankStatus, CaseOutcome, Improvement, OpatOutcome, SkippedKernel, Timed, TunedNode, Unsaved};
pub use progress::Progress;
use progress::remaining_s;
pub use settings::{Interrupt, OpFilter, OpatSettings};

/// Told about the progress of a tuning, always from the thread that started it.
pub trait Observer<Outcome = OpatOutcome> {
    /// Called once before the first case and after each one. `outcome` holds the cases finished so
    /// far; its `finished` is false until the last call.
    fn progress(&mut self, progress: &Progress, outcome: &Outcome);

    /// Called now and then from within the search for an operator, where measuring takes long.
    fn searching(&mut self, _progress: &Progress) {}
}
