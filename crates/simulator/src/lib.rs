//! What a kernel takes on an Ascend NPU, without one.
//!
//! ```
//! use aoe_simulator::sim::Model;
//! use aoe_simulator::soc::Soc;
//! use aoe_simulator::space::default_policy;
//! use aoe_simulator::workload::{MatMul, Workload};
//!
//! let soc = Soc::find("Ascend910B2")?;
//! let product = Workload::MatMul(MatMul::new(1024, 4096, 4096));
//! let schedule = default_policy(&product, &soc)?;
//! assert!(Model::new(&product, &soc)?.predict(&schedule)?.time_us > 100.0);
//! # Ok::<(), aoe_base::status::Error>(())
//! ```
//!
//! From the bottom up: [`soc`] has the parts and [`workload`] an operator by its sizes; [`tiling`] is CANN's host tiling;
//! [`sim`] is the performance model; [`space`] has the tilings that can be chosen.
#![forbid(unsafe_code)]

mod rounding;
pub mod sim;
pub mod soc;
pub mod space;
pub mod tiling;
pub mod workload;
