//! The few file operations a bank needs, as a trait: the seam through which tests crash and fail them.
//!
//! Each method is one system call, so that a test sees every moment at which a crash or an error may come;
//! what must follow what is written once, in the functions below.

pub use crate::output_file::lock::Guard;

use crate::output_file::directory_of;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Bytes that small pieces of a content are gathered to before they are written.
const GATHERED: usize = 1 << 20;

/// A file that is being written.
pub trait NewFile: Write {
    /// Makes what was written durable; the file's name is another matter ([`Storage::sync_directory`]).
    fn sync(&mut self) -> io::Result<()>;
}

/// What a file is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
}

/// File operations. Paths are absolute or relative to the process's directory.
pub trait Storage: Send + Sync {
    /// The whole content of a regular file; `None` where there is no file of this name.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;

    /// Where a path leads that may be a symbolic link, also one to a file that does not exist. Fails with
    /// [`ErrorKind::PermissionDenied`] for a link that another user may have laid there.
    fn target(&self, path: &Path) -> io::Result<PathBuf>;

    /// Which file lies there, by whatever name; `None` where there is none, or where the storage knows no other names.
    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        let _ = path;
        Ok(None)
    }

    /// Makes one directory. Fails with [`ErrorKind::AlreadyExists`] where something has the name.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether a path is a directory.
    fn is_directory(&self, path: &Path) -> bool;

    /// Whether files could be created in a directory, or the directory be created, as far as
    /// permissions tell.
    fn check_writable(&self, directory: &Path) -> io::Result<()>;

    /// Whether a file could be opened for reading and writing, as CANN opens a bank; one that does not exist is well.
    fn check_file(&self, path: &Path) -> io::Result<()>;

    /// Waits for an exclusive lock on a file, which is created when `create` is set. `None` where the
    /// file does not exist. Fails with [`ErrorKind::Unsupported`] where the file system has no locks.
    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>>;

    /// Creates a file, with the permissions and, as far as that is allowed, the owner of `like` where that exists. Fails with
    /// [`ErrorKind::AlreadyExists`] where something has the name.
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Renames a file, replacing the target atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a directory's entries durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// The files of a directory; none where it is not there or cannot be read.
    fn files(&self, directory: &Path) -> Vec<PathBuf>;

    /// Removes a file. Fails with [`ErrorKind::NotFound`] where there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// Creates a directory and its parents, durably. Those that are there already may have been made by a
/// process that died before they were durable, so all are synced.
pub fn create_directories(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    let parent = directory_of(path);
    if parent == path {
        return Ok(());
    }
    create_directories(storage, parent)?;
    let is_new = !storage.is_directory(path);
    if is_new {
        match storage.make_directory(path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && storage.is_directory(path) => {}
            other => other?,
        }
    }
    match storage.sync_directory(parent) {
        // Not ours to open, or of a kind that is never synced: an old directory.
        Err(e) if !is_new && matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput) => Ok(()),
        other => other,
    }
}

/// Writes a new file of pieces, one behind the other, and makes its content durable. What a killed writer left under the name goes first.
/// The file gets the permissions of `like` where that exists.
pub fn write(storage: &dyn Storage, path: &Path, content: &[&[u8]], like: &Path) -> io::Result<()> {
    write_unsynced(storage, path, content, like)?.sync()
}

fn write_unsynced(storage: &dyn Storage, path: &Path, content: &[&[u8]], like: &Path) -> io::Result<Box<dyn NewFile>> {
    match storage.remove(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = storage.create(path, like)?;
    // A `BufWriter` would try again what failed when it is dropped.
    let mut gathered = Vec::with_capacity(content.iter().map(|piece| piece.len()).sum::<usize>().min(GATHERED));
    for piece in content {
        if gathered.len() + piece.len() > GATHERED {
            file.write_all(&gathered)?;
            gathered.clear();
        }
        gathered.extend_from_slice(piece);
    }
    file.write_all(&gathered)?;
    Ok(file)
}

/// Replaces a file so that whoever reads it, now or after a crash at any moment, finds the old or the
/// new content whole. `temporary` is a name beside it that no other writer uses.
pub fn replace(storage: &dyn Storage, path: &Path, temporary: &Path, content: &[&[u8]]) -> io::Result<()> {
    let written = write(storage, temporary, content, path).and_then(|()| storage.rename(temporary, path));
    if let Err(e) = written {
        // Best effort: the next writer removes what remains.
        let _ = storage.remove(temporary);
        return Err(e);
    }
    storage.sync_directory(directory_of(path))
}

/// Replaces a file so that whoever reads it now finds the old or the new content whole. A crash may leave
/// anything: this is for what can do without.
pub fn replace_unsynced(storage: &dyn Storage, path: &Path, temporary: &Path, content: &[u8]) -> io::Result<()> {
    let written = write_unsynced(storage, temporary, &[content], path).and_then(|_| storage.rename(temporary, path));
    if written.is_err() {
        // Best effort: the next writer removes what remains.
        let _ = storage.remove(temporary);
    }
    written
}

/// What CANN says, by its error id, of a bank file that it cannot open.
pub fn not_opened(error: &io::Error) -> String {
    format!("EC0011: custom_file_dir: cannot be opened to read and write: {error}")
}

/// The path of a file beside another one: its name between a prefix and a suffix.
pub fn sibling(path: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(prefix);
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
