//! CANN's result of subgraph tuning, field for field, and the section on subgraphs of our own report.

use super::Tuned;
use super::counts::RepoSummary;
use super::figures::{milliseconds, truncated_improvement};
use super::gains::Gains;
use super::gains::reader;
use super::status::Status;
use crate::tune::BankStatus;
use crate::tune::sgat::{Plan, SgatOutcome, SubgraphOutcome, Traffic};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// What became of the subgraphs. The fields stand in the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
struct Modified<'a> {
    add_repo_subgraphs: Vec<ModifiedSubgraph<'a>>,
    update_repo_subgraphs: Vec<ModifiedSubgraph<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ModifiedSubgraph<'a> {
    #[serde(rename = "performance_after_tune(ms)")]
    after_ms: f64,
    #[serde(rename = "performance_before_tune(ms)")]
    before_ms: f64,
    performance_improvement: String,
    /// Ours: who reads the record.
    read_by: Cow<'static, str>,
    repo_key: Cow<'a, str>,
}

impl Sgat<'_> {
    /// Microseconds of the network after a tuning that ended.
    pub(super) fn after_us(&self) -> Option<f64> {
        self.result_ms.map(|ms| ms * 1e3)
    }
}

pub(super) fn sgat(outcome: &SgatOutcome) -> Sgat<'_> {
    let (before_us, after_us) = Tuned::Subgraphs(outcome).times_us();
    let (before, after) = (milliseconds(before_us), milliseconds(after_us));
    let with = |status: BankStatus| {
        let is_there = |s: &&SubgraphOutcome| s.index < outcome.tuning.saved;
        outcome.subgraphs.iter().filter(is_there).filter(move |s| s.status == status).map(modified).collect()
    };
    Sgat {
        gains: outcome.tuning.finished.then(|| Gains::of(Tuned::Subgraphs(outcome))).flatten(),
        baseline_ms: before,
        improvement: outcome.tuning.finished.then(|| truncated_improvement(before, after)),
        result_ms: outcome.tuning.finished.then_some(after),
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
    let read_by = reader(subgraph).into();
    ModifiedSubgraph {
        after_ms,
        before_ms,
        performance_improvement,
        read_by,
        repo_key: subgraph.repo_key.as_str().into(),
    }
}

/// Counts of distinct subgraphs by what became of their records.
pub fn summary(outcome: &SgatOutcome) -> RepoSummary {
    RepoSummary::counting(|status| outcome.count_on_disk(&status))
}

/// Subgraphs in our own report. Times are microseconds, not rounded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Subgraphs<'a> {
    /// Time of all of them with all that was found.
    pub after_us: f64,
    /// Where records are written.
    pub bank: Option<Cow<'a, str>>,
    /// With CANN's fusion.
    pub before_us: f64,
    pub(super) distinct: Vec<Subgraph<'a>>,
    pub(super) finished: bool,
    pub(super) improvement: String,
    /// Who priced the strategies: never a device.
    pub(super) priced_by: Cow<'a, str>,
    /// Counts of distinct subgraphs.
    pub summary: RepoSummary,
    /// What they launch and move with all that was found.
    pub traffic_after: Moved,
    /// With CANN's fusion.
    pub traffic_before: Moved,
}

/// One distinct subgraph: it occurs `count` times.
#[derive(Debug, Serialize, Deserialize)]
pub struct Subgraph<'a> {
    pub(super) after: Strategy<'a>,
    /// Microseconds with the bank's strategy, where it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) banked_us: Option<f64>,
    pub(super) before: Strategy<'a>,
    pub(super) count: usize,
    /// Maker and reader, by their place in `names`.
    #[serde(default)]
    pub(super) edges: Cow<'a, [[u32; 2]]>,
    /// The nodes of its kernels at the first place.
    #[serde(default)]
    pub(super) names: Cow<'a, [String]>,
    pub(super) op_types: Cow<'a, [String]>,
    /// First node of each occurrence.
    pub(super) places: Vec<Cow<'a, str>>,
    #[serde(default)]
    pub(super) read_by: Cow<'static, str>,
    pub(super) repo_key: Cow<'a, str>,
    pub(super) status: Status,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Strategy<'a> {
    pub(super) groups: Vec<Group<'a>>,
    #[serde(flatten)]
    pub(super) traffic: Moved,
    pub(super) us: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Group<'a> {
    pub(super) parts: u64,
    pub(super) scopes: Cow<'a, [Vec<String>]>,
}

/// What kernels move.
#[derive(Debug, Serialize, Deserialize)]
pub struct Moved {
    pub(super) bytes: u64,
    pub(super) bytes_from_memory: u64,
    /// How many there are.
    pub launches: u64,
}

impl From<Traffic> for Moved {
    fn from(traffic: Traffic) -> Moved {
        // Bytes of one network: no float is negative or as large as 2^63 here.
        let whole = |bytes: f64| bytes.round() as u64;
        Moved { bytes: whole(traffic.bytes), bytes_from_memory: whole(traffic.from_memory), launches: traffic.launches }
    }
}

impl Subgraph<'_> {
    /// Name of the node that it begins with.
    pub(super) fn name(&self) -> &str {
        self.places.first().map_or("", |name| name)
    }

    /// Times at all places before and after.
    pub(super) fn total_us(&self) -> [f64; 2] {
        [self.before.us, self.after.us].map(|us| us * self.count as f64)
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
            finished: outcome.tuning.finished,
            improvement: truncated_improvement(before_us, after_us),
            priced_by: outcome.tuning.backend.detail.as_str().into(),
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
        edges: subgraph.edges.as_slice().into(),
        names: subgraph.names.as_slice().into(),
        op_types: subgraph.op_types.as_slice().into(),
        places: subgraph.places.iter().map(|place| place.first.as_str().into()).collect(),
        read_by: reader(subgraph).into(),
        repo_key: subgraph.repo_key.as_str().into(),
        status: Status::from(&subgraph.status),
    }
}

fn strategy(plan: &Plan) -> Strategy<'_> {
    let groups =
        plan.groups.iter().map(|group| Group { parts: group.parts, scopes: group.scopes.as_slice().into() }).collect();
    Strategy { groups, traffic: plan.traffic.into(), us: plan.us }
}
