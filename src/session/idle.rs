//! Options that are given and do nothing for a tuning, and files that are named and are not there.

use super::options::{self, Effect, NEWEST, NEWEST_IF_ANY};
use super::settings::{JobType, Settings};
use crate::spelling;
use crate::status::{Error, Result};
use std::path::Path;

/// Options of operators alone. Those of the search (`seed`, `max_tuning_count`, ...) are none: as standing orders of a
/// process (`AOE_TUNING_OPTIONS`) they go with every job.
const OF_OPERATORS: [&str; 5] =
    ["tune_ops_file", "tune_optimization_level", "Fdeeper_opat", "base_result", "ge.op_bank_path"];
/// Options of subgraphs alone.
const OF_SUBGRAPHS: [&str; 3] = ["Fnonhomo_split", "reload", "ge.mdl_bank_path"];
/// Options of the model compiler that name files.
const FILES: [&str; 8] = [
    "op_precision_mode",
    "keep_dtype",
    "modify_mixlist",
    "customize_dtypes",
    "insert_op_conf",
    "op_name_map",
    "compress_weight_conf",
    "compression_optimize_conf",
];

/// Options that name what is there already. A job reads only what counts for it, and a mistyped name says that something else
/// was meant.
const PLACES: [&str; 3] = ["base_result", "reload", "measure_program"];
/// Options of how a device measures. Which device is none of them: converters name one whatever measures.
const OF_DEVICES: [&str; 2] = ["measure_program", "measuring_timeout"];

/// Names the options that a tuning of this job will not act on. Keys of GE that CANN's clients send by themselves are
/// none that a user gave.
pub fn warn(settings: &Settings) {
    let given = |name: &&str| settings.given.get(*name).is_some_and(|value| !value.is_empty());
    let of_others: &[&str] = match settings.job {
        JobType::Sgat => &OF_OPERATORS,
        JobType::Opat => &OF_SUBGRAPHS,
        JobType::SgatOpat | JobType::Gdat => &[],
    };
    let told: Vec<&str> = of_others.iter().copied().filter(given).collect();
    if !told.is_empty() {
        log::warn!("without effect on this job type: {}", spelling::listed(&told));
    }
    let accepted = options::OPTIONS.iter().filter(|o| o.effect == Effect::Accepted && !o.name.starts_with("ge."));
    let told: Vec<&str> = accepted.map(|option| option.name).filter(given).collect();
    if !told.is_empty() {
        log::warn!("accepted for CANN's sake and without effect here: {}", spelling::listed(&told));
    }
}

/// Names those that only a model compiler or a device acts on, where the simulator measures and compiles nothing.
pub fn warn_of_simulator(settings: &Settings) {
    let given = |name: &&str| settings.given.get(*name).is_some_and(|value| !value.is_empty());
    let of_compiler = options::OPTIONS.iter().filter(|option| option.effect == Effect::Compiler);
    let told: Vec<&str> = of_compiler.map(|option| option.name).filter(given).collect();
    if !told.is_empty() {
        log::warn!("without effect on times of the simulator, which compiles nothing: {}", spelling::listed(&told));
    }
    let told: Vec<&str> = OF_DEVICES.into_iter().filter(given).collect();
    if !told.is_empty() {
        log::warn!("without effect on the simulator, which measures on no device: {}", spelling::listed(&told));
    }
}

/// Fails with [`Error::Option`] for a file of the model compiler that is not there, which a tuning should not find out at its
/// end, and for anything else that is named and is not there.
pub fn check_named(settings: &Settings, current_dir: &Path) -> Result<()> {
    let given = |name: &str| settings.given.get(name).map(String::as_str).filter(|value| !value.is_empty());
    for name in FILES {
        let value = given(name);
        // One of them takes a word as well.
        let value = value.filter(|value| name != "op_precision_mode" || value.contains(['/', '.']));
        if let Some(value) = value.filter(|value| !current_dir.join(value).is_file()) {
            return Err(Error::option(name, format!("`{value}` is not a file")));
        }
    }
    for name in PLACES {
        let value = given(name).filter(|value| name != "reload" || ![NEWEST, NEWEST_IF_ANY].contains(value));
        if let Some(value) = value.filter(|value| !current_dir.join(value).exists()) {
            return Err(Error::option(name, format!("`{value}` is not there")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_idle_or_a_file_is_an_option() {
        for name in OF_OPERATORS.iter().chain(&OF_SUBGRAPHS).chain(&FILES).chain(&PLACES).chain(&OF_DEVICES) {
            assert!(options::find(name).is_some(), "{name}");
        }
    }
}
