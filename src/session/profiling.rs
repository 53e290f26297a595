//! The profiles of a tuning call: who asks for them, where they go, and writing them.

use super::environment::Environment;
use super::settings::Settings;
use crate::output_file::{Publication, check_directory};
use crate::profile::{self, Folder, Form, Options, Timed};
use crate::status::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Launches in one run above which profiles that nobody asked for are left out: so many have about 20 MB each, and take
/// a second.
const MOST_UNASKED: u64 = 20_000;

/// Profiles of one tuning, which has not ended yet.
pub struct Profiling {
    options: Options,
    /// Whether the caller asked for them.
    is_asked: bool,
    /// Before and after.
    places: [PathBuf; 2],
}

/// The profiles that a tuning writes.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What they hold.
    pub options: Options,
    /// Whether the caller asked for them; else they belong to the results folder, and the tuning does without them
    /// where they cannot be made.
    pub is_asked: bool,
}

/// What is profiled: options first, then the environment, where only `true` counts, as GE has it. Where neither says
/// anything, a results folder has profiles.
///
/// Fails with [`Error::Option`] or [`Error::Environment`] that names what is wrong in the profiling options.
pub fn wanted(
    mode: Option<bool>,
    options: Option<&str>,
    environment: &Environment,
    has_folder: bool,
) -> Result<Option<Wanted>> {
    let given = options.map(Options::parse).transpose()?;
    let of = |options, is_asked| Ok(Some(Wanted { options, is_asked }));
    match (mode, environment.get("PROFILING_MODE")) {
        (Some(true), _) => of(given.unwrap_or_default(), true),
        (None, Some(mode)) if mode == "true" => {
            let text = environment.get("PROFILING_OPTIONS").unwrap_or_default().to_string_lossy();
            let read = Options::parse(&text).map_err(|error| match error {
                Error::Option { reason, .. } => Error::Environment { name: "PROFILING_OPTIONS".into(), reason },
                other => other,
            });
            of(read?, true)
        }
        (None, None) if has_folder => of(given.unwrap_or_default(), false),
        _ => Ok(None),
    }
}

impl Profiling {
    /// The profiles that the settings ask for: in `before_tuning` and `after_tuning`, in the directory that the
    /// profiling options name, else in `profiling` beside the results.
    ///
    /// Fails with [`Error::Directory`] for a place that cannot be written, and with [`Error::Option`] for a node to
    /// cut at that runs no kernel.
    pub fn of(settings: &Settings, forms: &[Form<'_>]) -> Result<Option<Profiling>> {
        let Some(Wanted { options, is_asked }) = settings.profiling.clone() else { return Ok(None) };
        if !options.of_devices.is_empty() {
            let keys = options.of_devices.join(", ");
            log::info!("profiling_options: {keys}: only a device has what they ask for; no file tells of it");
        }
        profile::check_points(&options, forms)?;
        let root = options.output.clone().unwrap_or_else(|| settings.work_path.join("profiling"));
        let places = ["before_tuning", "after_tuning"].map(|name| root.join(name));
        for place in &places {
            check_directory(place).map_err(|e| Error::directory("write to", place, e))?;
        }
        Ok(Some(Profiling { options, is_asked, places }))
    }

    /// The profiles of two runs, made at this moment. `None`, which is said, for those that nobody asked for and that are
    /// large.
    pub fn begin(self, runs: [Timed<'_>; 2]) -> Option<Profiles<'_>> {
        let of_run = |run: &Timed<'_>| run.kinds().iter().map(|kind| kind.launches).sum();
        let launches: u64 = runs.iter().map(of_run).max().unwrap_or(0);
        if launches > MOST_UNASKED && !self.is_asked {
            log::warn!(
                "the results folder has no profiles of this tuning: a run launches {launches} kernels, and above \
                 {MOST_UNASKED} profiles are written with profiling_mode=true only"
            );
            return None;
        }
        let moment = jiff::Zoned::now();
        let folders = self.places.map(|place| Folder::of(&place, &moment));
        Some(Profiles { options: self.options, is_asked: self.is_asked, folders, runs })
    }
}

/// The profiles of a tuning that has come to its end: of the network before it, and after.
pub struct Profiles<'a> {
    options: Options,
    /// Whether the caller asked for them.
    pub is_asked: bool,
    folders: [Folder; 2],
    runs: [Timed<'a>; 2],
}

impl Profiles<'_> {
    /// Where they will lie.
    pub fn paths(&self) -> [PathBuf; 2] {
        self.folders.each_ref().map(|folder| folder.path().to_owned())
    }

    /// Prepares both.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`], and with [`Error::Cancelled`]; then none is prepared: one
    /// without the other would compare with nothing.
    pub fn prepare(&self, publication: &mut Publication, cancel: &AtomicBool) -> Result<()> {
        let both = self.folders.iter().zip(&self.runs);
        let prepared = both
            .into_iter()
            .try_for_each(|(folder, run)| folder.prepare(&run.run(), &self.options, publication, cancel));
        if prepared.is_err() {
            for folder in &self.folders {
                publication.withdraw(folder.path());
            }
        }
        prepared
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, wanted};

    fn environment(variables: &[(&'static str, &str)]) -> Environment {
        Environment::from_variables(variables, "/w")
    }

    #[test]
    fn the_option_beats_the_environment_where_only_true_counts() {
        let on = environment(&[("PROFILING_MODE", "true"), ("PROFILING_OPTIONS", r#"{"output":"/e"}"#)]);
        let output =
            |mode, options| wanted(mode, options, &on, true).unwrap().map(|wanted| wanted.options.output.unwrap());
        assert_eq!(output(None, None), Some("/e".into()));
        assert_eq!(output(Some(true), Some(r#"{"output":"/o"}"#)), Some("/o".into()));
        assert_eq!(output(Some(false), None), None);
        assert!(wanted(None, None, &environment(&[("PROFILING_MODE", "1")]), true).unwrap().is_none());
        assert!(wanted(Some(true), None, &environment(&[]), false).unwrap().unwrap().options.training_trace);
    }

    #[test]
    fn a_results_folder_has_profiles_unless_they_are_switched_off() {
        let none = environment(&[]);
        let is_asked = |mode, has_folder| wanted(mode, None, &none, has_folder).unwrap().map(|wanted| wanted.is_asked);
        assert_eq!((is_asked(None, true), is_asked(Some(true), true)), (Some(false), Some(true)));
        assert_eq!((is_asked(Some(false), true), is_asked(None, false)), (None, None));
        let level = wanted(None, Some(r#"{"task_time":"l0"}"#), &none, true).unwrap().unwrap().options.tasks;
        assert_eq!(level, crate::profile::Level::Times);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_source() {
        let broken = environment(&[("PROFILING_MODE", "true"), ("PROFILING_OPTIONS", "{")]);
        let message = wanted(None, None, &broken, false).unwrap_err().to_string();
        assert!(message.contains("environment variable PROFILING_OPTIONS"), "{message}");
        // A malformed option is one although it asks for nothing.
        assert!(wanted(None, Some("{"), &environment(&[]), false).is_err());
    }
}
