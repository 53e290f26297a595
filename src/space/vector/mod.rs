//! Tilings of vector kernels.

mod work;

pub(in crate::space) use work::{Axes, UB_BLOCK, Work};
