//! Where the gain of a tuning lies: what CANN will take of it over its own defaults, what only this library reads, what
//! is not sure, and what would reach the rest.
//!
//! | file | holds |
//! |---|---|
//! | `found` | each thing that was found, in one form for operators and subgraphs |
//! | `over` | times and gain over CANN's defaults, with their interval |
//! | `lever` | what would bring CANN to run what was found |

mod found;
mod lever;
mod over;

#[cfg(test)]
mod tests;

pub use found::reader;
pub use lever::{Lever, deciding};
pub use over::Over;

use super::{Tuned, quoted};
use crate::tune::OpatOutcome;
use found::{Fate, Found};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What decides about records to measure.
const DECIDED_BY: &str = "profile a run of the network with them and one without: `aoe compare` of the two decides, and \
                          `aoe bank merge` brings them over";

/// Things that are told one by one; of the others there are sums.
const TOLD: usize = 20;

/// The gain of a tuning, apart by what becomes of it. Times are microseconds of one run of the network, over all gears.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gains<'a> {
    /// Operators that could not be measured, and count with CANN's default.
    pub failed: Vec<Failed<'a>>,
    /// Time with all that was found, also in records that CANN does not read.
    pub(in crate::report) found_us: f64,
    /// Each gear by itself, where there are several.
    pub gears: Vec<Gear<'a>>,
    /// What was found and CANN will not run, the most first, each with what would bring it to.
    pub left: Vec<Left<'a>>,
    /// All of it.
    pub left_us: f64,
    /// What the doubt in the times leaves open; the bank has no record of it.
    pub not_sure: Sum,
    /// The headline: what CANN will take over its own defaults.
    pub over_default: Over,
    /// What of that counts on an estimated default.
    pub over_estimated: Over,
    /// What lies in records that only this library reads.
    pub own_form: Sum,
    /// Of the operators that were to be searched those that the time limit let the search come to, and all; absent where
    /// it came to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<[usize; 2]>,
    /// What CANN takes, by its reader.
    pub readers: BTreeMap<Cow<'static, str>, Reader>,
    /// Time with the bank as it was before this tuning; absent where CANN had nothing in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_your_bank_us: Option<f64>,
    /// What of that CANN would run: a measurement would decide.
    #[serde(default)]
    pub worth_measuring: WorthMeasuring,
}

/// Tilings that are predicted to beat CANN's default, and not surely. Their records lie in a bank of their own.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WorthMeasuring {
    /// The root of the bank that their records lie in; empty where there are none, or nothing was written.
    #[serde(default)]
    pub bank: String,
    /// How many distinct ones.
    pub count: usize,
    /// What to do to know; empty as before.
    #[serde(default)]
    pub decided_by: String,
    /// The line that has CANN run their records; empty as before.
    #[serde(default)]
    pub run_with: String,
    /// Microseconds that they would save.
    pub saved_us: f64,
}

/// Things together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sum {
    /// How many distinct ones.
    pub count: usize,
    /// Microseconds that they would save.
    pub saved_us: f64,
}

/// What one reader finds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reader {
    /// Records that this tuning added or updated.
    pub added: usize,
    /// Records that were in the bank already.
    pub already_in_bank: usize,
    /// Who measured them.
    pub measured_by: BTreeSet<String>,
    /// Microseconds that its records save.
    pub saved_us: f64,
}

/// The gain of one gear.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gear<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its gain.
    #[serde(flatten)]
    pub over: Over,
}

/// An operator that could not be measured.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failed<'a> {
    /// Microseconds that all its launches count.
    pub counted_us: f64,
    /// Name of its first node.
    pub op: Cow<'a, str>,
    /// Why.
    pub reason: Cow<'a, str>,
}

/// Something that CANN will not run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Left<'a> {
    /// Launches.
    pub count: usize,
    /// What would bring CANN to.
    pub lever: Lever,
    /// Name of its first node.
    pub op: Cow<'a, str>,
    /// Its type.
    pub op_type: Cow<'a, str>,
    /// Microseconds that all launches would save.
    pub saved_us: f64,
    /// `own_form`, `not_sure`, or `to_measure`.
    pub(in crate::report) why: Cow<'static, str>,
}

