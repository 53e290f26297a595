//! One kernel as our own reports tell it.

use super::explain::{Lanes, Layout, Predicted};
use super::gains::deciding;
use super::status::Status;
use crate::bank::{RecordReader, Writable};
use crate::search::StopReason;
use crate::sim::{Bound, Model, Work};
use crate::soc::Soc;
use crate::tune::{CaseOutcome, Timed};
use crate::workload::{DefaultOrigin, Schedule};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Kernels with a timeline: it takes a thousand times as long as a prediction.
const TIMELINES: usize = 1000;

/// One distinct kernel: it is launched `count` times.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kernel<'a> {
    pub(super) after: Cow<'a, Schedule>,
    /// Microseconds of one launch with the best that is sure to be one.
    pub after_us: f64,
    /// Who measured it.
    pub(super) backend: Cow<'a, str>,
    pub(super) before: Cow<'a, Schedule>,
    /// Microseconds of one launch with CANN's default.
    pub before_us: f64,
    /// What the bank had for it before this tuning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) banked: Option<Candidate<'a>>,
    /// What bounds the kernel after tuning, by the performance model.
    pub(super) bound: Option<Bound>,
    pub(super) bound_before: Option<Bound>,
    /// The best that were measured, the fastest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) candidates: Vec<Candidate<'a>>,
    /// Launches in one run.
    pub count: usize,
    /// Whether CANN's default is by its public rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<DefaultOrigin>,
    pub(super) failed_trials: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<Cow<'a, str>>,
    /// What the tilings lay into the cores and their buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held_after: Option<Layout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held_before: Option<Layout>,
    /// Trial and microseconds each time that the search knew something better.
    #[serde(default)]
    pub(super) improvements: Vec<(usize, f64)>,
    /// Nine of ten true times after, if the time before is one.
    pub(super) interval_us: Option<[f64; 2]>,
    pub(super) known_trials: usize,
    /// The nodes that run it.
    pub nodes: Vec<Node<'a>>,
    /// Its type.
    pub op_type: Cow<'a, str>,
    /// Why CANN does not read what the bank has for it, where it is cube work whose records are ours alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) own_form: Option<String>,
    /// What the performance model says of the tilings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted_after: Option<Predicted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted_before: Option<Predicted>,
    /// Who reads its record, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_by: Option<RecordReader>,
    /// What became of it.
    pub status: Status,
    pub(super) stop: Option<Cow<'static, str>>,
    /// The timeline of the tiling after, or of the one that is not sure, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeline: Option<Lanes>,
    pub(super) trials: usize,
    /// What of the record in the bank is not proven, by the names of its fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unproven: Vec<Cow<'static, str>>,
    /// What seems better and is not sure to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unsure: Option<Unsure<'a>>,
    /// What one launch computes and moves.
    pub(super) work: Option<Work>,
    /// What it computes.
    pub workload: String,
}

impl Kernel<'_> {
    /// Name of its first node.
    pub fn name(&self) -> &str {
        self.nodes.first().map_or("", |node| &node.name)
    }

    /// Whether the time limit came before its search: nobody knows whether CANN's default is as good as any.
    pub fn is_missed(&self) -> bool {
        self.stop.as_deref() == Some(StopReason::TimeLimit.name())
            && self.trials == 0
            && self.status == Status::Unsatisfied
    }

    /// Microseconds of all launches before and after.
    pub fn total_us(&self) -> [f64; 2] {
        [self.before_us, self.after_us].map(|us| us * self.count as f64)
    }

    /// Microseconds of all launches as CANN runs them: with its default where it reads no record.
    pub fn taken_us(&self) -> f64 {
        let [before, after] = self.total_us();
        if self.read_by.is_some_and(RecordReader::is_cann) { after } else { before }
    }
}

/// A tiling and microseconds of one run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Candidate<'a> {
    pub(super) schedule: Cow<'a, Schedule>,
    pub(super) us: f64,
}

