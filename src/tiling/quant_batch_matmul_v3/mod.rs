//! `QuantBatchMatmulV3`: products of int8 operands.

mod record;

pub use record::Tiling;

/// CANN's name of the operator.
pub const OP_TYPE: &str = "QuantBatchMatmulV3";
