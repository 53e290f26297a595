//! Folders and files that are nobody else's business, whatever the umask: libraries are loaded by what stands in them.

use rustix::process::geteuid;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// Mode of a private folder: what another user may not enter, that user cannot change.
const FOLDER_MODE: u32 = 0o700;
/// Mode of a private file.
const FILE_MODE: u32 = 0o600;
/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;

/// Makes a folder in `directory` that only this user enters, gone with the answer; its name begins with `prefix`.
pub fn folder(directory: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(FOLDER_MODE)).tempdir_in(directory)
}

/// Makes a file that only this user opens.
///
/// Fails with [`ErrorKind::AlreadyExists`] where something has the name, be it a link that leads nowhere.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Reads a file of at most `limit` bytes that this user, or root, wrote and nobody else could have changed.
///
/// Fails with [`ErrorKind::PermissionDenied`] for another user's file, one that others may write, or one in such a
/// folder; links are not followed.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    check_owner(&data, "it")?;
    check_owner(&super::directory_of(path).metadata()?, "its folder")?;
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    Ok(content)
}

fn check_owner(data: &Metadata, what: &str) -> io::Result<()> {
    let reason = if data.uid() != geteuid().as_raw() && data.uid() != 0 {
        format!("{what} belongs to user {}: another user's instructions are not followed", data.uid())
    } else if data.mode() & OTHERS_WRITE != 0 {
        format!("{what} may be written by other users (mode {:o})", data.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn folders_and_files_are_private_whatever_the_umask() {
        let temporary = tempfile::tempdir().unwrap();
        // The mask of the whole process; a narrower one of a test beside this one would be no harm.
        let before = rustix::process::umask(rustix::fs::Mode::empty());
        let folder = folder(temporary.path(), "private-").unwrap();
        let file = folder.path().join("job.json");
        create(&file).unwrap().write_all(b"{}").unwrap();
        rustix::process::umask(before);
        assert_eq!((mode(folder.path()), mode(&file)), (FOLDER_MODE, FILE_MODE));
        assert_eq!(read(&file, 2).unwrap(), b"{}");
        assert_eq!(read(&file, 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(create(&file).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_others_may_have_changed_is_not_read() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = folder(temporary.path(), "private-").unwrap();
        let file = folder.path().join("job.json");
        create(&file).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 10).is_err(), "a link may lead anywhere");
        for (path, open) in [(file.as_path(), 0o620), (folder.path(), 0o702)] {
            let closed = mode(path);
            std::fs::set_permissions(path, Permissions::from_mode(open)).unwrap();
            let error = read(&file, 10).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            std::fs::set_permissions(path, Permissions::from_mode(closed)).unwrap();
            read(&file, 10).unwrap();
        }
    }

    #[test]
    fn another_users_file_is_not_read() {
        // Only root can give files away.
        if !geteuid().is_root() {
            return;
        }
        let temporary = tempfile::tempdir().unwrap();
        let folder = folder(temporary.path(), "private-").unwrap();
        let file = folder.path().join("job.json");
        create(&file).unwrap();
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
        let error = read(&file, 10).unwrap_err();
        assert!(error.to_string().contains("user 65534"), "{error}");
    }
}
