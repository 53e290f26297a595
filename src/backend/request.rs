//! What is asked of a backend, and what answers.

use super::Backend;
use super::ascend::KeptAnswer;
use super::plugin;
use crate::bank::Toolkit;
use crate::sim::calibration::Source;
use crate::status::{Error, Result};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Value of the option `backend`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// The devices of this machine for what they can measure, the simulator for everything else.
    #[default]
    Auto,
    /// The built-in simulator.
    Simulator,
    /// The devices of this machine and nothing else; an error where they cannot be used.
    Ascend,
    /// A plug-in library.
    Plugin(PathBuf),
    /// A backend that the program has registered, by its name.
    Registered(String),
}

impl FromStr for Choice {
    type Err = Error;

    /// Fails with [`Error::Option`] for anything but the three words, the name of a registered backend, and a path
    /// of a library.
    fn from_str(value: &str) -> Result<Choice> {
        match value {
            "auto" => Ok(Choice::Auto),
            "simulator" => Ok(Choice::Simulator),
            "ascend" => Ok(Choice::Ascend),
            path if path.contains('/') || path.contains(".so") => Ok(Choice::Plugin(path.into())),
            name if plugin::is_registered(name) => Ok(Choice::Registered(name.to_owned())),
            other => Err(Error::option("backend", not_a_backend(other))),
        }
    }
}

pub(super) fn not_a_backend(name: &str) -> String {
    let mut names: Vec<_> = ["auto", "simulator", "ascend"].map(str::to_owned).into();
    names.extend(plugin::registered_names());
    let meant = crate::spelling::meant(name, names.iter().map(String::as_str));
    format!("`{name}` is none of {}, and no path of a plug-in library{meant}", names.join(", "))
}

/// What is asked of [`open`](super::open); the default asks for nothing in particular.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// Option `backend`.
    pub choice: Choice,
    /// Option `soc_version`: a known name, or the path of a description (see [`Soc::load`](crate::soc::Soc::load)).
    pub soc_version: Option<&'a str>,
    /// Option `soc_set`: fields to change in the SoC that was found, by name.
    pub soc_set: &'a [(String, String)],
    /// Option `aicore_num`: AI Cores to use, not more than the SoC has.
    pub aicore_num: Option<u32>,
    /// What corrects predicted times.
    pub calibration: Source,
    /// Option `device`, logical devices; decides over `ASCEND_DEVICE_ID`. Empty where it was not given.
    pub devices: &'a [u32],
    /// How a device measures; the simulator needs none of it.
    pub measuring: Measuring,
    /// What the runtime answered earlier in this life of the library.
    pub answer: Arc<KeptAnswer>,
    /// The installed CANN, whose own banks tell how many cores it counts.
    pub toolkit: Toolkit,
    /// Set from any thread to stop: no measurement is waited for any longer.
    pub cancel: Arc<AtomicBool>,
}

/// How a device measures one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measuring {
    /// Runs averaged (`RUN_LOOP` of `aoe.ini`).
    pub run_loop: u32,
    /// Compile processes at a time (`TE_PARALLEL_COMPILER`).
    pub parallel_compiler: u32,
    /// Time that one candidate may take to get ready, and then to be measured.
    pub timeout: Duration,
    /// The program that measures, where it is not beside the library.
    pub program: Option<PathBuf>,
}

impl Default for Measuring {
    /// CANN's defaults, and five minutes.
    fn default() -> Self {
        Measuring { run_loop: 10, parallel_compiler: 8, timeout: Duration::from_secs(300), program: None }
    }
}

/// A backend ready to measure.
pub struct Opened {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// One line for the log and the report: what was chosen, what else was found, and why.
    pub note: String,
}
