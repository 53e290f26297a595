//! All layers of configuration resolved to one typed set.
//!
//! The nearer wins: this call's options, the options of `AoeInitialize`, then `aoe.ini`, with the
//! environment deciding where CANN lets it (banks, work path, device, `REPEAT_TUNE`).

use super::calibration;
use super::config::{self, AoeIni, TuneOps};
use super::environment::Environment;
use super::inputs;
use super::leaves::{Keeps, Leaves};
use super::options::{self, Effect, Kind, OptionMap};
use super::profiles_wanted::{self, Wanted};
use crate::backend::{Choice, Measuring};
use crate::bank::BankPaths;
use crate::frontend::{Gear, ModelOptions};
use crate::lower::{self, Precision, Switches, UbOff};
use crate::search::Algorithm;
use crate::sim::calibration::Source;
use crate::status::{Error, Result};
use crate::tune::gdat::{Cluster, GdatSettings, MOST_SEGMENTS};
use crate::tune::sgat::SgatSettings;
use crate::tune::{OpFilter, OpatSettings};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// Options by layer, the nearest first.
struct Layers<'a> {
    layers: [&'a OptionMap; 2],
}

impl<'a> Layers<'a> {
    /// The value that counts. An empty one is not set, and hides none: clients send such for all that they leave open.
    fn get(&self, key: &str) -> Option<&'a str> {
        self.layers.iter().filter_map(|layer| layer.get(key)).map(String::as_str).find(|value| !value.is_empty())
    }

    /// Whether an option asks for something: a flag may do so by being there.
    fn is_set(&self, key: &str) -> bool {
        let is_flag = options::find(key).is_some_and(|spec| spec.kind == Kind::Flag);
        if is_flag { self.flag(key) } else { self.get(key).is_some() }
    }

    /// One map with the value that counts for each key.
    fn merged(&self) -> OptionMap {
        let keys = self.layers.iter().flat_map(|layer| layer.keys());
        keys.filter_map(|key| Some((key.clone(), self.get(key)?.to_owned()))).collect()
    }

    fn number(&self, key: &str) -> Option<u64> {
        // The form was checked when the option was given.
        self.get(key).and_then(|v| v.parse().ok())
    }

    /// A flag is set when its key is there and does not say no: CANN's flags take no value.
    fn flag(&self, key: &str) -> bool {
        let value = self.layers.iter().find_map(|layer| layer.get(key));
        value.is_some_and(|v| options::flag(v).unwrap_or(true))
    }
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

/// Whether a value of option `output` names a directory, for the tuned model and the reports, rather than
/// the tuned model's file.
pub fn is_directory(output: &str, path: &Path) -> bool {
    output.ends_with('/') || path.is_dir()
}

/// The path that option `output` names without the suffix of a model, which both files get.
pub fn stem(output: &Path) -> PathBuf {
    match output.extension() {
        Some(suffix) if suffix == "air" || suffix == "om" => output.with_extension(""),
        _ => output.to_owned(),
    }
}

