//! One kernel as our own reports tell it.

use crate::bank::Sayable;
use crate::search::StopReason;
use crate::sim::{Bound, Model, Work};
use crate::soc::Soc;
use crate::tune::{BankStatus, CaseOutcome};
use crate::workload::{DefaultOrigin, Schedule};
use serde::Serialize;

/// One distinct kernel: it is launched `count` times.
#[derive(Debug, Serialize)]
pub struct Kernel<'a> {
    after: &'a Schedule,
    after_us: f64,
    /// Who measured it.
    backend: &'a str,
    before: &'a Schedule,
    before_us: f64,
    /// What bounds the kernel after tuning, by the performance model.
    bound: Option<Bound>,
    bound_before: Option<Bound>,
    count: usize,
    /// Whether CANN's default is by its public rules.
    default: DefaultOrigin,
    failed_trials: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// Trial and microseconds each time that the search knew something better.
    improvements: Vec<(usize, f64)>,
    known_trials: usize,
    nodes: Vec<Node<'a>>,
    op_type: &'a str,
    /// Why CANN does not read what the bank has for it, where it is cube work whose records are ours alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_form: Option<String>,
    status: &'static str,
    stop: Option<&'static str>,
    trials: usize,
    /// What of the record in the bank is not proven, by the names of its fields.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unproven: &'static [&'static str],
    /// What one launch computes and moves.
    work: Option<Work>,
    workload: String,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    name: &'a str,
    op_type: &'a str,
}

/// A case as reports have it; its bounds and its work are those of the SoC.
pub fn kernel<'a>(case: &'a CaseOutcome, soc: Option<&Soc>) -> Kernel<'a> {
    let model = soc.and_then(|soc| Model::new(&case.workload, soc).ok());
    let bound = |schedule| model.as_ref().and_then(|m| m.predict(schedule).ok()).map(|p| p.bound);
    let is_recorded = matches!(case.status, BankStatus::Added | BankStatus::Updated | BankStatus::Reserved);
    Kernel {
        after: &case.after,
        after_us: case.after_us,
        backend: &case.backend,
        before: &case.before,
        before_us: case.before_us,
        bound: bound(&case.after),
        bound_before: bound(&case.before),
        count: case.count(),
        default: case.default,
        failed_trials: case.failed_trials,
        failure: match &case.status {
            BankStatus::Failed(reason) | BankStatus::NotMeasured(reason) => Some(reason),
            _ => None,
        },
        improvements: case.improvements.iter().map(|step| (step.trial, step.us)).collect(),
        known_trials: case.known_trials,
        nodes: case.nodes.iter().map(|n| Node { name: &n.name, op_type: &n.op_type }).collect(),
        op_type: case.workload.op_type(),
        own_form: soc.filter(|_| is_recorded).and_then(|soc| Sayable::of(&case.workload, soc).why_own()),
        status: status_name(&case.status),
        stop: case.stop.map(StopReason::name),
        trials: case.trials,
        unproven: soc.filter(|_| is_recorded).map_or(&[], |soc| Sayable::of(&case.workload, soc).unproven()),
        work: model.as_ref().map(Model::work),
        workload: case.workload.to_string(),
    }
}

/// How reports name a status.
pub const fn status_name(status: &BankStatus) -> &'static str {
    match status {
        BankStatus::Added => "added",
        BankStatus::Updated => "updated",
        BankStatus::Reserved => "reserved",
        BankStatus::Unsatisfied => "unsatisfied",
        BankStatus::Unsaved => "unsaved",
        BankStatus::NotTuned => "not_tuned",
        BankStatus::NotMeasured(_) => "not_measured",
        BankStatus::Failed(_) => "failed",
    }
}