impl<'a> Gains<'a> {
    /// The gains of a tuning of operators or subgraphs; `None` for one of gradients.
    pub fn of(tuned: Tuned<'a>) -> Option<Gains<'a>> {
        let found = found::all(tuned)?;
        let (before_us, _) = tuned.times_us();
        let of = |fate: Fate| found.iter().filter(move |one| one.fate == fate);
        let sum = |fate: Fate| Sum { count: of(fate).count(), saved_us: total(of(fate).map(Found::saved_us)) };
        let taken: Vec<&Found<'_>> = of(Fate::Taken).collect();
        let mut readers: BTreeMap<Cow<'static, str>, Reader> = BTreeMap::new();
        for one in &taken {
            let reader = readers.entry(one.reader.into()).or_default();
            *(if one.is_new { &mut reader.added } else { &mut reader.already_in_bank }) += 1;
            reader.measured_by.insert(one.measured_by.to_owned());
            reader.saved_us += one.saved_us();
        }
        let run: Vec<&Found<'_>> = found.iter().filter(|one| one.is_run()).collect();
        let mut left: Vec<&Found<'_>> =
            found.iter().filter(|one| one.lever.is_some() && one.saved_us() > 0.0).collect();
        left.sort_by(|a, b| b.saved_us().total_cmp(&a.saved_us()));
        let estimated: Vec<&Found<'_>> = taken.iter().copied().filter(|one| one.is_estimated).collect();
        Some(Gains {
            failed: failed(tuned),
            found_us: tuned.found_us(),
            gears: gears(tuned, &found),
            left_us: total(left.iter().map(|one| one.saved_us())),
            left: left.into_iter().take(TOLD).filter_map(told).collect(),
            not_sure: sum(Fate::NotSure).and(&sum(Fate::ToMeasure)),
            over_default: Over::of(before_us, &run),
            over_estimated: Over::of(total(estimated.iter().map(|one| one.before_us())), &estimated),
            own_form: sum(Fate::OwnForm),
            reached: tuned.operators().and_then(OpatOutcome::reached),
            readers,
            with_your_bank_us: with_bank(before_us, &found),
            worth_measuring: WorthMeasuring::of(sum(Fate::ToMeasure), tuned.operators()),
        })
    }
}

/// The sum; of nothing it is 0, where that of the standard library is -0.0, which JSON shows.
fn total(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(0.0, |sum, us| sum + us)
}

impl Sum {
    fn and(self, other: &Sum) -> Sum {
        Sum { count: self.count + other.count, saved_us: self.saved_us + other.saved_us }
    }
}

impl WorthMeasuring {
    fn of(Sum { count, saved_us }: Sum, outcome: Option<&OpatOutcome>) -> WorthMeasuring {
        let root = outcome.and_then(|outcome| outcome.to_measure.as_ref()).filter(|_| count > 0);
        let bank = root.map(|root| root.display().to_string()).unwrap_or_default();
        WorthMeasuring {
            count,
            decided_by: root.map_or("", |_| DECIDED_BY).to_owned(),
            run_with: root.map(|_| format!("export TUNE_BANK_PATH={}", quoted(&bank))).unwrap_or_default(),
            bank,
            saved_us,
        }
    }
}

fn told<'a>(one: &Found<'a>) -> Option<Left<'a>> {
    let why = match one.fate {
        Fate::NotSure => "not_sure",
        Fate::ToMeasure => "to_measure",
        Fate::Taken | Fate::Beside | Fate::OwnForm => "own_form",
    };
    let (count, op, op_type) = (one.count, one.name, one.op_type);
    Some(Left {
        count,
        lever: one.lever.clone()?,
        op: op.into(),
        op_type: op_type.into(),
        saved_us: one.saved_us(),
        why: why.into(),
    })
}

/// Time with what CANN read of the bank before.
fn with_bank(before_us: f64, found: &[Found<'_>]) -> Option<f64> {
    let had: Vec<f64> = found.iter().filter_map(Found::bank_saved_us).collect();
    (!had.is_empty()).then(|| before_us - had.iter().sum::<f64>())
}

fn failed(tuned: Tuned<'_>) -> Vec<Failed<'_>> {
    let cases = tuned.operators().into_iter().flat_map(|outcome| &outcome.cases);
    let of = cases.filter_map(|case| {
        let reason = case.status.failure()?;
        let op = case.nodes.first().map_or("", |node| node.name.as_str());
        Some(Failed { counted_us: case.before_us * case.count() as f64, op: op.into(), reason: reason.into() })
    });
    of.collect()
}

/// Each gear with what CANN takes of its own kernels.
fn gears<'a>(tuned: Tuned<'a>, found: &[Found<'_>]) -> Vec<Gear<'a>> {
    let cases = || tuned.operators().into_iter().flat_map(|outcome| &outcome.cases);
    let gear = |(variant, name): (usize, &'a String)| {
        // The operators run beside the strategies that CANN reads.
        let before: f64 = match tuned.alike_subgraphs() {
            Some(outcome) => outcome.gears_before_us.get(variant).copied().unwrap_or(0.0),
            None => cases().map(|case| case.before_us * found::launches(case, variant)).sum(),
        };
        let taken: Vec<Found<'_>> = found.iter().filter(|one| one.is_run()).map(|one| one.of_gear(variant)).collect();
        Gear { name: name.into(), over: Over::of(before, &taken.iter().collect::<Vec<_>>()) }
    };
    tuned.tuning().gears.iter().enumerate().map(gear).collect()
}
