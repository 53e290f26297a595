//! `--shard=I/N`: this machine's part of the models to tune.

use crate::console::Console;
use crate::settings::Settings;
use aoe::session::kernels::{Launched, options};
use aoe::session::options::OptionMap;
use aoe::shard::Shard;
use aoe::status::{Error, Result};
use std::path::{Path, PathBuf};

/// The models that this part takes, in their order; all of them where the options name no part.
///
/// Fails with [`Error::Option`] for a part that is none.
pub fn of(settings: &Settings, models: &[PathBuf], console: &Console) -> Result<Vec<PathBuf>> {
    let Some(text) = settings.get("shard") else { return Ok(models.to_vec()) };
    let shard = Shard::read(text)?;
    let efforts: Vec<u64> = models.iter().map(|model| effort(model, settings)).collect();
    let takes = shard.takes(&efforts);
    let mine: Vec<PathBuf> = models.iter().zip(&takes).filter(|(_, takes)| **takes).map(|(m, _)| m.clone()).collect();
    let share = |part: u64| 100.0 * part as f64 / efforts.iter().sum::<u64>().max(1) as f64;
    let part = efforts.iter().zip(&takes).filter(|(_, takes)| **takes).map(|(effort, _)| effort).sum();
    let (some, all) = (mine.len(), models.len());
    console
        .notice("INFO", &format!("shard {shard}: {some} of {all} models, {:.0} % of the expected time", share(part)));
    Ok(mine)
}

/// What tuning a model is expected to take. A model that cannot be read takes no time: whoever has it in its part says so.
fn effort(model: &Path, settings: &Settings) -> u64 {
    let given: OptionMap =
        options().filter_map(|spec| Some((spec.name.to_owned(), settings.get(spec.name)?.to_owned()))).collect();
    Launched::of(model, &given).map_or(1, |launched| launched.effort())
}

/// Refuses a part of what is no list.
pub fn check(settings: &Settings) -> Result<()> {
    match settings.get("shard") {
        Some(_) if settings.get("model_path").is_none() => {
            let reason = "--shard cuts a list of models: give it with --model_path".to_owned();
            Err(Error::CommandLine { reason })
        }
        _ => Ok(()),
    }
}
