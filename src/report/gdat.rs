//! The result of gradient tuning in the style of CANN's others, and the section on gradients of our own report.

use super::Context;
use super::aoe::{RepoSummary, Section, basic, to_text};
use super::figures::{improvement, milliseconds};
use super::kernel::status_name;
use crate::sim::collective::Algorithm;
use crate::status::Result;
use crate::tune::gdat::{Case, Cluster, Contention, Equal, Found, GdatOutcome, Scale};
use serde::Serialize;
use std::borrow::Cow;

/// What became of the gradients. CANN documents no such result: the fields are ours, in its style.
#[derive(Debug, Serialize)]
pub struct Gdat {
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_num: Option<usize>,
    #[serde(rename = "model_baseline_performance(ms)", skip_serializing_if = "Option::is_none")]
    baseline_ms: Option<f64>,
    #[serde(rename = "model_performance_improvement", skip_serializing_if = "Option::is_none")]
    improvement: Option<String>,
    #[serde(rename = "model_result_performance(ms)", skip_serializing_if = "Option::is_none")]
    result_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modelhash: Option<String>,
    repo_summary: RepoSummary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scaling: Vec<ScaleMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_after_tune: Option<SplitMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_before_tune: Option<SplitMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_from_bank: Option<SplitMs>,
    #[serde(rename = "trailing_time_after_tune(ms)", skip_serializing_if = "Option::is_none")]
    trailing_after_ms: Option<f64>,
    #[serde(rename = "trailing_time_before_tune(ms)", skip_serializing_if = "Option::is_none")]
    trailing_before_ms: Option<f64>,
}

/// A split, ready for hccl's interface.
#[derive(Debug, Serialize)]
struct SplitMs {
    by_idx: Vec<usize>,
    by_size: Vec<f64>,
    #[serde(rename = "performance(ms)")]
    end_ms: f64,
    segments: Vec<SegmentMs>,
    #[serde(rename = "trailing_time(ms)")]
    trailing_ms: f64,
}

/// One segment; gradients are counted from 0, times from where those of the model count.
#[derive(Debug, Serialize)]
struct SegmentMs {
    #[serde(rename = "end(ms)")]
    end_ms: f64,
    first: usize,
    last: usize,
    #[serde(rename = "ready(ms)")]
    ready_ms: f64,
    #[serde(rename = "size(byte)")]
    bytes: u64,
    #[serde(rename = "start(ms)")]
    start_ms: f64,
    #[serde(rename = "time(ms)")]
    time_ms: f64,
}

#[derive(Debug, Serialize)]
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

/// The result as JSON, indented by four as CANN's are.
pub fn gdat_result(outcome: &GdatOutcome) -> Result<String> {
    to_text(&sections(outcome))
}

/// The sections of the result.
pub fn sections(outcome: &GdatOutcome) -> Vec<Section<'_>> {
    let basic = basic(&outcome.graph, outcome.finished.then_some(outcome.elapsed));
    vec![Section::Basic { basic }, Section::Gdat { gdat: Box::new(gdat(outcome)) }]
}

fn gdat(outcome: &GdatOutcome) -> Gdat {
    let found = outcome.found.as_ref();
    let (before, after) = (found.map(|f| &f.before.plan), found.map(|f| &f.after.plan));
    let (before_ms, after_ms) = (before.map(|p| milliseconds(p.end_us)), after.map(|p| milliseconds(p.end_us)));
    Gdat {
        gradient_num: found.map(|f| f.training.gradients.len()),
        baseline_ms: before_ms,
        improvement: before_ms.zip(after_ms).map(|(before, after)| improvement(before, after)),
        result_ms: after_ms,
        modelhash: found.map(|f| f.training.hash.to_string()),
        repo_summary: summary(outcome),
        scaling: found.into_iter().flat_map(|f| &f.scaling).map(scale_ms).collect(),
        split_after_tune: found.map(|f| split_ms(&f.after)),
        split_before_tune: found.map(|f| split_ms(&f.before)),
        split_from_bank: found.map(|f| split_ms(&f.from_bank)),
        trailing_after_ms: after.map(|p| milliseconds(p.trailing_us())),
        trailing_before_ms: before.map(|p| milliseconds(p.trailing_us())),
    }
}

