//! One file in place of another.

use super::{Publication, UNFINISHED, create};
use crate::output_file::{HiddenFolder, directory_of};
use crate::status::{Error, Result};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Replaces the file at `path`, or makes it, and waits until the disk has it. The directory must exist.
///
/// Fails with [`Error::File`] or [`Error::Directory`]; what was there before is then still there.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    replace_in(path, |file| file.write_all(content), Publication::new())
}

/// Makes a file that is whole from its first moment on. The directory must exist.
///
/// Fails with [`io::ErrorKind::AlreadyExists`] where something has the name.
pub fn create_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let hidden_folder = HiddenFolder::open(directory_of(path), UNFINISHED)?;
    let staged = hidden_folder.path().join("new");
    create(&staged)?.write_all(content)?;
    match renameat_with(CWD, &staged, CWD, path, RenameFlags::NOREPLACE) {
        // Some file systems cannot rename so; those have hard links.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::hard_link(&staged, path),
        other => other.map_err(io::Error::from),
    }
}

/// Replaces the file at `path`, or makes it, without waiting for the disk: for what is replaced again soon.
///
/// Fails as [`replace`] does.
pub fn replace_hastily(path: &Path, content: &[u8]) -> Result<()> {
    let mut hasty = Publication::new();
    hasty.is_hasty = true;
    replace_in(path, |file| file.write_all(content), hasty)
}

/// As [`replace`], with what `write` writes.
pub fn replace_by(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    replace_in(path, write, Publication::new())
}

fn replace_in(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    mut publication: Publication,
) -> Result<()> {
    let directory = directory_of(path);
    // One that went away meanwhile is not made again.
    fs::metadata(directory).map_err(|e| Error::file("write", path, e))?;
    publication.file_with(path, write)?;
    publication.commit()
}
