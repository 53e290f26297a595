//! The options of a simulation.

use super::calibration;
use super::environment::Environment;
use super::options::{OptionMap, OptionSpec, find, restrict};
use crate::simulate::Parts;
use crate::soc::Soc;
use crate::status::Result;

/// Names of the options that say which part counts.
pub const OPTIONS: [&str; 3] = ["soc_version", "soc_set", "aicore_num"];
/// Names of those that say what times are asked for: of which part, and corrected by what.
pub const PRICING: [&str; 4] = ["soc_version", "soc_set", "aicore_num", "calibration"];

/// The options that say which part counts, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter_map(|name| find(name))
}

/// The options of a simulation, from the one table.
pub fn pricing_options() -> impl Iterator<Item = &'static OptionSpec> {
    PRICING.iter().filter_map(|name| find(name))
}

/// The SoC that these options ask for. GE's own keys have no effect here either.
///
/// Fails with [`crate::status::Error::Option`] for an option of tuning, which would have no effect, and as [`Parts::new`] does.
pub fn parts(options: &OptionMap) -> Result<Parts> {
    restrict(options, &OPTIONS, "this call")?;
    named(options)
}

/// The same, with the calibration that option or environment names, or that lies beside the bank.
///
/// Fails as [`parts`] and [`calibration::source`] do, and where the calibration is of another part.
pub fn pricing(options: &OptionMap, environment: &Environment) -> Result<Parts> {
    restrict(options, &PRICING, "a simulation")?;
    let option = options.get("calibration").map(String::as_str);
    named(options)?.calibrated(calibration::source(option, environment, None)?)
}

/// The one part whose times these options ask for. Options of other kinds are left aside.
///
/// Fails as [`pricing`] does.
pub fn priced_part(options: &OptionMap, environment: &Environment) -> Result<Soc> {
    let own = options.iter().filter(|(key, _)| PRICING.contains(&key.as_str()));
    let own: OptionMap = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(pricing(&own, environment)?.of(None)?.0.clone())
}

/// The one SoC that these options ask for, and what is to be said where they name none. Fails as [`parts`] does.
pub fn part(options: &OptionMap) -> Result<(Soc, Option<&'static str>)> {
    let mut parts = parts(options)?;
    let (soc, note) = parts.of(None)?;
    Ok((soc.clone(), note))
}

fn named(options: &OptionMap) -> Result<Parts> {
    let get = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let changes = get("soc_set").unwrap_or_default().split(';').filter_map(|a| a.split_once('='));
    let changes = changes.map(|(field, value)| (field.trim().to_owned(), value.trim().to_owned())).collect();
    // The form was checked when the options were gathered.
    let cores = get("aicore_num").and_then(|n| n.parse().ok());
    Parts::new(get("soc_version"), changes, cores)
}

#[cfg(test)]
mod tests {
    use super::super::options::gather;
    use super::super::settings::Settings;
    use super::*;

    #[test]
    fn the_calibration_of_the_option_counts_before_that_of_the_environment_for_prices_and_tunings() {
        let environment = Environment::from_variables(&[("AOE_CALIBRATION", "env.json")], "/nowhere");
        let error = |pairs: &[(&str, &str)]| {
            let options = gather(pairs.iter().copied()).unwrap();
            pricing(&options, &environment).unwrap_err().to_string()
        };
        assert!(error(&[]).contains("/nowhere/env.json"));
        assert!(error(&[("calibration", "")]).contains("/nowhere/env.json"));
        assert!(error(&[("calibration", "own.json")]).contains("/nowhere/own.json"));
        assert!(parts(&gather([("calibration", "own.json")]).unwrap()).is_err());
        pricing(&OptionMap::new(), &Environment::default()).unwrap();
        let tuning = gather([("calibration", "own.json"), ("job_type", "2")]).unwrap();
        let error = Settings::resolve(&OptionMap::new(), &tuning, &environment).unwrap_err().to_string();
        assert!(error.contains("/nowhere/own.json"), "{error}");
    }

    #[test]
    fn options_of_tuning_are_refused_and_those_of_the_soc_count() {
        let parts_of = |pairs: &[(&str, &str)]| gather(pairs.iter().copied()).and_then(|map| parts(&map));
        for pairs in [
            &[("job_type", "2")][..],
            &[("soc_version", "Ascend910B9")],
            &[("soc_version", "Ascend910B2"), ("soc_set", "cube_freq=1")],
            &[("soc_version", "Ascend910B2"), ("aicore_num", "25")],
        ] {
            assert!(parts_of(pairs).is_err(), "{pairs:?}");
        }
        parts_of(&[("job_type", ""), ("ge.exec.x", "1"), ("soc_set", "cube_freq_mhz=1; l2_rate = 2")]).unwrap();
    }
}
