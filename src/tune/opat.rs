//! Operator tuning: for every distinct workload of a graph, the best tiling the search can find.

use super::asked;
use super::baseline::{Baseline, baseline};
use super::cases::{Case, because_left_out, distinct};
use super::finding::Finding;
use super::job::{Job, Units, run};
use super::operators::{OpatJob, Operators};
use super::order::by_share;
use super::outcome::{Answer, Asked, BankStatus, CaseOutcome, OpatOutcome, Timed, Tuning};
use super::settings::Interrupt;
use super::trials;
use super::tuner::Tuner;
use super::watched::{Pace, Searched, Watched};
use super::{MINIMUM_GAIN, Observer, Progress, Tuned};
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Measure, Measurement};
use crate::bank::{OperatorBank, Writable};
use crate::space::{carried_over, default_policy};
use crate::status::{Error, Result};
use crate::workload::Schedule;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Tilings of near workloads in the bank that are tried after the default's: a few, for each costs a
/// measurement.
const NEIGHBOURS: usize = 3;

/// Tunes every selected operator of a graph and records what is better in the bank.
///
/// The outcome does not depend on the number of threads. The bank is written when 8, 16, 32, ...
/// operators from the first on are done, and at the end, also when it ends early; where it could not be written in the end,
/// the outcome says so. After a cancel the
/// outcome says `finished: false`, and where the backend was lost it says why as well. Fails with [`Error::NothingToTune`] when no operator can be tuned (the
/// observer is told of an outcome without cases), with
/// the bank's error when it cannot be read, and with the backend's when it cannot prepare a
/// workload.
pub fn opat(job: &mut OpatJob<'_>, observer: &mut dyn Observer) -> Result<OpatOutcome> {
    let outcome = OpatOutcome {
        tuning: Tuning::new(job.name, job.backend.describe(), job.backend.soc(), job.variants),
        seed: job.settings.seed,
        cases: Vec::new(),
        asked: Vec::new(),
        base: job.base.map(|base| base.paths().custom.clone()),
        to_measure: job.to_measure.as_ref().and_then(|to_measure| to_measure.root.clone()),
    };
    let interrupt = Interrupt { cancel: job.cancel, deadline: job.settings.deadline };
    let most = job.backend.parallel().map_or(usize::MAX, NonZeroUsize::get);
    let threads = job.settings.parallel.min(most);
    let mut operators = Operators { job, outcome, recorded: 0, total: 0, searches: 0, under_way: BTreeMap::new() };
    run(&mut operators, threads, interrupt, observer)?;
    Ok(operators.outcome)
}

