//! Several files of one bank replaced together: all of them or none.

use super::kind::{Kind, PEEKED};
use super::storage::{self, Guard, Identity, Storage};
use crate::output_file::directory_of;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Hidden directory of our own files beside a bank; nothing of CANN's looks into it.
pub const OWN_DIRECTORY: &str = ".aoe";

/// End of the names under which new contents are written, where there are locks.
const TEMPORARY: &str = ".tmp";
/// The file in it whose lock a writer of the bank holds.
const LOCK_FILE: &str = "lock";

/// Files to be replaced under the lock of their bank.
///
/// New contents are written and synced under temporary names first, which is where a full disk shows;
/// only [`Transaction::commit`] renames. Dropped before that, nothing has changed.
pub struct Transaction<'a> {
    storage: &'a dyn Storage,
    locks: Vec<Guard>,
    /// What is locked: a file that has two names would be waited for without end.
    held: BTreeSet<Identity>,
    warning: Option<String>,
    /// End of the names under which new contents are written. Under the lock always the same, so that the
    /// next writer clears away what a killed one left.
    temporary: String,
    supports: Replacements,
    banks: Replacements,
    /// What is to be written, or stands as it is to be, by its own name.
    targets: BTreeSet<PathBuf>,
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
    Content(Bytes),
    /// There was no such file.
    Absent,
}

impl Old {
    /// The content; nothing where there was none to be had.
    pub fn content(&self) -> &Bytes {
        static NOTHING: Bytes = Bytes::new();
        match self {
            Old::Content(content) => content,
            Old::Absent => &NOTHING,
        }
    }
}

impl From<Option<Bytes>> for Old {
    fn from(content: Option<Bytes>) -> Old {
        content.map_or(Old::Absent, Old::Content)
    }
}

