//! The file system as a [`Storage`].

use super::storage::{Guard, Identity, NewFile, Storage};
use crate::output_file::{Patience, check_directory, directory_of};
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Mode of new bank files, as CANN creates them.
const FILE_MODE: u32 = 0o640;

/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;

/// Write permission of all others.
const ALL_WRITE: u32 = 0o002;

/// All permissions of owner, group and others, without the bits that lend rights.
const PERMISSIONS: u32 = 0o777;

/// All permissions of the group.
const GROUP: u32 = 0o070;

/// Largest bank that is read: a million records have some 700 MB.
const MOST_BYTES: u64 = 4 << 30;

/// Symbolic links that are followed one after the other, as Linux does.
const MOST_LINKS: u32 = 40;

/// The file system.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    /// With others who write.
    pub patience: Patience,
}

/// The file system, for callers that nobody can cancel.
pub static DISK: Disk = Disk { patience: Patience::WITHOUT_CANCEL };

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Storage for Disk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.target(path)?;
        match std::fs::metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
            Ok(data) if !data.is_file() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
            }
            Ok(data) if data.len() > MOST_BYTES => {
                let reason =
                    format!("has {} bytes; a bank of more than {} GiB is not read", data.len(), MOST_BYTES >> 30);
                return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
            }
            Ok(_) => {}
        }
        match std::fs::read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            check_way(directory_of(&path))?;
            match std::fs::read_link(&path) {
                Ok(next) => {
                    check_link(&path, OTHERS_WRITE)?;
                    path = directory_of(&path).join(next);
                }
                // It is there and no link, or it is not there.
                Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => return Ok(path),
                Err(e) => return Err(e),
            }
        }
        Err(Errno::LOOP.into())
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        match std::fs::metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(|data| Some(Identity { device: data.dev(), inode: data.ino() })),
        }
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn check_writable(&self, directory: &Path) -> io::Result<()> {
        check_directory(directory)
    }

    fn check_file(&self, path: &Path) -> io::Result<()> {
        self.target(path)?;
        match std::fs::metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            // What is no regular file is not opened: that alone may have effects.
            Ok(data) if !data.is_file() => Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
            Ok(_) => {
                let file = OpenOptions::new().read(true).write(true).open(path)?;
                if is_mount_point(&file) {
                    let reason = "it is a mount point and cannot be replaced: mount its directory in its place";
                    return Err(io::Error::new(ErrorKind::ResourceBusy, reason));
                }
                Ok(())
            }
        }
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>> {
        loop {
            self.target(path)?;
            // What is no regular file is not opened: that alone may have effects.
            if std::fs::metadata(path).is_ok_and(|data| !data.is_file()) {
                return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
            }
            let opened =
                OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(FILE_MODE).open(path);
            let file = match opened {
                Err(e) if e.kind() == ErrorKind::NotFound && !create => return Ok(None),
                other => other?,
            };
            self.patience.lock(&file, path)?;
            // A writer that replaced the file while this one waited leaves the lock on the old one.
            if is_current(&file, path)? {
                return Ok(Some(Guard::of(file)));
            }
        }
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
        match std::fs::metadata(like) {
            Ok(like) => take_after(&file, &like)?,
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn files(&self, directory: &Path) -> Vec<PathBuf> {
        if self.target(directory).is_err() {
            return Vec::new();
        }
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// Refuses a link that somebody else may have laid: in a directory that has one of the permissions `by_others`, only the
/// user's own links, the directory's owner's and root's are followed, as the kernel does where `protected_symlinks` is set and
/// the sticky bit is.
fn check_link(link: &Path, by_others: u32) -> io::Result<()> {
    let (data, directory) = (link.symlink_metadata()?, directory_of(link).metadata()?);
    let is_theirs = data.uid() != geteuid().as_raw() && data.uid() != directory.uid() && data.uid() != 0;
    if data.is_symlink() && is_theirs && directory.mode() & by_others != 0 {
        let reason = format!(
            "{} is a link of user {}'s in a directory that others may write; it is not followed: remove it",
            link.display(),
            data.uid()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Refuses a way to a directory that goes by such a link. A group's own links are followed: who shares a directory may say
/// where it lies.
fn check_way(directory: &Path) -> io::Result<()> {
    let mut links = 0;
    let mut ahead: Vec<OsString> = Vec::new();
    let lie_ahead = |ahead: &mut Vec<OsString>, path: &Path| {
        ahead.extend(path.components().rev().map(|part| part.as_os_str().to_owned()));
    };
    lie_ahead(&mut ahead, &std::path::absolute(directory)?);
    // Without a link on it.
    let mut way = PathBuf::new();
    while let Some(part) = ahead.pop() {
        if part == "." {
            continue;
        }
        if part == ".." {
            way.pop();
            continue;
        }
        way.push(part);
        // What is not there, or not to be looked at, is no link to anywhere; whoever opens it finds that out.
        let Ok(next) = std::fs::read_link(&way) else { continue };
        check_link(&way, ALL_WRITE)?;
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        way.pop();
        lie_ahead(&mut ahead, &next);
    }
    Ok(())
}

/// Gives a new file the owner and mode of another. Where the group cannot be kept, no group gets in; nobody's rights are
/// lent, which a bank never needs.
fn take_after(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    let mut mode = like.mode() & PERMISSIONS;
    if own.uid() != like.uid() && fchown(file, Some(like.uid()), None).is_err() {
        log::debug!("a file of user {} is replaced by one of user {}", like.uid(), own.uid());
    }
    if own.gid() != like.gid() && fchown(file, None, Some(like.gid())).is_err() {
        mode &= !GROUP;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Whether a file is itself mounted, as containers do with single files; `false` where the kernel does not say.
fn is_mount_point(file: &File) -> bool {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
        .is_ok_and(|data| data.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
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
