//! Tensors as C passes them.

use std::ffi::c_void;

/// Element type; the numbers are those of [`crate::graph::DataType::ge_number`].
pub type AoeDataType = i32;
/// Memory layout; the numbers are those of [`crate::graph::Format::ge_number`].
pub type AoeFormat = i32;

/// Dimensions that a tensor can have.
pub const AOE_MAX_RANK: usize = 64;
/// Size of a dimension that is not known.
pub const AOE_DIM_UNKNOWN: i64 = -1;
/// As the only dimension: not even the number of dimensions is known.
pub const AOE_RANK_UNKNOWN: i64 = -2;

/// Description of a tensor and, where it is at hand, its value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AoeTensor {
    /// The dimensions.
    pub dims: *const i64,
    /// Their number.
    pub dim_count: usize,
    /// Element type.
    pub data_type: AoeDataType,
    /// Memory layout.
    pub format: AoeFormat,
    /// The elements in row-major order, or NULL.
    pub data: *const c_void,
    /// Bytes at `data`.
    pub data_size: usize,
    /// NULL.
    pub reserved: *const c_void,
}

// Arrays of tensors cross the border, so that the structure can never grow.
const _: () = assert!(size_of::<AoeTensor>() == 48 || size_of::<usize>() != 8);
