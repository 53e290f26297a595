//! What a tuning leaves on the disk.

use crate::output_file::HiddenFolder;
use crate::status::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// How the names of directories for what goes with a tuning begin.
const PREFIX: &str = "aoe-tuning-";

/// What of a tuning stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Results, records, the tuned model.
    All,
    /// What lies in places that somebody named: records in a bank, the tuned model, profiles; and what is installed
    /// (`result_file=none`).
    Named,
    /// Nothing (`dry_run`).
    Nothing,
}

/// What a tuning leaves on the disk. Everything else goes with a directory of its own.
#[derive(Debug, Clone)]
pub struct Leaves {
    keeps: Keeps,
    /// The directory of what goes, where something does.
    scratch: Option<Arc<HiddenFolder>>,
}

impl Leaves {
    /// As options say; `names_folder` is whether they name a folder for the results.
    ///
    /// Fails with [`Error::Option`] for a folder beside `result_file=none`, and with [`Error::Directory`] where there is no
    /// place for what goes.
    pub fn of(dry_run: bool, result_file: Option<&str>, names_folder: bool) -> Result<Leaves> {
        let keeps = match result_file {
            _ if dry_run => Keeps::Nothing,
            Some("none") => Keeps::Named,
            _ => Keeps::All,
        };
        if keeps == Keeps::Named && names_folder {
            let reason = "none leaves no result files, and `output` names a directory for them: leave out one of the two, \
                          or name the file of the tuned model";
            return Err(Error::option("result_file", reason));
        }
        let scratch = (keeps != Keeps::All).then(scratch).transpose()?;
        Ok(Leaves { keeps, scratch })
    }

    /// What stays.
    pub fn keeps(&self) -> Keeps {
        self.keeps
    }

    /// The directory of what goes with the tuning.
    pub fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref().map(HiddenFolder::path)
    }

    /// Whether there are result files.
    pub fn results(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// An error of the tuning. One about what goes with it says why that lies there: the user named another place, or none.
    pub fn explain(&self, error: Error) -> Error {
        let is_there = |path: &Path| self.scratch().is_some_and(|scratch| path.starts_with(scratch));
        let why = |reason| format!("{reason}; what goes with the tuning lies there: TMPDIR names another place");
        match error {
            Error::File { action, path, reason } if is_there(&path) => Error::file(action, &path, why(reason)),
            Error::Directory { action, path, reason } if is_there(&path) => {
                Error::directory(action, &path, why(reason))
            }
            other => other,
        }
    }
}

/// A directory for what goes with the tuning. What killed tunings left of theirs goes, too.
fn scratch() -> Result<Arc<HiddenFolder>> {
    let temporary = std::env::temp_dir();
    let failed = |error| {
        let reason = format!("{error}; what goes with the tuning would lie there: TMPDIR names another place");
        Error::directory("create one in", &temporary, reason)
    };
    HiddenFolder::fresh(&temporary, PREFIX).map(Arc::new).map_err(failed)
}
