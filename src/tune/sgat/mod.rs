//! Subgraph tuning: how a network is cut, fused and kept in cache.
//!
//! `network` is the lowered graph with who reads whom; `steps` takes it apart where no fusion is lost;
//! `scope` says what may be one kernel and what that does, by the passes of `rules`; `price` asks the simulator; `default` is what
//! CANN does by itself; `fusion` finds the best scopes of a step, `groups` the best cuts along the batch, of which
//! `residency` says whether L2 holds them and `pieces` what they cost;
//! `signatures` sees to it that repeated blocks are solved once; `strategy` puts them together. `job` is the closed
//! loop around them, which `outcome` is the result of: its `run` makes `units` of every `problem` for the threads, looks into
//! the subgraph bank and writes to it what `record` makes of a strategy; `state` lets an interrupted one go on;
//! `apply` puts the fused and cut kernels in order, by which alone times are told; `settled` keeps what is better there.

mod apply;
mod chains;
mod default;
mod fused;
mod fusion;
mod groups;
mod job;
mod network;
mod outcome;
mod parts;
mod pieces;
mod price;
mod problem;
mod record;
mod residency;
mod rules;
mod run;
mod scope;
mod settings;
mod settled;
mod signatures;
mod state;
mod steps;
mod strategy;
#[cfg(test)]
mod tests;
mod units;

pub use apply::tuned;
pub use fused::fused;
pub use groups::Group;
pub use job::sgat;
pub use network::Network;
pub use outcome::{Place, Plan, PlanGroup, SgatOutcome, SubgraphOutcome};
pub use price::Traffic;
pub use record::Mark;
pub use residency::Run;
pub use rules::Pass;
pub use run::{Sgat, SgatJob};
pub use settings::SgatSettings;
pub use state::{State, state_file};
pub use strategy::{Case, Strategy, solve};
