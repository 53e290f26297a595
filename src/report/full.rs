//! Our own report: everything that was found, with the times of all kernels, so that the network's
//! times are sums that a reader can form again.

use super::aoe::{RepoSummary, Section, sections, to_text};
use super::figures::{improvement, microseconds};
use super::sgat::{self, Subgraphs};
use super::{Context, OmWriter};
use crate::search::StopReason;
use crate::sim::{Bound, Model};
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::sgat::SgatOutcome;
use crate::tune::{BankStatus, CaseOutcome, OpatOutcome, SkippedKernel};
use crate::workload::Schedule;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of this layout; raised when a field changes its meaning or goes.
const LAYOUT: u32 = 1;

/// The report. Times are microseconds, not rounded.
#[derive(Debug, Serialize)]
struct Report<'a> {
    after_us: f64,
    aoe_result: Vec<Section<'a>>,
    backend: Backend<'a>,
    bank: Bank<'a>,
    before_us: f64,
    dynamic: Vec<Unmapped<'a>>,
    finished: bool,
    graph: &'a str,
    improvement: String,
    kernels: Vec<Kernel<'a>>,
    layout: u32,
    options: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    soc: SocPart<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subgraphs: Option<Subgraphs<'a>>,
    summary: RepoSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuned_model: Option<Files<'a>>,
    #[serde(rename = "tuning_time(s)")]
    tuning_time_s: f64,
    unmapped: Vec<Unmapped<'a>>,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct Backend<'a> {
    detail: &'a str,
    name: &'a str,
    noisy: bool,
    note: &'a str,
}

#[derive(Debug, Serialize)]
struct Bank<'a> {
    also_read: Vec<Cow<'a, str>>,
    custom: Cow<'a, str>,
}

/// The files of the tuned model.
#[derive(Debug, Serialize)]
struct Files<'a> {
    air: Cow<'a, str>,
    content: String,
    om: Cow<'a, str>,
    /// `libaoe`, or the library in which GE was found.
    om_by: Cow<'a, str>,
}

/// The SoC's name, or its whole description where the caller gave it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SocPart<'a> {
    Name(&'a str),
    Description(&'a Soc),
}

/// One distinct kernel: it is launched `count` times.
#[derive(Debug, Serialize)]
struct Kernel<'a> {
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
    failed_trials: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    known_trials: usize,
    nodes: Vec<Node<'a>>,
    op_type: &'a str,
    status: &'static str,
    stop: Option<&'static str>,
    trials: usize,
    workload: String,
}

#[derive(Debug, Serialize)]
struct Node<'a> {
    name: &'a str,
    op_type: &'a str,
}

#[derive(Debug, Serialize)]
struct Unmapped<'a> {
    name: &'a str,
    origin_type: &'a str,
}

impl Unmapped<'_> {
    fn of(node: &SkippedKernel) -> Unmapped<'_> {
        Unmapped { name: &node.name, origin_type: &node.origin_type }
    }
}

/// What was tuned so far: subgraphs, operators, or first the ones and then the others.
#[derive(Debug, Clone, Copy)]
pub enum Tuned<'a> {
    /// Subgraphs alone.
    Subgraphs(&'a SgatOutcome),
    /// Operators; those of the network as subgraph tuning left it, where that ran before.
    Operators(Option<&'a SgatOutcome>, &'a OpatOutcome),
}

impl<'a> Tuned<'a> {
    fn subgraphs(self) -> Option<&'a SgatOutcome> {
        match self {
            Tuned::Subgraphs(subgraphs) => Some(subgraphs),
            Tuned::Operators(subgraphs, _) => subgraphs,
        }
    }

    fn operators(self) -> Option<&'a OpatOutcome> {
        match self {
            Tuned::Subgraphs(_) => None,
            Tuned::Operators(_, operators) => Some(operators),
        }
    }

    /// Time of the network before and after all of it.
    ///
    /// Operator tuning begins with the kernels that subgraph tuning left, and with the tilings that the bank has
    /// for them: before both the network took so much, and what subgraph tuning saved. A device's times and the
    /// simulator's have no sum: where a device measured the operators, the times are theirs.
    fn times_us(self) -> (f64, f64) {
        match self {
            Tuned::Subgraphs(subgraphs) => (subgraphs.before_us(), subgraphs.after_us()),
            Tuned::Operators(Some(subgraphs), operators) if operators.backend.name == subgraphs.pricer.name => {
                let (before, after) = (operators.before_us(), operators.after_us());
                // Operators that were not dealt with yet are as subgraph tuning left them.
                let left = if operators.finished { before } else { subgraphs.after_us() };
                (left + subgraphs.before_us() - subgraphs.after_us(), left + after - before)
            }
            Tuned::Operators(_, operators) => (operators.before_us(), operators.after_us()),
        }
    }
}