impl<'a> Job for Operators<'_, 'a> {
    type Units = Searches<'a>;

    fn prepare(&mut self) -> Result<Searches<'a>> {
        let job = &*self.job;
        let cases = distinct(job.variants, &job.settings.filter);
        if !cases.iter().any(|case| case.tune) {
            // What is asked for by name has an outcome of its own, also where it is that there is nothing to choose.
            let asked = asked::outcomes(&job.settings.filter, |at| &cases[at], &[], job.variants);
            if asked.iter().all(|asked| matches!(asked.outcome, Answer::NotHere(_))) {
                return Err(Error::NothingToTune { reason: nothing_to_tune(job, &asked) });
            }
        }
        let problems = cases.into_iter().map(|case| Problem::new(case, job)).collect::<Result<Vec<_>>>()?;
        let order = match job.settings.deadline {
            Some(_) => by_share(problems.iter().map(|p| (&p.case, &p.default, p.searches)), job.backend),
            None => (0..problems.len()).collect(),
        };
        let trials = std::iter::once(&*job.bank).chain(job.base).map(OperatorBank::trials).collect();
        let interrupt = Interrupt { cancel: job.cancel, deadline: job.settings.deadline };
        let tuner = Tuner { backend: job.backend, settings: job.settings, trials, interrupt };
        let pace = Pace::of(job.backend, job.settings.pause);
        self.total = problems.len();
        self.searches = problems.iter().filter(|problem| problem.searches).count();
        Ok(Searches { problems, order, tuner, pace })
    }

    fn searching(&mut self, units: &Searches<'a>, unit: usize, mut now: Searched) {
        let Case { nodes, workload, .. } = &units.problem(unit).case;
        let launches = nodes.iter().map(|node| f64::from(node.launches)).sum();
        if !Writable::of(workload, self.job.backend.soc()).reader().is_cann() {
            now.best_us = now.before_us;
        }
        self.under_way.insert(unit, (launches, now));
    }

    fn keep(&mut self, _: &Searches<'a>, unit: usize, done: CaseOutcome) {
        self.under_way.remove(&unit);
        let at = self.outcome.cases.partition_point(|case| case.index < done.index);
        self.outcome.cases.insert(at, done);
    }

    fn settled(&self) -> usize {
        self.outcome.cases.iter().enumerate().take_while(|(at, case)| *at == case.index).count()
    }

    fn save(&mut self, first: usize) -> Result<()> {
        self.save_first(first)
    }

    fn finish(&mut self, units: &Searches<'a>) -> Result<()> {
        self.under_way.clear();
        self.save_rest()?;
        let case = |at: usize| &units.problems[at].case;
        self.outcome.asked = asked::outcomes(&self.job.settings.filter, case, &self.outcome.cases, self.job.variants);
        Ok(())
    }

    /// What is known of the searches under way is in every call, or figures would go back.
    fn progress(&self) -> Progress {
        let outcome = &self.outcome;
        // As the headline has it: what CANN does not take is no gain.
        let times_us = [outcome.before_us(), outcome.taken_us()];
        let mut progress = Progress::of("operators", [outcome.cases.len(), self.total], times_us);
        progress.trials = outcome.cases.iter().map(|case| case.trials).sum();
        for (launches, searched) in self.under_way.values() {
            progress.baseline_us += searched.before_us * launches;
            progress.network_us += searched.best_us * launches;
            progress.trials += searched.measured;
        }
        progress
    }

    /// An operator that could not be measured is done without a search.
    fn pace(&self, _: &Progress) -> (f64, usize) {
        let most = self.job.settings.max_trials.max(1) as f64;
        // Confirming what was found takes more than the search was allowed.
        let part = |(_, searched): &(f64, Searched)| (searched.measured as f64 / most).min(1.0);
        let searched = self.outcome.cases.iter().filter(|case| case.stop.is_some()).count() as f64;
        let parts = searched + self.under_way.values().map(part).sum::<f64>();
        (parts.min(self.searches as f64), self.searches)
    }

    fn tuning(&mut self) -> &mut Tuning {
        &mut self.outcome.tuning
    }

    fn tuned(&self) -> Tuned<'_> {
        Tuned::Operators(None, &self.outcome)
    }
}

fn nothing_to_tune(job: &OpatJob<'_>, asked: &[Asked]) -> String {
    if job.settings.filter.is_open() {
        let left_out = because_left_out(job.variants);
        format!("graph `{}` has no operator that operator tuning covers{left_out}", job.name)
    } else {
        let told: Vec<String> = asked.iter().map(|asked| format!("`{}` {}", asked.what, asked.outcome)).collect();
        format!(
            "nothing of graph `{}` has a name or type that the tuning was limited to: {}",
            job.name,
            told.join("; ")
        )
    }
}

/// The distinct operators, each a unit of work.
pub(super) struct Searches<'a> {
    /// In the order of the network.
    problems: Vec<Problem>,
    /// Their places in the order in which they have their turn.
    order: Vec<usize>,
    tuner: Tuner<'a>,
    /// Where measuring takes long.
    pace: Option<Pace>,
}

impl Searches<'_> {
    fn problem(&self, unit: usize) -> &Problem {
        &self.problems[self.order[unit]]
    }
}

impl Units for Searches<'_> {
    type Tool = ();
    type Done = CaseOutcome;

    fn count(&self) -> usize {
        self.problems.len()
    }

    fn tool(&self) {}

    fn name(&self, unit: usize) -> String {
        self.problem(unit).case.nodes[0].name.clone()
    }

    fn work(&self, (): &mut (), unit: usize, tell: &mut dyn FnMut(Searched)) -> Result<CaseOutcome> {
        let watch = self.pace.as_ref().map(|pace| (pace, tell));
        tune_case(self.order[unit], self.problem(unit), &self.tuner, watch)
    }
}

