//! What looking for a runtime came to: every place tried, and what the runtime found says of itself.

use super::codes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Result of [`super::probe`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Every library tried, in order.
    pub attempts: Vec<Attempt>,
    /// The first runtime that can be asked, if any.
    pub runtime: Option<Runtime>,
}

/// One library that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// What led to it.
    pub origin: Origin,
    /// Full path, or plain name for the system's loader.
    #[serde(with = "crate::backend::any_path")]
    pub path: PathBuf,
    /// How it went.
    pub outcome: Outcome,
}

/// Why a place was looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The process has the library loaded already.
    Process,
    /// `ASCEND_HOME_PATH`.
    AscendHomePath,
    /// `ASCEND_TOOLKIT_HOME`.
    AscendToolkitHome,
    /// A folder of `LD_LIBRARY_PATH`.
    LibraryPath,
    /// The system's loader, by plain name.
    SystemLoader,
    /// A default install place.
    InstallRoot,
}

/// How one attempt went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// There is no such file.
    Absent,
    /// The file is there, or the loader was asked, and it could not be loaded; the loader's message.
    Refused(String),
    /// Loaded, but it lacks these functions, without which it cannot be asked anything.
    Incomplete(Vec<Cow<'static, str>>),
    /// The process that was to ask it came to no answer; why.
    Silent(String),
    /// Loaded and used.
    Loaded,
}

/// A runtime that was loaded and asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// The library, as it was found: a path, or a plain name that the system's loader knows.
    #[serde(with = "crate::backend::any_path")]
    pub path: PathBuf,
    /// The file that it was loaded from; where the system does not tell, as [`Runtime::path`].
    #[serde(with = "crate::backend::any_path")]
    pub file: PathBuf,
    /// ACL version (major, minor, patch), where the runtime tells it.
    pub version: Option<(i32, i32, i32)>,
    /// Number of devices.
    pub devices: Result<u32, CallFailure>,
    /// SoC name of the devices.
    pub soc_name: Result<String, CallFailure>,
    /// Functions that measuring needs and the runtime lacks.
    pub missing: Vec<Cow<'static, str>>,
    /// Failure to undo the initialisation that asking needed.
    pub cleanup: Option<CallFailure>,
}

/// A runtime function that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    /// Name of the function.
    pub function: Cow<'static, str>,
    /// Its `aclError`; `None` where the function returned no value instead.
    pub code: Option<i32>,
    /// The runtime's own message; empty where it gives none.
    pub message: String,
}

impl Probe {
    /// Whether there is nothing that could be a runtime.
    pub fn is_absent(&self) -> bool {
        self.runtime.is_none() && self.attempts.iter().all(Attempt::is_absent)
    }

    /// Number of devices, where a runtime could be asked for it.
    pub fn device_count(&self) -> Option<u32> {
        self.runtime.as_ref()?.devices.as_ref().ok().copied()
    }

    /// Whether there is a device.
    pub fn has_device(&self) -> bool {
        self.device_count().is_some_and(|count| count > 0)
    }

    /// SoC name of the device, and the library that told it; `None` without a device, because a
    /// runtime without one answers with a guess.
    pub fn device_soc(&self) -> Option<(&str, &Path)> {
        let runtime = self.runtime.as_ref().filter(|_| self.has_device())?;
        Some((runtime.soc_name.as_ref().ok()?, &runtime.path))
    }

    /// What was found, in one line.
    pub fn summary(&self) -> String {
        match &self.runtime {
            Some(runtime) => runtime.to_string(),
            None => match self.present() {
                found if found.is_empty() => format!("no Ascend runtime in {} places", self.attempts.len()),
                found => format!("no usable Ascend runtime, {}", found.join("; ")),
            },
        }
    }

    /// Every path tried with what came of it, in one line.
    pub fn attempts_text(&self) -> String {
        let mut parts = self.present();
        let missing: Vec<String> = self.attempts.iter().filter(|a| a.is_absent()).map(Attempt::place).collect();
        if !missing.is_empty() {
            parts.push(format!("no such file: {}", missing.join(", ")));
        }
        if parts.is_empty() { "no place to look into".to_owned() } else { parts.join("; ") }
    }

    /// The attempts that met a file, one text each.
    fn present(&self) -> Vec<String> {
        self.attempts.iter().filter(|a| !a.is_absent()).map(Attempt::to_string).collect()
    }
}

impl Attempt {
    /// Whether there was nothing to load.
    pub fn is_absent(&self) -> bool {
        self.outcome == Outcome::Absent
    }

    fn place(&self) -> String {
        format!("{} ({})", self.path.display(), self.origin)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Absent => f.write_str("no such file"),
            Outcome::Refused(message) | Outcome::Silent(message) => f.write_str(message),
            Outcome::Incomplete(symbols) => write!(f, "lacks {}", symbols.join(", ")),
            Outcome::Loaded => f.write_str("loaded"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Process => "already loaded by this process",
            Origin::AscendHomePath => "ASCEND_HOME_PATH",
            Origin::AscendToolkitHome => "ASCEND_TOOLKIT_HOME",
            Origin::LibraryPath => "LD_LIBRARY_PATH",
            Origin::SystemLoader => "system loader",
            Origin::InstallRoot => "default install place",
        })
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ascend runtime ")?;
        if let Some((major, minor, patch)) = self.version {
            write!(f, "{major}.{minor}.{patch} ")?;
        }
        write!(f, "at {}: ", self.path.display())?;
        match (&self.devices, &self.soc_name) {
            (Err(failure), _) => write!(f, "cannot be used, {failure}")?,
            (Ok(0), _) => f.write_str("no device")?,
            (Ok(count), Ok(soc)) => write!(f, "{count} device(s), {soc}")?,
            (Ok(count), Err(failure)) => write!(f, "{count} device(s) of unknown SoC, {failure}")?,
        }
        if !self.missing.is_empty() {
            write!(f, ", lacks {}", self.missing.join(", "))?;
        }
        self.cleanup.as_ref().map_or(Ok(()), |failure| write!(f, ", {failure}"))
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} returned {code}", self.function)?,
            None => write!(f, "{} returned nothing", self.function)?,
        }
        if let Some(meaning) = self.code.and_then(codes::meaning) {
            write!(f, " ({meaning})")?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}
