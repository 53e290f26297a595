//! All layers of configuration resolved to one typed set.
//!
//! The nearer wins: this call's options, the options of `AoeInitialize`, then `aoe.ini`, with the
//! environment deciding where CANN lets it (banks, work path, device, `REPEAT_TUNE`).

use super::calibration;
use super::config;
use super::effort::{opat_settings, trials, tune_ops};
use super::environment::Environment;
use super::inputs;
use super::layers::Layers;
use super::leaves::{Keeps, Leaves};
use super::options::{self, Effect, OptionMap};
use super::places::{places, rescue_root};
use super::profiles_wanted::{self, Wanted};
use crate::backend::{Choice, Measuring};
use crate::bank::BankPaths;
use crate::frontend::{Gear, ModelOptions};
use crate::lower::{self, Precision, Switches, UbOff};
use crate::sim::calibration::Source;
use crate::status::{Error, Result};
use crate::tune::OpatSettings;
use crate::tune::gdat::{Cluster, GdatSettings, MOST_SEGMENTS};
use crate::tune::sgat::SgatSettings;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is to be tuned (`job_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobType {
    /// Subgraphs: fusion and cuts.
    Sgat,
    /// Operators: tilings.
    Opat,
    /// Subgraphs, then the operators of the network with the strategies that CANN reads.
    SgatOpat,
    /// Gradients: `AllReduce` segments.
    Gdat,
}

impl JobType {
    /// Whether it tunes subgraphs, and whether operators.
    pub const fn parts(self) -> [bool; 2] {
        [matches!(self, JobType::Sgat | JobType::SgatOpat), matches!(self, JobType::Opat | JobType::SgatOpat)]
    }

    fn parse(text: &str) -> Option<JobType> {
        Some(match text {
            "1" | "sgat" | "subgraph" => JobType::Sgat,
            "2" | "opat" | "operator" => JobType::Opat,
            "1,2" => JobType::SgatOpat,
            // 3 is what one unofficial guide calls gradient tuning.
            "4" | "3" | "gdat" | "gradient" => JobType::Gdat,
            _ => return None,
        })
    }
}

/// The two files of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What CANN's graph compiler says of the gradients.
    pub summary: PathBuf,
    /// The tasks of several runs.
    pub profile: PathBuf,
}

/// Everything one tuning call needs to know.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, as users give them")]
pub struct Settings {
    /// What to tune.
    pub job: JobType,
    /// Who measures.
    pub backend: Choice,
    /// The SoC asked for: a name or a file.
    pub soc: Option<String>,
    /// Fields of the SoC to change, in order.
    pub soc_set: Vec<(String, String)>,
    /// What corrects predicted times.
    pub calibration: Source,
    /// How float32 operators run.
    pub precision: Precision,
    /// Which fusion passes run.
    pub switches: Switches,
    /// Whether GE's own passes, which belong to optimisation level O3, are closed.
    pub ge_closed: bool,
    /// What is said of the model: shapes of its inputs, its outputs.
    pub model: ModelOptions,
    /// Gears to tune for, one after the other; empty where none were given.
    pub gears: Vec<Gear>,
    /// Settings of the operator tuning.
    pub opat: OpatSettings,
    /// Measurements for each operator where one takes its time.
    pub dear_trials: usize,
    /// Settings of the subgraph tuning.
    pub sgat: SgatSettings,
    /// Settings of the gradient tuning.
    pub gdat: GdatSettings,
    /// The recording whose gradients are tuned, in place of a graph's.
    pub recorded: Option<Recorded>,
    /// The directory of an interrupted subgraph tuning to go on from, or `newest`.
    pub reload: Option<PathBuf>,
    /// `ge.mdl_bank_path`.
    pub mdl_bank_path: Option<PathBuf>,
    /// Directory for result files.
    pub work_path: PathBuf,
    /// Whether the tunings of a process share one result file.
    pub one_result_file: bool,
    /// The tuned model's files without their suffix, where `output` names them.
    pub output: Option<PathBuf>,
    /// Whether the tuned model is written.
    pub tuned_model: bool,
    /// Whether records are written for TBE's binary kernels too.
    pub binary_bank: bool,
    /// Logical devices asked for by option; `ASCEND_DEVICE_ID` counts otherwise.
    pub devices: Vec<u32>,
    /// AI Cores to use.
    pub aicore_num: Option<u32>,
    /// How a device measures.
    pub measuring: Measuring,
    /// Level of log messages, when given.
    pub log: Option<String>,
    /// The options that count, as given; for the report.
    pub given: OptionMap,
    /// `ge.op_bank_path`.
    pub op_bank_path: Option<PathBuf>,
    /// `base_result`: an earlier tuning to start from.
    pub base_result: Option<PathBuf>,
    /// What profiles of the network hold, where they are wanted; its paths are absolute.
    pub profiling: Option<Wanted>,
    /// Whether what the simulator found goes where CANN looks by itself.
    pub install: bool,
    /// What is left on the disk.
    pub leaves: Leaves,
    /// Whether `output` names the directory for result files, which may be a later tuning's `base_result`.
    pub has_output: bool,
}

impl Settings {
    /// Resolves one call's options over the global ones.
    ///
    /// Fails with [`Error::Option`], [`Error::Environment`], [`Error::Config`] or [`Error::UnsupportedOption`]
    /// naming the layer at fault.
    pub fn resolve(global: &OptionMap, call: &OptionMap, environment: &Environment) -> Result<Settings> {
        let layers = Layers { layers: [call, global] };
        if let Some(spec) = options::OPTIONS.iter().find(|o| o.effect == Effect::NotBuilt && layers.is_set(o.name)) {
            let reason = "leave it out, or use a later version".to_owned();
            return Err(Error::UnsupportedOption { option: spec.name.to_owned(), reason });
        }
        check_metric(&layers)?;
        let path = |key: &str| layers.get(key).map(|p| environment.current_dir.join(p));
        let ini = config::aoe_ini(path("aoe_ini").as_deref(), environment)?;
        let ops = tune_ops(&layers, environment)?;
        let merged = layers.merged();
        if let Some(text) = inputs::idle_format(&merged) {
            log::warn!("{text}");
        }
        let (work_path, output) = places(&layers, &ini, environment);
        let names_folder = layers.is_set("output") && output.is_none();
        let leaves = Leaves::of(layers.flag("dry_run"), layers.get("result_file"), names_folder)?;
        let work_path = leaves.scratch().map_or(work_path, Path::to_owned);
        let output = output.filter(|_| leaves.keeps() != Keeps::Nothing);
        let leaves_all = leaves.results();
        let has_output = names_folder && leaves_all;
        let rescue = leaves_all.then(|| rescue_root(&work_path));
        let opat = opat_settings(&layers, &ops, &ini, environment)?;
        let job = job_type(&layers, environment)?;
        let soc_set = layers.get("soc_set").unwrap_or_default().split(';').filter_map(|a| a.split_once('='));
        Ok(Settings {
            job,
            backend: layers.get("backend").unwrap_or("auto").parse()?,
            soc: layers.get("soc_version").map(str::to_owned),
            soc_set: soc_set.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())).collect(),
            precision: layers.get("precision_mode").and_then(Precision::from_name).unwrap_or_default(),
            switches: switches(&layers, &path)?,
            ge_closed: layers.get("oo_level").is_some_and(|level| level != "O3"),
            model: inputs::model_options(&merged)?.1,
            gears: inputs::gears(&merged)?,
            sgat: SgatSettings {
                mixed: layers.flag("Fnonhomo_split") || ops.feature.iter().any(|f| f == "nonhomo_split"),
                repeat_tune: environment.flag("REPEAT_TUNE")?.unwrap_or(false),
                parallel: opat.parallel,
                deadline: opat.deadline,
                rescue: rescue.clone(),
            },
            gdat: GdatSettings {
                cluster: path("cluster").map_or_else(|| Ok(Cluster::default()), |path| Cluster::read(&path))?,
                most_segments: layers.number("max_segments").map_or(MOST_SEGMENTS, |n| n as usize),
                repeat_tune: opat.repeat_tune,
                deadline: opat.deadline,
                rescue,
            },
            recorded: recorded(&layers, job, &path)?,
            opat,
            dear_trials: trials(&layers, &ops)[1] as usize,
            reload: layers.get("reload").map(|job| match job {
                options::NEWEST | options::NEWEST_IF_ANY => job.into(),
                path => environment.current_dir.join(path),
            }),
            mdl_bank_path: path("ge.mdl_bank_path"),
            work_path,
            one_result_file: layers.get("result_file") == Some("process") && leaves_all,
            tuned_model: match leaves.keeps() {
                Keeps::All => layers.get("tuned_model") != Some("off") || layers.is_set("output"),
                Keeps::Named => output.is_some(),
                Keeps::Nothing => false,
            },
            binary_bank: layers.flag("binary_bank"),
            // The form was checked when the option was given.
            devices: layers.get("device").and_then(|list| options::devices(list).ok()).unwrap_or_default(),
            aicore_num: layers.number("aicore_num").map(|n| n as u32),
            calibration: calibration::source(layers.get("calibration"), environment, path("ge.op_bank_path"))?,
            measuring: Measuring {
                run_loop: ini.run_loop.unwrap_or(Measuring::default().run_loop),
                parallel_compiler: environment
                    .integer("TE_PARALLEL_COMPILER", 1, 32)?
                    .map_or(Measuring::default().parallel_compiler, |n| n as u32),
                timeout: layers.number("measuring_timeout").map_or(Measuring::default().timeout, Duration::from_secs),
                program: path("measure_program"),
            },
            op_bank_path: path("ge.op_bank_path"),
            base_result: path("base_result"),
            profiling: profiling(&layers, environment, has_output, &leaves)?,
            install: layers.flag("install"),
            leaves,
            has_output,
            output,
            log: layers.get("log").map(str::to_owned),
            given: merged,
        })
    }

    /// Whether records of this bank go with the directory of the tuning.
    pub fn leaves_no_records(&self, bank: &BankPaths) -> bool {
        !self.leaves.results() && bank.custom.starts_with(&self.work_path)
    }

    /// How the graphs of a tuning are lowered.
    pub fn lowering(&self) -> lower::Settings {
        lower::Settings {
            precision: self.precision,
            ub_off: UbOff::of(&self.switches),
            ge_closed: self.ge_closed,
            ..lower::Settings::default()
        }
    }
}

/// Which fusion passes run: those of the optimisation level, on top of it what the switch file says.
fn switches(layers: &Layers<'_>, path: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Switches> {
    let closed = layers.get("oo_level") == Some("O1");
    let switches = if closed { Switches::closed() } else { Switches::default() };
    path("fusion_switch_file").map_or_else(|| Ok(switches.clone()), |file| switches.clone().read(&file))
}

/// The profiles that are wanted.
fn profiling(
    layers: &Layers<'_>,
    environment: &Environment,
    has_output: bool,
    leaves: &Leaves,
) -> Result<Option<Wanted>> {
    let is_given = layers.layers.iter().any(|layer| layer.contains_key("profiling_mode"));
    let mode = is_given.then(|| layers.flag("profiling_mode"));
    let mut wanted = profiles_wanted::wanted(mode, layers.get("profiling_options"), environment, has_output)?;
    if let Some(output) = wanted.as_mut().and_then(|wanted| wanted.options.output.as_mut()) {
        *output = environment.current_dir.join(&*output);
    }
    let is_left = |wanted: &Wanted| match leaves.keeps() {
        Keeps::All => true,
        Keeps::Named => wanted.options.output.is_some(),
        Keeps::Nothing => false,
    };
    if leaves.keeps() == Keeps::Named && wanted.as_ref().is_some_and(|wanted| wanted.is_asked && !is_left(wanted)) {
        let reason = "with result_file=none, profiles need a place: name it in `output` of profiling_options";
        return Err(Error::option("profiling_mode", reason));
    }
    Ok(wanted.filter(is_left))
}

/// The job that an option gives, else `AOE_MODE`.
fn job_type(layers: &Layers<'_>, environment: &Environment) -> Result<JobType> {
    if let Some(text) = layers.get("job_type") {
        return JobType::parse(text).ok_or_else(|| Error::option("job_type", format!("`{text}` is not a job type")));
    }
    let Some(mode) = environment.get("AOE_MODE") else {
        let reason = "is mandatory: 1 tunes subgraphs, 2 operators, 1,2 both, 4 gradients";
        return Err(Error::option("job_type", reason));
    };
    let job = mode.to_str().filter(|mode| ["1", "2", "4"].contains(mode)).and_then(JobType::parse);
    let reason = || format!("`{}` is none of 1 (subgraphs), 2 (operators), 4 (gradients)", mode.to_string_lossy());
    job.ok_or_else(|| Error::Environment { name: "AOE_MODE".to_owned(), reason: reason() })
}

/// Refuses a goal that no tuning here pursues.
fn check_metric(layers: &Layers<'_>) -> Result<()> {
    if layers.get("target_metric") != Some("throughput") {
        return Ok(());
    }
    let reason = "what is tuned is the latency of the model at its batch: leave the option out, or write latency; to serve \
                  more at a time, tune a larger batch (input_shape, dynamic_batch_size)";
    Err(Error::option("target_metric", reason))
}

/// The recording that the options name; only gradient tuning has a use for one.
fn recorded(layers: &Layers<'_>, job: JobType, path: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Option<Recorded>> {
    let ours = ["cluster", "max_segments", "gradient_summary", "gradient_profile"];
    if let Some(key) = ours.into_iter().find(|key| job != JobType::Gdat && layers.is_set(key)) {
        return Err(Error::option(key, "belongs to gradient tuning (job_type 4)"));
    }
    match (path("gradient_summary"), path("gradient_profile")) {
        (None, None) => Ok(None),
        (Some(summary), Some(profile)) => Ok(Some(Recorded { summary, profile })),
        (Some(_), None) => Err(Error::option("gradient_summary", "needs the times of gradient_profile with it")),
        (None, Some(_)) => Err(Error::option("gradient_profile", "needs the sizes of gradient_summary with it")),
    }
}
