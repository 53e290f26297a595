//! What recorded tilings are worth: each priced beside CANN's default and the best that the search finds.

use super::baseline::Baseline;
use super::outcome::{CaseOutcome, Timed};
use super::settings::{Interrupt, OpFilter, OpatSettings};
use super::trials;
use super::tuner::Tuner;
use super::workers::Workers;
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Measure, Measurement, Standing};
use crate::search::Algorithm;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

/// Times that differ by less are counted as equal.
const EQUAL: f64 = 1e-4;

/// A recorded tiling to be priced.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What it is for.
    pub workload: Workload,
    /// The tiling; or why it is none that can run.
    pub schedule: Result<Schedule, String>,
    /// Bytes of its data that it finds in device memory, where what ran before it decides that.
    pub missed: Option<f64>,
    /// Where it is to run.
    pub soc: Soc,
}

/// Settings of an evaluation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Measurements of each search at most.
    pub max_trials: usize,
    /// Seed of the searches; the place of the problem is mixed in.
    pub seed: u64,
    /// Search algorithm.
    pub algorithm: Algorithm,
    /// Problems worked on at a time. The result does not depend on it.
    pub parallel: usize,
}

/// What came out for one record. Times are simulated microseconds.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The recorded tiling; or why it cannot run.
    pub recorded_us: Result<f64, String>,
    /// CANN's default policy.
    pub default_us: f64,
    /// The best tiling that the search found from the default's on, without knowing the recorded one.
    pub ours_us: f64,
    /// That tiling.
    pub ours: Schedule,
}

/// The default's and our time of one problem.
#[derive(Debug, Clone)]
struct Solved {
    default_us: f64,
    ours_us: f64,
    ours: Schedule,
}

/// One problem: records of equal work on equal SoCs share its search.
struct Problem<'a> {
    workload: &'a Workload,
    missed: Option<f64>,
    simulator: &'a Simulator,
    /// The records, in their order.
    records: Vec<usize>,
}

/// Prices every record; the answers are in the order of the records. An answer is the reason where the work
/// cannot be priced at all, and absent where `cancel` was set first. The outcome does not depend on the number of threads.
pub fn evaluate(
    records: &[Recorded],
    settings: &Settings,
    cancel: &AtomicBool,
) -> Vec<Option<Result<Evaluation, String>>> {
    let mut simulators: Vec<Simulator> = Vec::new();
    let mut of_record = Vec::new();
    for record in records {
        let known = simulators.iter().position(|simulator| *simulator.soc() == record.soc);
        of_record.push(known.unwrap_or(simulators.len()));
        if known.is_none() {
            simulators.push(Simulator::new(record.soc.clone()));
        }
    }
    let mut problems: Vec<Problem<'_>> = Vec::new();
    let mut places: FxHashMap<(usize, &Workload, Option<u64>), usize> = FxHashMap::default();
    for (index, (record, &simulator)) in records.iter().zip(&of_record).enumerate() {
        let missed = record.missed;
        let place = *places.entry((simulator, &record.workload, missed.map(f64::to_bits))).or_insert_with(|| {
            let simulator = &simulators[simulator];
            problems.push(Problem { workload: &record.workload, missed, simulator, records: Vec::new() });
            problems.len() - 1
        });
        problems[place].records.push(index);
    }
    let mut answers: Vec<Option<Result<Evaluation, String>>> = records.iter().map(|_| None).collect();
    let stopped = || cancel.load(Ordering::Acquire);
    let workers = Workers { name: "aoe-evaluate", threads: settings.parallel, stopped: &stopped };
    let job = |(): &mut (), index: usize, _: &mut dyn FnMut(_)| problems[index].solve(records, settings, cancel);
    let take = |_, solved: Vec<_>| {
        for (record, answer) in solved {
            answers[record] = Some(answer);
        }
        Ok(())
    };
    let Ok(()) = workers.work::<_, _, Infallible>(problems.len(), || (), job, take);
    answers
}

impl Problem<'_> {
    fn solve(
        &self,
        records: &[Recorded],
        settings: &Settings,
        cancel: &AtomicBool,
    ) -> Vec<(usize, Result<Evaluation, String>)> {
        let solved = match self.search(settings, cancel) {
            Ok(None) => return Vec::new(),
            Ok(Some(solved)) => Ok(solved),
            Err(error) => Err(error.to_string()),
        };
        let answer = |&record: &usize| (record, self.price(&records[record], &solved));
        self.records.iter().map(answer).collect()
    }

    /// CANN's time and ours; `None` where it was cancelled on the way.
    fn search(&self, settings: &Settings, cancel: &AtomicBool) -> Result<Option<Solved>> {
        let default = default_policy(self.workload, self.simulator.soc())?;
        let default_us = self.time(&default)?.map_err(|reason| Error::Tuning { reason })?;
        let runs = Timed { schedule: default, us: default_us };
        let (backend, soc) = (self.simulator.describe().name, self.simulator.soc());
        let mut outcome = CaseOutcome::untuned(0, self.workload, &runs, backend, soc);
        let settings = OpatSettings {
            seed: settings.seed,
            algorithm: settings.algorithm,
            max_trials: settings.max_trials,
            parallel: 1,
            repeat_tune: false,
            filter: OpFilter::default(),
            deadline: None,
            pause: OpatSettings::PAUSE,
        };
        let interrupt = Interrupt { cancel, deadline: None };
        let mut measure = self.prepare()?;
        let tuner = Tuner { backend: self.simulator, settings: &settings, trials: Vec::new(), interrupt };
        let baseline = Baseline { us: default_us, ..Baseline::unknown(outcome.before.clone()) };
        trials::search(&mut outcome, &baseline, &[], Simulator::NAME, &mut *measure, &tuner)?;
        let solved = Solved { default_us, ours_us: outcome.after_us, ours: outcome.after };
        Ok((!interrupt.cancelled()).then_some(solved))
    }

    fn price(&self, record: &Recorded, solved: &Result<Solved, String>) -> Result<Evaluation, String> {
        let Solved { default_us, ours_us, ours } = solved.clone()?;
        let recorded_us = match &record.schedule {
            Ok(schedule) => self.time(schedule).map_err(|e| e.to_string())?,
            Err(reason) => Err(reason.clone()),
        };
        Ok(Evaluation { recorded_us, default_us, ours_us, ours })
    }

    fn prepare(&self) -> Result<Box<dyn Measure + '_>> {
        self.simulator.prepare_within(self.workload, &[Standing { missed: self.missed, launches: 1 }])
    }

    fn time(&self, schedule: &Schedule) -> Result<Result<f64, String>> {
        Ok(match self.prepare()?.measure(schedule) {
            Measurement::Time { us } if us.is_finite() && us > 0.0 => Ok(us),
            Measurement::Time { us } => Err(format!("its time would be {us}")),
            Measurement::Failed { reason } | Measurement::Ended { reason } => Err(reason),
        })
    }
}

