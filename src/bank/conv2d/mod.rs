//! `Conv2DV2` of CANN's runtime bank: forward convolutions on 950 parts.

mod key;
mod tiling;

pub use key::{EXTENTS, has_key, info_dict, of_extents};
pub use tiling::Tiling;

/// Operator type of the bank file.
pub const OP_TYPE: &str = "Conv2DV2";
