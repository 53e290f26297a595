//! The options of a simulation.

use super::options::{OptionMap, OptionSpec, find, restrict};
use crate::simulate::Parts;
use crate::status::Result;

/// Names of the options that a simulation knows.
pub const OPTIONS: [&str; 3] = ["soc_version", "soc_set", "aicore_num"];

/// The options that a simulation knows, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter_map(|name| find(name))
}

/// The SoC that these options ask for. GE's own keys have no effect here either.
///
/// Fails with [`crate::status::Error::Option`] for an option of tuning, which would have no effect, and as [`Parts::new`] does.
pub fn parts(options: &OptionMap) -> Result<Parts> {
    let get = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    restrict(options, &OPTIONS, "a simulation")?;
    let changes = get("soc_set").unwrap_or_default().split(';').filter_map(|a| a.split_once('='));
    let changes = changes.map(|(field, value)| (field.trim().to_owned(), value.trim().to_owned())).collect();
    // The form was checked when the options were gathered.
    let cores = get("aicore_num").and_then(|n| n.parse().ok());
    Parts::new(get("soc_version"), changes, cores)
}

#[cfg(test)]
mod tests {
    use super::super::options::gather;
    use super::*;

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
