//! The profiles of a tuning call: who asks for them, where they go, and writing them.

use super::profiles_wanted::Wanted;
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
            log::warn!("profiling_options: {keys}: only a device has what they ask for; no file tells of it");
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
