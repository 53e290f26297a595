//! What the tuning process and a measuring process tell each other: a job in a file, its answer in another.

use super::atc::Build;
use super::codes;
use super::operator::Operator;
use super::report::{CallFailure, Probe};
use super::timing::{Times, Timing};
use crate::backend::RuntimeEnv;
use crate::output_file::private;
use crate::status::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whoever reads a job must be of the version that wrote it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a measuring process is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// [`VERSION`] of the writer.
    pub version: String,
    /// What to do.
    pub work: Work,
    /// Where the answer goes.
    #[serde(with = "crate::backend::any_path")]
    pub answer: PathBuf,
}

/// What a job is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Look for a runtime in this environment, and ask it what it is.
    Probe(RuntimeEnv),
    /// Have CANN's offline compiler make a model of a graph, without a device.
    Build(Box<Build>),
    /// Do something on a device.
    OnDevice(Box<OnDevice>),
}

/// Something to do on a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnDevice {
    /// The runtime's library: a path, or a plain name for the system's loader.
    #[serde(with = "crate::backend::any_path")]
    pub runtime: PathBuf,
    /// Logical device.
    pub device: u32,
    /// Milliseconds that the device may take for what it is given at a time.
    pub device_timeout_ms: i32,
    /// What to do there.
    pub task: Task,
}

/// What to do on a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Say what it is.
    Describe,
    /// Have an operator compiled in the environment of the process, which says where its bank lies.
    Compile {
        /// The operator.
        operator: Operator,
        /// Where the compiler leaves what it says of the kernel.
        #[serde(with = "crate::backend::any_path")]
        folder: PathBuf,
    },
    /// Run an operator in the environment of the process, which says where its bank lies.
    Measure {
        /// The operator.
        operator: Operator,
        /// How often.
        timing: Timing,
    },
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What looking for a runtime came to.
    Probed(Box<Probe>),
    /// What the device is.
    Described(Described),
    /// The operator, or the graph, is compiled.
    Compiled,
    /// The operator's times.
    Timed(Times),
    /// It could not be done.
    Failed {
        /// Whose fault it is.
        blame: Blame,
        /// Function, code and meaning, or what else went wrong.
        reason: String,
    },
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The candidate's: others may do better.
    Candidate,
    /// The machine's, and trying again will not help.
    Machine,
    /// The device's, before the operator was met: it may be recovering from an earlier fault.
    Device,
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// SoC name.
    pub soc_name: String,
    /// AI Cores, where the runtime tells.
    pub ai_cores: Option<u32>,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// What of [`ACLNN`](super::ACLNN) the installed CANN lacks, in words; `None` where nothing.
    pub lacking: Option<String>,
}

impl Answer {
    /// The answer to a call that failed; `before` says whether the operator was not met yet.
    pub fn failure(failure: &CallFailure, before: bool) -> Answer {
        let blame = match failure.code {
            Some(code) if codes::is_machine(code) => Blame::Machine,
            Some(code) if before && !codes::is_memory(code) => Blame::Device,
            None if before => Blame::Device,
            _ => Blame::Candidate,
        };
        Answer::Failed { blame, reason: failure.to_string() }
    }

    /// The answer where the machine lacks something.
    pub fn unusable(reason: impl Into<String>) -> Answer {
        Answer::Failed { blame: Blame::Machine, reason: reason.into() }
    }
}

/// Most bytes of a job or an answer; a job of a large operator has some thousand.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a file of JSON that nobody but this user, or root, can have written: a job names libraries that are loaded.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = private::read(path, MOST_BYTES).map_err(|e| Error::file("read", path, e))?;
    serde_json::from_slice(&text).map_err(|e| Error::file("read", path, e))
}

/// Writes a file of JSON; whoever reads it finds all of it or none.
pub fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::file("write", path, e);
    let text = serde_json::to_vec(value).map_err(|e| failed(&e))?;
    let unfinished = path.with_extension("tmp");
    private::create(&unfinished).and_then(|mut file| file.write_all(&text)).map_err(|e| failed(&e))?;
    std::fs::rename(&unfinished, path).map_err(|e| failed(&e))
}
