//! CANN's result of subgraph tuning, field for field, and the section on subgraphs of our own report.

use super::Tuned;
use super::counts::RepoSummary;
use super::figures::{milliseconds, truncated_improvement};
use super::gains::Gains;
use super::gains::reader;
use super::kernel::status_name;
use crate::tune::BankStatus;
use crate::tune::sgat::{Plan, SgatOutcome, SubgraphOutcome, Traffic};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;

/// What became of the subgraphs. The fields stand in the order in which they are written.
#[derive(Debug, Serialize)]
pub struct Sgat<'a> {
    /// Ours: what becomes of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    gains: Option<Gains<'a>>,
    #[serde(rename = "model_baseline_performance(ms)")]
    baseline_ms: f64,
    #[serde(rename = "model_performance_improvement", skip_serializing_if = "Option::is_none")]
    improvement: Option<String>,
    #[serde(rename = "model_result_performance(ms)", skip_serializing_if = "Option::is_none")]
    result_ms: Option<f64>,
    repo_modified_subgraphs: Modified<'a>,
    repo_summary: RepoSummary,
}

/// Subgraphs whose record was added or updated.
#[derive(Debug, Serialize)]
struct Modified<'a> {
    add_repo_subgraphs: Vec<ModifiedSubgraph<'a>>,
    update_repo_subgraphs: Vec<ModifiedSubgraph<'a>>,
}

#[derive(Debug, Serialize)]
struct ModifiedSubgraph<'a> {
    #[serde(rename = "performance_after_tune(ms)")]
    after_ms: f64,
    #[serde(rename = "performance_before_tune(ms)")]
    before_ms: f64,
    performance_improvement: String,
    /// Ours: who reads the record.
    read_by: &'static str,
    repo_key: &'a str,
}

pub(super) fn sgat(outcome: &SgatOutcome) -> Sgat<'_> {
    let (before_us, after_us) = Tuned::Subgraphs(outcome).times_us();
    let (before, after) = (milliseconds(before_us), milliseconds(after_us));
    let with = |status: BankStatus| {
        let is_there = |s: &&SubgraphOutcome| s.index < outcome.saved;
        outcome.subgraphs.iter().filter(is_there).filter(move |s| s.status == status).map(modified).collect()
    };
    Sgat {
        gains: outcome.finished.then(|| Gains::of(Tuned::Subgraphs(outcome))).flatten(),
        baseline_ms: before,
        improvement: outcome.finished.then(|| truncated_improvement(before, after)),
        result_ms: outcome.finished.then_some(after),
        repo_modified_subgraphs: Modified {
            add_repo_subgraphs: with(BankStatus::Added),
            update_repo_subgraphs: with(BankStatus::Updated),
        },
        repo_summary: summary(outcome),
    }
}

fn modified(subgraph: &SubgraphOutcome) -> ModifiedSubgraph<'_> {
    let (before_ms, after_ms) = (milliseconds(subgraph.before.us), milliseconds(subgraph.after.us));
    let performance_improvement = truncated_improvement(before_ms, after_ms);
    let read_by = reader(subgraph);
    ModifiedSubgraph { after_ms, before_ms, performance_improvement, read_by, repo_key: &subgraph.repo_key }
}

/// Counts of distinct subgraphs by what became of their records.
pub fn summary(outcome: &SgatOutcome) -> RepoSummary {
    RepoSummary::counting(|status| outcome.count_on_disk(&status))
}

/// Subgraphs in our own report. Times are microseconds, not rounded.
#[derive(Debug, Serialize)]
pub struct Subgraphs<'a> {
    after_us: f64,
    /// Where records are written.
    bank: Option<Cow<'a, str>>,
    before_us: f64,
    distinct: Vec<Subgraph<'a>>,
    finished: bool,
    improvement: String,
    /// Who priced the strategies: never a device.
    priced_by: &'a str,
    summary: RepoSummary,
    traffic_after: Moved,
    traffic_before: Moved,
}

/// One distinct subgraph: it occurs `count` times.
#[derive(Debug, Serialize)]
struct Subgraph<'a> {
    after: Strategy<'a>,
    /// Microseconds with the bank's strategy, where it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    banked_us: Option<f64>,
    before: Strategy<'a>,
    count: usize,
    /// Maker and reader, by their place in `names`.
    edges: &'a [[u32; 2]],
    /// The nodes of its kernels at the first place.
    names: &'a [String],
    op_types: &'a [String],
    /// First node of each occurrence.
    places: Vec<&'a str>,
    read_by: &'static str,
    repo_key: &'a str,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct Strategy<'a> {
    groups: Vec<Group<'a>>,
    #[serde(flatten)]
    traffic: Moved,
    us: f64,
}

#[derive(Debug, Serialize)]
struct Group<'a> {
    parts: u64,
    scopes: &'a [Vec<String>],
}

#[derive(Debug, Serialize)]
struct Moved {
    bytes: u64,
    bytes_from_memory: u64,
    launches: u64,
}

impl From<Traffic> for Moved {
    fn from(traffic: Traffic) -> Moved {
        // Bytes of one network: no float is negative or as large as 2^63 here.
        let whole = |bytes: f64| bytes.round() as u64;
        Moved { bytes: whole(traffic.bytes), bytes_from_memory: whole(traffic.from_memory), launches: traffic.launches }
    }
}

impl<'a> Subgraphs<'a> {
    /// The section of an outcome.
    pub fn of(outcome: &'a SgatOutcome, bank: Option<&'a Path>) -> Subgraphs<'a> {
        let (before_us, after_us) = (outcome.before_us(), outcome.after_us());
        let (before, after) = outcome.traffic();
        Subgraphs {
            after_us,
            bank: bank.map(|path| path.to_string_lossy()),
            before_us,
            distinct: outcome.subgraphs.iter().map(subgraph).collect(),
            finished: outcome.finished,
            improvement: truncated_improvement(before_us, after_us),
            priced_by: &outcome.pricer.detail,
            summary: summary(outcome),
            traffic_after: after.into(),
            traffic_before: before.into(),
        }
    }
}

fn subgraph(subgraph: &SubgraphOutcome) -> Subgraph<'_> {
    Subgraph {
        after: strategy(&subgraph.after),
        banked_us: subgraph.banked_us,
        before: strategy(&subgraph.before),
        count: subgraph.count(),
        edges: &subgraph.edges,
        names: &subgraph.names,
        op_types: &subgraph.op_types,
        places: subgraph.places.iter().map(|place| place.first.as_str()).collect(),
        read_by: reader(subgraph),
        repo_key: &subgraph.repo_key,
        status: status_name(&subgraph.status),
    }
}

fn strategy(plan: &Plan) -> Strategy<'_> {
    let groups = plan.groups.iter().map(|group| Group { parts: group.parts, scopes: &group.scopes }).collect();
    Strategy { groups, traffic: plan.traffic.into(), us: plan.us }
}
