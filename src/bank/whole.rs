//! Banks of one file each: reading one, and replacing it durably, a damaged one set aside before.

use super::lines::{Finding, Lines, sentences};
use super::storage::{self, Storage};
use super::transaction::{Old, Role, Transaction, clear_abandoned};
use crate::output_file::directory_of;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::{Path, PathBuf};

/// Copies of one kind that are kept beside one bank file at most.
const MOST_COPIES: u32 = 10_000;

/// What the file of a bank holds, read whole.
pub trait Content {
    /// What one of its lines or parts says.
    type Entry;

    /// What it was read as.
    fn lines(&self) -> &Lines<Self::Entry>;

    /// The file as it is written; what was not changed stands as it was read.
    fn render(&self) -> Vec<u8>;

    /// What there is to tell of the file.
    fn findings(&self) -> &[Finding] {
        self.lines().findings()
    }

    /// How much more there is to tell than [`Content::findings`] lists.
    fn unlisted(&self) -> usize {
        self.lines().unlisted()
    }

    /// Whether [`Content::render`] leaves out something of what was read.
    fn is_damaged(&self) -> bool {
        self.lines().is_damaged()
    }
}

/// What became of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// Whether the file was written.
    pub changed: bool,
    /// What was found wrong on the way, with file and line.
    pub warnings: Vec<String>,
}

/// Reads a bank file; one that does not exist is an empty one. Returns what there is to tell of it as well,
/// with file and line. Fails when the file exists and cannot be read.
pub fn load<B: Content>(
    storage: &dyn Storage,
    path: &Path,
    parse: impl FnOnce(&[u8]) -> B,
) -> Result<(B, Vec<String>)> {
    let content = storage.read(path).map_err(|e| Error::file("read", path, e))?;
    let bank = parse(content.as_deref().unwrap_or_default());
    let warnings = warnings(path, &bank);
    Ok((bank, warnings))
}

/// The bank in a file, for reading alone: what there is to tell of it goes to the log, and `None` stands for one that
/// is not there or cannot be read.
pub fn load_where_there<B: Content>(storage: &dyn Storage, path: &Path, parse: impl FnOnce(&[u8]) -> B) -> Option<B> {
    if !path.exists() {
        return None;
    }
    match load(storage, path, parse) {
        Ok((bank, warnings)) => {
            for text in warnings {
                log::warn!("{text}");
            }
            Some(bank)
        }
        Err(error) => {
            log::warn!("{error}");
            None
        }
    }
}

/// Changes a bank file as it is at this moment, under the lock of its directory and its own, and puts the new
/// content in place durably: after a crash at any moment the file is old or new. Nothing is written where
/// `edit` changes nothing. A damaged file is copied to `<name>.damaged-<n>` first.
pub fn update<B: Content>(
    storage: &dyn Storage,
    path: &Path,
    parse: impl FnOnce(&[u8]) -> B,
    edit: impl FnOnce(&mut B) -> Result<()>,
) -> Result<Updated> {
    let mut transaction = Transaction::begin(storage, directory_of(path))?;
    let mut updated = update_in(&mut transaction, storage, path, parse, edit)?;
    updated.warnings.extend(transaction.warning());
    if updated.changed {
        transaction.commit()?;
    }
    Ok(updated)
}

/// [`update`] as a part of a transaction, whose commit puts the new content in place.
pub fn update_in<B: Content>(
    transaction: &mut Transaction<'_>,
    storage: &dyn Storage,
    path: &Path,
    parse: impl FnOnce(&[u8]) -> B,
    edit: impl FnOnce(&mut B) -> Result<()>,
) -> Result<Updated> {
    transaction.lock_file(path)?;
    let old = storage.read(path).map_err(|e| Error::file("read", path, e))?;
    let old = Old::from(old.map(Bytes::from));
    let mut bank = parse(old.content());
    let mut warnings = warnings(path, &bank);
    let before = bank.render();
    edit(&mut bank)?;
    let after = bank.render();
    if after == before {
        return Ok(Updated { changed: false, warnings });
    }
    if bank.is_damaged() {
        warnings.push(set_aside(storage, path, old.content(), transaction)?);
    }
    transaction.stage(Role::Bank, path, &[&after], old)?;
    Ok(Updated { changed: true, warnings })
}

/// What there is to tell of a bank file, with file and line.
pub fn warnings(path: &Path, bank: &impl Content) -> Vec<String> {
    sentences(path, bank.findings().iter().map(Finding::sentence), bank.unlisted())
}

/// Stages a copy of a damaged file as `<name>.damaged-<n>`, once, and says so.
pub fn set_aside(
    storage: &dyn Storage,
    path: &Path,
    content: &[u8],
    transaction: &mut Transaction<'_>,
) -> Result<String> {
    let copy = set_aside_as("damaged", storage, path, content, transaction)?;
    Ok(format!("bank {}: damaged; set aside as {}", path.display(), copy.display()))
}

/// Stages a copy of a file as `<name>.<word>-<n>`, once, and answers where.
pub fn set_aside_as(
    word: &str,
    storage: &dyn Storage,
    path: &Path,
    content: &[u8],
    transaction: &mut Transaction<'_>,
) -> Result<PathBuf> {
    for n in 1..=MOST_COPIES {
        let copy = copy_of(path, word, n);
        match storage.read(&copy) {
            Ok(None) => transaction.stage_copy(path, &copy, content)?,
            Ok(Some(existing)) if existing == content => {}
            // Another copy, or something that cannot be read: the name is taken.
            _ => continue,
        }
        return Ok(copy);
    }
    let reason = format!("{MOST_COPIES} copies ({word}) lie beside it already");
    Err(Error::Bank { path: path.to_owned(), line: None, reason })
}

/// Removes what a writer that was killed left of such a copy; the next copy has its name.
pub fn clear_abandoned_copy(word: &str, storage: &dyn Storage, path: &Path) {
    let mut copies = (1..=MOST_COPIES).map(|n| copy_of(path, word, n));
    if let Some(next) = copies.find(|copy| matches!(storage.identity(copy), Ok(None))) {
        clear_abandoned(storage, &next);
    }
}

fn copy_of(path: &Path, word: &str, n: u32) -> PathBuf {
    storage::sibling(path, "", &format!(".{word}-{n}"))
}
