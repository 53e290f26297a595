//! Hidden folders for what is not finished. Their owner keeps them locked, so that the dead one's can be told from the
//! living one's, and removed.

use super::lock::{self, Guard};
use super::patience::Patience;
use super::private;
use std::fs::{DirEntry, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A file in the folder that its owner keeps locked, as long as it lives. It and not the folder itself is locked:
/// a server of files tells other machines of locks on files only.
const OWNER: &str = ".aoe-owner";
/// A folder without an owner's file is left alone for so long: its owner may be about to make it.
const NEW: Duration = Duration::from_secs(600);

/// Such a folder, gone with this.
#[derive(Debug)]
pub struct HiddenFolder {
    folder: TempDir,
    _owner: Option<Guard>,
}

impl HiddenFolder {
    /// Makes one in a directory; its name begins with `prefix`. Where there are no locks, it has no owner, and nobody
    /// else removes it.
    pub fn open(directory: &Path, prefix: &str) -> io::Result<HiddenFolder> {
        let folder = private::folder(directory, prefix)?;
        // The name tells others that there is an owner: so the file is locked before it has that name.
        let (unlocked, locked) = (folder.path().join("new"), folder.path().join(OWNER));
        let owner = private::create(&unlocked)?;
        let owner = match Patience::default().lock(&owner, &unlocked) {
            Ok(()) => Some(Guard::of(owner)),
            Err(error) => {
                lock::tell(directory, &error);
                None
            }
        };
        std::fs::rename(&unlocked, &locked)?;
        Ok(HiddenFolder { folder, _owner: owner })
    }

    /// The same, once those have gone that killed owners left there under this prefix.
    pub fn fresh(directory: &Path, prefix: &str) -> io::Result<HiddenFolder> {
        sweep(directory, prefix, |_| {});
        HiddenFolder::open(directory, prefix)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folders of this prefix in a directory whose owners live no more, each after `before` has seen it.
pub fn sweep(directory: &Path, prefix: &str, before: impl Fn(&Path)) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let Ok(folder) = entry.metadata() else { continue };
        // Everybody can write to `/tmp`: what lies there under our names may be anybody's.
        let is_ours = folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw();
        // Held while the folder goes.
        let Some(_dead) = is_ours.then(|| abandoned(&entry, &folder)).flatten() else { continue };
        before(&entry.path());
        match std::fs::remove_dir_all(entry.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                log::warn!("{} was left by a tuning that was killed: {error}", entry.path().display());
            }
            _ => log::info!("removed {}, which a tuning that was killed had left", entry.path().display()),
        }
    }
}

/// Shows that the owner of a folder lives no more.
struct Dead {
    /// Its file, locked now, if it came to that.
    _owner: Option<File>,
}

/// Whether the owner of a folder lives no more.
fn abandoned(entry: &DirEntry, folder: &Metadata) -> Option<Dead> {
    // It may be anything: a pipe at which opening waits for ever, or a link to some file of the user's.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    match OpenOptions::new().write(true).custom_flags(flags).open(entry.path().join(OWNER)) {
        Ok(owner) => {
            let is_dead = owner.metadata().is_ok_and(|file| file.is_file()) && owner.try_lock().is_ok();
            is_dead.then_some(Dead { _owner: Some(owner) })
        }
        // Killed before it came to that, or not come to that yet.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let is_old = folder.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > NEW));
            is_old.then_some(Dead { _owner: None })
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "unfinished-";

    fn opened(directory: &Path) -> HiddenFolder {
        HiddenFolder::fresh(directory, PREFIX).unwrap()
    }

    #[test]
    fn a_folder_whose_owner_was_killed_is_removed_and_a_living_ones_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let dead = temporary.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(OWNER), "").unwrap();
        let foreign = temporary.path().join(format!("{PREFIX}foreign"));
        std::fs::create_dir(&foreign).unwrap();
        let living = opened(temporary.path());
        assert!(!dead.exists() && foreign.exists(), "who is making it is given time");
        let long_ago = std::time::SystemTime::now() - 2 * NEW;
        File::open(&foreign).unwrap().set_modified(long_ago).unwrap();
        drop(opened(temporary.path()));
        assert!(!foreign.exists(), "killed before it had an owner");
        let other = opened(temporary.path());
        assert!(living.path().exists() && other.path().exists());
    }

    #[test]
    fn what_others_laid_under_our_names_is_neither_waited_for_nor_touched() {
        let temporary = tempfile::tempdir().unwrap();
        let [pipe, link] = ["pipe", "link"].map(|name| temporary.path().join(format!("{PREFIX}{name}")));
        let precious = temporary.path().join("precious");
        std::fs::write(&precious, "kept").unwrap();
        for folder in [&pipe, &link] {
            std::fs::create_dir(folder).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.join(OWNER), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        std::os::unix::fs::symlink(&precious, link.join(OWNER)).unwrap();
        opened(temporary.path());
        assert!(pipe.exists() && link.exists());
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "kept");
    }
}
