//! The search for one operator's best tiling.

use super::outcome::CaseOutcome;
use super::settings::{Interrupt, OpatSettings};
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Measure, Measurement};
use crate::search::{Algorithm, Outcome, Search, Settings as SearchSettings};
use crate::soc::Soc;
use crate::space::OperatorSpace;
use crate::status::Result;
use crate::workload::Schedule;

/// Trials on the simulator before measuring on a device.
const SIMULATED: usize = 300;

/// Searches the space of the case's workload; leaves the best in `outcome.after`. The first to be tried are
/// the tiling before and those `near`, legal ones.
pub(super) fn search(
    outcome: &mut CaseOutcome,
    near: &[Schedule],
    measure: &mut dyn Measure,
    backend: &dyn Backend,
    settings: &OpatSettings,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let guided = settings.algorithm != Algorithm::Random;
    let near = if guided { near } else { &[] };
    let first = [std::slice::from_ref(&outcome.before), near].concat();
    let space = OperatorSpace::including(&outcome.workload, backend.soc(), &first)?;
    let initial: Vec<Vec<u32>> = first.iter().filter_map(|schedule| space.configuration(schedule)).collect();
    // Each case its own stream, so that the order in which cases are tuned cannot matter.
    let seed = settings.seed ^ (outcome.index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let description = backend.describe();
    let prior = if backend.measuring_time().is_none() && guided {
        simulated(&space, &initial, outcome, backend.soc(), seed)?
    } else {
        Vec::new()
    };
    let settings = SearchSettings {
        algorithm: settings.algorithm,
        seed,
        max_trials: settings.max_trials,
        initial,
        prior,
        noise: description.noisy,
        evaluation: backend.measuring_time(),
        ..SearchSettings::default()
    };
    let mut search = Search::new(space, settings)?;
    while let Some(trial) = search.ask() {
        outcome.stop = interrupt.reason();
        if outcome.stop.is_some() {
            break;
        }
        let told = measured_as(measure, search.domain(), &trial.configuration);
        outcome.trials += 1;
        outcome.failed_trials += usize::from(told == Outcome::Failed);
        search.tell(trial.id, told)?;
    }
    outcome.stop = outcome.stop.or(search.stop_reason());
    let best = search.best().and_then(|(configuration, us)| Some((search.domain().schedule(configuration)?, us)));
    if let Some((schedule, us)) = best.filter(|(_, us)| *us < outcome.after_us) {
        (outcome.after, outcome.after_us) = (schedule, us);
    }
    Ok(())
}

/// Measures a configuration. The domain promised that it is legal; a space that errs must not end the
/// tuning.
fn measured_as(measure: &mut dyn Measure, space: &OperatorSpace, configuration: &[u32]) -> Outcome {
    match space.schedule(configuration).map(|schedule| measure.measure(&schedule)) {
        Some(Measurement::Time { us }) if us.is_finite() => Outcome::Cost(us),
        _ => Outcome::Failed,
    }
}

/// What the simulator says of the configurations that a search on it tries: where measuring is dear, the
/// search on the device begins with that knowledge.
fn simulated(
    space: &OperatorSpace,
    initial: &[Vec<u32>],
    outcome: &CaseOutcome,
    soc: &Soc,
    seed: u64,
) -> Result<Vec<(Vec<u32>, f64)>> {
    let simulator = Simulator::new(soc.clone());
    let mut measure = simulator.prepare(&outcome.workload)?;
    let settings = SearchSettings {
        seed,
        max_trials: SIMULATED,
        initial: initial.to_vec(),
        evaluation: simulator.measuring_time(),
        ..SearchSettings::default()
    };
    let mut search = Search::new(space, settings)?;
    let mut trials = Vec::new();
    while let Some(trial) = search.ask() {
        let told = measured_as(&mut *measure, space, &trial.configuration);
        search.tell(trial.id, told)?;
        let cost = if let Outcome::Cost(us) = told { us } else { f64::INFINITY };
        trials.push((trial.configuration, cost));
    }
    Ok(trials)
}
