//! Profiles: what a run of the network looks like before and after tuning.
//!
//! [`Run`] is the list of its kernels.

mod build;
mod run;

pub use build::{Form, Moment, Scene};
pub use run::{Engine, Kernel, Model, Run, Task, Tensor};

#[cfg(test)]
mod tests;
