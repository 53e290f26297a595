//! Which of two records for the same stays.
//!
//! Of unified banks it is the one that would stay of operators' banks, by what side files say ([`Standing`]). Where records
//! of another form state a cost, it is the lower one; where that decides nothing, the one whose text sorts last, so that no
//! order of merging matters.

use super::times::Times;
use crate::bank::inspect::{Part, kept_out_element};
use crate::bank::merge_outcome::Fate;
use crate::bank::standing::Standing;
use crate::bank::whole::Content;
use crate::bank::{gradient, subgraph, unified};
use crate::soc::Soc;
use crate::status::Result;
use std::cmp::Ordering;
use std::path::PathBuf;

/// What became of a record.
pub struct Taken {
    pub fate: Fate,
    /// Whether it is refused because it would stop TBE's compilation or not compute.
    pub is_broken: bool,
    /// Its line.
    pub line: usize,
    /// What it is for.
    pub record: String,
    /// Why.
    pub reason: String,
}

/// Takes down what became of a record.
pub type OnRecord<'a> = dyn FnMut(Taken) + 'a;

/// A bank that takes in another one of its form.
pub trait Merge: Content + Sized {
    /// Takes what is better of a source, and not as good in the built-in banks; tells of every usable record. Of the part
    /// that the file is for, nothing is taken that would stop its compilation or not compute.
    fn take_in(&mut self, source: &Self, others: &Others<'_, Self>, tell: &mut OnRecord<'_>) -> Result<()>;
}

/// What else decides about a record.
pub struct Others<'a, B> {
    /// The banks that CANN ships for the same part.
    pub built_in: &'a [(&'a PathBuf, B)],
    /// The part that the file is for, where its name tells one that is known.
    pub part: Option<(Part, Soc)>,
    /// What side files say of the records of a unified bank.
    pub times: Times,
}

impl<B> Others<'_, B> {
    /// What another bank has, the first that has anything.
    fn built_in(&self, known: impl Fn(&B) -> Option<Other>) -> Option<Other> {
        self.built_in.iter().find_map(|(_, bank)| known(bank))
    }
}

/// What another bank has for the same: how the new record's text sorts against its, and its cost.
type Other = (Ordering, Option<f64>);

fn us(cost: Option<f64>) -> String {
    cost.map_or("no time".to_owned(), |us| format!("{us:.2} us"))
}

