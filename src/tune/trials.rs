//! The search for one operator's best tiling.

use super::baseline::{Baseline, Reference};
use super::confirm::confirm;
use super::earlier::Earlier;
use super::finding::Finding;
use super::outcome::{CaseOutcome, Improvement, Timed};
use super::recordable::Recordable;
use super::tuner::{Tuner, measured_as, outcome_of};
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Measure, Measurement};
use crate::bank::hash;
use crate::search::{Algorithm, Outcome, Search, Settings as SearchSettings, StopReason, Trial};
use crate::sim::interval::Interval;
use crate::status::{Error, Result};
use crate::workload::{Schedule, canonical_json};

/// Trials on the simulator before measuring on a device: as many as tune an operator there.
const SIMULATED: usize = 2000;

/// Searches the space of the case's workload; leaves the best in `outcome.after`, where it is faster than the
/// baseline's reference, and answers what becomes of it; `None` where nothing is. The first to be tried are the tiling
/// before, or the nearest that a record can say, and those `near`, legal ones. What earlier tunings
/// measured, as [`super::cases::Case::measured_by`] says, is not measured again, but for the best of it; what this one measures is kept for the next.
///
/// Fails where the backend can measure nothing more.
pub(super) fn search(
    outcome: &mut CaseOutcome,
    baseline: &Baseline,
    near: &[Schedule],
    measured_by: &str,
    measure: &mut dyn Measure,
    tuner: &Tuner<'_>,
) -> Result<Option<Finding>> {
    let reference = &baseline.reference;
    let guided = tuner.settings.algorithm != Algorithm::Random;
    let near = if guided { near } else { &[] };
    let first = [std::slice::from_ref(&outcome.before), near].concat();
    let (workload, soc) = (outcome.workload.clone(), tuner.backend.soc());
    let space = Recordable::new(&workload, soc, &first)?;
    let initial: Vec<Vec<u32>> = first.iter().filter_map(|schedule| space.nearest(schedule)).collect();
    // Each workload its own stream: neither the order in which cases are tuned nor what else a network has can matter.
    let seed = tuner.settings.seed ^ hash::digest(canonical_json(&workload).to_string().as_bytes());
    let description = tuner.backend.describe_for(&workload);
    let prior = if tuner.backend.measuring_time().is_none() && guided {
        simulated(&space, &initial, outcome, seed, tuner)?
    } else {
        Vec::new()
    };
    let mut earlier = Earlier::read(tuner, &outcome.workload, measured_by, &space);
    earlier.confirm(outcome, measure, &space, description.noisy, tuner)?;
    let settings = SearchSettings {
        algorithm: tuner.settings.algorithm,
        seed,
        max_trials: tuner.settings.max_trials.saturating_sub(if earlier.resumes { earlier.kept.dropped } else { 0 }),
        initial,
        prior,
        known: earlier.known.clone(),
        resumes: earlier.resumes,
        noise: description.noisy,
        evaluation: tuner.backend.measuring_time(),
        ..SearchSettings::default()
    };
    let mut search = Search::new(space, settings)?;
    let mut made = Vec::new();
    outcome.improvements = vec![Improvement { trial: 0, us: outcome.before_us }];
    let settled = explore(&mut search, &mut made, measure, outcome, tuner).and_then(|()| {
        let best = search.best().and_then(|(configuration, us)| {
            let is_old = !made.iter().any(|(made, _)| made == configuration);
            Some((search.domain().schedule(configuration)?, us, is_old))
        });
        let best = best.filter(|(schedule, us, _)| {
            *us < outcome.after_us && (*schedule != outcome.before || matches!(reference, Reference::Untuned))
        });
        let Some((schedule, us, is_old)) = best else { return Ok(None) };
        if description.noisy {
            // A lucky measurement is no gain. What is not confirmed any more when it is cancelled is kept as a trial.
            let Some(gain) = confirm(&schedule, reference, measure, outcome, tuner)? else { return Ok(None) };
            (outcome.after, outcome.before_us, outcome.after_us) = (schedule, gain.before_us, gain.after_us);
            outcome.doubt = Some(Interval::of_difference(gain.after_us, gain.error_us));
            return Ok(Some(Finding::measured(gain.is_sure)));
        }
        // What goes into the bank has a time of today.
        let us = earlier.time_of_today(&schedule, us, is_old, outcome, measure, tuner)?;
        let Some(us) = us.filter(|us| *us < outcome.after_us) else { return Ok(None) };
        (outcome.after, outcome.after_us) = (schedule, us);
        // What the bank has is a tiling that is known.
        let is_known = baseline.in_bank;
        let doubt = if is_known { tuner.backend.doubt(&workload) } else { tuner.backend.doubt_over_default(&workload) };
        Ok(Some(Finding::predicted([outcome.before_us, us], doubt, outcome.reader.is_cann())))
    });
    if *reference == Reference::Untuned && makes_no_difference(&made, outcome.before_us) {
        log::warn!(
            "{workload}: no tiling made a difference; CANN may not read the bank that a candidate is measured with"
        );
    }
    outcome.best = best_of(&made, &earlier.known, search.domain());
    // Also where the backend was lost: what it measured until then is measured.
    earlier.keep(tuner, &workload, measured_by, search.domain(), &made);
    settled
}

