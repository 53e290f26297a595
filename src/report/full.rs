//! Our own report: everything that was found, with the times of all kernels, so that the network's
//! times are sums that a reader can form again.

use super::counts::{RepoSummary, to_text};
use super::earlier::Earlier;
use super::figures::{improvement, microseconds};
use super::gains::Gains;
use super::gdat::{self, Gradients};
use super::kernel::{Kernel, kernels};
use super::sections::{self, Section};
use super::sgat::{self, Subgraphs};
use super::{Context, OmWriter, Runs, Tuned};
use crate::graph::infer::LeftOut;
use crate::sim::Roofs;
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{OpatOutcome, SkippedKernel};
use crate::workload::DefaultOrigin;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Number of this layout; raised when a field changes its meaning or goes.
pub const LAYOUT: u32 = 1;

/// The report. Times are microseconds, not rounded.
#[derive(Debug, Serialize)]
struct Report<'a> {
    after_us: f64,
    aoe_result: Vec<Section<'a>>,
    /// What became of what was asked for by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    asked: BTreeMap<&'a str, &'a str>,
    backend: Backend<'a>,
    bank: Bank<'a>,
    before_us: f64,
    /// Times and gains apart by how sure the default is.
    defaults: BTreeMap<&'static str, Over>,
    dynamic: Vec<Unsized<'a>>,
    /// Runs that ended in the same folder before, the newest first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    earlier: &'a [Earlier],
    finished: bool,
    /// Time with all that was found, also in records that CANN does not read.
    found_us: f64,
    /// What becomes of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    gains: Option<Gains<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradients: Option<Gradients<'a>>,
    graph: &'a str,
    improvement: String,
    kernels: Vec<Kernel<'a>>,
    layout: u32,
    options: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiles: Option<Profiles<'a>>,
    /// What no kernel exceeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    roofs: Option<Roofs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'a Runs>,
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
    /// Whether nothing was written there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// Whether CANN looks there by itself.
    is_default: bool,
    /// What `TUNE_BANK_PATH` has to name for CANN to read it, where it lies in the work path.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<Cow<'a, str>>,
}

/// The folders of the profiles.
#[derive(Debug, Serialize)]
struct Profiles<'a> {
    after: Cow<'a, str>,
    before: Cow<'a, str>,
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

/// A node that was left out because nothing tells its sizes.
#[derive(Debug, Serialize)]
struct Unsized<'a> {
    name: &'a str,
    origin_type: &'a str,
    reason: &'static str,
    source: &'a str,
    source_type: &'a str,
}

impl Unsized<'_> {
    fn of(node: &LeftOut) -> Unsized<'_> {
        let LeftOut { name, origin_type, cause, source, source_type } = node;
        Unsized { name, origin_type, reason: cause.name(), source, source_type }
    }
}

/// Times of the kernels whose defaults are of one origin.
#[derive(Debug, Serialize)]
struct Over {
    after_us: f64,
    before_us: f64,
    improvement: String,
}

impl Over {
    /// By the word for the origin; an origin that no kernel has is left out.
    fn of(outcome: &OpatOutcome) -> BTreeMap<&'static str, Over> {
        let present = |origin: &DefaultOrigin| outcome.cases.iter().any(|case| case.default == *origin);
        let over = |origin: DefaultOrigin| {
            let [before_us, after_us] = outcome.times_over(origin).map(microseconds);
            (origin.name(), Over { after_us, before_us, improvement: improvement(before_us, after_us) })
        };
        DefaultOrigin::ALL.into_iter().filter(present).map(over).collect()
    }
}

/// The report as JSON, indented by four, keys in alphabetical order.
pub fn full_report(tuned: Tuned<'_>, context: &Context) -> Result<String> {
    // To the nanosecond, as in CANN's result: the improvement must be the same in both.
    let (before_us, after_us) = tuned.times_us();
    let (before_us, after_us) = (microseconds(before_us), microseconds(after_us));
    let (subgraphs, operators) = (tuned.subgraphs(), tuned.operators());
    let mut aoe_result = subgraphs.map_or_else(Vec::new, sections::of_subgraphs);
    aoe_result.extend(operators.into_iter().flat_map(sections::of_operators));
    aoe_result.extend(tuned.gradients().into_iter().flat_map(sections::of_gradients));
    let (backend, graph, soc, finished) = match tuned {
        Tuned::Gradients(g) => (&g.backend, &g.graph, &g.soc, g.finished),
        Tuned::Subgraphs(s) => (&s.pricer, &s.graph, &s.soc, s.finished),
        Tuned::Operators(_, o) => (&o.backend, &o.graph, &o.soc, o.finished),
    };
    let unmapped = operators.map(|o| &o.unmapped).or(subgraphs.map(|s| &s.unmapped));
    let unmapped = unmapped.or(tuned.gradients().map(|g| &g.unmapped)).into_iter().flatten();
    to_text(&Report {
        after_us,
        asked: operators
            .into_iter()
            .flat_map(|outcome| &outcome.asked)
            .map(|asked| (asked.what.as_str(), asked.outcome.as_str()))
            .collect(),
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
            dry_run: context.dry_run,
            is_default: context.bank.is_default(),
            root: context.bank_root.as_ref().map(|root| root.to_string_lossy()),
        },
        before_us,
        defaults: operators.map(Over::of).unwrap_or_default(),
        dynamic: context.left_out.iter().map(Unsized::of).collect(),
        earlier: &context.earlier,
        finished,
        found_us: microseconds(tuned.found_us()),
        gains: Gains::of(tuned),
        gradients: tuned.gradients().map(|outcome| Gradients::of(outcome, context)),
        graph,
        improvement: improvement(before_us, after_us),
        kernels: operators.map(|o| kernels(&o.cases, context.soc.as_ref())).unwrap_or_default(),
        layout: LAYOUT,
        options: &context.options,
        profiles: context
            .profiles
            .as_ref()
            .map(|[before, after]| Profiles { after: after.to_string_lossy(), before: before.to_string_lossy() }),
        roofs: context.soc.as_ref().map(Roofs::of),
        runs: context.runs.as_ref(),
        seed: operators.map(|o| o.seed),
        soc: context.soc.as_ref().map_or(SocPart::Name(soc), SocPart::Description),
        subgraphs: subgraphs.map(|s| Subgraphs::of(s, context.subgraph_bank.as_deref())),
        summary: operators
            .map(RepoSummary::of)
            .or(subgraphs.map(sgat::summary))
            .or(tuned.gradients().map(gdat::summary))
            .unwrap_or_default(),
        tuned_model: context.tuned_model.as_ref().map(|files| Files {
            air: files.air.to_string_lossy(),
            content: files.content(tuned),
            om: files.om.to_string_lossy(),
            om_by: match &files.om_by {
                OmWriter::Libaoe(_) => "libaoe".into(),
                OmWriter::Ge(library) => library.to_string_lossy(),
            },
        }),
        tuning_time_s: tuned.elapsed().as_secs_f64(),
        unmapped: unmapped.map(Unmapped::of).collect(),
        version: env!("CARGO_PKG_VERSION"),
    })
}
