//! The acceptance test of a machine with a device: does CANN take our records, does every template compute the right
//! result with one, how much do times scatter, how far is the simulator.
//!
//! Each [`Step`] says passed, failed or not possible, what was found, and what to do. [`parts`] lists them. `products` and
//! `volumes` are what the steps run, `machine` times it, `templates` tries the records of each template, `unified` asks TBE's
//! compiler whether it found a record, `profiler` asks CANN's profiler which tiling a kernel was launched with.

mod machine;
mod products;
mod profiler;
mod templates;
mod unified;
mod volumes;

use super::report::Probe;
use crate::backend::choice::wanted_devices;
use crate::backend::opening::open_ascend;
use crate::backend::request::Request;
use crate::backend::{RuntimeEnv, ascend};
use crate::soc::Soc;
use crate::status::{Error, Result};
use machine::{Machine, OnOneCore};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Read};

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

impl CheckReport {
    /// Takes up a step that is done, and tells it.
    fn keep(&mut self, step: Step, told: &mut dyn FnMut(&Step)) {
        told(&step);
        self.verdict = self.verdict.max(step.verdict);
        self.steps.push(step);
    }
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
    report.keep(runtime(&probe, env), told);
    let devices = wanted_devices(request, env, &probe)?;
    let opened = match open_ascend(request, &devices, &probe, env, false) {
        Ok((opened, note)) => {
            let soc = crate::backend::Backend::soc(&opened);
            let figures = json!({"soc": soc.name, "ai_cores": soc.ai_core_cnt, "vector_cores": soc.vector_core_cnt});
            report.keep(Step::new("device", Verdict::Passed, note, "").with(&figures), told);
            opened
        }
        Err(error @ (Error::Cancelled | Error::Option { .. })) => return Err(error),
        Err(error) => {
            let verdict = if probe.has_device() { Verdict::Failed } else { Verdict::NotPossible };
            report.keep(Step::new("device", verdict, error.to_string(), &advice(env)), told);
            for (name, _) in parts() {
                report.keep(Step::new(name, Verdict::NotPossible, "there is no device to try it on", ""), told);
            }
            return Ok(());
        }
    };
    let soc = crate::backend::Backend::soc(&opened).clone();
    (report.soc, report.ai_cores) = (soc.name.clone(), soc.ai_core_cnt);
    let machine = Machine { ascend: &opened, soc: &soc, env };
    for (name, part) in parts() {
        for step in part.run(name, &machine, &report.steps)? {
            report.keep(step, told);
        }
    }
    Ok(())
}

/// Steps that are done one after the other, in one name until it is known which there are.
enum Part {
    /// Times one kernel with and without a record that leaves all cores but one idle.
    Record(fn(&Soc) -> OnOneCore),
    /// Asks the profiler about the record of a product.
    Profiler,
    /// Asks TBE's compiler about a record.
    Compiled(unified::Make),
    /// A step for each template.
    Templates,
    /// How much times scatter.
    Scatter,
    /// How far the simulator is.
    Simulator,
}

/// Steps whose verdicts decide what the results of templates say.
const OF_PRODUCTS: &str = "record";
/// See [`OF_PRODUCTS`].
const OF_VOLUMES: &str = "record of Conv3DV2";
/// See [`OF_PRODUCTS`].
const PROFILER: &str = "profiler";

/// All that is tried once there is a device, in order.
fn parts() -> impl Iterator<Item = (&'static str, Part)> {
    let first = [
        (OF_PRODUCTS, Part::Record(products::on_one_core)),
        (OF_VOLUMES, Part::Record(volumes::on_one_core)),
        (PROFILER, Part::Profiler),
    ];
    let compiled = unified::TRIALS.map(|(name, make)| (name, Part::Compiled(make)));
    let last = [("templates", Part::Templates), ("scatter", Part::Scatter), ("simulator", Part::Simulator)];
    first.into_iter().chain(compiled).chain(last)
}

impl Part {
    /// Tries it; `before` are the steps that are done.
    fn run(self, name: &str, machine: &Machine<'_>, before: &[Step]) -> Result<Vec<Step>> {
        let step = match self {
            Part::Record(make) => machine.record(name, &make(machine.soc)),
            Part::Profiler => profiler::step(machine, &products::on_one_core(machine.soc)),
            Part::Compiled(make) => unified::step(machine, name, make),
            Part::Templates => return templates::steps(machine, &trials(machine.soc, before)),
            Part::Scatter => machine.scatter(),
            Part::Simulator => machine.simulator(products::in_networks()),
        };
        step.map(|step| vec![step])
    }
}

/// The templates to try, each with what the steps before it say of its records.
fn trials(soc: &Soc, before: &[Step]) -> Vec<templates::Trial> {
    let of = |name: &str| before.iter().find(|step| step.name == name);
    let of_product = templates::doubt(of(OF_PRODUCTS), of(PROFILER));
    let of_volume = templates::doubt(of(OF_VOLUMES), None);
    let trials = [
        products::templates(soc, of_product.as_deref()),
        products::batched(),
        volumes::forms(soc, of_volume.as_deref()),
    ];
    trials.concat()
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

const ADVICE_RECORD: &str = "look for a bank that hides ours (TUNE_BANK_PATH of this shell is not used here), and at \
                             the number of cores in the names of CANN's own bank files; send the report";
const ADVICE_DEVICE: &str = "run it on a machine with an Ascend device, with CANN's environment set (source set_env.sh), \
                             as a user who may use the device (npu-smi info)";

fn runtime(probe: &Probe, env: &RuntimeEnv) -> Step {
    let verdict = if probe.runtime.is_some() { Verdict::Passed } else { Verdict::NotPossible };
    let advice = if probe.runtime.is_some() { String::new() } else { advice(env) };
    let figures = json!({"tried": probe.attempts_text()});
    Step::new("runtime", verdict, probe.summary(), &advice).with(&figures)
}
