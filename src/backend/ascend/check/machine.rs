//! A machine under trial: what is timed on it, and the steps that come of times alone.

use super::{ADVICE_DEVICE, ADVICE_RECORD, Step, Verdict};
use crate::backend::RuntimeEnv;
use crate::backend::ascend::backend::{Ascend, Refused};
use crate::backend::ascend::timing::Times;
use crate::backend::gate::Gate;
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::{MatMul, Schedule, Workload};
use serde_json::json;
use std::num::NonZeroUsize;

/// A kernel on one core of 20 or more takes many times as long: so much longer at least, if the record was taken.
const TAKEN: f64 = 3.0;
/// Processes that time one product, to see how much they differ.
const SCATTER_PROCESSES: usize = 6;
/// Relative scatter between processes from which the times of a machine are hardly worth comparing.
const WILD: f64 = 0.15;
/// Mean error of the simulator from which its choices are not to be relied on.
const FAR: f64 = 0.5;
/// Processes that get ready at a time; one measures.
const PARALLEL: Option<NonZeroUsize> = NonZeroUsize::new(4);

const ADVICE_SCATTER: &str = "close what else uses the device, fix its clock (npu-smi), and try again";
const ADVICE_SIMULATOR: &str = "tune on the device (backend=ascend), not on the simulator; send the report";

/// The machine under trial.
pub(super) struct Machine<'a> {
    /// Its devices.
    pub ascend: &'a Ascend,
    /// What they are.
    pub soc: &'a Soc,
    /// Where CANN is looked for.
    pub env: &'a RuntimeEnv,
}

/// A kernel with a record that leaves all cores but one idle; why there is none on this part.
pub(super) type OnOneCore = std::result::Result<(Workload, Schedule), String>;

/// What a measurement came to; a machine that can measure nothing more has a reason, too.
pub(super) type Timed = Result<Times, String>;

