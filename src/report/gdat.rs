//! The result of gradient tuning in the style of CANN's others, and the section on gradients of our own report.

use super::Context;
use super::counts::RepoSummary;
use super::figures::{improvement, milliseconds};
use super::status::Status;
use crate::sim::collective::Algorithm;
use crate::tune::gdat::{Case, Cluster, Contention, Equal, Found, GdatOutcome, Plan, Scale, Segment, Set};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What became of the gradients. CANN documents no such result: the fields are ours, in its style.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gdat<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_num: Option<usize>,
    /// Only where it is not known that no other split ends earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_optimum: Option<bool>,
    #[serde(rename = "model_baseline_performance(ms)", skip_serializing_if = "Option::is_none")]
    baseline_ms: Option<f64>,
    #[serde(rename = "model_performance_improvement", skip_serializing_if = "Option::is_none")]
    improvement: Option<String>,
    #[serde(rename = "model_result_performance(ms)", skip_serializing_if = "Option::is_none")]
    result_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modelhash: Option<String>,
    repo_summary: RepoSummary,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scaling: Vec<ScaleMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_after_tune: Option<SplitMs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_before_tune: Option<SplitMs<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_from_bank: Option<SplitMs<'a>>,
    #[serde(rename = "trailing_time_after_tune(ms)", skip_serializing_if = "Option::is_none")]
    trailing_after_ms: Option<f64>,
    #[serde(rename = "trailing_time_before_tune(ms)", skip_serializing_if = "Option::is_none")]
    trailing_before_ms: Option<f64>,
}

/// A split, ready for hccl's interface: its lists, or those of each set where there are several.
#[derive(Debug, Serialize, Deserialize)]
struct SplitMs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    by_idx: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_size: Option<Vec<f64>>,
    #[serde(rename = "performance(ms)")]
    end_ms: f64,
    segments: Vec<SegmentMs>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sets: Vec<SetSplit<'a>>,
    #[serde(rename = "trailing_time(ms)")]
    trailing_ms: f64,
}

/// One segment; gradients are counted from 0 over all sets, times from where those of the model count.
#[derive(Debug, Serialize, Deserialize)]
struct SegmentMs {
    #[serde(rename = "end(ms)")]
    end_ms: f64,
    first: usize,
    last: usize,
    #[serde(rename = "ready(ms)")]
    ready_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<usize>,
    #[serde(rename = "size(byte)")]
    bytes: u64,
    #[serde(rename = "start(ms)")]
    start_ms: f64,
    #[serde(rename = "time(ms)")]
    time_ms: f64,
}

/// The split of one of several sets; gradients are counted from 0 in the set.
#[derive(Debug, Serialize, Deserialize)]
pub struct SetSplit<'a> {
    /// The last gradient of each segment.
    pub by_idx: Vec<usize>,
    /// The share of each segment in the bytes of the set.
    pub by_size: Vec<f64>,
    /// Type of the gradients.
    pub data_type: Cow<'static, str>,
    /// How many there are.
    pub gradient_num: usize,
    /// Who exchanges them.
    pub group: Cow<'a, str>,
}

/// The split of each set, where there are several.
fn set_splits<'a>(found: &'a Found, plan: &Plan) -> Vec<SetSplit<'a>> {
    let split = |(place, set): (usize, &'a Set)| SetSplit {
        by_idx: plan.by_idx(place),
        by_size: plan.by_size(place),
        data_type: set.dtype.name().into(),
        gradient_num: set.members.len(),
        group: set.group.as_str().into(),
    };
    if is_one_set(found) { Vec::new() } else { found.sets.iter().enumerate().map(split).collect() }
}

fn is_one_set(found: &Found) -> bool {
    found.sets.len() < 2
}

/// The first and the last gradient of a segment among those of all sets.
fn span(found: &Found, segment: &Segment) -> [usize; 2] {
    let members = found.sets.get(segment.set).and_then(|set| set.members.get(segment.gradients.clone()));
    let members = members.unwrap_or_default();
    [members.first(), members.last()].map(|at| at.copied().unwrap_or(0))
}

#[derive(Debug, Serialize, Deserialize)]
struct ScaleMs {
    devices: u64,
    nodes: u64,
    #[serde(rename = "performance_after_tune(ms)")]
    after_ms: f64,
    #[serde(rename = "performance_before_tune(ms)")]
    before_ms: f64,
    performance_improvement: String,
    segments: usize,
    #[serde(rename = "trailing_time_after_tune(ms)")]
    trailing_after_ms: f64,
    #[serde(rename = "trailing_time_before_tune(ms)")]
    trailing_before_ms: f64,
}

impl Gdat<'_> {
    /// Microseconds of the network after a tuning that ended.
    pub(super) fn after_us(&self) -> Option<f64> {
        self.result_ms.map(|ms| ms * 1e3)
    }
}

