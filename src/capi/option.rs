//! Options as C passes them.

use std::ffi::c_char;

/// One option: key and value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AoeOption {
    /// The long name of the command line, without dashes.
    pub key: *const c_char,
    /// Its value; empty for "not set".
    pub value: *const c_char,
}

/// Entries that an array of options can have; far more than there are options, far fewer than a
/// negative count looks like.
pub const AOE_MAX_OPTIONS: usize = 4096;

/// Copied options as the lower floors read them.
pub(super) fn pairs(options: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
}