/// What to do with a record, by what the bank has for the same. `None` stands for a cost that is not known.
fn judge(new: Option<f64>, old: Option<Other>, built_in: Option<Other>) -> (Fate, String) {
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

/// What to do with a record of a unified bank, by what the bank has for the same.
fn judge_unified(
    new: unified::Element<'_>,
    old: Option<unified::Element<'_>>,
    built_in: Option<unified::Element<'_>>,
    times: &Times,
) -> (Fate, String) {
    let take = |fate, reason| match built_in {
        Some(shipped) if is_as_good(shipped, new, times) => {
            (Fate::Refused, "the built-in bank has as good a one".to_owned())
        }
        _ => (fate, reason),
    };
    let Some(old) = old else {
        return take(Fate::Added, format!("the bank had none; {}", us(new.cost_us())));
    };
    let [ours, theirs] = [new, old].map(|element| times.knowledge(element));
    let (ours, theirs) = (times.standing(new, &ours), times.standing(old, &theirs));
    if ours.knowledge != theirs.knowledge {
        return if ours.outranks(&theirs) {
            take(Fate::Updated, decided(&ours, &theirs, "this one"))
        } else {
            (Fate::Kept, decided(&theirs, &ours, "the bank's"))
        };
    }
    // Of one tiling what it states counts: what it was measured to take, else the lower time.
    let measured = ours.measurement.map(|m| m.after_us);
    let states_better = match measured {
        Some(_) => new.cost_us() == measured && old.cost_us() != measured,
        None => ours.compare(&theirs).is_gt(),
    };
    if states_better {
        return take(Fate::Updated, format!("{} stay, {} go", us(new.cost_us()), us(old.cost_us())));
    }
    (Fate::Kept, "the bank has the same".to_owned())
}

/// Whether a new record gains nothing over what CANN ships: it says the same, or takes no less by times that compare. A
/// predicted time and a device's do not; then a tiling that someone put beside CANN's is taken for better.
fn is_as_good(shipped: unified::Element<'_>, new: unified::Element<'_>, times: &Times) -> bool {
    let [theirs, ours] = [shipped, new].map(|element| times.knowledge(element));
    let (theirs, ours) = (times.standing(shipped, &theirs), times.standing(new, &ours));
    let is_slower = || theirs.us().zip(ours.us()).is_some_and(|(theirs, ours)| theirs <= ours);
    theirs.knowledge == ours.knowledge || (theirs.is_comparable(&ours) && is_slower())
}

/// Why of two tilings one stays and the other goes.
fn decided(stays: &Standing<'_>, goes: &Standing<'_>, which: &str) -> String {
    let [stay, go] = [stays, goes].map(|standing| us(standing.us()));
    let date = |standing: &Standing<'_>| standing.measurement.map(|m| m.date.clone());
    match (stays.us(), goes.us()) {
        (Some(_), Some(_)) if stays.is_predicted() != goes.is_predicted() => {
            format!("{stay} of a device stay, {go} of the simulator go")
        }
        (Some(a), Some(b)) if a > b => "the time on the part as it is described today stays".to_owned(),
        (Some(a), Some(b)) if a == b && date(stays) == date(goes) => {
            format!("{which} stays: both take {stay}, and its text sorts last")
        }
        (Some(a), Some(b)) if a == b => format!("{which} stays: both take {stay}, and it was measured later"),
        (None, None) => format!("{which} stays: neither states a time, and its text sorts last"),
        _ => format!("{stay} stay, {go} go"),
    }
}

impl Merge for unified::Bank {
    fn take_in(&mut self, source: &Self, others: &Others<'_, Self>, tell: &mut OnRecord<'_>) -> Result<()> {
        for (line, entry) in source.lines().zip(source.entries()) {
            let broken = |element: unified::Element<'_>| {
                let (part, soc) = others.part.as_ref()?;
                kept_out_element(entry.key(), element, part, soc)
            };
            let Some(fastest) = entry.best() else { continue };
            let Some(new) = entry.best_of(|element| broken(element).is_none()) else {
                let (record, reason) = (entry.key().to_owned(), broken(fastest).unwrap_or_default());
                tell(Taken { fate: Fate::Refused, is_broken: true, line, record, reason });
                continue;
            };
            let info = new.info_dict();
            // The first that has anything is the one that CANN would use.
            let built_in = others.built_in.iter().find_map(|(_, bank)| bank.get(info));
            let (fate, reason) = judge_unified(new, self.get(info), built_in, &others.times);
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.adopt(new);
            }
            tell(Taken { fate, is_broken: false, line, record: entry.key().to_owned(), reason });
        }
        Ok(())
    }
}

impl Merge for subgraph::Bank {
    fn take_in(&mut self, source: &Self, others: &Others<'_, Self>, tell: &mut OnRecord<'_>) -> Result<()> {
        for (line, record) in source.lines().zip(source.records()) {
            let cost = |strategy: &subgraph::Strategy| Some(strategy.end2_end_time as f64 / 1e3).filter(|us| *us > 0.0);
            let text = |strategy: &subgraph::Strategy| serde_json::to_string(strategy).unwrap_or_default();
            let known = |bank: &Self| {
                let old = bank.get(record.graph_id, &record.feature)?;
                Some((text(&record.strategy).cmp(&text(old)), cost(old)))
            };
            let (fate, reason) = judge(cost(&record.strategy), known(self), others.built_in(known));
            if matches!(fate, Fate::Added | Fate::Updated) {
                self.put(record.clone())?;
            }
            tell(Taken { fate, is_broken: false, line, record: format!("graphID {}", record.graph_id), reason });
        }
        Ok(())
    }
}

impl Merge for gradient::Bank {
    fn take_in(&mut self, source: &Self, _others: &Others<'_, Self>, tell: &mut OnRecord<'_>) -> Result<()> {
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
            let (record, reason) = (format!("modelhash {hash}"), reason.to_owned());
            tell(Taken { fate, is_broken: false, line, record, reason });
        }
        Ok(())
    }
}
