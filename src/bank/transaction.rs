//! Several files of one bank replaced together: all of them or none.

use super::storage::{self, Guard, Storage};
use crate::status::{Error, Result};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Hidden directory of our own files beside a bank; nothing of CANN's looks into it.
pub const OWN_DIRECTORY: &str = ".aoe";

/// Files to be replaced under the lock of their bank.
///
/// New contents are written and synced under temporary names first, which is where a full disk shows;
/// only [`Transaction::commit`] renames. Dropped before that, nothing has changed.
pub struct Transaction<'a> {
    storage: &'a dyn Storage,
    locks: Vec<Guard>,
    warning: Option<String>,
    supports: Vec<Replacement>,
    banks: Vec<Replacement>,
}

/// What a file is to its bank; supports are in place, durably, before the first bank file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A side file or the copy of a damaged file.
    Support,
    /// A bank file.
    Bank,
}

/// What a path held before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Old {
    /// This.
    Content(Vec<u8>),
    /// There was no such file.
    Absent,
    /// It could not be read.
    Unknown,
}

impl Old {
    /// The content; nothing where there was none to be had.
    pub fn content(&self) -> &[u8] {
        match self {
            Old::Content(content) => content,
            Old::Absent | Old::Unknown => &[],
        }
    }
}

impl From<Option<Vec<u8>>> for Old {
    fn from(content: Option<Vec<u8>>) -> Old {
        content.map_or(Old::Absent, Old::Content)
    }
}

struct Replacement {
    path: PathBuf,
    temporary: PathBuf,
    old: Old,
    is_renamed: bool,
}

impl<'a> Transaction<'a> {
    /// Makes a bank directory ready and waits for its lock.
    pub fn begin(storage: &'a dyn Storage, directory: &Path) -> Result<Transaction<'a>> {
        let own = directory.join(OWN_DIRECTORY);
        storage.create_directory(&own).map_err(|e| Error::directory("create", &own, e))?;
        let lock = own.join("lock");
        let mut transaction =
            Transaction { storage, locks: Vec::new(), warning: None, supports: Vec::new(), banks: Vec::new() };
        transaction.lock(&lock, true)?;
        Ok(transaction)
    }

    /// Waits for the lock of a bank file, which is how CANN keeps writers apart.
    pub fn lock_file(&mut self, path: &Path) -> Result<()> {
        self.lock(path, false)
    }

    fn lock(&mut self, path: &Path, create: bool) -> Result<()> {
        match self.storage.lock(path, create) {
            Ok(guard) => self.locks.extend(guard),
            Err(e) if e.kind() == ErrorKind::Unsupported => {
                let reason = "the file system has no locks: of two processes that save at once, one may lose records";
                self.warning.get_or_insert_with(|| Error::file("lock", path, reason).to_string());
            }
            Err(e) => return Err(Error::file("lock", path, e)),
        }
        Ok(())
    }

    /// What is to be told about the locks.
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    /// Writes a file's new content beside it, durably.
    pub fn stage(&mut self, role: Role, path: &Path, content: &[u8], old: Old) -> Result<()> {
        if matches!(&old, Old::Content(old) if old == content) {
            return Ok(());
        }
        let temporary = storage::temporary(path);
        let files = match role {
            Role::Support => &mut self.supports,
            Role::Bank => &mut self.banks,
        };
        // Listed first: what a failed write leaves behind is removed with the others.
        files.push(Replacement { path: path.to_owned(), temporary: temporary.clone(), old, is_renamed: false });
        self.storage.write(&temporary, content, path).map_err(|e| Error::file("write", path, e))
    }

    /// Puts the staged files in place: supports first, then the bank files, each kind made durable
    /// before the next step.
    ///
    /// A crash in between leaves every file whole, old or new. On failure what was put in place is put
    /// back, as far as the storage lets it.
    pub fn commit(mut self) -> Result<()> {
        let done =
            rename_all(self.storage, &mut self.supports).and_then(|()| rename_all(self.storage, &mut self.banks));
        if done.is_err() {
            self.put_back();
        }
        done
    }

    /// Bank files first, so that no record stands without the side file that vouches for it.
    fn put_back(&self) {
        for file in self.banks.iter().chain(&self.supports).filter(|f| f.is_renamed) {
            let restored = match &file.old {
                Old::Content(content) => storage::replace(self.storage, &file.path, content),
                Old::Absent => self.storage.remove(&file.path),
                // A side file that says more than the bank holds is no harm.
                Old::Unknown => Ok(()),
            };
            if let Err(e) = restored {
                log::warn!("{} stays as newly written: {e}", file.path.display());
            }
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for file in self.supports.iter().chain(&self.banks).filter(|f| !f.is_renamed) {
            // Best effort: the next writer truncates what remains.
            match self.storage.remove(&file.temporary) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    log::warn!("cannot remove {}: {e}", file.temporary.display());
                }
                _ => {}
            }
        }
    }
}

fn rename_all(storage: &dyn Storage, files: &mut [Replacement]) -> Result<()> {
    for file in files.iter_mut() {
        storage.rename(&file.temporary, &file.path).map_err(|e| Error::file("write", &file.path, e))?;
        file.is_renamed = true;
    }
    let directories: BTreeSet<_> = files.iter().filter_map(|f| f.path.parent()).collect();
    for directory in directories {
        storage.sync_directory(directory).map_err(|e| Error::directory("write to", directory, e))?;
    }
    Ok(())
}
