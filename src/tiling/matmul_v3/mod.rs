//! `MatMulV3`: matrix products of floats.

mod record;

pub use record::{Rounding, Tiling, rounding};

/// CANN's name of the operator.
pub const OP_TYPE: &str = "MatMulV3";
