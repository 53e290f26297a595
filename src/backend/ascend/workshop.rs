//! The folder in which one tuning measures: a folder for each candidate, gone when it is done.

use crate::status::{Error, Result};
use std::fs::{DirEntry, File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Every such folder's name begins so.
const PREFIX: &str = "aoe-measure-";
/// A file in it that its owner keeps locked, as long as it lives.
const OWNER: &str = "owner";

/// Folder of a candidate's bank, and its job, in the candidate's folder.
pub const BANK: &str = "bank";
/// See [`BANK`].
pub const JOB: &str = "job.json";
/// A folder without an owner's file is left alone for so long: its owner may be about to make it.
const NEW: Duration = Duration::from_secs(600);

/// A private folder for measuring.
#[derive(Debug)]
pub struct Workshop {
    folder: TempDir,
    _owner: File,
}

impl Workshop {
    /// Makes one in a folder for temporary files, and removes those whose owner was killed.
    pub fn open(temporary: &Path) -> Result<Workshop> {
        sweep(temporary);
        let failed = |e: std::io::Error| Error::directory("create a folder in", temporary, e);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(temporary).map_err(failed)?;
        // The name tells others that there is an owner: so the file is locked before it has that name.
        let (unlocked, locked) = (folder.path().join("new"), folder.path().join(OWNER));
        let owner = OpenOptions::new().create_new(true).write(true).open(&unlocked).map_err(failed)?;
        owner.lock().map_err(failed)?;
        std::fs::rename(&unlocked, &locked).map_err(failed)?;
        Ok(Workshop { folder, _owner: owner })
    }

    /// A folder for one measurement.
    pub fn bench(&self) -> Result<Bench> {
        let failed = |e: std::io::Error| Error::directory("create a folder in", self.folder.path(), e);
        let folder = tempfile::Builder::new().prefix("candidate-").tempdir_in(self.folder.path()).map_err(failed)?;
        let bench = Bench { folder };
        for inside in [bench.bank(), bench.cache()] {
            std::fs::create_dir(&inside).map_err(|e| Error::directory("create", &inside, e))?;
        }
        Ok(bench)
    }
}

/// The folder of one measurement.
#[derive(Debug)]
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The measuring process's `TUNE_BANK_PATH`.
    pub fn bank(&self) -> PathBuf {
        self.path().join(BANK)
    }

    /// The measuring process's `ASCEND_CACHE_PATH`.
    pub fn cache(&self) -> PathBuf {
        self.path().join("cache")
    }

    /// What the process is to do.
    pub fn job(&self) -> PathBuf {
        self.path().join(JOB)
    }

    /// What came of it.
    pub fn answer(&self) -> PathBuf {
        self.path().join("answer.json")
    }

    /// What the process and its libraries print.
    pub fn output(&self) -> PathBuf {
        self.path().join("output.txt")
    }
}

/// Removes this user's folders whose owners live no more.
fn sweep(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let Ok(folder) = entry.metadata() else { continue };
        // Everybody can write to `/tmp`: what lies there under our names may be anybody's.
        let is_ours = folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw();
        if is_ours
            && is_abandoned(&entry, &folder)
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            log::warn!("{} was left by a tuning that was killed: {error}", entry.path().display());
        }
    }
}

/// Whether the owner of a folder lives no more.
fn is_abandoned(entry: &DirEntry, folder: &Metadata) -> bool {
    // It may be anything: a pipe at which opening waits for ever, or a link to some file of the user's.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    match OpenOptions::new().write(true).custom_flags(flags).open(entry.path().join(OWNER)) {
        Ok(owner) => owner.metadata().is_ok_and(|file| file.is_file()) && owner.try_lock().is_ok(),
        // Killed before it came to that, or not come to that yet.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            folder.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > NEW))
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn folders_go_with_what_they_were_for() {
        let temporary = tempfile::tempdir().unwrap();
        let workshop = Workshop::open(temporary.path()).unwrap();
        let bench = workshop.bench().unwrap();
        assert!(bench.bank().is_dir() && bench.cache().is_dir());
        drop(bench);
        assert_eq!(names(workshop.folder.path()), 1, "the owner's file alone");
        drop(workshop);
        assert_eq!(names(temporary.path()), 0);
    }

    #[test]
    fn a_folder_whose_owner_was_killed_is_removed_and_a_living_ones_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let dead = temporary.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(OWNER), "").unwrap();
        let foreign = temporary.path().join(format!("{PREFIX}foreign"));
        std::fs::create_dir(&foreign).unwrap();
        let living = Workshop::open(temporary.path()).unwrap();
        assert!(!dead.exists() && foreign.exists(), "who is making it is given time");
        let long_ago = std::time::SystemTime::now() - 2 * NEW;
        File::open(&foreign).unwrap().set_modified(long_ago).unwrap();
        drop(Workshop::open(temporary.path()).unwrap());
        assert!(!foreign.exists(), "killed before it had an owner");
        let other = Workshop::open(temporary.path()).unwrap();
        assert!(living.folder.path().exists() && other.folder.path().exists());
    }

    #[test]
    fn what_others_laid_under_our_names_is_neither_waited_for_nor_touched() {
        let temporary = tempfile::tempdir().unwrap();
        let [pipe, link] = ["pipe", "link"].map(|name| temporary.path().join(format!("{PREFIX}{name}")));
        let precious = temporary.path().join("precious");
        std::fs::write(&precious, "kept").unwrap();
        for folder in [&pipe, &link] {
            std::fs::create_dir(folder).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.join(OWNER), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        std::os::unix::fs::symlink(&precious, link.join(OWNER)).unwrap();
        Workshop::open(temporary.path()).unwrap();
        assert!(pipe.exists() && link.exists());
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "kept");
    }

    #[test]
    fn a_place_that_does_not_exist_is_named() {
        let error = Workshop::open(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
