//! One bank file with its side file on storage: reading, and writing under locks.

use super::document::Document;
use super::form::{Form, Knowledge};
use super::key::Key;
use super::operator::Measured;
use super::side::{Side, Stamp, Verdict};
use super::storage::{self, Guard, Storage};
use crate::status::{Error, Result};
use crate::workload::Workload;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Hidden directory of our own files beside a bank; nothing of CANN's looks into it.
const OWN_DIRECTORY: &str = ".aoe";
/// Copies of damaged files that are kept beside one bank file at most.
const MOST_DAMAGED_COPIES: u32 = 10_000;

/// A record to be written.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its `info_dict`, should the record be new.
    pub info: Value,
    /// Its tiling.
    pub knowledge: Knowledge,
    /// What it cost.
    pub measured: Measured,
    /// What was measured; other workloads may share the record.
    pub workload: Workload,
    /// The tiling that was recorded when the better one was looked for.
    pub replaces: Option<Knowledge>,
}

/// What saving did.
#[derive(Debug)]
pub struct Saved {
    /// Whether the bank file is another than before.
    pub changed: bool,
    /// What was found wrong on the way.
    pub warnings: Vec<String>,
}

/// A bank file.
pub struct BankFile<'a> {
    storage: &'a dyn Storage,
    path: PathBuf,
    side_path: PathBuf,
    lock_path: PathBuf,
    form: Form,
    op_type: String,
}

/// Locks held while a file is written: ours, and the bank file itself, which is CANN's.
#[derive(Default)]
struct Locks {
    held: Vec<Guard>,
    warning: Option<String>,
}

impl<'a> BankFile<'a> {
    /// The file of this name in a `unified_bank` directory.
    pub fn new(storage: &'a dyn Storage, directory: &Path, name: &str, form: Form, op_type: &str) -> Self {
        let own = directory.join(OWN_DIRECTORY);
        BankFile {
            storage,
            path: directory.join(name),
            side_path: own.join(format!("{name}.side.jsonl")),
            lock_path: own.join("lock"),
            form,
            op_type: op_type.to_owned(),
        }
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file and its side file; `None` where there is no bank file. A side file that cannot
    /// be read is an empty one.
    pub fn read(&self) -> Result<Option<(Document, Side)>> {
        let Some(content) = self.content()? else { return Ok(None) };
        let side = self.side();
        Ok(Some((Document::parse(self.form, &self.op_type, &content, &side), side)))
    }

    /// The findings of a document as texts that name the file and the line.
    pub fn findings(&self, document: &Document) -> Vec<String> {
        let text =
            |line, reason: &str| Error::Bank { path: self.path.clone(), line: Some(line), reason: reason.into() };
        document.findings.iter().map(|f| text(f.line, &f.reason).to_string()).collect()
    }

    fn content(&self) -> Result<Option<Vec<u8>>> {
        self.storage.read(&self.path).map_err(|e| Error::file("read", &self.path, e))
    }

    fn side(&self) -> Side {
        let content = self.storage.read(&self.side_path).ok().flatten().unwrap_or_default();
        Side::parse(self.form, &content)
    }

    /// Merges changes into the file as it is now and replaces it durably.
    ///
    /// The side file goes first and keeps what it said of the old records, so that a crash between the
    /// two leaves every record vouched for; it is tidied only where no record is in doubt. On failure the bank file is as it was.
    pub fn save(&self, changes: &BTreeMap<Key, Change>, stamp: &Stamp) -> Result<Saved> {
        self.create_directories()?;
        let locks = self.lock()?;
        let old = self.content()?.unwrap_or_default();
        let old_side = self.side();
        let mut document = Document::parse(self.form, &self.op_type, &old, &old_side);
        let mut warnings = self.findings(&document);
        warnings.extend(locks.warning.clone());
        let mut side = old_side.clone();
        for (key, change) in changes {
            if theirs_is_better(&document, &old_side, key, change, stamp) {
                continue;
            }
            document.put(key, &change.info, change.knowledge.clone())?;
            side.insert(stamp.measurement(key, &change.knowledge, &change.measured));
        }
        let new = document.render();
        if document.is_damaged {
            warnings.push(self.set_aside(&old)?);
        } else {
            let before = Document::parse(self.form, &self.op_type, &old, &Side::default());
            side.retain_recorded(&[&before, &document]);
        }
        self.replace(&self.side_path, &side.render()?)?;
        self.replace(&self.path, &new)?;
        Ok(Saved { changed: new != old, warnings })
    }

    fn create_directories(&self) -> Result<()> {
        let own = self.side_path.parent().unwrap_or(&self.side_path);
        self.storage.create_directory(own).map_err(|e| Error::directory("create", own, e))
    }

    fn lock(&self) -> Result<Locks> {
        let mut locks = Locks::default();
        for (path, create) in [(&self.lock_path, true), (&self.path, false)] {
            match self.storage.lock(path, create) {
                Ok(guard) => locks.held.extend(guard),
                Err(e) if e.kind() == ErrorKind::Unsupported => {
                    let reason =
                        "the file system has no locks: of two processes that save at once, one may lose records";
                    locks.warning = Some(Error::file("lock", path, reason).to_string());
                }
                Err(e) => return Err(Error::file("lock", path, e)),
            }
        }
        Ok(locks)
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        if self.storage.read(path).is_ok_and(|old| old.as_deref() == Some(content)) {
            return Ok(());
        }
        storage::replace(self.storage, path, content).map_err(|e| Error::file("write", path, e))
    }

    /// Copies a damaged file to `<name>.damaged-<n>`, once, and says so.
    fn set_aside(&self, content: &[u8]) -> Result<String> {
        for n in 1..=MOST_DAMAGED_COPIES {
            let copy = storage::sibling(&self.path, "", &format!(".damaged-{n}"));
            let existing = self.storage.read(&copy).map_err(|e| Error::file("read", &copy, e))?;
            if existing.as_ref().is_some_and(|e| e != content) {
                continue;
            }
            if existing.is_none() {
                storage::replace(self.storage, &copy, content).map_err(|e| Error::file("write", &copy, e))?;
            }
            return Ok(format!("bank {}: damaged; set aside as {}", self.path.display(), copy.display()));
        }
        let reason = format!("{MOST_DAMAGED_COPIES} damaged copies lie beside it already");
        Err(Error::Bank { path: self.path.clone(), line: None, reason })
    }
}

/// Whether another process recorded something better since the change was decided.
fn theirs_is_better(document: &Document, side: &Side, key: &Key, change: &Change, stamp: &Stamp) -> bool {
    let Some(knowledge) = document.get(key).filter(|k| change.replaces.as_ref() != Some(k)) else { return false };
    match side.verdict(key, knowledge, true) {
        Verdict::Vouched(m) => {
            m.soc_fields == stamp.soc_fields
                && m.backend == change.measured.backend
                && m.after_us <= change.measured.after_us
        }
        Verdict::Unknown | Verdict::Doubtful(_) => false,
    }
}
