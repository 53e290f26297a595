//! The folder in which one tuning measures: a folder for each candidate, gone when it is done.

use super::helpers;
use crate::output_file::{HiddenFolder, private, sweep_hidden_folders};
use crate::status::{Error, Result};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Every such folder's name begins so.
const PREFIX: &str = "aoe-measure-";

/// Folder of a candidate's bank, and its job, in the candidate's folder.
pub const BANK: &str = "bank";
/// See [`BANK`].
pub const JOB: &str = "job.json";

/// A private folder for measuring.
#[derive(Debug)]
pub struct Workshop {
    hidden_folder: HiddenFolder,
}

impl Workshop {
    /// Makes one in a folder for temporary files, and removes those whose owner was killed,
    /// with what measured there and lives yet.
    pub fn open(temporary: &Path) -> Result<Workshop> {
        sweep_hidden_folders(temporary, PREFIX, helpers::end);
        let hidden_folder = HiddenFolder::open(temporary, PREFIX);
        Ok(Workshop { hidden_folder: hidden_folder.map_err(|e| Error::directory("create a folder in", temporary, e))? })
    }

    /// A folder for one measurement.
    pub fn bench(&self) -> Result<Bench> {
        let failed = |e: std::io::Error| Error::directory("create a folder in", self.hidden_folder.path(), e);
        let folder = private::folder(self.hidden_folder.path(), "candidate-").map_err(failed)?;
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
        assert_eq!(names(workshop.hidden_folder.path()), 1, "the owner's file alone");
        drop(workshop);
        assert_eq!(names(temporary.path()), 0);
    }

    #[test]
    fn what_measured_in_a_dead_ones_folder_ends_with_it() {
        use std::io::Read;
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        use std::process::Stdio;
        let temporary = tempfile::tempdir().unwrap();
        // A process shows its environment from its first own step on, not from the moment it is made. It ends with the test.
        let helper = |bank: &Path| {
            let mut command = std::process::Command::new("/bin/sh");
            let command = command.args(["-c", "echo; read line"]).env("TUNE_BANK_PATH", bank).process_group(0);
            let mut helper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            helper.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            helper
        };
        let living = Workshop::open(temporary.path()).unwrap();
        let dead = temporary.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::copy(living.hidden_folder.path().join(".aoe-owner"), dead.join(".aoe-owner")).unwrap();
        let mut others = helper(&living.bench().unwrap().bank());
        let mut left = helper(&dead.join("candidate-1").join(BANK));
        drop(Workshop::open(temporary.path()).unwrap());
        assert!(!dead.exists());
        // `wait` closes its input first, which would end it, too: by itself it would never end.
        let input = left.stdin.take();
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        drop(input);
        assert!(others.try_wait().unwrap().is_none(), "its tuning lives");
        others.kill().unwrap();
        others.wait().unwrap();
    }

    #[test]
    fn a_place_that_does_not_exist_is_named() {
        let error = Workshop::open(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
