//! The name of a session.

/// Identifies a session: slot and generation, never 0.
pub type AoeSessionId = u64;
