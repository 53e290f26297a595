//! The option `backend`: which one is opened, and why.

use super::ascend::{self, Probe};
use super::simulator::Simulator;
use super::{Backend, RuntimeEnv};
use crate::soc::Soc;
use crate::status::{Error, Result};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

/// SoC that is simulated where neither an option nor a device names one.
pub const DEFAULT_SOC: &str = "Ascend910B2";

/// Value of the option `backend`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that can measure here; at present always the simulator.
    #[default]
    Auto,
    /// The built-in simulator.
    Simulator,
    /// The Ascend runtime; an error where it cannot be used.
    Ascend,
    /// A plug-in library.
    Plugin(PathBuf),
}

impl FromStr for Choice {
    type Err = Error;

    /// Fails with [`Error::Option`] for anything but the three words and a path of a library.
    fn from_str(value: &str) -> Result<Choice> {
        match value {
            "auto" => Ok(Choice::Auto),
            "simulator" => Ok(Choice::Simulator),
            "ascend" => Ok(Choice::Ascend),
            path if path.contains('/') || path.contains(".so") => Ok(Choice::Plugin(path.into())),
            other => Err(Error::option(
                "backend",
                format!("`{other}` is none of auto, simulator, ascend, or the path of a plug-in library"),
            )),
        }
    }
}

/// A backend ready to measure.
pub struct Opened {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// One line for the log and the report: what was chosen, what else was found, and why.
    pub note: String,
}

/// Opens the backend of the given choice for `soc_version`, or else for the device's SoC, or else for
/// [`DEFAULT_SOC`].
///
/// The simulator asked for by name with a `soc_version` never touches a runtime of this machine.
///
/// Fails with [`Error::Backend`] where `ascend` cannot measure, naming every path tried and every
/// symbol missing; [`Error::UnknownSoc`]; [`Error::Environment`] for a malformed `ASCEND_DEVICE_ID`, or
/// for one the machine does not have; [`Error::Unsupported`] for a plug-in.
pub fn open(choice: &Choice, soc_version: Option<&str>, env: &RuntimeEnv) -> Result<Opened> {
    let device = env.device_id.as_deref().map_or(Ok(0), parse_device_id)?;
    let soc = soc_version.map(Soc::find).transpose()?;
    match (choice, soc) {
        (Choice::Plugin(path), _) => Err(Error::Unsupported {
            what: format!("backend={}", path.display()),
            reason: "plug-in backends cannot be loaded yet; use backend=simulator".to_owned(),
        }),
        (Choice::Simulator, Some(soc)) => Ok(simulate(soc, "asked for", "soc_version")),
        (Choice::Simulator, None) => {
            let probe = ascend::probe(env);
            let (soc, origin) = default_soc(&probe)?;
            let why = probe.runtime.as_ref().map_or("asked for".to_owned(), |runtime| format!("asked for; {runtime}"));
            Ok(simulate(soc, &why, &origin))
        }
        (Choice::Ascend, _) => {
            let probe = ascend::probe(env);
            check_device(device, &probe)?;
            Err(Error::Backend { backend: "ascend".to_owned(), reason: why_not_ascend(&probe) })
        }
        (Choice::Auto, soc) => {
            let probe = ascend::probe(env);
            check_device(device, &probe)?;
            let (soc, origin) = match soc {
                Some(soc) => (soc, "soc_version".to_owned()),
                None => default_soc(&probe)?,
            };
            Ok(simulate(soc, &format!("chosen by auto: {}", what_was_found(&probe)), &origin))
        }
    }
}

fn simulate(soc: Soc, why: &str, soc_origin: &str) -> Opened {
    let note = format!("backend simulator ({why}), SoC {} ({soc_origin})", soc.name);
    Opened { backend: Box::new(Simulator::new(soc)), note }
}

