//! `Conv2DV2` of CANN's runtime bank: forward convolutions on 950 parts.

mod key;

pub use crate::tiling::conv2d_v2::{OP_TYPE, Tiling};
pub use key::{EXTENTS, has_key, info_dict, of_extents};
