//! What became of what the caller asked for by name: each has an outcome.

use super::cases::{Case, Variant};
use super::outcome::{Asked, BankStatus, CaseOutcome};
use super::settings::OpFilter;
use crate::lower::STATED_TYPE;
use crate::spelling;
use std::collections::{BTreeMap, BTreeSet};

/// How the outcome of what the network has not begins.
pub(super) const NOT_HERE: &str = "is not in this network";

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
fn counted(cases: &[&CaseOutcome]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        *counts.entry(word(case)).or_default() += 1;
    }
    let parts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    parts.join(", ")
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
fn absent(what: &str, variants: &[Variant]) -> String {
    let nodes = || variants.iter().flat_map(|variant| variant.graph.iter());
    let is_it = |node: &crate::graph::Node| {
        let stated = node.attrs.str(STATED_TYPE).unwrap_or(&node.op_type);
        [node.name.as_str(), &node.op_type, stated, &node.origin_type].contains(&what)
    };
    let found: Vec<_> = nodes().map(|(_, node)| node).filter(|node| is_it(node)).collect();
    if found.iter().any(|node| !node.mapped) {
        return "no Ascend operator is known for it, so there is no tiling to choose".into();
    }
    if !found.is_empty() {
        return "runs no kernel of its own here (a view, a constant, or part of another kernel), so there is nothing to choose"
            .into();
    }
    let known: BTreeSet<&str> = nodes().flat_map(|(_, node)| [node.name.as_str(), node.op_type.as_str()]).collect();
    let nearest = spelling::nearest(what, known);
    nearest.map_or_else(|| NOT_HERE.to_owned(), |near| format!("{NOT_HERE}; did you mean `{near}`?"))
}