/// The evaluations together.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Records that were priced.
    pub records: usize,
    /// Those whose recorded tiling cannot run; they count in no median.
    pub illegal: usize,
    /// Median of recorded time over default time.
    pub recorded_over_default: Option<f64>,
    /// Median of our time over default time, of the same records.
    pub ours_over_default: Option<f64>,
    /// Median of our time over recorded time.
    pub ours_over_recorded: Option<f64>,
    /// Records whose recorded tiling is the fastest, or as fast.
    pub recorded_best: usize,
    /// Those where CANN's default is.
    pub default_best: usize,
    /// Those where ours is.
    pub ours_best: usize,
}

impl Summary {
    /// Sums evaluations up.
    pub fn of<'a>(evaluations: impl IntoIterator<Item = &'a Evaluation>) -> Summary {
        let mut summary = Summary::default();
        let mut ratios: [Vec<f64>; 3] = Default::default();
        for Evaluation { recorded_us, default_us, ours_us, .. } in evaluations {
            summary.records += 1;
            let recorded = recorded_us.as_ref().copied().unwrap_or(f64::INFINITY);
            let least = recorded.min(*default_us).min(*ours_us);
            let is_best = |us: f64| usize::from(us <= least * (1.0 + EQUAL));
            summary.recorded_best += is_best(recorded);
            summary.default_best += is_best(*default_us);
            summary.ours_best += is_best(*ours_us);
            if recorded.is_finite() {
                let [of_recorded, of_ours, between] = &mut ratios;
                of_recorded.push(recorded / default_us);
                of_ours.push(ours_us / default_us);
                between.push(ours_us / recorded);
            } else {
                summary.illegal += 1;
            }
        }
        [summary.recorded_over_default, summary.ours_over_default, summary.ours_over_recorded] = ratios.map(median);
        summary
    }
}

/// The middle value, or the mean of the middle two.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;
    use crate::workload::{MatMul, Operand, Vector};

    fn records() -> Vec<Recorded> {
        let soc = || Soc::find("Ascend910B4").unwrap();
        let product = |m| Workload::MatMul(MatMul::new(m, 1024, 768));
        let operand = || Operand::new([64, 4096], DataType::Float16);
        let gelu =
            Workload::Vector(Vector { op_type: "Gelu".into(), inputs: vec![operand()], outputs: vec![operand()] });
        let default = |workload: &Workload| default_policy(workload, &soc()).map_err(|e| e.to_string());
        let of = |workload: Workload| Recorded { schedule: default(&workload), workload, missed: None, soc: soc() };
        let mut illegal = of(product(640));
        illegal.schedule = Err("some rule".into());
        vec![of(product(640)), of(gelu), illegal, of(product(16)), of(product(0))]
    }

    fn settings(parallel: usize) -> Settings {
        Settings { max_trials: 60, seed: 3, algorithm: Algorithm::Auto, parallel }
    }

    #[test]
    fn ours_is_never_behind_the_default_and_an_illegal_record_says_why() {
        let answers = evaluate(&records(), &settings(1), &AtomicBool::new(false));
        let ok: Vec<_> = answers[..4].iter().map(|a| a.as_ref().unwrap().as_ref().unwrap()).collect();
        for evaluation in &ok {
            assert!(evaluation.ours_us <= evaluation.default_us && evaluation.ours_us > 0.0);
        }
        assert_eq!(ok[0].recorded_us, Ok(ok[0].default_us), "the default was recorded");
        assert_eq!(ok[2].recorded_us, Err("some rule".into()));
        assert_eq!(ok[2].ours, ok[0].ours, "equal problems are solved once");
        assert!(answers[4].as_ref().unwrap().is_err(), "a product of nothing has no time");
        let summary = Summary::of(ok.iter().copied());
        assert_eq!((summary.records, summary.illegal), (4, 1));
        assert_eq!(summary.recorded_over_default, Some(1.0));
        assert_eq!(summary.ours_best, 4);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let answers = |parallel| {
            let answers = evaluate(&records(), &settings(parallel), &AtomicBool::new(false));
            answers.into_iter().map(|answer| format!("{answer:?}")).collect::<Vec<_>>()
        };
        assert_eq!(answers(1), answers(3));
    }

    #[test]
    fn after_a_cancel_nothing_is_answered() {
        assert!(evaluate(&records(), &settings(2), &AtomicBool::new(true)).iter().all(Option::is_none));
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(
            [vec![], vec![3.0], vec![9.0, 1.0], vec![5.0, 1.0, 2.0]].map(median),
            [None, Some(3.0), Some(5.0), Some(2.0)]
        );
    }
}
