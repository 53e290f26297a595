//! Which of two records for the same stays.
//!
//! Where the records of a form state a cost, it is the lower one; where they state none, the target's.

use crate::bank::inspect::Fate;
use crate::bank::whole::Content;
use crate::bank::{gradient, subgraph, unified};
use crate::status::Result;
use std::path::PathBuf;

/// Says what became of a record: its line, what it is for, and why.
pub type Tell<'a> = dyn FnMut(Fate, usize, String, String) + 'a;

/// A bank that takes in another one of its form.
pub trait Merge: Content + Sized {
    /// Takes what is better of a source, and not as good in the built-in banks; tells of every usable record.
    fn take_in(&mut self, source: &Self, built_in: &[(&PathBuf, Self)], tell: &mut Tell<'_>) -> Result<()>;
}

/// What to do with a record, by what the bank has for the same. `None` stands for a cost that is not known.
fn judge(new: Option<f64>, old: Option<(bool, Option<f64>)>, built_in: Option<(bool, Option<f64>)>) -> (Fate, String) {
    let us = |cost: Option<f64>| cost.map_or("no time".to_owned(), |us| format!("{us:.2} us"));
    let is_better = |other: Option<f64>| match (new, other) {
        (Some(new), Some(other)) => new < other,
        (new, other) => new.is_some() && other.is_none(),
    };
    if let Some((is_same, cost)) = old {
        let reason = match (is_better(cost), is_same) {
            (true, _) => {
                return judge_built_in(new, built_in, Fate::Updated, format!("{} stay, {} go", us(new), us(cost)));
            }
            (false, true) => "the bank has the same".to_owned(),
            (false, false) if new.is_none() && cost.is_none() => "the bank's stays: neither states a time".to_owned(),
            (false, false) => format!("{} stay, {} go", us(cost), us(new)),
        };
        return (Fate::Kept, reason);
    }
    judge_built_in(new, built_in, Fate::Added, format!("the bank had none; {}", us(new)))
}

/// What the built-in bank has as good is not taken.
fn judge_built_in(
    new: Option<f64>,
    built_in: Option<(bool, Option<f64>)>,
    fate: Fate,
    reason: String,
) -> (Fate, String) {
    let is_as_good =
        |(is_same, cost): (bool, Option<f64>)| is_same || new.zip(cost).is_some_and(|(new, cost)| cost <= new);
    if built_in.is_some_and(is_as_good) {
        return (Fate::Refused, "the built-in bank has as good a one".to_owned());
    }
    (fate, reason)
}

impl Merge for unified::Bank {
    fn take_in(&mut self, source: &Self, built_in: &[(&PathBuf, Self)], tell: &mut Tell<'_>) -> Result<()> {
        for (line, entry) in source.lines().zip(source.entries()) {
            let Some(new) = entry.best() else { continue };
            let info = new.info_dict();
            let known = |bank: &Self| {
                let old = bank.get(info)?;
                Some((old.knowledge() == new.knowledge(), old.cost_us()))
            };
            let (fate, reason) = judge(new.cost_us(), known(self), built_in.iter().find_map(|(_, bank)| known(bank)));
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.adopt(new);
            }
            tell(fate, line, entry.key().to_owned(), reason);
        }
        Ok(())
    }
}

impl Merge for subgraph::Bank {
    fn take_in(&mut self, source: &Self, built_in: &[(&PathBuf, Self)], tell: &mut Tell<'_>) -> Result<()> {
        for (line, record) in source.lines().zip(source.records()) {
            let cost = |strategy: &subgraph::Strategy| Some(strategy.end2_end_time as f64 / 1e3).filter(|us| *us > 0.0);
            let known = |bank: &Self| {
                let old = bank.get(record.graph_id, &record.feature)?;
                Some((*old == record.strategy, cost(old)))
            };
            let found = built_in.iter().find_map(|(_, bank)| known(bank));
            let (fate, reason) = judge(cost(&record.strategy), known(self), found);
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.put(record.clone())?;
            }
            tell(fate, line, format!("graphID {}", record.graph_id), reason);
        }
        Ok(())
    }
}

impl Merge for gradient::Bank {
    fn take_in(&mut self, source: &Self, _built_in: &[(&PathBuf, Self)], tell: &mut Tell<'_>) -> Result<()> {
        for (line, (hash, new)) in source.lines().zip(source.entries()) {
            let (fate, reason) = match self.recorded(hash) {
                None => (Fate::Added, "the bank had none"),
                Some(old) if old == new => (Fate::Kept, "the bank has the same"),
                Some(old) if old.is_placeholder() => (Fate::Updated, "the bank had it not profiled"),
                Some(_) if new.is_placeholder() => (Fate::Kept, "not profiled; the bank has it profiled"),
                Some(_) => (Fate::Kept, "the bank's stays: nothing tells which of two profiles is better"),
            };
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.adopt(source, hash);
            }
            tell(fate, line, format!("modelhash {hash}"), reason.to_owned());
        }
        Ok(())
    }
}
