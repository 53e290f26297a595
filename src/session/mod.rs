//! Initialise and finalise, sessions, options, configuration, environment, progress, cancel.

pub mod options;
pub mod shapes;
