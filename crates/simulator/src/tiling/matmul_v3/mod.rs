//! `MatMulV3`: matrix products of floats.
//!
//! [`default()`] is the tiling that CANN's host code chooses, rule by rule; [`check`] is what CANN's kernels demand
//! of any tiling, whoever made it.

mod balance;
mod block;
mod default;
mod deterministic;
mod draft;
mod full_load;
mod increment;
mod increment_cost;
mod l1;
mod l2_tiles;
mod legality;
pub(in crate::tiling) mod math;
mod prepass;
mod problem;
mod record;
mod rules;
mod split_k;
mod split_with_a;
mod template;
#[cfg(test)]
mod tests;

pub use default::{Choice, Mode, default, default_in};
pub use deterministic::keeps_columns;
pub use legality::{Broken, accepts, check, check_written, fits, runs};
pub use prepass::{PrepassTile, nd2nz, nd2nz_of, prepass};
pub use record::{Rounding, Tiling, rounding};
pub use rules::{Rule, Rules};
pub use template::{Digits, Template, task_count, tasks, templates_for};

#[allow(unused_imports, reason = "for the operators built upon this one")]
pub(in crate::tiling) use {
    default::{choice, draft},
    draft::{Draft, L2Grid},
    increment::search as search_blocks,
    l2_tiles::{L2Search, budget, grid},
    prepass::{flags, narrow},
    problem::{LONGEST_INNER, Problem},
};

/// CANN's name of the operator.
pub const OP_TYPE: &str = "MatMulV3";
