//! Our own report: everything that was found, with the times of all kernels, so that the network's
//! times are sums that a reader can form again.

use super::counts::{RepoSummary, to_text};
use super::figures::{improvement, microseconds};
use super::gains::Gains;
use super::gdat::{self, Gradients};
use super::kernel::kernels;
use super::model::{Backend, Bank, Base, Files, LAYOUT, OfOrigin, Profiles, Report, SocPart, Unmapped, Unsized};
use super::sections;
use super::sgat::{self, Subgraphs};
use super::{Context, Tuned};
use crate::graph::infer::LeftOut;
use crate::sim::Roofs;
use crate::status::Result;
use crate::tune::{OpatOutcome, SkippedKernel, Tuning};
use crate::workload::DefaultOrigin;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Unmapped<'_> {
    fn of(node: &SkippedKernel) -> Unmapped<'_> {
        Unmapped {
            name: node.name.as_str().into(),
            origin_type: node.origin_type.as_str().into(),
            priced: node.priced.name().into(),
            reason: node.reason.as_deref().map(Cow::from),
        }
    }
}

impl Unsized<'_> {
    fn of(node: &LeftOut) -> Unsized<'_> {
        let LeftOut { name, origin_type, cause, source, source_type, why } = node;
        Unsized {
            name: name.into(),
            origin_type: origin_type.into(),
            reason: Some(*cause),
            source: source.into(),
            source_type: source_type.into(),
            why: why.as_deref().map(Cow::from),
        }
    }
}

impl Base<'_> {
    fn of(outcome: &OpatOutcome) -> Option<Base<'_>> {
        let known = || outcome.cases.iter().map(|case| case.base_trials).filter(|trials| *trials > 0);
        let bank = outcome.base.as_ref()?.to_string_lossy();
        Some(Base { bank, operators: known().count(), trials: known().sum() })
    }
}

impl OfOrigin {
    /// By the word for the origin; an origin that no kernel has is left out.
    fn of(outcome: &OpatOutcome) -> BTreeMap<Cow<'static, str>, OfOrigin> {
        let present = |origin: &DefaultOrigin| outcome.cases.iter().any(|case| case.default == *origin);
        let over = |origin: DefaultOrigin| {
            let [before_us, after_us] = outcome.times_over(origin).map(microseconds);
            (origin.name().into(), OfOrigin { after_us, before_us, improvement: improvement(before_us, after_us) })
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
    let &Tuning { ref backend, ref graph, ref soc, finished, ref unmapped, .. } = tuned.tuning();
    to_text(&Report {
        after_us,
        asked: operators
            .into_iter()
            .flat_map(|outcome| &outcome.asked)
            .map(|asked| (asked.what.as_str().into(), asked.outcome.to_string().into()))
            .collect(),
        aoe_result: sections::of(tuned),
        backend: Backend {
            detail: backend.detail.as_str().into(),
            name: backend.name.as_str().into(),
            noisy: backend.noisy,
            note: context.backend_note.as_str().into(),
        },
        bank: Bank {
            also_read: context.bank.also_read.iter().map(|p| p.to_string_lossy()).collect(),
            custom: context.bank.custom.to_string_lossy(),
            dry_run: context.dry_run,
            is_default: context.bank.is_default(),
            root: context.bank_root.as_ref().map(|root| root.to_string_lossy()),
        },
        base: operators.and_then(Base::of),
        before_us,
        defaults: operators.map(OfOrigin::of).unwrap_or_default(),
        dynamic: context.left_out.iter().map(Unsized::of).collect(),
        earlier: context.earlier.as_slice().into(),
        finished,
        found_us: microseconds(tuned.found_us()),
        gains: Gains::of(tuned),
        gradients: tuned.gradients().map(|outcome| Gradients::of(outcome, context)),
        graph: graph.as_str().into(),
        improvement: improvement(before_us, after_us),
        kernels: operators.map(|o| kernels(&o.cases, context.soc.as_ref())).unwrap_or_default(),
        layout: LAYOUT,
        options: Cow::Borrowed(&context.options),
        profiles: context
            .profiles
            .as_ref()
            .map(|[before, after]| Profiles { after: after.to_string_lossy(), before: before.to_string_lossy() }),
        roofs: context.soc.as_ref().map(Roofs::of),
        runs: context.runs.as_ref().map(Cow::Borrowed),
        seed: operators.map(|o| o.seed),
        soc: context.soc.as_ref().map_or_else(
            || SocPart::Name(soc.as_str().into()),
            |soc| SocPart::Description(Box::new(Cow::Borrowed(soc))),
        ),
        subgraphs: subgraphs.map(|s| Subgraphs::of(s, context.subgraph_bank.as_deref())),
        summary: operators
            .map(RepoSummary::of)
            .or(subgraphs.map(sgat::summary))
            .or(tuned.gradients().map(gdat::summary))
            .unwrap_or_default(),
        tuned_gears: context.tuned_models.iter().skip(1).map(|model| Files::of(model, tuned)).collect(),
        tuned_model: context.tuned_models.first().map(|model| Files::of(model, tuned)),
        tuning_time_s: tuned.elapsed().as_secs_f64(),
        unmapped: unmapped.iter().map(Unmapped::of).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}
