//! What a tuning leaves on the disk.

use super::destination::Keeps;
use crate::status::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// What a tuning leaves on the disk. Everything else goes with a directory of its own.
#[derive(Debug, Clone)]
pub enum Leaves {
    /// Results, records, the tuned model.
    All,
    /// What lies in places that somebody named: records in a bank, the tuned model, profiles (`result_file=none`).
    Named(Arc<TempDir>),
    /// Nothing (`dry_run`).
    Nothing(Arc<TempDir>),
}

impl Leaves {
    /// As options say; `names_folder` is whether they name a folder for the results.
    ///
    /// Fails with [`Error::Option`] for a folder beside `result_file=none`, and with [`Error::Directory`] where there is no
    /// place for what goes.
    pub fn of(dry_run: bool, result_file: Option<&str>, names_folder: bool) -> Result<Leaves> {
        if dry_run {
            return scratch().map(Leaves::Nothing);
        }
        if result_file != Some("none") {
            return Ok(Leaves::All);
        }
        if names_folder {
            let reason = "none leaves no result files, and `output` names a directory for them: leave out one of the two, \
                          or name the file of the tuned model";
            return Err(Error::option("result_file", reason));
        }
        scratch().map(Leaves::Named)
    }

    /// Which records are left.
    pub fn keeps(&self) -> Keeps {
        match self {
            Leaves::All => Keeps::All,
            Leaves::Named(_) => Keeps::Named,
            Leaves::Nothing(_) => Keeps::Nothing,
        }
    }

    /// The directory of what goes with the tuning.
    pub fn scratch(&self) -> Option<&Path> {
        match self {
            Leaves::All => None,
            Leaves::Named(scratch) | Leaves::Nothing(scratch) => Some(scratch.path()),
        }
    }

    /// Whether there are result files.
    pub fn results(&self) -> bool {
        matches!(self, Leaves::All)
    }
}

/// A directory for what goes with the tuning. What a killed process leaves of it is known by its name.
fn scratch() -> Result<Arc<TempDir>> {
    let made = tempfile::Builder::new().prefix("aoe-tuning-").tempdir();
    let temporary = std::env::temp_dir();
    let failed = |error| Error::directory("create one in", &temporary, format!("{error}; TMPDIR names another place"));
    made.map(Arc::new).map_err(failed)
}
