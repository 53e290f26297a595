//! Operator tuning: for every distinct workload of a graph, the best tiling the search can find.

use super::cases::{Case, Variant, distinct};
use super::outcome::{BankStatus, CaseOutcome, OpatOutcome, SkippedKernel};
use super::settings::{Interrupt, OpatSettings};
use super::{Observer, Progress};
use crate::backend::{Backend, Measure, Measurement};
use crate::bank::OperatorBank;
use crate::search::{Outcome, Search, Settings as SearchSettings, StopReason};
use crate::space::{OperatorSpace, default_policy};
use crate::status::{Error, Result};
use crate::workload::Schedule;
use crossbeam::channel;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// A candidate counts as better only when the gain shows in a report with two decimals.
const MINIMUM_GAIN: f64 = 1e-4;

/// Everything operator tuning needs.
pub struct OpatJob<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The graph in every form to tune; times are summed over them.
    pub variants: &'a [Variant],
    /// Who measures.
    pub backend: &'a dyn Backend,
    /// The bank read from and written to.
    pub bank: &'a mut OperatorBank,
    /// The caller's settings.
    pub settings: &'a OpatSettings,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
}

/// Tunes every selected operator of a graph and records what is better in the bank.
///
/// The outcome does not depend on the number of threads. After a cancel what was found is recorded
/// and the outcome says `finished: false`. Fails with [`Error::NothingToTune`] when no operator can be
/// tuned, and with the bank's error when it cannot be written (the outcome is then lost to the bank but
/// was told to the observer).
pub fn opat(job: &mut OpatJob<'_>, observer: &mut dyn Observer) -> Result<OpatOutcome> {
    let started = Instant::now();
    let cases = distinct(job.variants, &job.settings.filter);
    if !cases.iter().any(|c| c.tune) {
        let reason = format!("graph `{}` has no operator that operator tuning covers", job.name);
        return Err(Error::NothingToTune { reason });
    }
    let mut outcome = empty_outcome(job);
    let interrupt = Interrupt { cancel: job.cancel, deadline: job.settings.deadline };
    let finished = run(&cases, job, interrupt, &mut |done, case| {
        if let Some(case) = case {
            let at = outcome.cases.partition_point(|c| c.index < case.index);
            outcome.cases.insert(at, case);
        }
        outcome.elapsed = started.elapsed();
        observer.progress(&progress(&outcome, cases.len(), done), &outcome);
    })?;
    let records = outcome.cases.iter().filter(|c| matches!(c.status, BankStatus::Added | BankStatus::Updated));
    for case in records {
        job.bank.record(&case.workload, &case.after, &measured(case, &outcome.backend.name))?;
    }
    job.bank.save()?;
    outcome.elapsed = started.elapsed();
    outcome.finished = finished;
    observer.progress(&progress(&outcome, cases.len(), None), &outcome);
    Ok(outcome)
}

fn measured(case: &CaseOutcome, backend: &str) -> crate::bank::Measured {
    crate::bank::Measured { before_us: case.before_us, after_us: case.after_us, backend: backend.to_owned() }
}

fn empty_outcome(job: &OpatJob<'_>) -> OpatOutcome {
    let unmapped = job.variants.iter().flat_map(|variant| {
        variant.lowered.unmapped.iter().map(|&id| {
            let node = variant.graph.node(id);
            SkippedKernel { name: format!("{}{}", node.name, variant.label), origin_type: node.origin_type.clone() }
        })
    });
    OpatOutcome {
        graph: job.name.to_owned(),
        backend: job.backend.describe(),
        soc: job.backend.soc().name.clone(),
        seed: job.settings.seed,
        cases: Vec::new(),
        unmapped: unmapped.collect(),
        elapsed: std::time::Duration::ZERO,
        finished: false,
    }
}

fn progress(outcome: &OpatOutcome, total: usize, last: Option<&Case>) -> Progress {
    Progress {
        done: outcome.cases.len(),
        total,
        node: last.map(|c| c.nodes[0].name.clone()).unwrap_or_default(),
        network_us: outcome.after_us(),
        baseline_us: outcome.before_us(),
        elapsed_s: outcome.elapsed.as_secs_f64(),
    }
}

/// Called on the tuning thread: once with `(None, None)`, then once for every finished case.
type OnCase<'a> = dyn FnMut(Option<&Case>, Option<CaseOutcome>) + 'a;