/// The device's SoC where there is a device, else the default; and who named it.
fn default_soc(probe: &Probe) -> Result<(Soc, String)> {
    let Some((name, library)) = probe.device_soc() else {
        return Ok((Soc::find(DEFAULT_SOC)?, "default".to_owned()));
    };
    // Tuning for another SoC than the one in the machine would be of no use there.
    match Soc::find(name) {
        Ok(soc) => Ok((soc, format!("named by {}", library.display()))),
        Err(_) => Err(Error::UnknownSoc {
            name: name.to_owned(),
            known: format!(
                "{}; the name comes from the device through {}, choose another with soc_version",
                Soc::names().join(", "),
                library.display()
            ),
        }),
    }
}

fn what_was_found(probe: &Probe) -> String {
    let reason = if probe.has_device() { "; measuring on a device is not in this version" } else { "" };
    format!("{}{reason}", probe.summary())
}

fn why_not_ascend(probe: &Probe) -> String {
    if probe.has_device() {
        format!("{}; use backend=simulator", what_was_found(probe))
    } else if let Some(runtime) = &probe.runtime {
        format!("{runtime}; tried: {}", probe.attempts_text())
    } else {
        format!("no usable Ascend runtime; tried: {}", probe.attempts_text())
    }
}

/// The logical device in `ASCEND_DEVICE_ID`: a plain decimal number.
fn parse_device_id(value: &OsStr) -> Result<u32> {
    let text = value.to_string_lossy();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| device_error(format!("`{text}` is no device number (0, 1, ...)")))
}

/// A machine that has devices must have the one asked for.
fn check_device(device: u32, probe: &Probe) -> Result<()> {
    match probe.device_count() {
        Some(count) if count > 0 && device >= count => {
            Err(device_error(format!("device {device} does not exist, the machine has 0 to {}", count - 1)))
        }
        _ => Ok(()),
    }
}

fn device_error(reason: String) -> Error {
    Error::Environment { name: "ASCEND_DEVICE_ID".to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_takes_three_words_or_a_library_path() {
        assert_eq!("auto".parse::<Choice>().unwrap(), Choice::Auto);
        assert_eq!("simulator".parse::<Choice>().unwrap(), Choice::Simulator);
        assert_eq!("ascend".parse::<Choice>().unwrap(), Choice::Ascend);
        assert_eq!("./x.so".parse::<Choice>().unwrap(), Choice::Plugin("./x.so".into()));
        for bad in ["", "Auto", "device", "gpu"] {
            assert!(bad.parse::<Choice>().unwrap_err().to_string().contains("backend"), "{bad}");
        }
    }

    #[test]
    fn a_device_id_is_a_plain_number() {
        assert_eq!(parse_device_id(OsStr::new("7")).unwrap(), 7);
        for bad in ["", "-1", "+1", " 1", "one", "4294967296", "0x1"] {
            let env = RuntimeEnv { device_id: Some(bad.into()), ..RuntimeEnv::default() };
            let error = open(&Choice::Simulator, Some(DEFAULT_SOC), &env).err().expect(bad);
            assert!(error.to_string().contains("ASCEND_DEVICE_ID"), "{bad}: {error}");
        }
    }

    #[test]
    fn without_device_and_option_the_default_soc_is_simulated() {
        for choice in [Choice::Auto, Choice::Simulator] {
            let opened = open(&choice, None, &RuntimeEnv::default()).unwrap();
            assert_eq!(opened.backend.soc().name, DEFAULT_SOC);
            assert_eq!(opened.backend.describe().name, "simulator");
            assert!(opened.note.contains("SoC Ascend910B2 (default)"), "{}", opened.note);
        }
    }

    #[test]
    fn the_option_decides_over_the_default_soc() {
        let opened = open(&Choice::Auto, Some("ascend310p3"), &RuntimeEnv::default()).unwrap();
        assert_eq!(opened.backend.soc().name, "Ascend310P3");
        assert!(open(&Choice::Simulator, Some("Ascend1"), &RuntimeEnv::default()).is_err());
    }

    #[test]
    fn a_plug_in_is_refused_by_name() {
        let error = open(&Choice::Plugin("/x/y.so".into()), None, &RuntimeEnv::default()).err().unwrap();
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("/x/y.so"), "{error}");
    }
}
