//! What the searches of one tuning have in common, and what they make of a measurement.

use super::recordable::Recordable;
use super::settings::{Interrupt, OpatSettings};
use crate::backend::{Backend, Measure, Measurement};
use crate::bank::TrialStore;
use crate::search::Outcome;
use crate::status::{Error, Result};

/// What the searches of one tuning have in common.
pub(super) struct Tuner<'a> {
    pub backend: &'a dyn Backend,
    pub settings: &'a OpatSettings,
    /// Where trials are kept: those of the bank, which is also written, then those of the base.
    pub trials: Vec<TrialStore>,
    pub interrupt: Interrupt<'a>,
}

/// The error for a backend that can measure nothing more: its own reason, or that the caller wished it.
pub(super) fn ended(reason: String, backend: &dyn Backend, interrupt: Interrupt<'_>) -> Error {
    if interrupt.cancelled() {
        return Error::Cancelled;
    }
    Error::BackendLost { backend: backend.describe().name, reason }
}

/// Measures a configuration. The domain promised that it is legal; a space that errs must not end the
/// tuning.
pub(super) fn measured_as(
    measure: &mut dyn Measure,
    space: &Recordable<'_>,
    configuration: &[u32],
    tuner: &Tuner<'_>,
) -> Result<Outcome> {
    outcome_of(space.schedule(configuration).map(|schedule| measure.measure(&schedule)), tuner)
}

/// What a search is told of a measurement.
pub(super) fn outcome_of(measurement: Option<Measurement>, tuner: &Tuner<'_>) -> Result<Outcome> {
    match measurement {
        Some(Measurement::Time { us }) if us.is_finite() => Ok(Outcome::Cost(us)),
        Some(Measurement::Ended { reason }) => Err(ended(reason, tuner.backend, tuner.interrupt)),
        Some(Measurement::Failed { reason }) => {
            log::debug!("a candidate failed: {reason}");
            Ok(Outcome::Failed)
        }
        _ => Ok(Outcome::Failed),
    }
}