/// Works through the cases with a few threads; true when none was left out.
fn run(cases: &[Case], job: &OpatJob<'_>, interrupt: Interrupt<'_>, on_case: &mut OnCase<'_>) -> Result<bool> {
    on_case(None, None);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel::unbounded();
    let mut failure = None;
    std::thread::scope(|scope| {
        let worker = || {
            let sender = sender.clone();
            let next = &next;
            let bank: &OperatorBank = job.bank;
            let (backend, settings) = (job.backend, job.settings);
            move || {
                while !interrupt.cancelled() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let result = tune_case(index, case, backend, bank, settings, interrupt);
                    if sender.send((index, result)).is_err() {
                        break;
                    }
                }
            }
        };
        let threads = job.settings.parallel.clamp(1, cases.len());
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker())).collect();
        drop(sender);
        for (index, result) in &receiver {
            match result {
                Ok(case) => on_case(Some(&cases[index]), Some(case)),
                Err(Error::Cancelled) => {}
                Err(error) => {
                    // Nothing more is worth starting; the first error is the one to report.
                    next.store(cases.len(), Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
        }
        for handle in handles {
            if let Err(panic) = handle.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    failure.map_or(Ok(!interrupt.cancelled()), Err)
}

/// Tunes one case. Fails only where the whole tuning must: cancelled, or a backend that cannot even
/// prepare the workload.
fn tune_case(
    index: usize,
    case: &Case,
    backend: &dyn Backend,
    bank: &OperatorBank,
    settings: &OpatSettings,
    interrupt: Interrupt<'_>,
) -> Result<CaseOutcome> {
    let known = bank.lookup(&case.workload)?.map(|entry| entry.schedule);
    let in_bank = known.is_some();
    let default = default_policy(&case.workload, backend.soc())?;
    let mut measure = backend.prepare(&case.workload)?;
    let (before, before_us, failure) = baseline(&mut *measure, known, default);
    let mut outcome = CaseOutcome {
        index,
        nodes: case.nodes.clone(),
        workload: case.workload.clone(),
        before_us,
        after_us: before_us,
        after: before.clone(),
        before,
        status: if in_bank { BankStatus::Reserved } else { BankStatus::Unsatisfied },
        trials: 0,
        failed_trials: 0,
        stop: None,
    };
    if let Some(reason) = failure {
        outcome.status = BankStatus::Failed(reason);
        return Ok(outcome);
    }
    if !case.tune {
        outcome.status = BankStatus::NotTuned;
    } else if !in_bank || settings.repeat_tune {
        search(&mut outcome, &mut *measure, backend, settings, interrupt)?;
        if outcome.after_us < outcome.before_us * (1.0 - MINIMUM_GAIN) {
            outcome.status = if in_bank { BankStatus::Updated } else { BankStatus::Added };
        } else {
            outcome.after = outcome.before.clone();
            outcome.after_us = outcome.before_us;
        }
    }
    Ok(outcome)
}

/// What CANN would run today and its time: the bank's tiling where there is one that runs, else the
/// default's. Where neither runs, the time is 0 and the reason is given.
fn baseline(measure: &mut dyn Measure, known: Option<Schedule>, default: Schedule) -> (Schedule, f64, Option<String>) {
    let mut why = String::new();
    for schedule in known.into_iter().chain([default.clone()]) {
        match measure.measure(&schedule) {
            Measurement::Time { us } => return (schedule, us, None),
            Measurement::Failed { reason } => why = reason,
        }
    }
    (default, 0.0, Some(format!("the baseline cannot be measured: {why}")))
}

/// Searches the space of the case's workload; leaves the best in `outcome.after`.
fn search(
    outcome: &mut CaseOutcome,
    measure: &mut dyn Measure,
    backend: &dyn Backend,
    settings: &OpatSettings,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let space = OperatorSpace::including(&outcome.workload, backend.soc(), std::slice::from_ref(&outcome.before))?;
    let settings = SearchSettings {
        algorithm: settings.algorithm,
        // Each case its own stream, so that the order in which cases are tuned cannot matter.
        seed: settings.seed ^ (outcome.index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        max_trials: settings.max_trials,
        initial: space.configuration(&outcome.before).into_iter().collect(),
        ..SearchSettings::default()
    };
    let mut search = Search::new(space, settings)?;
    let mut out_of_time = false;
    while let Some(trial) = search.ask() {
        interrupt.check()?;
        out_of_time = interrupt.out_of_time();
        if out_of_time {
            break;
        }
        let schedule = search.domain().schedule(&trial.configuration);
        // The domain promised a legal configuration; a space that errs here must not end the tuning.
        let schedule = schedule.ok_or("not a legal configuration");
        let measured = schedule.map(|schedule| (measure.measure(&schedule), schedule));
        outcome.trials += 1;
        match measured {
            Ok((Measurement::Time { us }, schedule)) if us.is_finite() => {
                search.tell(trial.id, Outcome::Cost(us))?;
                if us < outcome.after_us {
                    (outcome.after_us, outcome.after) = (us, schedule);
                }
            }
            _ => {
                search.tell(trial.id, Outcome::Failed)?;
                outcome.failed_trials += 1;
            }
        }
    }
    outcome.stop = if out_of_time { Some(StopReason::TimeLimit) } else { search.stop_reason() };
    Ok(())
}
