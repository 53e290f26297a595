//! The directory in which one tuning leaves its states and its model.

use super::settings::Settings;
use crate::output_file::sweep;
use crate::spelling::is_shown;
use crate::status::{Error, Result};
use crate::tune::sgat::State;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where the tuned model lies in the directory of its tuning.
pub const MODELS: &str = "tunespace/result";
/// Longest part of a network's name in a file name, in bytes; names of files end at 255.
const MAX_NAME: usize = 128;

/// The directory of one tuning, which no other has. It goes with this where nothing was put into it.
#[derive(Debug)]
pub struct Workspace {
    directory: PathBuf,
    timestamp: String,
}

impl Workspace {
    /// Makes, among those that [`jobs`] tells, the directory of a tuning that began at a moment. Where a tuning of a
    /// network of the same name began at the same one, the next millisecond that is free gives the name. What killed
    /// tunings left unfinished in theirs goes.
    ///
    /// Fails with [`Error::Directory`].
    pub fn claim((jobs, prefix): (PathBuf, String), timestamp: &str) -> Result<Workspace> {
        make(&jobs)?;
        for job in std::fs::read_dir(&jobs).into_iter().flatten().flatten() {
            sweep(&job.path().join(MODELS));
            State::sweep(&job.path());
        }
        let mut timestamp = timestamp.to_owned();
        loop {
            let directory = jobs.join(format!("{prefix}{timestamp}"));
            match (std::fs::create_dir(&directory), next_millisecond(&timestamp)) {
                (Ok(()), _) => return Ok(Workspace { directory, timestamp }),
                (Err(e), Some(next)) if e.kind() == ErrorKind::AlreadyExists => timestamp = next,
                // Another tuning has just left it empty, and taken it away.
                (Err(e), _) if e.kind() == ErrorKind::NotFound => make(&jobs)?,
                (Err(e), _) => return Err(Error::directory("create", &directory, e)),
            }
        }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The moment in its name.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // One that holds something stays.
        let _ = std::fs::remove_dir(&self.directory);
        if let Some(jobs) = self.directory.parent() {
            leave(jobs);
        }
    }
}

/// Makes the directory of all tunings, of which another may take it away at any moment.
fn make(jobs: &Path) -> Result<()> {
    // What is in the way must be a directory that went again, or is back: looked at once, for between two looks it may
    // do either.
    let is_passing =
        || jobs.symlink_metadata().map_or(true, |data| data.is_dir() || (data.is_symlink() && jobs.is_dir()));
    let is_free = || jobs.parent().is_some_and(Path::is_dir) && is_passing();
    loop {
        match std::fs::create_dir_all(jobs) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && is_free() => {}
            made => return made.map_err(|e| Error::directory("create", jobs, e)),
        }
    }
}

/// Takes away the directory of all tunings where none left anything in it.
pub fn leave(jobs: &Path) {
    // One that holds something stays.
    let _ = std::fs::remove_dir(jobs);
}

/// The moment after `YYYYMMDD_HHMMSSmmm`.
fn next_millisecond(timestamp: &str) -> Option<String> {
    const SECOND: &str = "%Y%m%d_%H%M%S";
    let (second, millis) = timestamp.split_at_checked("YYYYMMDD_HHMMSS".len())?;
    let millis = jiff::SignedDuration::from_millis(1 + i64::from(millis.parse::<u16>().ok()?));
    let next = jiff::civil::DateTime::strptime(SECOND, second).ok()?.checked_add(millis).ok()?;
    Some(format!("{}{:03}", next.strftime(SECOND), next.millisecond()))
}

/// The directory of one tuning of a network.
pub fn workspace(settings: &Settings, graph: &str, timestamp: &str) -> PathBuf {
    let (workspace, prefix) = jobs(settings, graph);
    workspace.join(format!("{prefix}{timestamp}"))
}

/// Where the directories of all tunings lie, and how the names of those of a network begin.
pub fn jobs(settings: &Settings, graph: &str) -> (PathBuf, String) {
    (settings.work_path.join("aoe_workspace"), format!("{}_", file_name(graph)))
}

/// A network's name as part of a file name.
pub fn file_name(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c == '/' || !is_shown(c) { '_' } else { c }).collect();
    let end = (0..=MAX_NAME.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.truncate(end);
    if text.is_empty() { "graph".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Workspace, file_name, next_millisecond};
    use std::ffi::OsString;

    #[test]
    fn no_name_of_a_network_leaves_the_workspace() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("a\nb\0c\u{202e}d"), "a_b_c_d");
        assert_eq!(file_name(""), "graph");
        assert!(file_name(&"ü".repeat(300)).len() <= 128);
    }

    #[test]
    fn the_millisecond_after_the_last_of_a_year_is_the_first_of_the_next() {
        assert_eq!(next_millisecond("20261122_095450974").as_deref(), Some("20261122_095450975"));
        assert_eq!(next_millisecond("20261231_235959999").as_deref(), Some("20270101_000000000"));
        assert_eq!(next_millisecond("2026"), None);
    }

    #[test]
    fn tunings_of_one_name_that_begin_at_one_moment_have_directories_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let claim = || Workspace::claim((place.path().join("jobs"), "net_".into()), "20261122_095450999").unwrap();
        let begun: Vec<Workspace> =
            std::thread::scope(|s| [0; 8].map(|_| s.spawn(claim)).map(|thread| thread.join().unwrap()).into());
        let mut names: Vec<_> = begun.iter().map(|w| w.directory().file_name().unwrap().to_owned()).collect();
        names.sort();
        let expected = [450_999, 451_000, 451_001, 451_002, 451_003, 451_004, 451_005, 451_006];
        assert_eq!(names, expected.map(|end| OsString::from(format!("net_20261122_095{end}"))));
        std::fs::write(begun[0].directory().join("kept"), "").unwrap();
        drop(begun);
        assert_eq!(std::fs::read_dir(place.path().join("jobs")).unwrap().count(), 1, "empty ones go");
    }

    #[test]
    fn tunings_that_leave_nothing_leave_no_directory_and_take_none_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        let jobs = place.path().join("jobs");
        let claim = || drop(Workspace::claim((jobs.clone(), "net_".into()), "20261122_095450999").unwrap());
        std::thread::scope(|s| drop([0; 4].map(|_| s.spawn(|| (0..500).for_each(|_| claim())))));
        assert!(!jobs.exists());
    }
}
