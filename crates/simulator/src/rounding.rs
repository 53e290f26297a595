//! Whole blocks.

/// Rounds up to a multiple; saturates.
pub(crate) fn round_up(value: u64, step: u64) -> u64 {
    value.div_ceil(step.max(1)).saturating_mul(step.max(1))
}
