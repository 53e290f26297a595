//! One bank file with its side file on storage: reading, and merging changes into it.

use super::document::Document;
use super::form::{Form, Knowledge};
use super::key::Key;
use super::operator::Measured;
use super::side::{Side, Stamp, Verdict};
use super::storage::{self, Storage};
use super::transaction::{OWN_DIRECTORY, Old, Role, Transaction};
use crate::status::{Error, Result};
use crate::workload::Workload;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// What a merge comes to.
#[derive(Debug)]
pub struct Merged {
    /// Whether the bank file becomes another than before.
    pub changed: bool,
    /// What was found wrong on the way.
    pub warnings: Vec<String>,
}

/// A bank file.
pub struct BankFile<'a> {
    storage: &'a dyn Storage,
    path: PathBuf,
    side_path: PathBuf,
    form: Form,
    op_type: String,
}

impl<'a> BankFile<'a> {
    /// The file of this name in a `unified_bank` directory.
    pub fn new(storage: &'a dyn Storage, directory: &Path, name: &str, form: Form, op_type: &str) -> Self {
        BankFile {
            storage,
            path: directory.join(name),
            side_path: directory.join(OWN_DIRECTORY).join(format!("{name}.side.jsonl")),
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
        let side = Side::parse(self.form, self.old_side().content());
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

    fn old_side(&self) -> Old {
        self.storage.read(&self.side_path).map_or(Old::Unknown, Old::from)
    }

    /// Merges changes into the file as it is now and stages what is to take its place.
    ///
    /// The side file keeps what it said of the old records, so that a crash between the two leaves
    /// every record vouched for; it is tidied only where no line is damaged.
    pub fn merge(
        &self,
        changes: &BTreeMap<Key, Change>,
        stamp: &Stamp,
        transaction: &mut Transaction<'_>,
    ) -> Result<Merged> {
        transaction.lock_file(&self.path)?;
        let old = Old::from(self.content()?);
        let old_side = self.old_side();
        let mut side = Side::parse(self.form, old_side.content());
        let mut document = Document::parse(self.form, &self.op_type, old.content(), &side);
        let mut warnings = self.findings(&document);
        for (key, change) in changes {
            if theirs_is_better(&document, &side, key, change, stamp) {
                continue;
            }
            document.put(key, &change.info, change.knowledge.clone())?;
            side.insert(stamp.measurement(key, &change.knowledge, &change.measured));
        }
        let new = document.render();
        if document.is_damaged {
            warnings.push(self.set_aside(old.content(), transaction)?);
        } else {
            let before = Document::parse(self.form, &self.op_type, old.content(), &Side::default());
            side.retain_recorded(&[&before, &document]);
        }
        transaction.stage(Role::Support, &self.side_path, &side.render()?, old_side)?;
        let differs = new != old.content();
        transaction.stage(Role::Bank, &self.path, &new, old)?;
        Ok(Merged { changed: differs, warnings })
    }

    /// Stages a copy of a damaged file as `<name>.damaged-<n>`, once, and says so.
    fn set_aside(&self, content: &[u8], transaction: &mut Transaction<'_>) -> Result<String> {
        for n in 1..=MOST_DAMAGED_COPIES {
            let copy = storage::sibling(&self.path, "", &format!(".damaged-{n}"));
            let existing = self.storage.read(&copy).map_err(|e| Error::file("read", &copy, e))?;
            if existing.as_ref().is_some_and(|e| e != content) {
                continue;
            }
            if existing.is_none() {
                transaction.stage(Role::Support, &copy, content, Old::Absent)?;
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
    match side.verdict(key, knowledge) {
        Verdict::Vouched(m) => {
            m.soc_fields == stamp.soc_fields
                && m.backend == change.measured.backend
                && m.after_us <= change.measured.after_us
        }
        Verdict::Unknown | Verdict::Changed => false,
    }
}
