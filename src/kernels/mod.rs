//! The kernels that CANN would launch for a network, and how a real profile compares: the engine of `aoe kernels`.
//!
//! `listing` gathers a run's launches, one by one and alike ones together; `measured` counts what CANN's profilers
//! wrote, `seen` the same with operands (`case`), where a network has them (`in_network`), both from `table`, line by line; `against`
//! holds the one beside the other, and `calibrate` learns from them how far the simulator is off.

mod against;
mod calibrate;
#[cfg(test)]
mod calibrate_tests;
mod case;
mod devices;
mod in_network;
mod known;
mod launches;
mod listing;
mod measured;
mod problem;
#[cfg(test)]
mod rows_tests;
mod seen;
mod table;
#[cfg(test)]
mod tests;
mod types;

pub use against::{Comparison, Row};
pub use calibrate::{calibrate, calibrate_profile};
pub(crate) use in_network::{bytes, case_bytes, operand_bytes};
pub use in_network::{in_network, is_product};
pub use listing::{Alike, Launch, Listing, Signature, Unknown};
pub use measured::{Counted, Measured};
pub use problem::percent;
pub use seen::{LeftOut, Profile, Seen};
