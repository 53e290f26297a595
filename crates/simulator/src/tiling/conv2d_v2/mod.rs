//! `Conv2DV2`: forward convolutions on 950 parts.

pub mod legality;
mod record;

pub use record::Tiling;

/// CANN's name of the operator.
pub const OP_TYPE: &str = "Conv2DV2";
