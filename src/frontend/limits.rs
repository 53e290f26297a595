//! How large a model's files and its tensors may be.

/// No protobuf message is larger.
pub const MAX_BYTES: usize = i32::MAX as usize;

/// What is wrong with one that is.
pub const TOO_LARGE: &str = "is larger than 2 GiB, the limit of protobuf; store the weights outside the model file";

/// Largest size of one dimension: tilings and banks count in 32-bit integers.
pub const MAX_DIM: i64 = i32::MAX as i64;
