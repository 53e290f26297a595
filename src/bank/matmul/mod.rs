//! `MatMulV3` of CANN's runtime bank.

mod key;

pub use crate::tiling::matmul_v3::{OP_TYPE, Tiling};
pub use key::{Rounding, has_key, info_dict, info_of, is_countable, rounding, split_key};
