//! Files that are replaced whole: a reader finds the old content or the new, never a part.
//!
//! [`replace`] is for one file; [`Publication`] is for files and folders that belong together. Both prepare in hidden
//! folders (`hidden_folder`) that tell the living owner from the dead one by a `lock`, for which `patience` waits. What other users must not see or change is
//! [`private`].

mod hidden_folder;
pub mod lock;
mod patience;
pub mod private;
mod publication;
#[cfg(test)]
mod tests;

pub use hidden_folder::{HiddenFolder, sweep as sweep_hidden_folders};
pub use patience::Patience;
pub use publication::{Publication, create_whole, replace, replace_by, replace_hastily, sweep};

use crate::status::{Error, Result};
use rustix::fs::Access;
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The directory that holds a file: the working directory for a bare name, `/` for itself.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Whether files may be made in a directory, be it there or still to be made.
pub fn check_directory(directory: &Path) -> io::Result<()> {
    let is_there = |p: &&Path| p.symlink_metadata().is_ok();
    let nearest = directory.ancestors().filter(|p| !p.as_os_str().is_empty()).find(is_there).unwrap_or(Path::new("."));
    if !nearest.is_dir() {
        let reason = match nearest.metadata() {
            Ok(_) => "is no directory".to_owned(),
            Err(error) if nearest.is_symlink() => format!("is a link that leads nowhere: {error}"),
            Err(error) => error.to_string(),
        };
        return Err(io::Error::new(ErrorKind::NotADirectory, format!("{} {reason}", nearest.display())));
    }
    let refused = |e: Errno| io::Error::new(e.kind(), format!("{}: {e}", nearest.display()));
    rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
}

/// Whether [`replace`] may replace or make the file at `path`, its directory made before where it is not there:
/// for a caller with long work to do first.
///
/// Fails with [`Error::File`].
pub fn check(path: &Path) -> Result<()> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(Error::file("write", path, "it names a directory"));
    }
    check_directory(directory_of(path)).map_err(|error| Error::file("write", path, error))
}
