//! Each thing that a tuning found, and what becomes of it.

use super::lever::Lever;
use crate::bank::RecordReader;
use crate::report::Tuned;
use crate::tune::sgat::SubgraphOutcome;
use crate::tune::{BankStatus, CaseOutcome};
use crate::workload::DefaultOrigin;

/// What becomes of what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// CANN runs it.
    Taken,
    /// It runs by default, faster or slower for what CANN runs beside it.
    Beside,
    /// Only this library reads its record.
    OwnForm,
    /// The doubt in the times does not exclude that it is no gain.
    NotSure,
    /// The same, and CANN would run it: its record lies in the bank to measure.
    ToMeasure,
}

/// Something that was found for a distinct operator or subgraph.
#[derive(Debug, Clone)]
pub struct Found<'a> {
    pub name: &'a str,
    pub op_type: &'a str,
    pub fate: Fate,
    /// The reader of the record, in a word.
    pub reader: &'static str,
    pub measured_by: &'a str,
    /// Whether this tuning recorded it.
    pub is_new: bool,
    /// Whether CANN's default is an estimate.
    pub is_estimated: bool,
    /// What would have CANN run it.
    pub lever: Option<Lever>,
    /// Launches in one run, over all gears.
    pub count: usize,
    launches: Vec<usize>,
    /// Microseconds of one launch: CANN's default, this, and the bank's before.
    times_us: [f64; 2],
    banked_us: Option<f64>,
    /// The ends of what one launch saves, the least first.
    saved_us: Option<[f64; 2]>,
}

impl Found<'_> {
    /// Whether CANN runs it so, of its own record or beside one.
    pub fn is_run(&self) -> bool {
        matches!(self.fate, Fate::Taken | Fate::Beside)
    }

    /// Microseconds that it saves over CANN's default.
    pub fn saved_us(&self) -> f64 {
        (self.times_us[0] - self.times_us[1]) * self.count as f64
    }

    /// Time of CANN's default.
    pub fn before_us(&self) -> f64 {
        self.times_us[0] * self.count as f64
    }

    /// The ends of what it saves; `None` where nobody knows them.
    pub fn saved_interval_us(&self) -> Option<[f64; 2]> {
        self.saved_us.map(|ends| ends.map(|us| us * self.count as f64))
    }

    /// What CANN saved with the bank as it was before.
    pub fn bank_saved_us(&self) -> Option<f64> {
        self.banked_us.map(|us| (self.times_us[0] - us) * self.count as f64)
    }

    /// The same as one gear launches it.
    pub fn of_gear(&self, variant: usize) -> Found<'_> {
        let count = self.launches.get(variant).copied().unwrap_or_default();
        Found { count, ..self.clone() }
    }
}

/// All that was found; `None` where gradients were tuned.
pub fn all(tuned: Tuned<'_>) -> Option<Vec<Found<'_>>> {
    let (subgraphs, operators) = (tuned.subgraphs(), tuned.operators());
    if subgraphs.is_none() && operators.is_none() {
        return None;
    }
    let gears = tuned.tuning().gears.len().max(1);
    let of_subgraphs = tuned.alike_subgraphs().into_iter().flat_map(|outcome| {
        outcome.subgraphs.iter().flat_map(move |one| subgraph(one, &outcome.tuning.backend.name, gears))
    });
    let of_operators = operators.into_iter().flat_map(|outcome| &outcome.cases);
    Some(of_subgraphs.chain(of_operators.filter_map(|case| operator(case, gears))).collect())
}

fn operator(case: &CaseOutcome, gears: usize) -> Option<Found<'_>> {
    let (fate, us) = match (&case.unsure, case.is_recorded()) {
        (Some(found), false) if case.status == BankStatus::ToMeasure => (Fate::ToMeasure, found.us),
        (Some(found), false) => (Fate::NotSure, found.us),
        (None, false) => return None,
        (_, true) if case.reader.is_cann() => (Fate::Taken, case.after_us),
        (_, true) => (Fate::OwnForm, case.after_us),
    };
    let saved_us = case.interval_us().map(|[shortest, longest]| [case.before_us - longest, case.before_us - shortest]);
    Some(Found {
        name: case.nodes.first().map_or("", |node| &node.name),
        op_type: case.op_type(),
        fate,
        reader: case.reader.name(),
        measured_by: &case.backend,
        is_new: case.status != BankStatus::Reserved,
        is_estimated: case.default == DefaultOrigin::Estimated,
        lever: Lever::of(case),
        count: case.count(),
        launches: (0..gears).map(|variant| launches(case, variant) as usize).collect(),
        times_us: [case.before_us, us],
        banked_us: case.banked.as_ref().filter(|_| case.reader.is_cann()).map(|banked| banked.us),
        saved_us,
    })
}

/// What was found for a subgraph, and what CANN's run of it gains or loses beside its neighbours.
fn subgraph<'a>(one: &'a SubgraphOutcome, pricer: &'a str, gears: usize) -> impl Iterator<Item = Found<'a>> {
    let recorded = matches!(one.status, BankStatus::Added | BankStatus::Updated | BankStatus::Reserved);
    let of = |variant: usize| one.places.iter().filter(|place| place.variant == variant).count();
    let found = Found {
        name: one.name(),
        // It begins at that node, whose type says little of it.
        op_type: "subgraph",
        fate: Fate::OwnForm,
        reader: reader(one),
        measured_by: pricer,
        is_new: one.status != BankStatus::Reserved,
        is_estimated: true,
        lever: None,
        count: one.count(),
        launches: (0..gears).map(of).collect(),
        times_us: [one.before.us, one.after.us],
        banked_us: None,
        saved_us: None,
    };
    let taken = Found { times_us: [one.before.us, one.taken_us], ..found.clone() };
    if one.is_read_by_cann {
        return [Some(Found { fate: Fate::Taken, banked_us: one.banked_us, ..taken }), None].into_iter().flatten();
    }
    let own = recorded.then(|| Found { lever: Some(Lever::of_subgraph()), ..found });
    let beside = (taken.saved_us() != 0.0).then_some(Found { fate: Fate::Beside, ..taken });
    [own, beside].into_iter().flatten()
}

/// Launches of a case in one gear.
pub fn launches(case: &CaseOutcome, variant: usize) -> f64 {
    case.nodes.iter().filter(|node| node.variant == variant).map(|node| f64::from(node.launches)).sum()
}

/// The reader of a subgraph's record, in a word.
pub fn reader(subgraph: &SubgraphOutcome) -> &'static str {
    if subgraph.is_read_by_cann { "subgraph_bank" } else { RecordReader::OwnForm.name() }
}
