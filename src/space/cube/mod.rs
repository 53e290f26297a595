//! Tilings of cube kernels: matrix products and convolutions.

mod tiling;

pub(in crate::space) use tiling::{F, Limits, Tiling, align_steps, round_up};