pub(super) fn gdat(outcome: &GdatOutcome) -> Gdat<'_> {
    let found = outcome.found.as_ref();
    let (before, after) = (found.map(|f| &f.before.plan), found.map(|f| &f.taken().plan));
    let (before_ms, after_ms) = (before.map(|p| milliseconds(p.end_us)), after.map(|p| milliseconds(p.end_us)));
    Gdat {
        gradient_num: found.map(|f| f.training.gradients.len()),
        is_optimum: found.map(|f| f.is_optimum).filter(|is_optimum| !is_optimum),
        baseline_ms: before_ms,
        improvement: before_ms.zip(after_ms).map(|(before, after)| improvement(before, after)),
        result_ms: after_ms,
        modelhash: found.map(|f| f.training.hash.to_string()),
        repo_summary: summary(outcome),
        scaling: found.into_iter().flat_map(|f| &f.scaling).map(scale_ms).collect(),
        split_after_tune: found.map(|f| split_ms(f, &f.after)),
        split_before_tune: found.map(|f| split_ms(f, &f.before)),
        split_from_bank: found.and_then(|f| Some(split_ms(f, f.from_bank.as_ref()?))),
        trailing_after_ms: after.map(|p| milliseconds(p.trailing_us())),
        trailing_before_ms: before.map(|p| milliseconds(p.trailing_us())),
    }
}

fn split_ms<'a>(found: &'a Found, case: &Case) -> SplitMs<'a> {
    let (plan, is_one) = (&case.plan, is_one_set(found));
    let segment = |segment: &Segment| {
        let [first, last] = span(found, segment);
        SegmentMs {
            end_ms: milliseconds(segment.end_us),
            first,
            last,
            ready_ms: milliseconds(segment.ready_us),
            set: (!is_one).then_some(segment.set),
            bytes: segment.bytes,
            start_ms: milliseconds(segment.start_us),
            time_ms: milliseconds(segment.end_us - segment.start_us),
        }
    };
    SplitMs {
        by_idx: is_one.then(|| plan.by_idx(0)),
        by_size: is_one.then(|| plan.by_size(0)),
        end_ms: milliseconds(plan.end_us),
        segments: plan.segments.iter().map(segment).collect(),
        sets: set_splits(found, plan),
        trailing_ms: milliseconds(plan.trailing_us()),
    }
}

fn scale_ms(scale: &Scale) -> ScaleMs {
    let (before, after) = (&scale.before.plan, &scale.after.plan);
    let (before_ms, after_ms) = (milliseconds(before.end_us), milliseconds(after.end_us));
    ScaleMs {
        devices: scale.devices,
        nodes: scale.nodes,
        after_ms,
        before_ms,
        performance_improvement: improvement(before_ms, after_ms),
        segments: after.segments.len(),
        trailing_after_ms: milliseconds(after.trailing_us()),
        trailing_before_ms: milliseconds(before.trailing_us()),
    }
}

/// The network's entry in the bank as counts.
pub fn summary(outcome: &GdatOutcome) -> RepoSummary {
    RepoSummary::counting(|status| outcome.found.iter().filter(|found| found.status == status).count())
}

/// Gradients in our own report. Times are microseconds, not rounded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gradients<'a> {
    /// Whose devices exchange them.
    pub cluster: Cow<'a, Cluster>,
    pub(super) contention: Contention,
    /// Splits into equal segments, to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equal: Vec<EqualSplit>,
    /// CANN's summary of the gradients, once it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_summary: Option<Cow<'a, str>>,
    /// Whether the bank keeps other gradients under the network's hash.
    #[serde(default)]
    pub is_of_others: bool,
    /// Whether it is known that no other split ends earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_optimum: Option<bool>,
    pub(super) max_segments: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) modelhash: Option<String>,
    /// The same gradients on other numbers of devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<ScaleUs>,
    /// The best split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_after: Option<SplitUs<'a>>,
    /// hccl's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_before: Option<SplitUs<'a>>,
    /// What CANN makes of the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_from_bank: Option<SplitUs<'a>>,
    /// What became of the network's entry in the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The gradients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<Tensor<'a>>,
    /// The timeline of the step, once it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Cow<'a, str>>,
    /// Kernels that the simulator priced for a device.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured<'a>>,
}

/// A split and what it comes to.
#[derive(Debug, Serialize, Deserialize)]
pub struct SplitUs<'a> {
    pub(super) algorithms: Vec<Algorithm>,
    /// End of the backward pass, slowed down by the exchange.
    pub(super) backward_us: f64,
    /// The last gradient of each segment among those of all sets.
    pub by_idx: Vec<usize>,
    /// The share of each segment in the bytes of all sets.
    pub by_size: Vec<f64>,
    /// End of the step.
    pub end_us: f64,
    pub(super) exchange_start_us: f64,
    pub(super) exchange_us_per_byte: f64,
    pub(super) segments: Vec<SegmentUs>,
    /// The split of each set, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetSplit<'a>>,
    /// Time behind the backward pass.
    pub trailing_us: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SegmentUs {
    pub(super) bytes: u64,
    pub(super) end_us: f64,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) ready_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) set: Option<usize>,
    pub(super) start_us: f64,
}

