//! How a measurement ended.

/// How a measurement ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// With this time.
    Time(f64),
    /// Without one, and why.
    Failed(String),
    /// By the user.
    Interrupted,
}