/// The files of one role.
#[derive(Default)]
struct Replacements {
    files: Vec<Replacement>,
    /// Where they lie, also those that need not change.
    directories: BTreeSet<PathBuf>,
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
        let mut transaction = Transaction {
            storage,
            locks: Vec::new(),
            held: BTreeSet::new(),
            warning: None,
            temporary: TEMPORARY.into(),
            supports: Replacements::default(),
            banks: Replacements::default(),
            targets: BTreeSet::new(),
        };
        let own = directory.join(OWN_DIRECTORY);
        storage.target(&own).map_err(|e| Error::directory("write to", &own, e))?;
        let lock = own.join(LOCK_FILE);
        // The lock file is made last: where it is, the directories are durable.
        if !transaction.lock(&lock, false)? {
            storage::create_directories(storage, &own).map_err(|e| Error::directory("create", &own, e))?;
            transaction.lock(&lock, true)?;
        }
        Ok(transaction)
    }

    /// Waits for the lock of a bank file, which is how CANN keeps writers apart.
    pub fn lock_file(&mut self, path: &Path) -> Result<()> {
        self.lock(path, false).map(|_| ())
    }

    /// Returns whether the file is there; a file system without locks counts as locked.
    fn lock(&mut self, path: &Path, create: bool) -> Result<bool> {
        let identity = || self.storage.identity(path).map_err(|e| Error::file("lock", path, e));
        if identity()?.is_some_and(|identity| self.held.contains(&identity)) {
            return Ok(true);
        }
        match self.storage.lock(path, create) {
            Ok(None) => return Ok(false),
            Ok(guard) => {
                self.held.extend(identity()?);
                self.locks.extend(guard);
            }
            Err(e) if e.kind() == ErrorKind::Unsupported => {
                let reason = "the file system has no locks: of two processes that save at once, one may lose records";
                self.warning.get_or_insert_with(|| Error::file("lock", path, reason).to_string());
                // Nobody keeps another writer from the same name.
                self.temporary = format!(".{:016x}.tmp", fastrand::u64(..));
            }
            Err(e) => return Err(Error::file("lock", path, e)),
        }
        Ok(true)
    }

    /// What is to be told about the locks.
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    /// Writes a file's new content, given in pieces, beside it, durably. Where the path is a symbolic link, it is
    /// the file behind it that is replaced.
    pub fn stage(&mut self, role: Role, path: &Path, content: &[&[u8]], old: Old) -> Result<()> {
        let target = self.storage.target(path).map_err(|e| Error::file("write", path, e))?;
        self.check_link(path, &target, old.content())?;
        self.stage_at(role, path, target, content, old).map_err(|e| Error::file("write", path, e))
    }

    /// Writes a copy of a file beside it, durably, under a name that nothing has; no more may be done with it than with
    /// the original.
    pub fn stage_copy(&mut self, original: &Path, copy: &Path, content: &[u8]) -> Result<()> {
        let staged = self.stage_at(Role::Support, original, copy.to_owned(), &[content], Old::Absent);
        staged.map_err(|e| Error::file("write", copy, e))
    }

    /// Refuses to replace, behind a link, what is no bank, and what is replaced under another name already.
    fn check_link(&self, path: &Path, target: &Path, old: &[u8]) -> Result<()> {
        let refused = |reason: String| Err(Error::Bank { path: path.to_owned(), line: None, reason });
        if self.targets.contains(target) {
            let reason =
                format!("is {} by another name, which is to be written as well: remove the link", target.display());
            return refused(reason);
        }
        let beginning = old.get(..PEEKED).unwrap_or(old);
        if path != target && Kind::of(beginning) == Kind::Unknown {
            let reason = format!("is a link to {}, which is no bank and is not replaced: remove it", target.display());
            return refused(reason);
        }
        Ok(())
    }

    /// [`Transaction::stage`] where the path leads; a new file is to be like the one at `like`.
    fn stage_at(
        &mut self,
        role: Role,
        like: &Path,
        target: PathBuf,
        content: &[&[u8]],
        old: Old,
    ) -> std::io::Result<()> {
        self.targets.insert(target.clone());
        let replacements = match role {
            Role::Support => &mut self.supports,
            Role::Bank => &mut self.banks,
        };
        // Also where the content stands already: who put it there may have died before it was durable.
        replacements.directories.insert(directory_of(&target).to_owned());
        let temporary = storage::sibling(&target, ".", &self.temporary);
        // An empty file is not made: none says the same.
        if is_made_of(old.content(), content) {
            self.clear_away(&temporary);
            return Ok(());
        }
        // Listed first: what a failed write leaves behind is removed with the others.
        replacements.files.push(Replacement { path: target, temporary: temporary.clone(), old, is_renamed: false });
        storage::write(self.storage, &temporary, content, like)
    }

    /// Removes what was written under a temporary name. Best effort: the next writer removes what remains.
    fn clear_away(&self, temporary: &Path) {
        match self.storage.remove(temporary) {
            Err(e) if e.kind() != ErrorKind::NotFound => log::warn!("cannot remove {}: {e}", temporary.display()),
            _ => {}
        }
    }

    /// Replaces a file of our own at once; a crash may lose it.
    pub fn replace_unsynced(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        storage::replace_unsynced(self.storage, path, &storage::sibling(path, ".", &self.temporary), content)
    }

    /// Puts the staged files in place: supports first, then the bank files, each kind made durable
    /// before the next step.
    ///
    /// A crash in between leaves every file whole, old or new. On failure what was put in place is put
    /// back, as far as the storage lets it.
    pub fn commit(mut self) -> Result<()> {
        let done = self.supports.put_in_place(self.storage).and_then(|()| self.banks.put_in_place(self.storage));
        if done.is_err() {
            self.put_back();
        }
        done
    }

    /// Bank files first: where one stays as it is, so do the side files, or a record would stand without what vouches for
    /// it. A side file that says more than the bank holds is no harm.
    fn put_back(&self) {
        if self.banks.put_back(self.storage) {
            self.supports.put_back(self.storage);
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for file in self.supports.files.iter().chain(&self.banks.files).filter(|f| !f.is_renamed) {
            self.clear_away(&file.temporary);
        }
    }
}

