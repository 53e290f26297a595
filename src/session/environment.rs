//! The environment variables that CANN's tuner reads, taken once at initialisation.

use super::options;
use crate::backend::RuntimeEnv;
use crate::bank::{BankEnvironment, Toolkit};
use crate::status::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A snapshot of the variables this library reads. Nothing else in the crate reads the environment.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: Vec<(&'static str, OsString)>,
    /// The current directory.
    pub current_dir: PathBuf,
}

/// Every variable that is read.
pub const VARIABLES: &[&str] = &[
    "AOE_CALIBRATION",
    "AOE_MODE",
    "ASCEND_AICPU_PATH",
    "ASCEND_CACHE_PATH",
    "ASCEND_DEVICE_ID",
    "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_WORK_PATH",
    "HOME",
    "LD_LIBRARY_PATH",
    "PROFILING_MODE",
    "PROFILING_OPTIONS",
    "REPEAT_TUNE",
    "TE_PARALLEL_COMPILER",
    "TMPDIR",
    "TUNE_BANK_PATH",
];

impl Environment {
    /// Reads the variables of this process. Where the current directory was deleted, relative paths stay
    /// relative; using one then fails, using absolute ones does not.
    pub fn read() -> Environment {
        let current_dir = std::env::current_dir().unwrap_or_default();
        let variables = VARIABLES.iter().filter_map(|&name| Some((name, std::env::var_os(name)?))).collect();
        Environment { variables, current_dir }
    }

    /// An environment with just these variables, for tests.
    #[cfg(test)]
    pub fn from_variables(variables: &[(&'static str, &str)], current_dir: impl Into<PathBuf>) -> Environment {
        let variables = variables.iter().map(|&(name, value)| (name, value.into())).collect();
        Environment { variables, current_dir: current_dir.into() }
    }

    /// The variable's value; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        debug_assert!(VARIABLES.contains(&name), "{name} is missing from VARIABLES");
        self.variables.iter().find(|(n, v)| *n == name && !v.is_empty()).map(|(_, v)| v.as_os_str())
    }

    /// The variable as a path, made absolute.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(|value| self.current_dir.join(value))
    }

    /// What places the banks; the option's path comes from the caller.
    pub fn bank_places(&self, op_bank_path: Option<PathBuf>) -> BankEnvironment {
        BankEnvironment {
            tune_bank_path: self.path("TUNE_BANK_PATH"),
            op_bank_path,
            ascend_cache_path: self.path("ASCEND_CACHE_PATH"),
            home: self.path("HOME"),
            toolkit: self.toolkit(),
        }
    }

    /// Where CANN is installed, as far as the variables tell.
    pub fn toolkit(&self) -> Toolkit {
        let home = self.path("ASCEND_HOME_PATH").or_else(|| self.path("ASCEND_TOOLKIT_HOME"));
        Toolkit { opp: self.path("ASCEND_OPP_PATH"), home }
    }

    /// Where a runtime and a compiler may be.
    pub fn runtime(&self) -> RuntimeEnv {
        RuntimeEnv::read(|name| self.get(name).map(ToOwned::to_owned))
    }

    /// The variable as a whole number in a range.
    pub fn integer(&self, name: &str, low: u64, high: u64) -> Result<Option<u64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.to_str().and_then(|v| v.trim().parse().ok()).filter(|v| (low..=high).contains(v));
        let reason = || format!("`{}` is not a whole number from {low} to {high}", value.to_string_lossy());
        number.map(Some).ok_or_else(|| Error::Environment { name: name.to_owned(), reason: reason() })
    }

    /// The variable as `True` or `False`.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let flag = value.to_str().and_then(options::flag);
        let reason = || format!("`{}` is neither True nor False", value.to_string_lossy());
        flag.map(Some).ok_or_else(|| Error::Environment { name: name.to_owned(), reason: reason() })
    }
}

#[cfg(test)]
mod tests {
    use super::Environment;

    #[test]
    fn malformed_variables_are_errors_that_name_them() {
        let env = Environment::from_variables(&[("REPEAT_TUNE", "maybe"), ("ASCEND_DEVICE_ID", "-1")], "/w");
        assert!(env.flag("REPEAT_TUNE").unwrap_err().to_string().contains("REPEAT_TUNE"));
        assert!(env.integer("ASCEND_DEVICE_ID", 0, 9).unwrap_err().to_string().contains("-1"));
    }

    #[test]
    fn relative_paths_are_taken_from_the_current_directory_and_empty_is_unset() {
        let env = Environment::from_variables(&[("ASCEND_WORK_PATH", "out"), ("TUNE_BANK_PATH", "")], "/w");
        assert_eq!(env.path("ASCEND_WORK_PATH").unwrap(), std::path::Path::new("/w/out"));
        assert_eq!(env.path("TUNE_BANK_PATH"), None);
    }
}