/// A split into equal segments.
#[derive(Debug, Serialize, Deserialize)]
pub struct EqualSplit {
    pub(super) by: Cow<'static, str>,
    /// End of the step.
    pub end_us: f64,
    /// How many.
    pub segments: usize,
    /// Time behind the backward pass.
    pub trailing_us: f64,
}

/// The step on another number of devices.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScaleUs {
    /// End of the step with the best split.
    pub after_us: f64,
    /// With hccl's default.
    pub before_us: f64,
    /// The last gradient of each segment of the best.
    pub by_idx: Vec<usize>,
    /// Devices.
    pub devices: u64,
    /// Nodes that they are in.
    pub nodes: u64,
    /// Time behind the backward pass with the best split.
    pub trailing_after_us: f64,
    /// With hccl's default.
    pub trailing_before_us: f64,
}

/// One gradient.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tensor<'a> {
    pub(super) all_reduce: Cow<'a, str>,
    /// Its size.
    pub bytes: u64,
    pub(super) node: Cow<'a, str>,
    pub(super) time_ns: u64,
}

/// A kernel that the device did not measure.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unmeasured<'a> {
    /// Why.
    pub reason: Cow<'a, str>,
    /// What it computes.
    pub workload: Cow<'a, str>,
}

impl<'a> Gradients<'a> {
    /// The section of an outcome.
    pub fn of(outcome: &'a GdatOutcome, context: &'a Context) -> Gradients<'a> {
        let found = outcome.found.as_ref();
        let unmeasured =
            |(workload, reason): &'a (String, String)| Unmeasured { reason: reason.into(), workload: workload.into() };
        Gradients {
            cluster: Cow::Borrowed(&outcome.cluster),
            contention: outcome.contention,
            equal: found.into_iter().flat_map(|f| &f.equal).map(equal).collect(),
            gradient_summary: context.gradient_summary.as_ref().map(|path| path.to_string_lossy()),
            is_of_others: found.is_some_and(|f| f.is_of_others),
            is_optimum: found.map(|f| f.is_optimum),
            max_segments: outcome.most_segments,
            modelhash: found.map(|f| f.training.hash.to_string()),
            scaling: found.into_iter().flat_map(|f| f.scaling.iter().map(|scale| scale_us(f, scale))).collect(),
            split_after: found.map(|f| split_us(f, &f.after)),
            split_before: found.map(|f| split_us(f, &f.before)),
            split_from_bank: found.and_then(|f| Some(split_us(f, f.from_bank.as_ref()?))),
            status: found.map(|f| Status::from(&f.status)),
            tensors: found.into_iter().flat_map(tensors).collect(),
            timeline: context.timeline.as_ref().map(|path| path.to_string_lossy()),
            unmeasured: outcome.unmeasured.iter().map(unmeasured).collect(),
        }
    }
}

fn tensors(found: &Found) -> impl Iterator<Item = Tensor<'_>> {
    found.training.gradients.iter().zip(&found.training.times_ns).map(|(gradient, &time_ns)| Tensor {
        all_reduce: gradient.all_reduce.as_str().into(),
        bytes: gradient.bytes,
        node: gradient.node.as_str().into(),
        time_ns,
    })
}

fn equal(equal: &Equal) -> EqualSplit {
    let plan = &equal.case.plan;
    EqualSplit {
        by: if equal.by_size { "size" } else { "count" }.into(),
        end_us: plan.end_us,
        segments: plan.segments.len(),
        trailing_us: plan.trailing_us(),
    }
}

fn split_us<'a>(found: &'a Found, case: &Case) -> SplitUs<'a> {
    let (plan, is_one) = (&case.plan, is_one_set(found));
    let segment = |segment: &Segment| {
        let [first, last] = span(found, segment);
        SegmentUs {
            bytes: segment.bytes,
            end_us: segment.end_us,
            first,
            last,
            ready_us: segment.ready_us,
            set: (!is_one).then_some(segment.set),
            start_us: segment.start_us,
        }
    };
    SplitUs {
        algorithms: case.algorithms.clone(),
        backward_us: plan.backward_us,
        by_idx: last_ones(found, plan),
        by_size: plan.shares(),
        end_us: plan.end_us,
        exchange_start_us: case.cost.start_us,
        exchange_us_per_byte: case.cost.us_per_byte,
        segments: plan.segments.iter().map(segment).collect(),
        sets: set_splits(found, plan),
        trailing_us: plan.trailing_us(),
    }
}

/// The last gradient of each segment among those of all sets.
fn last_ones(found: &Found, plan: &Plan) -> Vec<usize> {
    plan.segments.iter().map(|segment| span(found, segment)[1]).collect()
}

fn scale_us(found: &Found, scale: &Scale) -> ScaleUs {
    ScaleUs {
        after_us: scale.after.plan.end_us,
        before_us: scale.before.plan.end_us,
        by_idx: last_ones(found, &scale.after.plan),
        devices: scale.devices,
        nodes: scale.nodes,
        trailing_after_us: scale.after.plan.trailing_us(),
        trailing_before_us: scale.before.plan.trailing_us(),
    }
}
