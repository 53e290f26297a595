//! Initialise and finalise, sessions, options, configuration, environment, progress, cancel.
//!
//! ```text
//! initialize -> create -> Session::set_graph -> Session::tune -> Session::report -> destroy -> finalize
//! ```

pub mod bank_check;
pub mod banks;
pub mod base;
mod calibration;
mod config;
mod destination;
pub mod device_check;
mod effort;
pub mod environment;
mod gradients;
mod idle;
pub mod inputs;
mod instance;
pub mod kernels;
mod layers;
mod leaves;
mod library;
mod live;
pub mod logging;
mod material;
pub mod options;
mod places;
#[cfg(not(aoe_interleavings))]
mod process;
#[cfg(aoe_interleavings)]
pub mod process;
mod profiles_wanted;
mod profiling;
mod runs;
pub mod searches;
pub mod serving;
mod settings;
pub mod shapes;
pub mod simulation;
mod state;
mod subgraphs;
mod tuned_graph;
mod tuned_model;
mod tuning;
#[cfg(not(aoe_interleavings))]
mod turn;
#[cfg(aoe_interleavings)]
pub mod turn;
mod work;
mod workspace;

#[cfg(test)]
mod tests;

pub use instance::Instance;
pub use library::{create, destroy, finalize, initialize, session};
pub use places::{is_directory, stem};
pub use process::{Use, use_library};
pub use state::{Flow, ProgressFn, Session};
pub use tuned_model::named as model_files;
