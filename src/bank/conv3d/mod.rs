//! `Conv3DV2` on 910B and `910_93`, which asks the runtime bank under the older name `Conv3D`.

mod key;

pub use crate::tiling::conv3d_v2::{BANK_OP_TYPE as OP_TYPE, Record as Tiling};
pub use key::{EXTENTS, info_dicts, not_expressible, of_extents};

/// What of its records no public file or text proves, by the names of the fields.
pub const UNPROVEN: &[&str] = &["biasDtype", "singleCoreCi", "biasFullLoadFlag", "fixpParamsFullLoadFlag"];