/// A case with what the bank and CANN's default policy say of it.
struct Problem {
    case: Case,
    known: Option<Schedule>,
    /// Whether nothing but a prediction speaks for it.
    is_predicted: bool,
    default: Schedule,
    /// Whether a better tiling is looked for.
    searches: bool,
    /// What the base's record and the bank's nearest neighbours become here, nearest first; empty where nothing
    /// is searched.
    near: Vec<Schedule>,
}

impl Problem {
    fn new(case: Case, job: &OpatJob<'_>) -> Result<Problem> {
        let soc = job.backend.soc();
        // Where CANN does not look a record decides nothing; the search begins with it, and writes what it finds where
        // CANN does.
        let entry = job.bank.lookup(&case.workload)?;
        let measured = entry.as_ref().and_then(|entry| entry.measured.as_ref());
        let is_predicted = measured.is_some_and(|measured| measured.backend == Simulator::NAME);
        let (known, unseen) = match entry {
            Some(entry) if entry.is_read_by_cann => (Some(entry.schedule), None),
            other => (None, other.map(|entry| entry.schedule)),
        };
        let default = default_policy(&case.workload, soc)?;
        let searches = case.tune && (known.is_none() || job.settings.repeat_tune);
        let near = if searches { job.bank.neighbours(&case.workload, NEIGHBOURS)? } else { Vec::new() };
        let base = job.base.filter(|_| searches).map(|base| base.lookup(&case.workload)).transpose()?.flatten();
        let carried = near.iter().filter_map(|schedule| carried_over(schedule, &case.workload, soc));
        let near = unseen.into_iter().chain(base.map(|entry| entry.schedule)).chain(carried).collect();
        Ok(Problem { case, known, is_predicted, default, searches, near })
    }
}

/// Is told how far a search is, on the thread that searches.
type OnProgress<'a> = dyn FnMut(Searched) + 'a;