impl Machine<'_> {
    fn timed(&self, workload: &Workload, schedule: Option<&Schedule>) -> Result<Timed> {
        match self.ascend.timed(workload, schedule) {
            Ok(times) => Ok(Ok(times)),
            Err(Refused::Cancelled) => Err(Error::Cancelled),
            Err(Refused::Failed(reason) | Refused::Ended(reason)) => Ok(Err(reason)),
        }
    }

    /// Times of several at once; as many get ready at a time as the machine takes.
    pub(super) fn all_timed(&self, trials: &[(&Workload, Option<&Schedule>)]) -> Result<Vec<Timed>> {
        let gate = Gate::new(PARALLEL);
        let timed = |&(workload, schedule): &(&Workload, Option<&Schedule>)| {
            let _turn = gate.enter();
            self.timed(workload, schedule)
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = trials.iter().map(|trial| scope.spawn(|| timed(trial))).collect();
            let lost = || Ok(Err("the thread that measured it ended".to_owned()));
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }

    /// Does CANN take a record of ours? One that leaves all but one core idle cannot be missed.
    pub(super) fn record(&self, name: &str, trial: &OnOneCore) -> Result<Step> {
        let (workload, schedule) = match trial {
            Ok(trial) => trial,
            Err(reason) => return Ok(Step::new(name, Verdict::NotPossible, reason, "")),
        };
        let (without, with) = (self.timed(workload, None)?, self.timed(workload, Some(schedule))?);
        Ok(match (without, with) {
            (Ok(without), Ok(with)) => {
                let factor = with.median / without.median;
                let figures = json!({"without_us": without.median, "with_us": with.median, "factor": factor});
                let said = format!(
                    "{workload} takes {:.1} us by itself and {:.1} us with a record that leaves one core at work",
                    without.median, with.median
                );
                let step = if factor >= TAKEN {
                    Step::new(name, Verdict::Passed, said, "")
                } else {
                    Step::new(name, Verdict::Failed, format!("{said}: CANN did not take it"), ADVICE_RECORD)
                };
                step.with(&figures)
            }
            (Err(reason), _) => Step::new(name, Verdict::Failed, format!("{workload} alone: {reason}"), ADVICE_RECORD),
            (_, Err(reason)) => Step::new(name, Verdict::Failed, format!("with the record: {reason}"), ADVICE_RECORD),
        })
    }

    /// How much do times differ, within a process and between processes?
    pub(super) fn scatter(&self) -> Result<Step> {
        let product = Workload::MatMul(MatMul::new(1024, 1024, 1024));
        let timed = self.all_timed(&[(&product, None); SCATTER_PROCESSES])?;
        let times: Vec<&Times> = timed.iter().filter_map(|t| t.as_ref().ok()).collect();
        if times.len() < 2 {
            let reason = timed.iter().find_map(|t| t.as_ref().err()).map_or("", String::as_str);
            return Ok(Step::new("scatter", Verdict::Failed, format!("{product}: {reason}"), ADVICE_SCATTER));
        }
        let within = times.iter().map(|t| t.deviation / t.median).sum::<f64>() / times.len() as f64;
        let medians: Vec<f64> = times.iter().map(|t| t.median).collect();
        let between = Times::of(&medians).map_or(f64::INFINITY, |all| all.deviation / all.median);
        let found = format!(
            "{product}: {:.1} % within a process, {:.1} % between {} of them",
            100.0 * within,
            100.0 * between,
            times.len()
        );
        let verdict = if between < WILD { Verdict::Passed } else { Verdict::Failed };
        let advice = if verdict == Verdict::Passed { "" } else { ADVICE_SCATTER };
        let figures = json!({"within": within, "between": between, "medians_us": medians});
        Ok(Step::new("scatter", verdict, found, advice).with(&figures))
    }

    /// How far is the simulator on these products, each with CANN's own tiling?
    pub(super) fn simulator(&self, products: Vec<MatMul>) -> Result<Step> {
        let products: Vec<Workload> = products.into_iter().map(Workload::MatMul).collect();
        let trials: Vec<_> = products.iter().map(|product| (product, None)).collect();
        let (mut rows, mut errors, mut failed) = (Vec::new(), Vec::new(), 0);
        for (product, timed) in products.iter().zip(self.all_timed(&trials)?) {
            let predicted = default_policy(product, self.soc)
                .and_then(|schedule| Model::new(product, self.soc)?.predict(&schedule))?
                .time_us;
            match timed {
                Ok(times) => {
                    errors.push(predicted / times.median - 1.0);
                    rows.push(json!({"product": product.to_string(), "us": times.median, "predicted_us": predicted}));
                }
                Err(reason) => {
                    failed += 1;
                    rows.push(json!({"product": product.to_string(), "failed": reason, "predicted_us": predicted}));
                }
            }
        }
        let figures = |error: f64, bias: f64| json!({"mean_error": error, "bias": bias, "kernels": rows});
        if errors.is_empty() {
            let found = format!("none of {failed} products could be measured");
            return Ok(Step::new("simulator", Verdict::Failed, found, ADVICE_DEVICE).with(&figures(0.0, 0.0)));
        }
        let count = errors.len() as f64;
        let error = errors.iter().map(|e| e.abs()).sum::<f64>() / count;
        let bias = errors.iter().sum::<f64>() / count;
        let left = if failed == 0 { String::new() } else { format!("; {failed} could not be measured") };
        let found = format!(
            "on {} products it errs by {:.0} % in the mean, {:+.0} % with sign{left}",
            errors.len(),
            100.0 * error,
            100.0 * bias
        );
        let verdict = if error <= FAR && failed == 0 { Verdict::Passed } else { Verdict::Failed };
        let advice = if verdict == Verdict::Passed { "" } else { ADVICE_SIMULATOR };
        Ok(Step::new("simulator", verdict, found, advice).with(&figures(error, bias)))
    }
}
