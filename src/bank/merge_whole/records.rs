//! Which of two records for the same stays.
//!
//! Where the records of a form state a cost, it is the lower one; where that decides nothing, the one whose text sorts
//! last, so that no order of merging matters.

use crate::bank::merge_outcome::Fate;
use crate::bank::whole::Content;
use crate::bank::{gradient, subgraph, unified};
use crate::status::Result;
use std::cmp::Ordering;
use std::path::PathBuf;

/// Says what became of a record: its line, what it is for, and why.
pub type Tell<'a> = dyn FnMut(Fate, usize, String, String) + 'a;

/// A bank that takes in another one of its form.
pub trait Merge: Content + Sized {
    /// Takes what is better of a source, and not as good in the built-in banks; tells of every usable record.
    fn take_in(&mut self, source: &Self, built_in: &[(&PathBuf, Self)], tell: &mut Tell<'_>) -> Result<()>;
}

/// What another bank has for the same: how the new record's text sorts against its, and its cost.
type Other = (Ordering, Option<f64>);

/// What to do with a record, by what the bank has for the same. `None` stands for a cost that is not known.
fn judge(new: Option<f64>, old: Option<Other>, built_in: Option<Other>) -> (Fate, String) {
    let us = |cost: Option<f64>| cost.map_or("no time".to_owned(), |us| format!("{us:.2} us"));
    let Some((by_text, cost)) = old else {
        return judge_built_in(new, built_in, Fate::Added, format!("the bank had none; {}", us(new)));
    };
    let by_cost = match (new, cost) {
        (Some(new), Some(cost)) => cost.total_cmp(&new),
        (new, cost) => new.is_some().cmp(&cost.is_some()),
    };
    let equal = |stays: &str| match cost {
        Some(_) => format!("{stays} stays: both take {}, and its text sorts last", us(cost)),
        None => format!("{stays} stays: neither states a time, and its text sorts last"),
    };
    let reason = match (by_cost, by_text) {
        (Ordering::Greater, _) => {
            return judge_built_in(new, built_in, Fate::Updated, format!("{} stay, {} go", us(new), us(cost)));
        }
        (Ordering::Equal, Ordering::Greater) => {
            return judge_built_in(new, built_in, Fate::Updated, equal("this one"));
        }
        (_, Ordering::Equal) => "the bank has the same".to_owned(),
        (Ordering::Equal, Ordering::Less) => equal("the bank's"),
        (Ordering::Less, _) => format!("{} stay, {} go", us(cost), us(new)),
    };
    (Fate::Kept, reason)
}

/// What the built-in bank has as good is not taken.
fn judge_built_in(new: Option<f64>, built_in: Option<Other>, fate: Fate, reason: String) -> (Fate, String) {
    let is_as_good = |(text, cost): Other| text.is_eq() || new.zip(cost).is_some_and(|(new, cost)| cost <= new);
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
            let text = |element: unified::Element<'_>| unified::Value::Dict(element.knowledge().clone()).to_string();
            let known = |bank: &Self| {
                let old = bank.get(info)?;
                Some((text(new).cmp(&text(old)), old.cost_us()))
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
            let text = |strategy: &subgraph::Strategy| serde_json::to_string(strategy).unwrap_or_default();
            let known = |bank: &Self| {
                let old = bank.get(record.graph_id, &record.feature)?;
                Some((text(&record.strategy).cmp(&text(old)), cost(old)))
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
        let text = |gradients: &gradient::Gradients| format!("{gradients:?}");
        for (line, (hash, new)) in source.lines().zip(source.entries()) {
            let (fate, reason) = match self.recorded(hash) {
                None => (Fate::Added, "the bank had none"),
                Some(old) if old == new => (Fate::Kept, "the bank has the same"),
                Some(old) if old.is_placeholder() => (Fate::Updated, "the bank had it not profiled"),
                Some(_) if new.is_placeholder() => (Fate::Kept, "not profiled; the bank has it profiled"),
                Some(old) if text(old) < text(new) => {
                    (Fate::Updated, "nothing tells which of two profiles is better; this one's text sorts last")
                }
                Some(_) => (Fate::Kept, "nothing tells which of two profiles is better; the bank's text sorts last"),
            };
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.adopt(source, hash);
            }
            tell(fate, line, format!("modelhash {hash}"), reason.to_owned());
        }
        Ok(())
    }
}
