//! `libaoe` tunes neural-network graphs for Ascend NPUs as CANN's AOE does, with or without a device.
//!
//! ARCHITECTURE.md is the map: the way of one operator from the file to the record, and which module stands on which floor.
//! [`search`], [`graph`] and what the simulator needs are crates of their own, for whoever wants them alone.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod backend;
pub mod bank;
pub mod candidates;
pub mod capi;
pub mod cases;
pub mod defaults;
pub mod frontend;
pub mod json_text;
pub mod kernels;
pub mod lines;
pub mod lower;
mod operands;
pub mod output_file;
pub mod profile;
pub mod report;
pub mod serving;
pub mod session;
pub mod shard;
pub mod simulate;
#[cfg(not(aoe_interleavings))]
mod sync;
#[cfg(aoe_interleavings)]
pub mod sync;
pub mod tune;

pub use aoe_base::{ini, input_file, spelling, status};
pub use aoe_graph as graph;
pub use aoe_search as search;
pub use aoe_simulator::{sim, soc, space, tiling, workload};