/// The report as JSON, indented by four, keys in alphabetical order.
pub fn full_report(tuned: Tuned<'_>, context: &Context) -> Result<String> {
    // To the nanosecond, as in CANN's result: the improvement must be the same in both.
    let (before_us, after_us) = tuned.times_us();
    let (before_us, after_us) = (microseconds(before_us), microseconds(after_us));
    let (subgraphs, operators) = (tuned.subgraphs(), tuned.operators());
    let mut aoe_result = subgraphs.map_or_else(Vec::new, sgat::sections);
    aoe_result.extend(operators.into_iter().flat_map(sections));
    let (backend, graph, soc, finished, elapsed) = match tuned {
        Tuned::Subgraphs(s) => (&s.pricer, &s.graph, &s.soc, s.finished, s.elapsed),
        Tuned::Operators(s, o) => {
            let elapsed = o.elapsed + s.map_or(Duration::ZERO, |s| s.elapsed);
            (&o.backend, &o.graph, &o.soc, o.finished, elapsed)
        }
    };
    let unmapped = operators.map(|o| &o.unmapped).or(subgraphs.map(|s| &s.unmapped)).into_iter().flatten();
    to_text(&Report {
        after_us,
        aoe_result,
        backend: Backend {
            detail: &backend.detail,
            name: &backend.name,
            noisy: backend.noisy,
            note: &context.backend_note,
        },
        bank: Bank {
            also_read: context.bank.also_read.iter().map(|p| p.to_string_lossy()).collect(),
            custom: context.bank.custom.to_string_lossy(),
        },
        before_us,
        dynamic: context.dynamic.iter().map(Unmapped::of).collect(),
        finished,
        graph,
        improvement: improvement(before_us, after_us),
        kernels: operators.into_iter().flat_map(|o| &o.cases).map(|case| kernel(case, context.soc.as_ref())).collect(),
        layout: LAYOUT,
        options: &context.options,
        seed: operators.map(|o| o.seed),
        soc: context.soc.as_ref().map_or(SocPart::Name(soc), SocPart::Description),
        subgraphs: subgraphs.map(|s| Subgraphs::of(s, context.subgraph_bank.as_deref())),
        summary: operators.map(RepoSummary::of).or(subgraphs.map(sgat::summary)).unwrap_or_default(),
        tuned_model: context.tuned_model.as_ref().map(|files| Files {
            air: files.air.to_string_lossy(),
            content: files.content(),
            om: files.om.to_string_lossy(),
            om_by: match &files.om_by {
                OmWriter::Libaoe(_) => "libaoe".into(),
                OmWriter::Ge(library) => library.to_string_lossy(),
            },
        }),
        tuning_time_s: elapsed.as_secs_f64(),
        unmapped: unmapped.map(Unmapped::of).collect(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn kernel<'a>(case: &'a CaseOutcome, soc: Option<&Soc>) -> Kernel<'a> {
    let model = soc.and_then(|soc| Model::new(&case.workload, soc).ok());
    let bound = |schedule| model.as_ref().and_then(|m| m.predict(schedule).ok()).map(|p| p.bound);
    Kernel {
        after: &case.after,
        after_us: case.after_us,
        backend: &case.backend,
        before: &case.before,
        before_us: case.before_us,
        bound: bound(&case.after),
        bound_before: bound(&case.before),
        count: case.count(),
        failed_trials: case.failed_trials,
        failure: match &case.status {
            BankStatus::Failed(reason) | BankStatus::NotMeasured(reason) => Some(reason),
            _ => None,
        },
        known_trials: case.known_trials,
        nodes: case.nodes.iter().map(|n| Node { name: &n.name, op_type: &n.op_type }).collect(),
        op_type: case.workload.op_type(),
        status: status_name(&case.status),
        stop: case.stop.map(StopReason::name),
        trials: case.trials,
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
        BankStatus::NotTuned => "not_tuned",
        BankStatus::NotMeasured(_) => "not_measured",
        BankStatus::Failed(_) => "failed",
    }
}
