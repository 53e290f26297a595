//! The acceptance test of a machine with a device, with the options that it knows.

use super::environment::Environment;
use super::options::{self, OptionMap, OptionSpec, find, restrict};
use crate::backend::ascend::{self, CheckReport, Step};
use crate::backend::{Measuring, Request};
use crate::status::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Names of the options that the test knows.
pub const OPTIONS: [&str; 4] = ["device", "soc_version", "measuring_timeout", "measure_program"];

/// The options that the test knows, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter_map(|name| find(name))
}

/// Tries this machine; each step is handed to `told` when it is done. `cancel`, set from any thread, stops it.
///
/// Fails with [`crate::status::Error::Option`] for an option that it does not know or that asks for another machine
/// than this one, and with [`crate::status::Error::Environment`] for a malformed variable. One that is stopped is a report that
/// is not finished.
pub fn check(given: &OptionMap, cancel: Arc<AtomicBool>, told: &mut dyn FnMut(&Step)) -> Result<CheckReport> {
    restrict(given, &OPTIONS, "the check of a device")?;
    let get = |key: &str| given.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let environment = Environment::read();
    // The forms were checked when the options were gathered.
    let devices = get("device").and_then(|list| options::devices(list).ok()).unwrap_or_default();
    let compilers = environment.integer("TE_PARALLEL_COMPILER", 1, 32)?;
    let usual = Measuring::default();
    let measuring = Measuring {
        timeout: get("measuring_timeout").and_then(|s| s.parse().ok()).map_or(usual.timeout, Duration::from_secs),
        program: get("measure_program").map(|path| environment.current_dir.join(PathBuf::from(path))),
        parallel_compiler: compilers.map_or(usual.parallel_compiler, |n| n as u32),
        ..usual
    };
    let toolkit = environment.toolkit();
    let soc_version = get("soc_version");
    let request = Request { soc_version, devices: &devices, measuring, toolkit, cancel, ..Request::default() };
    ascend::check(&request, &environment.runtime(), told)
}
