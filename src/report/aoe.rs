//! CANN's result of operator tuning, field for field, and of our own `gains` and more of each record. The fields of each structure stand in
//! the order in which they are written: alphabetically by key.

use super::Tuned;
use super::counts::RepoSummary;
use super::figures::{gain, improvement, microseconds, milliseconds};
use super::gains::Gains;
use crate::bank::RecordReader;
use crate::tune::{BankStatus, CaseOutcome, OpatOutcome};
use crate::workload::{DefaultOrigin, Workload};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What became of the operators.
#[derive(Debug, Serialize, Deserialize)]
pub struct Opat<'a> {
    /// Ours: what becomes of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    gains: Option<Gains<'a>>,
    #[serde(rename = "model_baseline_performance(ms)")]
    model_baseline_performance_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_performance_improvement: Option<String>,
    #[serde(rename = "model_result_performance(ms)", skip_serializing_if = "Option::is_none")]
    model_result_performance_ms: Option<f64>,
    #[serde(rename = "opat_tuning_result")]
    result: Cow<'static, str>,
    repo_modified_operators: Vec<ModifiedOperator<'a>>,
    repo_summary: RepoSummary,
    /// Only with "tuning failed".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tuning_failed_operators: Vec<Cow<'a, str>>,
}

/// An operator whose record was added or updated.
#[derive(Debug, Serialize, Deserialize)]
struct ModifiedOperator<'a> {
    op_name: Cow<'a, str>,
    op_type: OpType<'a>,
    /// By mode of tuning; ours is the tiling, CANN's `Schedule`.
    tune_performance: BTreeMap<Cow<'static, str>, ModePerformance<'a>>,
}

/// One type, or the types of the pieces of a fused operator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum OpType<'a> {
    One(Cow<'a, str>),
    Several(Vec<Cow<'a, str>>),
}

/// What one mode found. CANN writes the times, the improvement and the mode of update; the rest is ours.
#[derive(Debug, Serialize, Deserialize)]
struct ModePerformance<'a> {
    /// Whether the default before it is by CANN's public rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<DefaultOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_by: Option<Cow<'a, str>>,
    #[serde(rename = "performance_after_interval(us)", skip_serializing_if = "Option::is_none")]
    interval_us: Option<[f64; 2]>,
    #[serde(rename = "performance_after_tune(us)")]
    after_us: f64,
    #[serde(rename = "performance_before_tune(us)")]
    before_us: f64,
    performance_improvement: String,
    #[serde(rename = "performance_with_your_bank(us)", skip_serializing_if = "Option::is_none")]
    with_bank_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_by: Option<RecordReader>,
    update_mode: Cow<'static, str>,
}

impl Opat<'_> {
    /// Microseconds of the network after a tuning that ended.
    pub(super) fn after_us(&self) -> Option<f64> {
        self.model_result_performance_ms.map(|ms| ms * 1e3)
    }

    /// Microseconds after of each operator whose record changed, by its name.
    pub(super) fn operators_us(&self) -> impl Iterator<Item = (&str, f64)> {
        let operators = self.repo_modified_operators.iter();
        operators.filter_map(|of| Some((&*of.op_name, of.tune_performance.values().next()?.after_us)))
    }
}

/// The result of the operators of what was tuned.
pub(super) fn opat<'a>(tuned: Tuned<'a>, outcome: &'a OpatOutcome) -> Opat<'a> {
    let (before_us, after_us) = tuned.times_us();
    let (before, after) = (milliseconds(before_us), milliseconds(after_us));
    let failed = outcome.cases.iter().filter(|c| matches!(c.status, BankStatus::Failed(_)));
    let failed: Vec<Cow<'_, str>> = failed.flat_map(|c| &c.nodes).map(|node| node.name.as_str().into()).collect();
    let result = match (outcome.tuning.finished, failed.is_empty()) {
        (false, _) => "tuning incomplete",
        (true, true) => "tuning successful",
        (true, false) => "tuning failed",
    };
    Opat {
        gains: outcome.tuning.finished.then(|| Gains::of(tuned)).flatten(),
        model_baseline_performance_ms: before,
        model_performance_improvement: outcome.tuning.finished.then(|| improvement(before, after)),
        model_result_performance_ms: outcome.tuning.finished.then_some(after),
        result: result.into(),
        repo_modified_operators: outcome
            .cases
            .iter()
            .filter(|c| c.index < outcome.tuning.saved)
            .filter_map(modified)
            .collect(),
        repo_summary: RepoSummary::of(outcome),
        tuning_failed_operators: if outcome.tuning.finished { failed } else { Vec::new() },
    }
}

/// The entry of a case whose record was added or updated.
fn modified(case: &CaseOutcome) -> Option<ModifiedOperator<'_>> {
    let update_mode = match case.status {
        BankStatus::Added => "add",
        BankStatus::Updated => "update",
        _ => return None,
    };
    let node = case.nodes.first()?;
    let (before_us, after_us) = (microseconds(case.before_us), microseconds(case.after_us));
    let op_type = match &case.workload {
        Workload::Fused(parts) if parts.len() > 1 => {
            // The cube work of a kernel is that of its node, and named as it.
            let name =
                |part: &'_ Workload| if part.is_cube() { case.op_type().to_owned() } else { part.op_type().to_owned() };
            OpType::Several(parts.iter().map(|part| name(part).into()).collect())
        }
        _ => OpType::One(node.op_type.as_str().into()),
    };
    let performance_improvement = gain(before_us, after_us);
    let schedule = ModePerformance {
        default: Some(case.default),
        measured_by: Some(case.backend.as_str().into()),
        interval_us: case.interval_us().map(|ends| ends.map(microseconds)),
        after_us,
        before_us,
        performance_improvement,
        with_bank_us: case.banked.as_ref().map(|banked| microseconds(banked.us)),
        read_by: Some(case.reader),
        update_mode: update_mode.into(),
    };
    Some(ModifiedOperator {
        op_name: node.name.as_str().into(),
        op_type,
        tune_performance: BTreeMap::from([("Schedule".into(), schedule)]),
    })
}
