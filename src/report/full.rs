//! Our own report: everything that was found, with the times of all kernels, so that the network's
//! times are sums that a reader can form again.

use super::Context;
use super::aoe::{RepoSummary, Section, sections, to_text};
use super::figures::improvement;
use crate::search::StopReason;
use crate::sim::{Bound, Model};
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{BankStatus, CaseOutcome, OpatOutcome};
use crate::workload::Schedule;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

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
    finished: bool,
    graph: &'a str,
    improvement: String,
    kernels: Vec<Kernel<'a>>,
    layout: u32,
    options: &'a BTreeMap<String, String>,
    seed: u64,
    soc: SocPart<'a>,
    summary: RepoSummary,
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

/// The SoC's name, or its whole description where the caller gave it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SocPart<'a> {
    Name(&'a str),
    Description(&'a Soc),
}

/// One distinct kernel: `count` nodes run it.
#[derive(Debug, Serialize)]
struct Kernel<'a> {
    after: &'a Schedule,
    after_us: f64,
    before: &'a Schedule,
    before_us: f64,
    /// What bounds the kernel after tuning, by the performance model.
    bound: Option<Bound>,
    bound_before: Option<Bound>,
    count: usize,
    failed_trials: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
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

/// The report as JSON, indented by four, keys in alphabetical order.
pub fn full_report(outcome: &OpatOutcome, context: &Context) -> Result<String> {
    let (before_us, after_us) = (outcome.before_us(), outcome.after_us());
    let backend = &outcome.backend;
    to_text(&Report {
        after_us,
        aoe_result: sections(outcome),
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
        finished: outcome.finished,
        graph: &outcome.graph,
        improvement: improvement(before_us, after_us),
        kernels: outcome.cases.iter().map(|case| kernel(case, context.soc.as_ref())).collect(),
        layout: LAYOUT,
        options: &context.options,
        seed: outcome.seed,
        soc: context.soc.as_ref().map_or(SocPart::Name(&outcome.soc), SocPart::Description),
        summary: RepoSummary::of(outcome),
        tuning_time_s: outcome.elapsed.as_secs_f64(),
        unmapped: outcome
            .unmapped
            .iter()
            .map(|node| Unmapped { name: &node.name, origin_type: &node.origin_type })
            .collect(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn kernel<'a>(case: &'a CaseOutcome, soc: Option<&Soc>) -> Kernel<'a> {
    let model = soc.and_then(|soc| Model::new(&case.workload, soc).ok());
    let bound = |schedule| model.as_ref().and_then(|m| m.predict(schedule).ok()).map(|p| p.bound);
    Kernel {
        after: &case.after,
        after_us: case.after_us,
        before: &case.before,
        before_us: case.before_us,
        bound: bound(&case.after),
        bound_before: bound(&case.before),
        count: case.count(),
        failed_trials: case.failed_trials,
        failure: if let BankStatus::Failed(reason) = &case.status { Some(reason) } else { None },
        nodes: case.nodes.iter().map(|n| Node { name: &n.name, op_type: &n.op_type }).collect(),
        op_type: case.workload.op_type(),
        status: status_name(&case.status),
        stop: case.stop.map(StopReason::name),
        trials: case.trials,
        workload: case.workload.to_string(),
    }
}

const fn status_name(status: &BankStatus) -> &'static str {
    match status {
        BankStatus::Added => "added",
        BankStatus::Updated => "updated",
        BankStatus::Reserved => "reserved",
        BankStatus::Unsatisfied => "unsatisfied",
        BankStatus::NotTuned => "not_tuned",
        BankStatus::Failed(_) => "failed",
    }
}
