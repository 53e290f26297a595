//! The kernels that CANN would launch for a network, and how a real profile compares: the engine of `aoe kernels`.
//!
//! `listing` gathers a run's launches, one by one and alike ones together; `measured` counts what CANN's profilers
//! wrote, `seen` the same with operands, both from `table`, line by line; `against` holds the one beside the other, and
//! `calibrate` learns from them how far the simulator is off.

mod against;
mod calibrate;
#[cfg(test)]
mod calibrate_tests;
mod known;
mod listing;
mod measured;
mod problem;
mod seen;
mod table;
#[cfg(test)]
mod tests;

pub use against::{Comparison, Row};
pub use calibrate::{calibrate, calibrate_kernels, percent};
pub use listing::{Alike, Launch, Listing, Look};
pub use measured::{Counted, Measured};
pub use seen::{Profile, Seen};
