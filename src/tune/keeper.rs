//! What a tuning found, on its way into the bank.

use super::opat::Operators;
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
        Ok(())
    }

    /// Saves the rest; what the bank does not take goes to the rescue's place, and the outcome says so.
    pub(super) fn save_rest(&mut self) -> Result<()> {
        self.record(usize::MAX)?;
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

    /// Records the cases whose index is below `end` and was not recorded before.
    fn record(&mut self, end: usize) -> Result<()> {
        let new = self.outcome.cases.iter().filter(|c| (self.recorded..end).contains(&c.index));
        for case in new.filter(|case| case.status.is_new()) {
            self.job.bank.record(&case.workload, &case.after, &measured(case))?;
        }
        self.recorded = end;
        Ok(())
    }
}

fn measured(case: &CaseOutcome) -> Measured {
    let (before_us, after_us, backend) = (case.before_us, case.after_us, case.backend.clone());
    Measured { before_us, after_us, backend, space: space::version(&case.workload), default: case.default }
}
