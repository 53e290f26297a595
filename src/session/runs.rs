//! How the network of a tuning call ran before it and runs now, kernel by kernel: what its profiles and its report are
//! made from.

use super::settings::Settings;
use crate::lower::Lowered;
use crate::profile::{Form, Moment, Scene, Timed};
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{OpatOutcome, Variant};

/// The variants before subgraph and operator tuning, and after. `earlier` are the kernels of each variant before
/// subgraph tuning, none where it was not run; `operators` is what operator tuning found, where it was.
///
/// Where a device measured the operators, only they have its times, and where operator tuning was ended early, only
/// those that it came to are known: before then has the strategies that CANN reads.
///
/// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
pub fn runs<'a>(
    variants: &'a [Variant],
    earlier: &'a [Lowered],
    operators: Option<&OpatOutcome>,
    scene: Scene<'a>,
) -> Result<[Timed<'a>; 2]> {
    let (now, then) = (forms(variants, &[]), forms(variants, earlier));
    let Some(outcome) = operators else {
        return Ok([Timed::of_subgraphs(then, None, scene)?, Timed::of_subgraphs(now, None, scene)?]);
    };
    let is_whole = outcome.tuning.finished && outcome.tuning.backend.is_simulated;
    let before = if !earlier.is_empty() && is_whole {
        Timed::of_subgraphs(then, Some(outcome), scene)?
    } else {
        Timed::of_operators(now.clone(), outcome, Moment::Before, scene)
    };
    Ok([before, Timed::of_operators(now, outcome, Moment::After, scene)])
}

/// Where the runs of a tuning take place.
pub fn scene<'a>(variants: &'a [Variant], soc: &'a Soc, settings: &Settings) -> Scene<'a> {
    let network = variants.first().map_or("", |first| first.graph.name.as_str());
    Scene { network, soc, precision: settings.precision }
}

/// The variants with these kernels, where there are any, else with their own.
pub fn forms<'a>(variants: &'a [Variant], kernels: &'a [Lowered]) -> Vec<Form<'a>> {
    let mut forms: Vec<Form<'a>> = variants.iter().map(Form::from).collect();
    forms.iter_mut().zip(kernels).for_each(|(form, lowered)| form.lowered = lowered);
    forms
}
