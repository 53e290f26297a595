//! `libaoe` tunes neural-network graphs for Ascend NPUs as CANN's AOE does, with or without a device.
//!
//! The house, from the door down; a module may use what stands on a lower floor, never above. [`search`], [`graph`] and
//! what the simulator needs are crates of their own, for whoever wants them alone:
//!
//! | floor | module | holds |
//! |---|---|---|
//! | 7 | [`capi`] (and `bin/aoe`) | the C ABI: one file per C object, one guard for every export |
//! | 6 | [`session`] | initialise and finalise, session table, options, configuration, environment, cancel |
//! | 5 | [`report`] | the result files, from the outcome types of `tune` |
//! | 5 | [`profile`] | runs of the network before and after, as CANN's profiler lays them out |
//! | 5 | [`kernels`] | what CANN would launch, beside a real profile |
//! | 5 | [`serving`] | language models as serving stacks launch them, and what that takes |
//! | 4 | [`tune`] | the closed loops: ask the search, measure on the backend, keep the best in the bank |
//! | 3 | [`backend`] | who measures: the simulator, an Ascend runtime, a plug-in |
//! | 3 | [`cases`] | kernels as users write them, one JSON object a line: what the next two read |
//! | 3 | [`simulate`] | cases in, predictions out: what `aoe simulate` runs |
//! | 3 | [`candidates`] | questions in, tilings that fit and the best of them out: what `AoeCandidates` runs |
//! | 3 | [`defaults`] | cases in, default tilings out: what `aoe tiling` runs |
//! | 2 | [`sim`] | the performance model: pipes, buffers, L2, cores |
//! | 2 | [`space`] | parameters and constraints of an operator's tilings, and CANN's default policies |
//! | 2 | [`tiling`] | CANN's host tiling: default tilings, what kernels demand, fields of records |
//! | 2 | [`search`] | ask/tell optimisers over indices |
//! | 2 | [`bank`] | CANN's knowledge banks: formats, keys, paths, durable writes |
//! | 2 | [`frontend`], [`lower`] | model files to a graph; a graph's nodes to workloads |
//! | 1 | [`graph`], [`workload`], [`soc`], [`ini`], [`input_file`], [`lines`], [`output_file`], [`shard`], [`spelling`], [`status`], `sync` | plain data, the error type, what threads share |
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
