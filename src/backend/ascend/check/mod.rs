//! The acceptance test of a machine with a device: does CANN take our records, does every template compute the right
//! result with one, how much do times scatter, how far is the simulator.
//!
//! Each [`Step`] says passed, failed or not possible, what was found, and what to do. `products` and `volumes` are what the steps
//! run, `templates` tries the records of each template, `unified` asks TBE's compiler whether it found a record, `profiler` asks
//! CANN's profiler which tiling a kernel was launched with.

mod products;
mod profiler;
mod templates;
mod unified;
mod volumes;

use super::backend::{Ascend, Refused};
use super::report::Probe;
use super::timing::Times;
use crate::backend::choice::wanted_devices;
use crate::backend::opening::open_ascend;
use crate::backend::request::Request;
use crate::backend::{RuntimeEnv, ascend};
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::{MatMul, Schedule, Workload};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A kernel on one core of 20 or more takes many times as long: so much longer at least, if the record was taken.
const TAKEN: f64 = 3.0;
/// Processes that time one product, to see how much they differ.
const SCATTER_PROCESSES: usize = 6;
/// Relative scatter between processes from which the times of a machine are hardly worth comparing.
const WILD: f64 = 0.15;
/// Mean error of the simulator from which its choices are not to be relied on.
const FAR: f64 = 0.5;
/// Processes that get ready at a time; one measures.
const PARALLEL: usize = 4;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Passed,
    /// It could not be tried here.
    NotPossible,
    /// Not as it should be.
    Failed,
}

impl Verdict {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::NotPossible => "not possible",
            Verdict::Failed => "failed",
        }
    }
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What was tried, in a word or three: `runtime`, `record`, `template 20`, ...
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found, in a sentence.
    pub finding: String,
    /// What to do about it; empty where nothing.
    pub advice: String,
    /// The numbers behind it.
    pub figures: Map<String, Value>,
}

impl Step {
    fn new(name: &str, verdict: Verdict, finding: impl Into<String>, advice: &str) -> Step {
        let (name, advice) = (name.to_owned(), advice.to_owned());
        Step { name, verdict, finding: finding.into(), advice, figures: Map::new() }
    }

    fn with(mut self, figures: &Value) -> Step {
        self.figures = figures.as_object().cloned().unwrap_or_default();
        self
    }
}

/// All that was tried on a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Version of this form.
    pub version: u32,
    /// Version of libaoe.
    pub libaoe: &'static str,
    /// What the machine has, in words.
    pub machine: String,
    /// SoC name; empty where none was found.
    pub soc: String,
    /// AI Cores; 0 where no device was found.
    pub ai_cores: u32,
    /// The worst verdict of the steps; one that was broken off has not passed.
    pub verdict: Verdict,
    /// Whether all was tried that can be; false where it was broken off.
    pub finished: bool,
    /// What was tried, in order.
    pub steps: Vec<Step>,
}

/// Tries a machine. Each step is handed to `told` when it is done.
///
/// Fails for options that ask for what the machine is not, as [`open`](crate::backend::open) does; a machine without a
/// device is a report, and so is what was tried until it was cancelled.
pub fn check(request: &Request<'_>, env: &RuntimeEnv, told: &mut dyn FnMut(&Step)) -> Result<CheckReport> {
    // Where there is no device to compare it with, nobody else would look at it.
    let named = request.soc_version.map(Soc::named).transpose();
    named.map_err(|error| Error::option("soc_version", error.to_string()))?;
    let mut report = CheckReport {
        version: 1,
        libaoe: env!("CARGO_PKG_VERSION"),
        machine: String::new(),
        soc: String::new(),
        ai_cores: 0,
        verdict: Verdict::Passed,
        finished: true,
        steps: Vec::new(),
    };
    match try_all(request, env, &mut report, told) {
        Err(Error::Cancelled) => {
            report.finished = false;
            report.verdict = report.verdict.max(Verdict::NotPossible);
        }
        ended => ended?,
    }
    Ok(report)
}

/// The steps, one after the other.
fn try_all(
    request: &Request<'_>,
    env: &RuntimeEnv,
    report: &mut CheckReport,
    told: &mut dyn FnMut(&Step),
) -> Result<()> {
    let probe = ascend::ask_apart(env, &request.measuring, &request.cancel)?;
    report.machine = probe.summary();
    let CheckReport { verdict: worst, steps, soc: found, ai_cores, .. } = report;
    let mut keep = |step: Step| {
        told(&step);
        *worst = (*worst).max(step.verdict);
        steps.push(step.clone());
        step
    };
    keep(runtime(&probe, env));
    let devices = wanted_devices(request, env, &probe)?;
    let opened = match open_ascend(request, &devices, &probe, env, false) {
        Ok((opened, note)) => {
            let soc = crate::backend::Backend::soc(&opened);
            let figures = json!({"soc": soc.name, "ai_cores": soc.ai_core_cnt, "vector_cores": soc.vector_core_cnt});
            keep(Step::new("device", Verdict::Passed, note, "").with(&figures));
            opened
        }
        Err(error @ (Error::Cancelled | Error::Option { .. })) => return Err(error),
        Err(error) => {
            let verdict = if probe.has_device() { Verdict::Failed } else { Verdict::NotPossible };
            keep(Step::new("device", verdict, error.to_string(), &advice(env)));
            let first = ["record", "record of Conv3DV2", "profiler"];
            let last = ["templates", "scatter", "simulator"];
            for name in first.into_iter().chain(unified::names()).chain(last) {
                keep(Step::new(name, Verdict::NotPossible, "there is no device to try it on", ""));
            }
            return Ok(());
        }
    };
    let soc = crate::backend::Backend::soc(&opened).clone();
    (*found, *ai_cores) = (soc.name.clone(), soc.ai_core_cnt);
    let machine = Machine { ascend: &opened, soc: &soc };
    let one_core = [products::on_one_core(&soc), volumes::on_one_core(&soc)];
    let [product, volume] = &one_core;
    let of_product = keep(machine.record("record", product)?);
    let of_volume = keep(machine.record("record of Conv3DV2", volume)?);
    let profiled = keep(machine.profiler(product, env)?);
    for step in unified::steps(&opened, &soc) {
        keep(step?);
    }
    let of_product = templates::doubt(&of_product, Some(&profiled));
    let of_volume = templates::doubt(&of_volume, None);
    let trials = [
        products::templates(&soc, of_product.as_deref()),
        products::batched(),
        volumes::forms(&soc, of_volume.as_deref()),
    ];
    for step in templates::steps(&machine, &trials.concat())? {
        keep(step);
    }
    keep(machine.scatter()?);
    keep(machine.simulator()?);
    Ok(())
}

