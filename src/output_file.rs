//! Files that are replaced whole: a reader finds the old content or the new, never a part.

use crate::status::{Error, Result};
use rustix::fs::Access;
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Mode of a new file, before the process's umask.
const MODE: u32 = 0o666;

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
        let reason = format!("{} is no directory", nearest.display());
        return Err(io::Error::new(ErrorKind::NotADirectory, reason));
    }
    let refused = |e: Errno| io::Error::new(e.kind(), format!("{}: {e}", nearest.display()));
    rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
}

/// Whether [`replace`] may replace or make the file at `path`, its directory made before where it is not there:
/// for who has long work to do first.
///
/// Fails with [`Error::File`].
pub fn check(path: &Path) -> Result<()> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(Error::file("write", path, "it names a directory"));
    }
    check_directory(directory_of(path)).map_err(|error| Error::file("write", path, error))
}

/// Replaces the file at `path`, or makes it, and waits until the disk has it. The directory must exist.
///
/// Fails with [`Error::File`]; what was there before is then still there.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |error: io::Error| Error::file("write", path, error);
    if path.file_name().is_none() || path.is_dir() {
        return Err(Error::file("write", path, "it names a directory"));
    }
    let directory = directory_of(path);
    let mut file = tempfile::Builder::new()
        .prefix(".aoe-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(directory)
        .map_err(failed)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::{check, replace};
    use std::fs;

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.air");
        for content in [&b"one"[..], b"", b"three"] {
            replace(&path, content).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_named_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_owned(), dir.path().join("no/such/out.air"), dir.path().join("..")] {
            let message = replace(&path, b"x").unwrap_err().to_string();
            assert!(message.contains(path.to_str().unwrap()), "{message}");
        }
        fs::write(dir.path().join("file"), "").unwrap();
        for path in [dir.path().to_owned(), dir.path().join("file/out.air"), dir.path().join("file/no/out.air")] {
            let message = check(&path).unwrap_err().to_string();
            assert!(message.contains(path.to_str().unwrap()), "{message}");
        }
        check(&dir.path().join("no/such/out.air")).unwrap();
        fs::remove_file(dir.path().join("file")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