/// Tunes one case. Fails only where the whole tuning must: a backend that cannot even prepare the
/// workload, or can measure nothing more; with [`Error::Cancelled`] where that is the caller's wish.
///
/// What is given with a pace is told how far the search is.
fn tune_case(
    index: usize,
    problem: &Problem,
    tuner: &Tuner<'_>,
    watch: Option<(&Pace, &mut OnProgress<'_>)>,
) -> Result<CaseOutcome> {
    let case = &problem.case;
    let mut measure = if case.is_within() {
        tuner.backend.prepare_within(&case.workload, &case.standings)?
    } else {
        tuner.backend.prepare(&case.workload)?
    };
    let (unmeasurable, fixed) = (measure.unmeasurable().map(str::to_owned), measure.fixed().map(str::to_owned));
    let baseline = if unmeasurable.is_some() || !case.known {
        Baseline::unknown(problem.default.clone())
    } else {
        // What was recorded for one that no record reaches does not run.
        let known = problem.known.as_ref().filter(|_| fixed.is_none());
        baseline(&mut *measure, known, &problem.default, tuner)?
    };
    let mut outcome = untuned(index, problem, &baseline, tuner);
    let in_bank = problem.known.is_some();
    if !case.known {
        outcome.status = BankStatus::NotModelled;
    } else if let Some(reason) = unmeasurable {
        count_default(&mut outcome, case, tuner)?;
        outcome.status = BankStatus::NotMeasured(reason);
    } else if let Some(reason) = baseline.failure {
        count_default(&mut outcome, case, tuner)?;
        outcome.status = BankStatus::Failed(reason);
    } else if let Some(reason) = fixed {
        outcome.status = BankStatus::NotTunable(reason);
    } else if !case.tune {
        outcome.status = BankStatus::NotTuned;
    } else if !in_bank || tuner.settings.repeat_tune {
        let mut watched;
        let measure: &mut dyn Measure = match watch {
            Some((pace, tell)) => {
                watched = Watched::new(&mut *measure, pace, outcome.before_us, tell);
                &mut watched
            }
            None => &mut *measure,
        };
        let measured_by = case.measured_by(tuner.backend);
        let finding = trials::search(&mut outcome, &baseline, &problem.near, &measured_by, measure, tuner)?;
        judge(&mut outcome, finding, in_bank);
    }
    if baseline.in_bank {
        let is_noisy = tuner.backend.describe_for(&case.workload).noisy;
        over_default(&mut outcome, &problem.default, baseline.default_us, is_noisy);
        if problem.is_predicted && !is_noisy && baseline.default_us.is_some() {
            count_sure_gains_only(&mut outcome, tuner);
        }
    }
    Ok(outcome)
}

/// A case as it is before its search: what runs today, before and after.
fn untuned(index: usize, problem: &Problem, baseline: &Baseline, tuner: &Tuner<'_>) -> CaseOutcome {
    let workload = &problem.case.workload;
    let backend = tuner.backend.describe_for(workload);
    let runs = Timed { schedule: baseline.schedule.clone(), us: baseline.us };
    CaseOutcome {
        nodes: problem.case.nodes.clone(),
        // Times that scatter are compared when they are measured by turns, and not before.
        doubt: (!backend.noisy).then(|| tuner.backend.doubt_over_default(workload)),
        status: if problem.known.is_some() { BankStatus::Reserved } else { BankStatus::Unsatisfied },
        ..CaseOutcome::untuned(index, workload, &runs, backend.name, tuner.backend.soc())
    }
}

/// Has the outcome say what becomes of what a search found: a record, a question that a measurement would answer, or nothing.
fn judge(outcome: &mut CaseOutcome, finding: Option<Finding>, in_bank: bool) {
    let is_visible = outcome.after_us < outcome.before_us * (1.0 - MINIMUM_GAIN);
    if let Some(finding) = finding.filter(|_| is_visible) {
        outcome.status = match finding {
            Finding::Sure if in_bank => BankStatus::Updated,
            Finding::Sure => BankStatus::Added,
            Finding::ToMeasure | Finding::NotSure if in_bank => BankStatus::Reserved,
            Finding::ToMeasure => BankStatus::ToMeasure,
            Finding::NotSure => BankStatus::NotSure,
        };
        if finding == Finding::Sure {
            return;
        }
        outcome.unsure = Some(Timed { schedule: outcome.after.clone(), us: outcome.after_us });
    }
    outcome.after = outcome.before.clone();
    outcome.after_us = outcome.before_us;
}

/// Has a case that was tuned from the bank's tiling compare with CANN's default.
fn over_default(outcome: &mut CaseOutcome, default: &Schedule, default_us: Option<f64>, is_noisy: bool) {
    let banked = Timed { schedule: outcome.before.clone(), us: outcome.before_us };
    if let Some(us) = default_us {
        (outcome.before, outcome.before_us) = (default.clone(), us);
        // The gain over the bank's was measured by turns; that over the default is of times of their own.
        if is_noisy {
            outcome.doubt = None;
        }
    }
    outcome.banked = Some(banked);
}

/// Has a record that nothing but a prediction speaks for count with CANN's default, unless its gain is sure: CANN runs it, and
/// whether that gains anything is for a device to say.
fn count_sure_gains_only(outcome: &mut CaseOutcome, tuner: &Tuner<'_>) {
    let times = [outcome.before_us, outcome.after_us];
    let doubt = tuner.backend.doubt_over_default(&outcome.workload);
    let is_open = times[1] < times[0] && Finding::predicted(times, doubt, true) != Finding::Sure;
    if outcome.status == BankStatus::Reserved && is_open {
        outcome.unsure = Some(Timed { schedule: outcome.after.clone(), us: outcome.after_us });
        (outcome.after, outcome.after_us) = (outcome.before.clone(), outcome.before_us);
        outcome.status = BankStatus::NotSure;
    }
}

/// Has a case that could not be measured count with CANN's default as the simulator has it: 0 would tell of a network that
/// is faster than it is.
fn count_default(outcome: &mut CaseOutcome, case: &Case, tuner: &Tuner<'_>) -> Result<()> {
    let simulator = Simulator::new(tuner.backend.soc().clone());
    let mut measure = simulator.prepare_within(&case.workload, &case.standings)?;
    if let Measurement::Time { us } = measure.measure(&outcome.before)
        && us.is_finite()
    {
        (outcome.before_us, outcome.after_us) = (us, us);
        Simulator::NAME.clone_into(&mut outcome.backend);
    }
    Ok(())
}