/// Bytes that a measurement's folder must take at least.
const ROOM: u64 = 1 << 16;

/// What to do where nothing answers: what asks the runtime needs a folder, and without one no machine has a device.
fn advice(env: &RuntimeEnv) -> String {
    let temporary = env.temporary();
    let room = tempfile::tempfile_in(temporary).and_then(|mut file| io::copy(&mut io::repeat(0).take(ROOM), &mut file));
    match room {
        Ok(_) => ADVICE_DEVICE.to_owned(),
        Err(error) => format!(
            "the folder for temporary files, {}, cannot be written ({error}), and without it nothing can be asked or \
             measured: make room there, or name another with TMPDIR",
            temporary.display()
        ),
    }
}

const ADVICE_DEVICE: &str = "run it on a machine with an Ascend device, with CANN's environment set (source set_env.sh), \
                             as a user who may use the device (npu-smi info)";
const ADVICE_RECORD: &str = "look for a bank that hides ours (TUNE_BANK_PATH of this shell is not used here), and at \
                             the number of cores in the names of CANN's own bank files; send the report";
const ADVICE_SCATTER: &str = "close what else uses the device, fix its clock (npu-smi), and try again";
const ADVICE_SIMULATOR: &str = "tune on the device (backend=ascend), not on the simulator; send the report";

fn runtime(probe: &Probe, env: &RuntimeEnv) -> Step {
    let verdict = if probe.runtime.is_some() { Verdict::Passed } else { Verdict::NotPossible };
    let advice = if probe.runtime.is_some() { String::new() } else { advice(env) };
    let figures = json!({"tried": probe.attempts_text()});
    Step::new("runtime", verdict, probe.summary(), &advice).with(&figures)
}

/// The machine under trial.
struct Machine<'a> {
    ascend: &'a Ascend,
    soc: &'a Soc,
}

/// A kernel with a record that leaves all cores but one idle; why there is none on this part.
type OnOneCore = std::result::Result<(Workload, Schedule), String>;

/// What a measurement came to; a machine that can measure nothing more has a reason, too.
type Timed = Result<Times, String>;

impl Machine<'_> {
    fn timed(&self, workload: &Workload, schedule: Option<&Schedule>) -> Result<Timed> {
        match self.ascend.timed(workload, schedule) {
            Ok(times) => Ok(Ok(times)),
            Err(Refused::Cancelled) => Err(Error::Cancelled),
            Err(Refused::Failed(reason) | Refused::Ended(reason)) => Ok(Err(reason)),
        }
    }

    /// Times of several at once; as many get ready at a time as the machine takes.
    fn all_timed(&self, trials: &[(&Workload, Option<&Schedule>)]) -> Result<Vec<Timed>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<Result<Timed>>>> = Mutex::new(trials.iter().map(|_| None).collect());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((workload, schedule)) = trials.get(at) else { return };
                let timed = self.timed(workload, *schedule);
                if let Some(place) = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_mut(at) {
                    *place = Some(timed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL.min(trials.len()) {
                scope.spawn(work);
            }
        });
        let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.into_iter().map(|timed| timed.unwrap_or_else(|| Ok(Err("it was not tried".to_owned())))).collect()
    }

    /// Does CANN take a record of ours? One that leaves all but one core idle cannot be missed.
    fn record(&self, name: &str, trial: &OnOneCore) -> Result<Step> {
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

    /// Does CANN's profiler report the tiling of the record?
    fn profiler(&self, trial: &OnOneCore, env: &RuntimeEnv) -> Result<Step> {
        match trial {
            Ok((workload, schedule)) => profiler::step(self.ascend, workload, schedule, env),
            Err(reason) => Ok(Step::new("profiler", Verdict::NotPossible, reason, "")),
        }
    }

    /// How much do times differ, within a process and between processes?
    fn scatter(&self) -> Result<Step> {
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

    /// How far is the simulator on products as networks have them, each with CANN's own tiling?
    fn simulator(&self) -> Result<Step> {
        let products: Vec<Workload> = products::in_networks().into_iter().map(Workload::MatMul).collect();
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
