//! `MatMulV3` of CANN's runtime bank.

mod key;
mod tiling;

pub use key::{Rounding, has_key, info_dict, info_of, is_countable, split_key};
pub use tiling::Tiling;

/// Operator type of the bank file.
pub const OP_TYPE: &str = "MatMulV3";