impl<'a> From<&'a Timed> for Candidate<'a> {
    fn from(Timed { schedule, us }: &'a Timed) -> Candidate<'a> {
        Candidate { schedule: Cow::Borrowed(schedule), us: *us }
    }
}

/// A candidate, and the measurement that would decide about it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unsure<'a> {
    pub(super) decided_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<Layout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted: Option<Predicted>,
    #[serde(flatten)]
    pub(super) candidate: Candidate<'a>,
}

/// A node of the network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Node<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    pub(super) op_type: Cow<'a, str>,
}

/// A case as reports have it; its bounds and its work are those of the SoC.
pub fn kernel<'a>(case: &'a CaseOutcome, soc: Option<&Soc>) -> Kernel<'a> {
    let model = soc.and_then(|soc| Model::new(&case.workload, soc).ok());
    let bound = |schedule| model.as_ref().and_then(|m| m.predict(schedule).ok()).map(|p| p.bound);
    let is_recorded = case.is_recorded();
    let held = |schedule| soc.map(|soc| Layout::of(&case.workload, schedule, soc));
    let predicted = |schedule| Predicted::of(model.as_ref()?, &case.workload, schedule, soc?);
    Kernel {
        after: Cow::Borrowed(&case.after),
        after_us: case.after_us,
        backend: case.backend.as_str().into(),
        before: Cow::Borrowed(&case.before),
        before_us: case.before_us,
        banked: case.banked.as_ref().map(Candidate::from),
        bound: bound(&case.after),
        bound_before: bound(&case.before),
        candidates: case.best.iter().map(Candidate::from).collect(),
        count: case.count(),
        default: Some(case.default),
        failed_trials: case.failed_trials,
        failure: case.status.reason().map(Cow::from),
        held_after: held(&case.after),
        held_before: held(&case.before),
        improvements: case.improvements.iter().map(|step| (step.trial, step.us)).collect(),
        interval_us: case.interval_us(),
        known_trials: case.known_trials,
        nodes: case
            .nodes
            .iter()
            .map(|n| Node { name: n.name.as_str().into(), op_type: n.op_type.as_str().into() })
            .collect(),
        op_type: case.op_type().into(),
        own_form: soc.filter(|_| is_recorded).and_then(|soc| Writable::of(&case.workload, soc).why_own()),
        predicted_after: predicted(&case.after),
        predicted_before: predicted(&case.before),
        read_by: is_recorded.then_some(case.reader),
        status: Status::from(&case.status),
        stop: case.stop.map(|stop| stop.name().into()),
        timeline: None,
        trials: case.trials,
        unproven: soc
            .filter(|_| is_recorded)
            .map_or(&[][..], |soc| Writable::of(&case.workload, soc).unproven())
            .iter()
            .map(|&name| name.into())
            .collect(),
        unsure: case.unsure.as_ref().map(|found| Unsure {
            decided_by: deciding(case),
            held: held(&found.schedule),
            predicted: predicted(&found.schedule),
            candidate: found.into(),
        }),
        work: model.as_ref().map(Model::work),
        workload: case.workload.to_string(),
    }
}

/// Cases as the full report has them: those that take longest with the timelines of their tilings.
pub fn kernels<'a>(cases: &'a [CaseOutcome], soc: Option<&Soc>) -> Vec<Kernel<'a>> {
    let total_us = |at: &usize| cases[*at].before_us * cases[*at].count() as f64;
    let mut longest: Vec<usize> = (0..cases.len()).collect();
    longest.sort_by(|a, b| total_us(b).total_cmp(&total_us(a)));
    let mut kernels: Vec<Kernel<'a>> = cases.iter().map(|case| kernel(case, soc)).collect();
    for at in longest.into_iter().take(TIMELINES) {
        let case = &cases[at];
        let winner = case.unsure.as_ref().map_or(&case.after, |found| &found.schedule);
        let model = soc.and_then(|soc| Model::new(&case.workload, soc).ok());
        kernels[at].timeline = model.and_then(|model| Lanes::of(&model, winner));
    }
    kernels
}
