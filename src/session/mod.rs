//! Initialise and finalise, sessions, options, configuration, environment, progress, cancel.

pub mod config;
pub mod environment;
pub mod options;
pub mod shapes;
