//! ATC, CANN's offline compiler as a program: it makes a model of a graph, and leaves the JSON of each kernel.

use super::places::program;
use crate::backend::RuntimeEnv;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where an installed CANN has the program, from its root on.
const PLACES: [&str; 3] = ["bin/atc", "compiler/bin/atc", "atc/bin/atc"];
/// `--framework` of a graph in GE's IR.
const AIR: &str = "1";
/// `--op_debug_level` at which the compiler keeps the kernels and the JSON that describes each.
const KEEPS_JSON: &str = "3";

/// The program, where the installed CANN has it.
pub fn find(env: &RuntimeEnv) -> Option<PathBuf> {
    program(env, &PLACES)
}

/// A graph to be compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Build {
    /// ATC.
    #[serde(with = "crate::backend::any_path")]
    pub program: PathBuf,
    /// The .air file.
    #[serde(with = "crate::backend::any_path")]
    pub model: PathBuf,
    /// SoC name.
    pub soc: String,
    /// Where the model goes, and what the compiler says of its kernels.
    #[serde(with = "crate::backend::any_path")]
    pub folder: PathBuf,
}

impl Build {
    /// Compiles, in the environment of this process, which says where the bank lies. What the compiler prints goes where
    /// this process prints; fails with its exit status.
    pub fn run(&self) -> Result<(), String> {
        let status = Command::new(&self.program).args(self.arguments()).stdin(Stdio::null()).status();
        let status = status.map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        if status.success() { Ok(()) } else { Err(format!("{}: {status}", self.program.display())) }
    }

    fn arguments(&self) -> Vec<OsString> {
        let text = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let path = |name: &str, value: &Path| {
            let mut argument = OsString::from(format!("--{name}="));
            argument.push(value);
            argument
        };
        vec![
            text("framework", AIR),
            path("model", &self.model),
            path("output", &self.folder.join("model")),
            text("soc_version", &self.soc),
            text("op_debug_level", KEEPS_JSON),
            path("debug_dir", &self.folder),
            // A kernel that was compiled before would be taken without a look into the bank.
            text("op_compiler_cache_mode", "disable"),
        ]
    }
}
