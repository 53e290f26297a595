//! The few file operations a bank needs, as a trait: the seam through which tests crash and fail them.

use rustix::fs::Access;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Mode of new bank files, as CANN creates them.
const FILE_MODE: u32 = 0o640;

/// A held lock; dropping it (or the death of the process) releases it.
#[derive(Debug)]
pub struct Guard {
    /// The locked file, for locks of the operating system.
    _file: Option<File>,
}

impl Guard {
    /// A lock that needs no file of the operating system.
    pub const fn none() -> Guard {
        Guard { _file: None }
    }
}

/// File operations. Paths are absolute or relative to the process's directory.
pub trait Storage: Send + Sync {
    /// The whole content of a regular file; `None` where there is no file of this name.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;

    /// Creates a directory and its parents, durably.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether files could be created in a directory, or the directory be created, as far as
    /// permissions tell.
    fn check_writable(&self, directory: &Path) -> io::Result<()>;

    /// Waits for an exclusive lock on a file, which is created when `create` is set. `None` where the
    /// file does not exist. Fails with [`ErrorKind::Unsupported`] where the file system has no locks.
    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>>;

    /// Creates or truncates a file, writes it and makes its content durable. The file gets the
    /// permissions of `like` where that exists.
    fn write(&self, path: &Path, content: &[u8], like: &Path) -> io::Result<()>;

    /// Renames a file, replacing the target atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a directory's entries durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// Replaces a file so that whoever reads it, now or after a crash at any moment, finds the old or the
/// new content whole. The caller holds the lock under which this directory is written.
pub fn replace(storage: &dyn Storage, path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = temporary(path);
    let written = storage.write(&temporary, content, path).and_then(|()| storage.rename(&temporary, path));
    if let Err(e) = written {
        // Best effort: the next writer truncates what remains.
        let _ = storage.remove(&temporary);
        return Err(e);
    }
    storage.sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// The name under which a file's new content is written before it takes the file's place.
pub fn temporary(path: &Path) -> PathBuf {
    sibling(path, ".", ".tmp")
}

/// The path of a file beside another one: its name between a prefix and a suffix.
pub fn sibling(path: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(prefix);
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match std::fs::metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
            Ok(data) if !data.is_file() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
            }
            Ok(_) => {}
        }
        match std::fs::read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<_> = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.is_dir()).collect();
        for directory in missing.into_iter().rev() {
            match std::fs::create_dir(directory) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && directory.is_dir() => {}
                other => other?,
            }
            let parent = directory.parent().filter(|p| !p.as_os_str().is_empty());
            self.sync_directory(parent.unwrap_or(Path::new(".")))?;
        }
        Ok(())
    }

    fn check_writable(&self, directory: &Path) -> io::Result<()> {
        let is_there = |p: &&Path| p.symlink_metadata().is_ok();
        let nearest =
            directory.ancestors().filter(|p| !p.as_os_str().is_empty()).find(is_there).unwrap_or(Path::new("."));
        if !nearest.is_dir() {
            let reason = format!("{} is no directory", nearest.display());
            return Err(io::Error::new(ErrorKind::NotADirectory, reason));
        }
        let refused = |e: rustix::io::Errno| io::Error::new(e.kind(), format!("{}: {e}", nearest.display()));
        rustix::fs::access(nearest, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>> {
        loop {
            let opened =
                OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(FILE_MODE).open(path);
            let file = match opened {
                Err(e) if e.kind() == ErrorKind::NotFound && !create => return Ok(None),
                other => other?,
            };
            file.lock()?;
            // A writer that replaced the file while this one waited leaves the lock on the old one.
            if is_current(&file, path)? {
                return Ok(Some(Guard { _file: Some(file) }));
            }
        }
    }

    fn write(&self, path: &Path, content: &[u8], like: &Path) -> io::Result<()> {
        let mode = std::fs::metadata(like).map_or(FILE_MODE, |data| data.permissions().mode() & 0o7777);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(content)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// Whether a path still names the file that is open.
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::{Disk, Storage};

    #[test]
    fn a_directory_that_is_still_to_be_made_is_judged_by_where_it_would_lie() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        Disk.check_writable(directory.path()).unwrap();
        Disk.check_writable(&directory.path().join("deep/down")).unwrap();
        let error = Disk.check_writable(&file.join("deep/down")).unwrap_err().to_string();
        assert!(error.contains("file") && error.contains("no directory"), "{error}");
        assert!(!directory.path().join("deep").exists(), "nothing is made");
    }
}
