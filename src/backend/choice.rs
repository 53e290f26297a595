//! The option `backend`: which one is opened, and why.

use super::RuntimeEnv;
use super::ascend::Probe;
use super::opening::open_devices;
use super::plugin::{self, Plugin, PluginBackend};
use super::request::{Choice, Opened, Request, not_a_backend};
use super::simulator::Simulator;
use crate::soc::Soc;
use crate::status::{Error, Result};
use std::ffi::OsStr;
use std::sync::Arc;

/// SoC that is simulated where neither an option nor a device names one.
pub const DEFAULT_SOC: &str = "Ascend910B2";

/// Opens a backend for `soc_version`, or else for the device's SoC, or else for [`DEFAULT_SOC`].
///
/// The simulator asked for by name with a `soc_version` never touches a runtime of this machine.
///
/// Fails with [`Error::Backend`] where `ascend` cannot measure, naming every path tried and every
/// symbol missing, or the device's SoC where it is not known; [`Error::UnknownSoc`] for `soc_version`,
/// and whatever [`Soc::load`] and [`Soc::set`] fail with;
/// [`Error::Environment`] for a malformed `ASCEND_DEVICE_ID`, or, like [`Error::Option`] for `device`,
/// for a device that the machine does not have; [`Error::Backend`] too for a plug-in that cannot be used.
pub fn open(request: &Request<'_>, env: &RuntimeEnv) -> Result<Opened> {
    let wanted = Wanted::of(request, env)?;
    match &request.choice {
        Choice::Plugin(path) => return open_plugin(plugin::loaded(path)?, &path.display().to_string(), request),
        Choice::Registered(name) => {
            let plugin = plugin::registered(name).ok_or_else(|| Error::option("backend", not_a_backend(name)))?;
            return open_plugin(plugin, "registered", request);
        }
        Choice::Auto | Choice::Simulator | Choice::Ascend => {}
    }
    let named = request.soc_version.map(Soc::named).transpose()?;
    match (&request.choice, named) {
        (Choice::Simulator, Some(soc)) => simulator(request, "asked for", soc, "soc_version"),
        (Choice::Simulator, None) => {
            let probe = asked(request, env)?;
            let (soc, origin) = default_soc(&probe)?;
            let why =
                if probe.is_absent() { "asked for".to_owned() } else { format!("asked for; {}", probe.summary()) };
            simulator(request, &why, soc, &origin)
        }
        (Choice::Ascend, _) => {
            let probe = asked(request, env)?;
            wanted.check(&probe)?;
            open_devices(request, &wanted.devices, &probe, env, false)
        }
        (_, named) => automatic(request, &wanted, named, env),
    }
}

/// What this machine has.
fn asked(request: &Request<'_>, env: &RuntimeEnv) -> Result<Probe> {
    request.answer.or_ask(env, &request.measuring, &request.cancel)
}

/// The devices where they can measure, else the simulator.
fn automatic(request: &Request<'_>, wanted: &Wanted, named: Option<Soc>, env: &RuntimeEnv) -> Result<Opened> {
    let probe = asked(request, env)?;
    wanted.check(&probe)?;
    let why = match open_devices(request, &wanted.devices, &probe, env, true) {
        Ok(opened) => return Ok(opened),
        Err(Error::Cancelled) => return Err(Error::Cancelled),
        Err(error) if probe.has_device() => {
            format!("chosen by auto: {}; not measured there: {error}", probe.summary())
        }
        Err(_) => format!("chosen by auto: {}", probe.summary()),
    };
    let (soc, origin) = named.map_or_else(|| default_soc(&probe), |soc| Ok((soc, "soc_version".to_owned())))?;
    simulator(request, &why, soc, &origin)
}

/// The simulator of a SoC, changed as asked; `origin` says who named it.
fn simulator(request: &Request<'_>, why: &str, mut soc: Soc, origin: &str) -> Result<Opened> {
    let changed = change(&mut soc, request)?;
    let note = format!("backend simulator ({why}), SoC {} ({origin}{changed})", soc.name);
    Ok(Opened { backend: Box::new(Simulator::new(soc)), note })
}

/// Opens a plug-in for `soc_version`, or else for the part that it says it measures.
fn open_plugin(plugin: Arc<Plugin>, from: &str, request: &Request<'_>) -> Result<Opened> {
    let named = request.soc_version.map(Soc::named).transpose()?;
    let origin = if named.is_some() { "soc_version" } else { "the plug-in's" };
    let mut soc = named.unwrap_or_else(|| plugin.soc().clone());
    let changed = change(&mut soc, request)?;
    let note = format!("backend {} ({from}), SoC {} ({origin}{changed})", plugin.name(), soc.name);
    Ok(Opened { backend: Box::new(PluginBackend::new(plugin, soc)), note })
}

/// Changes a SoC as asked, and says so for the note.
fn change(soc: &mut Soc, request: &Request<'_>) -> Result<String> {
    for (field, value) in request.soc_set {
        soc.set(field, value)?;
    }
    if let Some(cores) = request.aicore_num {
        soc.limit_cores(cores)?;
    }
    request.calibration.correct(soc)?;
    let mut said = if request.soc_set.is_empty() { "" } else { ", changed by soc_set" }.to_owned();
    if let Some(corrections) = &soc.corrections {
        said.push_str(", times corrected by ");
        said.push_str(&corrections.file.display().to_string());
    }
    Ok(said)
}

