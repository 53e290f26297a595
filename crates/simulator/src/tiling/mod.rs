//! CANN's host tiling: the tiling that each operator of CANN chooses by itself, what its kernels demand of one,
//! and the fields in which both stand in a bank.
//!
//! One folder for each operator whose tiling is known, by CANN's name. `record` in it holds the fields of a bank
//! record and what they say as a [`crate::workload::Schedule`].

mod broken;
mod conv_form;
mod fields;
mod platform;
mod rules;

pub mod batch_matmul_v3;
pub mod conv2d_v2;
pub mod conv3d_v2;
pub mod matmul_v3;
pub mod quant_batch_matmul_v3;
pub mod tbe;
pub mod vector;

pub use fields::{Unmodelled, inexpressible, integer};
pub use platform::Platform;
