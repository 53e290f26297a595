//! What the program exits with.

/// All is well.
pub const DONE: u8 = 0;
/// It failed while working.
pub const FAILED: u8 = 1;
/// A mistake in the command line, in an option or in a configuration file.
pub const MISUSED: u8 = 2;
