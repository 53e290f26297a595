//! `QuantBatchMatmulV3` of CANN's runtime bank: products of int8 operands on 310P parts.

mod key;
mod tiling;

pub use key::{has_key, info_dict};
pub use tiling::Tiling;

/// Operator type of the bank file.
pub const OP_TYPE: &str = "QuantBatchMatmulV3";