fn split_ms(case: &Case) -> SplitMs {
    let plan = &case.plan;
    let segment = |segment: &crate::tune::gdat::Segment| SegmentMs {
        end_ms: milliseconds(segment.end_us),
        first: segment.gradients.start,
        last: segment.gradients.end.saturating_sub(1),
        ready_ms: milliseconds(segment.ready_us),
        bytes: segment.bytes,
        start_ms: milliseconds(segment.start_us),
        time_ms: milliseconds(segment.end_us - segment.start_us),
    };
    SplitMs {
        by_idx: plan.by_idx(),
        by_size: plan.by_size(),
        end_ms: milliseconds(plan.end_us),
        segments: plan.segments.iter().map(segment).collect(),
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
#[derive(Debug, Serialize)]
pub struct Gradients<'a> {
    cluster: &'a Cluster,
    contention: Contention,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    equal: Vec<EqualSplit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_summary: Option<Cow<'a, str>>,
    max_segments: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    modelhash: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scaling: Vec<ScaleUs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_after: Option<SplitUs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_before: Option<SplitUs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split_from_bank: Option<SplitUs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tensors: Vec<Tensor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Cow<'a, str>>,
    unmeasured: Vec<Unmeasured<'a>>,
}

#[derive(Debug, Serialize)]
struct SplitUs {
    algorithms: Vec<Algorithm>,
    /// End of the backward pass, slowed down by the exchange.
    backward_us: f64,
    by_idx: Vec<usize>,
    by_size: Vec<f64>,
    end_us: f64,
    exchange_start_us: f64,
    exchange_us_per_byte: f64,
    segments: Vec<SegmentUs>,
    trailing_us: f64,
}

#[derive(Debug, Serialize)]
struct SegmentUs {
    bytes: u64,
    end_us: f64,
    first: usize,
    last: usize,
    ready_us: f64,
    start_us: f64,
}

#[derive(Debug, Serialize)]
struct EqualSplit {
    by: &'static str,
    end_us: f64,
    segments: usize,
    trailing_us: f64,
}

#[derive(Debug, Serialize)]
struct ScaleUs {
    after_us: f64,
    before_us: f64,
    by_idx: Vec<usize>,
    devices: u64,
    nodes: u64,
    trailing_after_us: f64,
    trailing_before_us: f64,
}

#[derive(Debug, Serialize)]
struct Tensor<'a> {
    all_reduce: &'a str,
    bytes: u64,
    node: &'a str,
    time_ns: u64,
}

#[derive(Debug, Serialize)]
struct Unmeasured<'a> {
    reason: &'a str,
    workload: &'a str,
}

impl<'a> Gradients<'a> {
    /// The section of an outcome.
    pub fn of(outcome: &'a GdatOutcome, context: &'a Context) -> Gradients<'a> {
        let found = outcome.found.as_ref();
        let unmeasured = |(workload, reason): &'a (String, String)| Unmeasured { reason, workload };
        Gradients {
            cluster: &outcome.cluster,
            contention: outcome.contention,
            equal: found.into_iter().flat_map(|f| &f.equal).map(equal).collect(),
            gradient_summary: context.gradient_summary.as_ref().map(|path| path.to_string_lossy()),
            max_segments: outcome.most_segments,
            modelhash: found.map(|f| f.training.hash.to_string()),
            scaling: found.into_iter().flat_map(|f| &f.scaling).map(scale_us).collect(),
            split_after: found.map(|f| split_us(&f.after)),
            split_before: found.map(|f| split_us(&f.before)),
            split_from_bank: found.map(|f| split_us(&f.from_bank)),
            status: found.map(|f| status_name(&f.status)),
            tensors: found.into_iter().flat_map(tensors).collect(),
            timeline: context.timeline.as_ref().map(|path| path.to_string_lossy()),
            unmeasured: outcome.unmeasured.iter().map(unmeasured).collect(),
        }
    }
}

fn tensors(found: &Found) -> impl Iterator<Item = Tensor<'_>> {
    found.training.gradients.iter().zip(&found.training.times_ns).map(|(gradient, &time_ns)| Tensor {
        all_reduce: &gradient.all_reduce,
        bytes: gradient.bytes,
        node: &gradient.node,
        time_ns,
    })
}

fn equal(equal: &Equal) -> EqualSplit {
    let plan = &equal.case.plan;
    EqualSplit {
        by: if equal.by_size { "size" } else { "count" },
        end_us: plan.end_us,
        segments: plan.segments.len(),
        trailing_us: plan.trailing_us(),
    }
}

fn split_us(case: &Case) -> SplitUs {
    let plan = &case.plan;
    let segment = |segment: &crate::tune::gdat::Segment| SegmentUs {
        bytes: segment.bytes,
        end_us: segment.end_us,
        first: segment.gradients.start,
        last: segment.gradients.end.saturating_sub(1),
        ready_us: segment.ready_us,
        start_us: segment.start_us,
    };
    SplitUs {
        algorithms: case.algorithms.clone(),
        backward_us: plan.backward_us,
        by_idx: plan.by_idx(),
        by_size: plan.by_size(),
        end_us: plan.end_us,
        exchange_start_us: case.cost.start_us,
        exchange_us_per_byte: case.cost.us_per_byte,
        segments: plan.segments.iter().map(segment).collect(),
        trailing_us: plan.trailing_us(),
    }
}

fn scale_us(scale: &Scale) -> ScaleUs {
    ScaleUs {
        after_us: scale.after.plan.end_us,
        before_us: scale.before.plan.end_us,
        by_idx: scale.after.plan.by_idx(),
        devices: scale.devices,
        nodes: scale.nodes,
        trailing_after_us: scale.after.plan.trailing_us(),
        trailing_before_us: scale.before.plan.trailing_us(),
    }
}
