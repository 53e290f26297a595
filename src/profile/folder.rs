//! A profile on disk: written beside its place and given its name whole.

use super::files::File;
use crate::output_file::directory_of;
use crate::status::{Error, Result};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Mode of a new directory, before the process's umask.
const MODE: u32 = 0o777;
/// Letters at the end of a profile's name, and how many there are to choose from.
const LETTERS: usize = 8;
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQR";

/// A place for a profile that is not there yet. Dropped before [`Folder::publish`] it leaves nothing behind, not even
/// the directories that were made for it.
#[derive(Debug)]
pub struct Folder {
    /// `None` once it has its name.
    temporary: Option<TempDir>,
    directory: PathBuf,
    /// Directories that were made for it, the outer ones first.
    made: Vec<PathBuf>,
}

impl Folder {
    /// Takes a place in a directory, which is made where it does not exist.
    ///
    /// Fails with [`Error::Directory`] that names what cannot be made or written.
    pub fn reserve(directory: &Path) -> Result<Folder> {
        let mut folder = Folder { temporary: None, directory: directory.to_owned(), made: Vec::new() };
        let missing: Vec<_> = directory.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev().filter(|path| !path.as_os_str().is_empty()) {
            match fs::create_dir(path) {
                Ok(()) => folder.made.push(path.to_owned()),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => {}
                Err(e) => return Err(Error::directory("create", path, e)),
            }
        }
        let temporary = tempfile::Builder::new()
            .prefix(".aoe-profile-")
            .permissions(Permissions::from_mode(MODE))
            .tempdir_in(directory)
            .map_err(|e| Error::directory("write to", directory, e))?;
        folder.temporary = Some(temporary);
        Ok(folder)
    }

    /// Writes the files and gives the profile its name, with this moment in it; answers its path.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`]; then nothing is left of it.
    pub fn publish(mut self, files: &[File], moment: &jiff::Zoned) -> Result<PathBuf> {
        let Some(temporary) = self.temporary.take() else {
            return Err(Error::directory("write to", &self.directory, "the profile has its name"));
        };
        let made = |path: &Path| fs::create_dir_all(path).map_err(|e| Error::directory("create", path, e));
        for File { path, content } in files {
            let path = temporary.path().join(path);
            made(content.as_ref().map_or(path.as_path(), |_| directory_of(&path)))?;
            if let Some(content) = content {
                write(&path, content).map_err(|e| Error::file("write", &path, e))?;
            }
        }
        let path = self.directory.join(name(moment));
        fs::rename(temporary.path(), &path).map_err(|e| Error::directory("create", &path, e))?;
        // It is no temporary one any more.
        let _ = temporary.keep();
        self.made.clear();
        fs::File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|e| Error::directory("write to", &self.directory, e))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.temporary.take());
        for directory in self.made.iter().rev() {
            // One that holds something by now stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// `PROF_000001_<17 digits of the moment>_<8 digits of the process><8 letters>`.
fn name(moment: &jiff::Zoned) -> String {
    let time = format!("{}{:03}", moment.strftime("%Y%m%d%H%M%S"), moment.millisecond());
    let letters: String = (0..LETTERS).map(|_| char::from(ALPHABET[fastrand::usize(..ALPHABET.len())])).collect();
    format!("PROF_000001_{time}_{:08}{letters}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::{File, Folder, name};
    use std::fs;
    use std::path::PathBuf;

    fn moment() -> jiff::Zoned {
        jiff::civil::datetime(2026, 3, 4, 5, 6, 7, 89_000_000).to_zoned(jiff::tz::TimeZone::UTC).unwrap()
    }

    #[test]
    fn the_name_is_one_that_readers_accept() {
        let name = name(&moment());
        let parts: Vec<_> = name.split('_').collect();
        assert_eq!(parts[..3], ["PROF", "000001", "20260304050607089"]);
        let (process, letters) = parts[3].split_at(parts[3].len() - 8);
        assert!(process.len() >= 8 && process.parse::<u32>().unwrap() == std::process::id());
        assert!(letters.bytes().all(|b| (b'A'..=b'R').contains(&b)), "{letters}");
    }

    #[test]
    fn a_place_that_is_given_up_leaves_nothing_and_what_was_there_stays() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("mine")).unwrap();
        drop(Folder::reserve(&root.path().join("mine/a/b")).unwrap());
        assert!(root.path().join("mine").is_dir() && !root.path().join("mine/a").exists());
    }

    #[test]
    fn a_profile_appears_whole() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("profiles");
        let folder = Folder::reserve(&directory).unwrap();
        let file = |path: &str| File { path: PathBuf::from(path), content: Some(b"x".to_vec()) };
        let empty = File { path: PathBuf::from("b/c"), content: None };
        let path = folder.publish(&[file("a/one"), file("two"), empty], &moment()).unwrap();
        assert_eq!(fs::read(path.join("a/one")).unwrap(), b"x");
        assert!(path.join("b/c").is_dir());
        let names: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [path]);
    }

    #[test]
    fn what_cannot_be_made_or_written_is_named_and_nothing_is_left() {
        let root = tempfile::tempdir().unwrap();
        let in_the_way = root.path().join("file");
        fs::write(&in_the_way, "mine").unwrap();
        for directory in [in_the_way.clone(), in_the_way.join("below")] {
            let message = Folder::reserve(&directory).unwrap_err().to_string();
            assert!(message.contains(in_the_way.to_str().unwrap()), "{message}");
        }
        // A file where a directory has to be.
        let folder = Folder::reserve(&root.path().join("new")).unwrap();
        let file = |path: &str| File { path: PathBuf::from(path), content: Some(Vec::new()) };
        assert!(folder.publish(&[file("a"), file("a/b")], &moment()).is_err());
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"]);
    }
}