/// The device's SoC where there is a device that is known, else the default; and who named it.
fn default_soc(probe: &Probe) -> Result<(Soc, String)> {
    let default = || Soc::find(DEFAULT_SOC);
    let Some((name, library)) = probe.device_soc() else { return Ok((default()?, "default".to_owned())) };
    // Tuning for another SoC than the one in the machine would be of no use there.
    match Soc::find(name) {
        Ok(soc) => Ok((soc, format!("named by {}", library.display()))),
        Err(error) => {
            log::warn!(
                "{error} (so the device calls itself, by {}): {DEFAULT_SOC} is simulated, name another SoC with \
                 soc_version",
                library.display()
            );
            Ok((default()?, format!("default, for the device's `{name}` is unknown")))
        }
    }
}

/// The logical devices that are asked for, of those that the machine has.
///
/// Fails with [`Error::Environment`] or [`Error::Option`] for one that is no number or that it does not have.
pub fn wanted_devices(request: &Request<'_>, env: &RuntimeEnv, probe: &Probe) -> Result<Vec<u32>> {
    let wanted = Wanted::of(request, env)?;
    wanted.check(probe)?;
    Ok(wanted.devices)
}

/// The logical devices asked for, and by which means.
struct Wanted {
    devices: Vec<u32>,
    by_option: bool,
}

impl Wanted {
    fn of(request: &Request<'_>, env: &RuntimeEnv) -> Result<Wanted> {
        let from_variable = env.device_id.as_deref().map_or(Ok(0), parse_device_id)?;
        let by_option = !request.devices.is_empty();
        let devices = if by_option { request.devices.to_vec() } else { vec![from_variable] };
        Ok(Wanted { devices, by_option })
    }

    /// A machine that has devices must have those asked for.
    fn check(&self, probe: &Probe) -> Result<()> {
        let Some(count) = probe.device_count().filter(|&count| count > 0) else { return Ok(()) };
        let Some(id) = self.devices.iter().find(|&&id| id >= count) else { return Ok(()) };
        let reason = format!("device {id} does not exist, the machine has 0 to {}", count - 1);
        Err(if self.by_option { Error::option("device", reason) } else { variable_error(reason) })
    }
}

/// The logical device in `ASCEND_DEVICE_ID`: a plain decimal number.
fn parse_device_id(value: &OsStr) -> Result<u32> {
    let text = value.to_string_lossy();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| variable_error(format!("`{text}` is no device number (0, 1, ...)")))
}

fn variable_error(reason: String) -> Error {
    Error::Environment { name: "ASCEND_DEVICE_ID".to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_simulator(request: &Request<'_>) -> Result<Opened> {
        open(&Request { choice: Choice::Simulator, ..request.clone() }, &RuntimeEnv::default())
    }

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
            let error = open(&Request::default(), &env).err().expect(bad);
            assert!(error.to_string().contains("ASCEND_DEVICE_ID"), "{bad}: {error}");
        }
    }

    #[test]
    fn without_device_and_option_the_default_soc_is_simulated() {
        for choice in [Choice::Auto, Choice::Simulator] {
            let opened = open(&Request { choice, ..Request::default() }, &RuntimeEnv::default()).unwrap();
            assert_eq!(opened.backend.soc().name, DEFAULT_SOC);
            assert_eq!(opened.backend.describe().name, "simulator");
            assert!(opened.note.contains("SoC Ascend910B2 (default)"), "{}", opened.note);
        }
    }

    #[test]
    fn the_option_decides_over_the_default_soc() {
        let named = |name| open_simulator(&Request { soc_version: Some(name), ..Request::default() });
        assert_eq!(named("ascend310p3").unwrap().backend.soc().name, "Ascend310P3");
        assert!(matches!(named("Ascend1").err(), Some(Error::UnknownSoc { .. })));
        assert!(matches!(named("/nowhere/soc.json").err(), Some(Error::File { .. })));
    }

    #[test]
    fn fields_of_the_soc_can_be_changed() {
        let set = [("cube_freq_mhz".to_owned(), "1500".to_owned())];
        let opened = open_simulator(&Request { soc_set: &set, ..Request::default() }).unwrap();
        assert!((opened.backend.soc().cube_freq_mhz - 1500.0).abs() < f64::EPSILON);
        assert!(opened.note.contains("changed by soc_set"), "{}", opened.note);
        let set = [("colour".to_owned(), "1".to_owned())];
        assert!(open_simulator(&Request { soc_set: &set, ..Request::default() }).is_err());
    }

    #[test]
    fn a_plug_in_that_cannot_be_loaded_is_an_error_by_its_path() {
        let request = Request { choice: Choice::Plugin("/x/y.so".into()), ..Request::default() };
        let error = open(&request, &RuntimeEnv::default()).err().unwrap();
        assert!(matches!(error, Error::Backend { .. }) && error.to_string().contains("/x/y.so"), "{error}");
    }

    #[test]
    fn a_word_that_is_no_backend_is_told_what_there_is() {
        let error = "gpu".parse::<Choice>().unwrap_err().to_string();
        assert!(["`gpu`", "auto", "simulator", "ascend"].iter().all(|word| error.contains(word)), "{error}");
    }
}
