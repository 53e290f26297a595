//! What a tuning found, on its way into the bank.

use super::outcome::{BankStatus, CaseOutcome, OpatOutcome, Unsaved};
use crate::bank::{Measured, OperatorBank};
use crate::space;
use crate::status::Result;
use std::path::Path;

/// Operators after which the bank is written for the first time; then after twice as many, and so on.
/// Fixed numbers, not times, so that the bank's bytes do not depend on how fast the machine is.
pub const FIRST_SAVE: usize = 8;

/// Writes what was found to the bank, from the first operator on and in that order.
///
/// A bank that cannot be written, on a full disk for one, ends no tuning: it is tried again, and at the end the records go
/// where there is room.
pub struct Keeper<'a> {
    pub bank: &'a mut OperatorBank,
    /// Directory of a bank for records that the bank does not take.
    pub rescue: Option<&'a Path>,
    /// Cases recorded: the first so many.
    pub recorded: usize,
    /// Cases that the disk has.
    pub saved: usize,
    pub next_save: usize,
}

impl Keeper<'_> {
    /// Saves when enough cases from the first on are done. Fails for a record that is none; what the disk says is for
    /// later.
    pub fn follow(&mut self, outcome: &OpatOutcome) -> Result<()> {
        let done = outcome.cases.iter().enumerate().take_while(|(at, case)| *at == case.index).count();
        while done >= self.next_save {
            self.record(outcome, self.next_save)?;
            match self.bank.save() {
                Ok(_) => self.saved = self.recorded,
                Err(error) => log::warn!("the bank is tried again when more is found: {error}"),
            }
            self.next_save *= 2;
        }
        Ok(())
    }

    /// Saves the rest; what the bank does not take goes to the rescue's place, and the outcome says so.
    pub fn finish(&mut self, outcome: &mut OpatOutcome) -> Result<()> {
        self.record(outcome, usize::MAX)?;
        let Err(error) = self.bank.save() else { return Ok(()) };
        for case in outcome.cases.iter_mut().filter(|case| case.index >= self.saved && is_new(case)) {
            case.status = BankStatus::Unsaved;
        }
        let bank = self.bank.paths().custom.clone();
        outcome.unsaved = Some(Unsaved { reason: format!("{error}; {}", self.rescued(&bank)), bank });
        Ok(())
    }

    /// Puts the records where there is room, and says where that is.
    fn rescued(&mut self, bank: &Path) -> String {
        let Some(place) = self.rescue else { return "what was found is not saved".to_owned() };
        match self.bank.save_elsewhere(place.to_owned()) {
            Ok(_) => format!(
                "the records are in {}: make room, then `aoe bank merge --into {} {}`",
                place.display(),
                bank.display(),
                place.display()
            ),
            Err(error) => format!("nor could {} be written ({error}): what was found is not saved", place.display()),
        }
    }

    /// Records the cases whose index is below `end` and was not recorded before.
    fn record(&mut self, outcome: &OpatOutcome, end: usize) -> Result<()> {
        let new = outcome.cases.iter().filter(|c| (self.recorded..end).contains(&c.index));
        for case in new.filter(|case| is_new(case)) {
            self.bank.record(&case.workload, &case.after, &measured(case))?;
        }
        self.recorded = end;
        Ok(())
    }
}

/// Whether the bank is to get a record of it.
fn is_new(case: &CaseOutcome) -> bool {
    matches!(case.status, BankStatus::Added | BankStatus::Updated)
}

fn measured(case: &CaseOutcome) -> Measured {
    let (before_us, after_us, backend) = (case.before_us, case.after_us, case.backend.clone());
    Measured { before_us, after_us, backend, space: space::version(&case.workload), default: case.default }
}
