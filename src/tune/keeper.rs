//! What a tuning found, on its way into the bank.

use super::operators::{OpatJob, Operators, ToMeasure};
use super::outcome::{BankStatus, CaseOutcome, Unsaved};
use crate::bank::Measured;
use crate::space;
use crate::status::Result;
use std::path::Path;

/// Writes what was found to the bank, from the first operator on and in that order.
///
/// A bank that cannot be written, on a full disk for one, ends no tuning: it is tried again, and at the end the records go
/// where there is room.
impl Operators<'_, '_> {
    /// Saves the first so many cases. Fails for a record that is none; what the disk says is for later.
    pub(super) fn save_first(&mut self, first: usize) -> Result<()> {
        self.record(first)?;
        match self.job.bank.save() {
            Ok(_) => self.outcome.tuning.saved = self.recorded,
            Err(error) => log::warn!("the bank is tried again when more is found: {error}"),
        }
        if let Some(Err(error)) = self.save_to_measure() {
            log::warn!("the bank to measure is tried again when more is found: {error}");
        }
        Ok(())
    }

    /// Saves the rest; what the bank does not take goes to the rescue's place, and the outcome says so.
    pub(super) fn save_rest(&mut self) -> Result<()> {
        self.record(usize::MAX)?;
        self.finish_to_measure();
        let (bank, tuning) = (&mut *self.job.bank, &mut self.outcome.tuning);
        let Err(error) = bank.save() else {
            tuning.saved = usize::MAX;
            return Ok(());
        };
        let lost = self.outcome.cases.iter_mut().filter(|case| case.index >= tuning.saved && case.status.is_new());
        lost.for_each(|case| case.status = BankStatus::Unsaved);
        let custom = bank.paths().custom.clone();
        let save = |place: &Path| bank.save_elsewhere(place.to_owned()).map(|_| ());
        tuning.unsaved = Some(Unsaved::rescued(&custom, &error, self.job.rescue.as_deref(), save));
        Ok(())
    }

    /// Saves what is to be measured, where there is a place for it.
    fn save_to_measure(&mut self) -> Option<Result<()>> {
        self.job.to_measure.as_mut().map(|to_measure| to_measure.bank.save().map(drop))
    }

    /// The same at the end. Where that fails, or there is no place for it, nothing is to be measured: no record says what was
    /// found.
    fn finish_to_measure(&mut self) {
        match self.save_to_measure() {
            Some(Ok(())) => return,
            Some(Err(error)) => log::warn!("no record of what is to be measured was written: {error}"),
            None => {}
        }
        for case in self.outcome.cases.iter_mut().filter(|case| case.status == BankStatus::ToMeasure) {
            case.status = BankStatus::NotSure;
        }
    }

    /// Records the cases whose index is below `end` and was not recorded before.
    fn record(&mut self, end: usize) -> Result<()> {
        let OpatJob { bank, to_measure, .. } = &mut *self.job;
        for case in self.outcome.cases.iter().filter(|case| (self.recorded..end).contains(&case.index)) {
            match (&case.status, &case.unsure, &mut *to_measure) {
                (status, ..) if status.is_new() => {
                    bank.record(&case.workload, &case.after, &measured(case, case.after_us))?;
                }
                (BankStatus::ToMeasure, Some(found), Some(ToMeasure { bank, .. })) => {
                    bank.record(&case.workload, &found.schedule, &measured(case, found.us))?;
                }
                _ => {}
            }
        }
        self.recorded = end;
        Ok(())
    }
}

/// What the bank notes of a case whose tiling takes `after_us`.
fn measured(case: &CaseOutcome, after_us: f64) -> Measured {
    let (before_us, backend) = (case.before_us, case.backend.clone());
    Measured { before_us, after_us, backend, space: space::version(&case.workload), default: case.default }
}
