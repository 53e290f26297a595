//! Which operators are tuned, and how long.

use super::config::{AoeIni, TuneOps};
use super::environment::Environment;
use super::layers::Layers;
use crate::search::Algorithm;
use crate::status::Result;
use crate::tune::{OpFilter, OpatSettings};
use std::path::Path;
use std::time::{Duration, Instant};

/// Measurements for each operator at one level: on the simulator, which takes about a microsecond for one, so that
/// even the deepest level is a matter of seconds for a network; and where one takes a second or more.
type Trials = [u64; 2];
const TRIALS_O2: Trials = [2_000, 64];
const TRIALS_O1: Trials = [10_000, 256];
const TRIALS_DEEPER: Trials = [50_000, 1024];

/// Measurements for each operator, on the simulator and on a device.
pub(super) fn trials(layers: &Layers<'_>, ops: &TuneOps) -> Trials {
    let deeper = layers.flag("Fdeeper_opat") || ops.feature.iter().any(|f| f == "deeper_opat");
    let level = layers.get("tune_optimization_level").or(ops.tune_optimization_level.as_deref());
    match level {
        _ if deeper => TRIALS_DEEPER,
        Some("O1") => TRIALS_O1,
        _ => TRIALS_O2,
    }
    .map(|trials| layers.number("max_tuning_count").unwrap_or(trials))
}

/// The selected operators: `tune_ops_file`, else the configuration file clients send.
pub(super) fn tune_ops(layers: &Layers<'_>, environment: &Environment) -> Result<TuneOps> {
    let read = |key: &str| layers.get(key).map(|p| TuneOps::read(&environment.current_dir.join(Path::new(p))));
    let config = read("aoe_config_file").or_else(|| read("ge.aoe_config_file")).transpose()?.unwrap_or_default();
    Ok(match read("tune_ops_file").transpose()? {
        Some(file) => TuneOps { tune_ops_name: file.tune_ops_name, tune_ops_type: file.tune_ops_type, ..config },
        None => config,
    })
}

/// How operators are tuned.
pub(super) fn opat_settings(
    layers: &Layers<'_>,
    ops: &TuneOps,
    ini: &AoeIni,
    environment: &Environment,
) -> Result<OpatSettings> {
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