/// Where result files go, and the tuned model's files without their suffix, where `output` names them.
///
/// A directory that `output` names takes both; else the reports go where CANN puts them.
fn places(layers: &Layers<'_>, ini: &AoeIni, environment: &Environment) -> (PathBuf, Option<PathBuf>) {
    // Without the steps on the spot of `./out`, which would stand in every path that is told.
    let absolute = |path: &Path| environment.current_dir.join(path).components().collect::<PathBuf>();
    let output = layers.get("output").map(|output| (output, absolute(Path::new(output))));
    let stem = match output {
        Some((output, path)) if is_directory(output, &path) => return (path, None),
        other => other.map(|(_, path)| stem(&path)),
    };
    let chosen =
        environment.path("ASCEND_WORK_PATH").or_else(|| layers.get("work_path").map(|p| absolute(Path::new(p))));
    let chosen = chosen.or_else(|| ini.work_path.as_deref().map(absolute));
    (chosen.unwrap_or_else(|| environment.current_dir.clone()), stem)
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

/// Where a work path has the bank for records that their own bank does not take, which `TUNE_BANK_PATH` may name.
pub fn rescue_root(work_path: &Path) -> PathBuf {
    work_path.join("aoe_bank_unsaved")
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

/// The selected operators: `tune_ops_file`, else the configuration file clients send.
fn tune_ops(layers: &Layers<'_>, environment: &Environment) -> Result<TuneOps> {
    let read = |key: &str| layers.get(key).map(|p| TuneOps::read(&environment.current_dir.join(Path::new(p))));
    let config = read("aoe_config_file").or_else(|| read("ge.aoe_config_file")).transpose()?.unwrap_or_default();
    Ok(match read("tune_ops_file").transpose()? {
        Some(file) => TuneOps { tune_ops_name: file.tune_ops_name, tune_ops_type: file.tune_ops_type, ..config },
        None => config,
    })
}

/// Measurements for each operator at one level: on the simulator, which takes about a microsecond for one, so that
/// even the deepest level is a matter of seconds for a network; and where one takes a second or more.
type Trials = [u64; 2];
const TRIALS_O2: Trials = [2_000, 64];
const TRIALS_O1: Trials = [10_000, 256];
const TRIALS_DEEPER: Trials = [50_000, 1024];

/// Measurements for each operator, on the simulator and on a device.
fn trials(layers: &Layers<'_>, ops: &TuneOps) -> Trials {
    let deeper = layers.flag("Fdeeper_opat") || ops.feature.iter().any(|f| f == "deeper_opat");
    let level = layers.get("tune_optimization_level").or(ops.tune_optimization_level.as_deref());
    match level {
        _ if deeper => TRIALS_DEEPER,
        Some("O1") => TRIALS_O1,
        _ => TRIALS_O2,
    }
    .map(|trials| layers.number("max_tuning_count").unwrap_or(trials))
}

fn opat_settings(layers: &Layers<'_>, ops: &TuneOps, ini: &AoeIni, environment: &Environment) -> Result<OpatSettings> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let limit = layers.number("tuning_time_limit").map(Duration::from_secs);
    Ok(OpatSettings {
        seed: layers.number("seed").unwrap_or(0),
        algorithm: layers
            .get("algorithm")
            .or_else(|| layers.get("search_algorithm"))
            .and_then(Algorithm::named)
            .unwrap_or_default(),
        max_trials: trials(layers, ops)[0] as usize,
        parallel: match layers.number("tuning_parallel_num") {
            Some(n) => n as usize,
            None => ini.tuning_parallel_num.unwrap_or(cores),
        },
        // Who names an earlier tuning wants it to go on.
        repeat_tune: environment.flag("REPEAT_TUNE")?.unwrap_or(false) || layers.is_set("base_result"),
        filter: if ops.tune_ops_name.is_empty() && ops.tune_ops_type.is_empty() {
            OpFilter::default()
        } else {
            ops.filter()
        },
        deadline: limit.and_then(|l| Instant::now().checked_add(l)),
        pause: OpatSettings::PAUSE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_leaves_open_is_as_it_was_initialised() {
        let map = |value: &str| OptionMap::from([("ge.aoe_config_file".to_owned(), value.to_owned())]);
        for (call, global, counts) in
            [("", "g", Some("g")), ("c", "g", Some("c")), ("c", "", Some("c")), ("", "", None)]
        {
            let (call, global) = (map(call), map(global));
            let layers = Layers { layers: [&call, &global] };
            assert_eq!(layers.get("ge.aoe_config_file"), counts);
            assert_eq!(layers.merged().get("ge.aoe_config_file").map(String::as_str), counts);
        }
    }

    #[test]
    fn the_suffix_of_a_model_is_not_doubled() {
        assert_eq!(stem(Path::new("out/net.om")), Path::new("out/net"));
        assert_eq!(stem(Path::new("out/net.v2")), Path::new("out/net.v2"));
    }
}
