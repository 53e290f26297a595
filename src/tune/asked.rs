//! What became of what the caller asked for by name: each has an outcome.

use super::cases::{Case, Variant};
use super::outcome::{Answer, Asked, BankStatus, CaseOutcome};
use super::settings::OpFilter;
use crate::lower::STATED_TYPE;
use crate::spelling;
use std::collections::{BTreeMap, BTreeSet};

/// What became of each name and type of the filter; nothing where it names none.
pub(super) fn outcomes<'a>(
    filter: &OpFilter,
    case_at: impl Fn(usize) -> &'a Case,
    done: &[CaseOutcome],
    variants: &[Variant],
) -> Vec<Asked> {
    let outcome = |(at, what): (usize, &str)| {
        let of: Vec<&CaseOutcome> = done.iter().filter(|case| case_at(case.index).asked.contains(&at)).collect();
        let outcome = if of.is_empty() { absent(what, variants) } else { counted(&of) };
        Asked { what: what.to_owned(), outcome }
    };
    filter.entries().enumerate().map(outcome).collect()
}

/// Operators by what became of them.
fn counted(cases: &[&CaseOutcome]) -> Answer {
    let mut counts = BTreeMap::new();
    for case in cases {
        *counts.entry(word(case)).or_default() += 1;
    }
    Answer::Operators(counts)
}

fn word(case: &CaseOutcome) -> &'static str {
    let own = !case.reader.is_cann();
    match case.status {
        BankStatus::Added | BankStatus::Updated if own => "tuned, in our own form",
        BankStatus::Added | BankStatus::Updated => "tuned, in a bank that CANN reads",
        BankStatus::Reserved => "already in the bank",
        BankStatus::NotSure => "not sure to gain, so not recorded",
        BankStatus::ToMeasure => "not sure to gain, so recorded apart, to be measured",
        BankStatus::Unsaved => "tuned, and the bank could not be written",
        BankStatus::NotTunable(_) => "measured with CANN's own tiling, which no record reaches",
        BankStatus::NotMeasured(_) | BankStatus::Failed(_) => "not measured",
        BankStatus::NotModelled => "of which it is not known how they work",
        // One tiling is all that there is to choose from.
        _ if case.trials + case.known_trials <= 1 && case.stop.is_some() => {
            "with one tiling only, so nothing to choose"
        }
        _ => "where CANN's default is as good as any",
    }
}

/// Why nothing of it was tuned.
fn absent(what: &str, variants: &[Variant]) -> Answer {
    let nodes = || variants.iter().flat_map(|variant| variant.graph.iter());
    let is_it = |node: &crate::graph::Node| {
        let stated = node.attrs.str(STATED_TYPE).unwrap_or(&node.op_type);
        [node.name.as_str(), &node.op_type, stated, &node.origin_type].contains(&what)
    };
    let found: Vec<_> = nodes().map(|(_, node)| node).filter(|node| is_it(node)).collect();
    if found.iter().any(|node| !node.mapped) {
        return Answer::Unmapped;
    }
    if !found.is_empty() {
        return Answer::NoKernel;
    }
    let known: BTreeSet<&str> = nodes().flat_map(|(_, node)| [node.name.as_str(), node.op_type.as_str()]).collect();
    Answer::NotHere(spelling::nearest(what, known).map(str::to_owned))
}
