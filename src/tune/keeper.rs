//! What a tuning found, on its way into the bank.

use super::outcome::{BankStatus, CaseOutcome, OpatOutcome, Unsaved};
use crate::bank::{Measured, OperatorBank};
use crate::space;
use crate::status::Result;
use std::path::{Path, PathBuf};

/// Operators after which the bank is written for the first time; then after twice as many, and so on.
/// Fixed numbers, not times, so that the bank's bytes do not depend on how fast the machine is.
pub const FIRST_SAVE: usize = 8;

/// A bank of its own for records that a measurement is to decide about.
pub struct ToMeasure<'a> {
    /// The bank.
    pub bank: &'a mut OperatorBank,
    /// What `TUNE_BANK_PATH` has to name for CANN to read it; `None` where it does not stay.
    pub root: Option<PathBuf>,
}

/// Writes what was found to the bank, from the first operator on and in that order.
///
/// A bank that cannot be written, on a full disk for one, ends no tuning: it is tried again, and at the end the records go
/// where there is room.
pub struct Keeper<'a> {
    pub bank: &'a mut OperatorBank,
    /// Takes what a measurement is to decide about.
    pub to_measure: Option<&'a mut OperatorBank>,
    /// Directory of a bank for records that the bank does not take.
    pub rescue: Option<&'a Path>,
    /// Cases recorded: the first so many.
    pub recorded: usize,
    pub next_save: usize,
}

impl Keeper<'_> {
    /// Saves when enough cases from the first on are done. Fails for a record that is none; what the disk says is for
    /// later.
    pub fn follow(&mut self, outcome: &mut OpatOutcome) -> Result<()> {
        let done = outcome.cases.iter().enumerate().take_while(|(at, case)| *at == case.index).count();
        while done >= self.next_save {
            self.record(outcome, self.next_save)?;
            match self.bank.save() {
                Ok(_) => outcome.tuning.saved = self.recorded,
                Err(error) => log::warn!("the bank is tried again when more is found: {error}"),
            }
            if let Err(error) = self.to_measure.as_mut().map_or(Ok(Vec::new()), |bank| bank.save()) {
                log::warn!("the bank to measure is tried again when more is found: {error}");
            }
            self.next_save *= 2;
        }
        Ok(())
    }

    /// Saves the rest; what the bank does not take goes to the rescue's place, and the outcome says so.
    pub fn finish(&mut self, outcome: &mut OpatOutcome) -> Result<()> {
        self.record(outcome, usize::MAX)?;
        self.finish_to_measure(outcome);
        let Err(error) = self.bank.save() else {
            outcome.tuning.saved = usize::MAX;
            return Ok(());
        };
        for case in outcome.cases.iter_mut().filter(|case| case.index >= outcome.tuning.saved && case.status.is_new()) {
            case.status = BankStatus::Unsaved;
        }
        let bank = self.bank.paths().custom.clone();
        let save = |place: &Path| self.bank.save_elsewhere(place.to_owned()).map(|_| ());
        outcome.tuning.unsaved = Some(Unsaved::rescued(&bank, &error, self.rescue, save));
        Ok(())
    }

    /// Saves what is to be measured. Where that fails, or there is no place for it, nothing is: no record says what was found.
    fn finish_to_measure(&mut self, outcome: &mut OpatOutcome) {
        let saved = match &mut self.to_measure {
            None => false,
            Some(bank) => match bank.save() {
                Ok(_) => true,
                Err(error) => {
                    log::warn!("no record of what is to be measured was written: {error}");
                    false
                }
            },
        };
        for case in outcome.cases.iter_mut().filter(|case| !saved && case.status == BankStatus::ToMeasure) {
            case.status = BankStatus::NotSure;
        }
    }

    /// Records the cases whose index is below `end` and was not recorded before.
    fn record(&mut self, outcome: &OpatOutcome, end: usize) -> Result<()> {
        for case in outcome.cases.iter().filter(|case| (self.recorded..end).contains(&case.index)) {
            match (&case.status, &case.unsure, &mut self.to_measure) {
                (status, ..) if status.is_new() => {
                    self.bank.record(&case.workload, &case.after, &measured(case, case.after_us))?;
                }
                (BankStatus::ToMeasure, Some(found), Some(bank)) => {
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
