//! `QuantBatchMatmulV3` of CANN's runtime bank: products of int8 operands on 310P parts.

mod key;

pub use crate::tiling::quant_batch_matmul_v3::{OP_TYPE, Tiling};
pub use key::{has_key, info_dict};