impl Replacements {
    /// Puts back what was put in place; returns whether all of it could be.
    fn put_back(&self, storage: &dyn Storage) -> bool {
        let mut is_all_back = true;
        for file in self.files.iter().filter(|file| file.is_renamed) {
            let restored = match &file.old {
                Old::Content(content) => storage::replace(storage, &file.path, &file.temporary, &[content]),
                // Durably: a power cut must not take back this one and keep that of a side file.
                Old::Absent => {
                    storage.remove(&file.path).and_then(|()| storage.sync_directory(directory_of(&file.path)))
                }
            };
            if let Err(e) = restored {
                log::warn!("{} stays as newly written: {e}", file.path.display());
                is_all_back = false;
            }
        }
        is_all_back
    }

    fn put_in_place(&mut self, storage: &dyn Storage) -> Result<()> {
        for file in &mut self.files {
            storage.rename(&file.temporary, &file.path).map_err(|e| Error::file("write", &file.path, e))?;
            file.is_renamed = true;
        }
        for directory in &self.directories {
            storage.sync_directory(directory).map_err(|e| Error::directory("write to", directory, e))?;
        }
        Ok(())
    }
}

/// Removes what a killed writer left beside a bank file. Where nothing is left, nothing is locked.
pub fn clear_abandoned(storage: &dyn Storage, file: &Path) {
    let temporary = storage::sibling(file, ".", TEMPORARY);
    if !matches!(storage.read(&temporary), Ok(None)) {
        match Transaction::begin(storage, directory_of(file)) {
            // Without locks nobody knows whether its writer lives.
            Ok(transaction) if transaction.warning.is_none() => transaction.clear_away(&temporary),
            Ok(_) => {}
            Err(error) => log::warn!("{} stays: {error}", temporary.display()),
        }
    }
}

/// Whether a bank directory and these files in it could be written as things stand. Writes nothing.
///
/// Fails with [`Error::Directory`] and, for a file that CANN could not open either, with [`Error::Bank`] in CANN's terms.
pub fn check_writable(storage: &dyn Storage, directory: &Path, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let own = directory.join(OWN_DIRECTORY);
    for place in [directory, &own] {
        storage.check_writable(place).map_err(|e| Error::directory("write to", place, e))?;
    }
    let lock = own.join(LOCK_FILE);
    storage.check_file(&lock).map_err(|e| Error::file("lock", &lock, e))?;
    let mut targets = BTreeMap::new();
    for file in files {
        let refused =
            |e: &std::io::Error| Error::Bank { path: file.clone(), line: None, reason: storage::not_opened(e) };
        storage.check_file(&file).map_err(|e| refused(&e))?;
        // What a link leads to is replaced where it lies.
        let target = storage.target(&file).map_err(|e| refused(&e))?;
        if let Some(other) = targets.insert(target.clone(), file.clone()) {
            let reason =
                format!("is {} by another name: each operator has a file of its own; remove the link", other.display());
            return Err(Error::Bank { path: file, line: None, reason });
        }
        let place = directory_of(&target);
        storage.check_writable(place).map_err(|e| Error::directory("write to", place, e))?;
    }
    Ok(())
}

/// Whether pieces, one behind the other, are this content.
pub fn is_made_of<'a>(content: &'a [u8], pieces: &[&[u8]]) -> bool {
    let after = |rest: &'a [u8], piece: &&[u8]| {
        let (start, rest) = rest.split_at_checked(piece.len())?;
        // Most pieces are still where they were read, and need not be compared byte by byte.
        (std::ptr::eq(start, *piece) || start == *piece).then_some(rest)
    };
    pieces.iter().try_fold(content, after).is_some_and(<[u8]>::is_empty)
}
