//! Profiles: what a run of the network looks like before and after tuning, as CANN's profiler lays it out.
//!
//! [`Timed`] has the time of every kernel from what a tuning found, and those that are alike as one; `build` makes
//! [`Run`] from it, the list of the network's kernels and launches with all names and tensors.
//! [`files()`] turns it into what [`Options`] ask for, one module for each kind: `op_summary` with the counters of
//! `pmu`, `op_statistic`, `task_time`, `step_trace`, `memory` (`fusion_op`, `l2_cache`), `timeline` (the Chrome traces,
//! through `trace`), `rules` (advice) and `info`. [`Folder`] puts them on disk, whole. What a run does not know is
//! `N/A` or absent; `docs/profiling.md` says what and why.

mod build;
mod files;
mod folder;
mod info;
mod intervals;
mod memory;
mod metrics;
mod op_statistic;
mod op_summary;
mod options;
mod pmu;
mod points;
mod rules;
mod run;
mod step_trace;
mod table;
mod task_time;
#[cfg(test)]
mod tests;
mod timed;
mod timeline;
mod trace;

pub use files::{File, each_file, files};
pub use folder::Folder;
pub use metrics::Metrics;
pub use op_summary::{shapes, types_and_formats};
pub use options::{Level, Options};
pub use points::check as check_points;
pub use run::{Engine, Kernel, Model, Ranks, Run, Task, Tensor};
pub use timed::{Form, Kind, Moment, Scene, Timed};