/// Measures what the search asks for, until it or the caller has had enough.
fn explore(
    search: &mut Search<Recordable<'_>>,
    made: &mut Vec<(Vec<u32>, Outcome)>,
    measure: &mut dyn Measure,
    outcome: &mut CaseOutcome,
    tuner: &Tuner<'_>,
) -> Result<()> {
    'rounds: loop {
        let trials: Vec<_> = std::iter::from_fn(|| search.ask()).take(measure.together()).collect();
        if trials.is_empty() {
            break;
        }
        outcome.stop = tuner.interrupt.reason();
        if outcome.stop.is_some() {
            break;
        }
        for (trial, measurement) in measured_together(measure, search.domain(), trials) {
            let told = match outcome_of(measurement, tuner) {
                Err(Error::Cancelled) => {
                    outcome.stop = Some(StopReason::Cancelled);
                    break 'rounds;
                }
                told => told?,
            };
            outcome.trials += 1;
            outcome.failed_trials += usize::from(told == Outcome::Failed);
            search.tell(trial.id, told)?;
            note_improvement(outcome, search.best().map(|(_, us)| us));
            if trial.repeats.is_none() {
                made.push((trial.configuration, told));
            }
        }
    }
    outcome.stop = outcome.stop.or(search.stop_reason());
    Ok(())
}

/// Trials with what measuring them came to; `None` for one that is no tiling.
fn measured_together(
    measure: &mut dyn Measure,
    space: &Recordable<'_>,
    trials: Vec<Trial>,
) -> Vec<(Trial, Option<Measurement>)> {
    let schedules: Vec<_> = trials.iter().map(|trial| space.schedule(&trial.configuration)).collect();
    let legal: Vec<Schedule> = schedules.iter().flatten().cloned().collect();
    let mut measured = measure.measure_all(&legal).into_iter();
    let measurements = schedules.into_iter().map(|schedule| schedule.and_then(|_| measured.next()));
    trials.into_iter().zip(measurements.collect::<Vec<_>>()).collect()
}

/// Keeps the best time that the search knows of, where it is better than what it knew before.
fn note_improvement(outcome: &mut CaseOutcome, best: Option<f64>) {
    let so_far = outcome.improvements.last().map_or(f64::INFINITY, |last| last.us);
    if let Some(us) = best.filter(|us| *us < so_far) {
        outcome.improvements.push(Improvement { trial: outcome.trials, us });
    }
}

/// The fastest of what was made now and of what was known, each tiling once.
fn best_of(made: &[(Vec<u32>, Outcome)], known: &[(Vec<u32>, Outcome)], space: &Recordable<'_>) -> Vec<Timed> {
    let cost = |(configuration, told): &(Vec<u32>, Outcome)| match told {
        Outcome::Cost(us) => Some((*us, configuration.clone())),
        Outcome::Failed => None,
    };
    let mut costs: Vec<_> = made.iter().chain(known).filter_map(cost).collect();
    // By the configuration where times are equal: the same, in whatever order they were measured.
    costs.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let mut best: Vec<Timed> = Vec::new();
    for (us, configuration) in costs {
        if best.len() == CaseOutcome::BEST {
            break;
        }
        if let Some(schedule) = space.schedule(&configuration)
            && best.iter().all(|better| better.schedule != schedule)
        {
            best.push(Timed { schedule, us });
        }
    }
    best
}

/// Whether many tilings all took the time that is taken without one.
fn makes_no_difference(made: &[(Vec<u32>, Outcome)], untuned_us: f64) -> bool {
    const MANY: usize = 16;
    const EQUAL: f64 = 0.02;
    let costs = || made.iter().filter_map(|(_, told)| if let Outcome::Cost(us) = told { Some(*us) } else { None });
    costs().count() >= MANY && costs().all(|us| (us - untuned_us).abs() <= EQUAL * untuned_us)
}

/// What the simulator says of the configurations that a search on it tries: where measuring is dear, the
/// search on the device begins with that knowledge.
fn simulated(
    space: &Recordable<'_>,
    initial: &[Vec<u32>],
    outcome: &CaseOutcome,
    seed: u64,
    tuner: &Tuner<'_>,
) -> Result<Vec<(Vec<u32>, f64)>> {
    let simulator = Simulator::new(tuner.backend.soc().clone());
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
        let told = measured_as(&mut *measure, space, &trial.configuration, tuner)?;
        search.tell(trial.id, told)?;
        let cost = if let Outcome::Cost(us) = told { us } else { f64::INFINITY };
        trials.push((trial.configuration, cost));
    }
    Ok(trials)
}
