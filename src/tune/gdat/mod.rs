//! Gradient tuning: which gradients are exchanged together.
//!
//! `gradients` knows how large each gradient is and when it is ready; `graph` finds that out from a training graph,
//! `recording` from what a device recorded; `cluster` describes the devices; `split` finds the best segments
//! of one set of gradients, `joint` of several; `plan` says what a split means in time, `step_run` what to each kernel;
//! `known` has the splits that others make; `job` puts them together, `outcome` is the
//! result.

pub mod cluster;
mod gradients;
mod graph;
mod job;
mod joint;
mod known;
mod outcome;
mod plan;
pub mod recording;
mod split;
mod step_run;
#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Contention, Exchange, Links};
pub use gradients::{Gradient, Set, Training};
pub use graph::{ALL_REDUCE, BY_ID, BY_SPLIT, Backward, FUSION, FUSION_ID};
pub use job::{GdatJob, GdatSettings, MOST_SEGMENTS, Source, gdat};
pub use joint::{JointSplit, best_of_sets};
pub use known::{from_bank, hccl_default, uniform_by_count, uniform_by_size};
pub use outcome::{Case, Equal, Found, GdatOutcome, KernelTime, Scale};
pub use plan::{Plan, Segment, ready_times};
pub use split::{Split, Step, best};
pub use step_run::StepRun;
