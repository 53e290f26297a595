//! One bank file with its side file on storage: reading, and merging changes into it.

use super::document::Document;
use super::form::Form;
use super::key::{Key, Unusable};
use super::knowledge::Knowledge;
use super::lines::{Finding, sentences};
use super::measurement::Stamp;
use super::record::{Measured, Record};
use super::side::{Side, Verdict, side_path};
use super::storage::Storage;
use super::transaction::{Old, Role, Transaction, is_made_of};
use super::unified;
use super::whole::{self, Content};
use crate::status::{Error, Result};
use crate::workload::Workload;
use prost::bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Times that a bank is read again because a writer replaced it meanwhile.
const MOST_READS: u32 = 100;

/// A record to be written.
#[derive(Debug, Clone)]
pub struct Change {
    /// Everything that CANN may ask for it under, see [`Form::info_dicts`].
    pub infos: Vec<Value>,
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
        let path = directory.join(name);
        BankFile { storage, side_path: side_path(&path), path, form, op_type: op_type.to_owned() }
    }

    /// The file at a path.
    pub fn at(storage: &'a dyn Storage, path: &Path, form: Form, op_type: &str) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        Self::new(storage, path.parent().unwrap_or(Path::new("")), &name, form, op_type)
    }

    /// Its side file; an empty one where there is none, or where its owner keeps it to himself. Fails where it cannot be
    /// read: without it every record would look like one that nobody measured.
    pub fn side(&self) -> Result<Side> {
        match self.storage.read(&self.side_path) {
            Ok(content) => Ok(Side::parse(self.form, &content.unwrap_or_default())),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(Side::default()),
            Err(e) => Err(Error::file("read", &self.side_path, e)),
        }
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file and its side file, as [`BankFile::side`] does; `None` where there is no bank file.
    pub fn read(&self) -> Result<Option<(Document, Side)>> {
        let Some(mut content) = self.content()? else { return Ok(None) };
        for attempt in 1.. {
            let side = self.side()?;
            let document = Document::parse(self.form, &self.op_type, &content, &side);
            if document.lines.findings().is_empty() || attempt == MOST_READS {
                return Ok(Some((document, side)));
            }
            // What looks wrong may be a bank file and a side file of different moments.
            match self.content()? {
                Some(now) if now == content => return Ok(Some((document, side))),
                Some(now) => content = now,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The findings of a document and of its side file as texts that name the file and the line.
    pub fn findings(&self, document: &Document, side: &Side) -> Vec<String> {
        let lines = document.lines.findings().iter().map(Finding::sentence);
        let mut told = sentences(&self.path, lines, document.lines.unlisted());
        told.extend(self.side_findings(side));
        told
    }

    /// The same of the side file alone.
    pub fn side_findings(&self, side: &Side) -> Vec<String> {
        sentences(&self.side_path, side.findings().map(|finding| finding.sentence()), 0)
    }

    /// The usable records of the file, what its side file says, and what there is to tell of it; `None` where there is
    /// no bank file.
    #[expect(clippy::type_complexity, reason = "three things read together, taken apart at once by the one caller")]
    pub fn records(&self) -> Result<Option<(Vec<Record>, Side, Vec<String>)>> {
        if let Form::Unified(operator) = self.form {
            let Some(content) = self.content()? else { return Ok(None) };
            let bank = unified::Bank::parse(&content);
            let (records, side) = (unified_records(&bank, operator), self.side()?);
            let mut warnings = whole::warnings(&self.path, &bank);
            warnings.extend(self.side_findings(&side));
            return Ok(Some((records, side, warnings)));
        }
        let Some((document, side)) = self.read()? else { return Ok(None) };
        let warnings = self.findings(&document, &side);
        Ok(Some((document.records().cloned().collect(), side, warnings)))
    }

    fn content(&self) -> Result<Option<Bytes>> {
        let content = self.storage.read(&self.path).map_err(|e| Error::file("read", &self.path, e))?;
        Ok(content.map(Bytes::from))
    }

    /// The side file that is to be replaced. What cannot be read is not written over: it may vouch for others' records.
    fn old_side(&self) -> Result<Old> {
        let content = self.storage.read(&self.side_path).map_err(|e| Error::file("read", &self.side_path, e))?;
        Ok(content.map(Bytes::from).into())
    }

    /// Merges changes into the file as it is now and stages what is to take its place.
    pub fn merge(
        &self,
        changes: &BTreeMap<Key, Change>,
        stamp: &Stamp,
        transaction: &mut Transaction<'_>,
    ) -> Result<Merged> {
        if let Form::Unified(operator) = self.form {
            return self.merge_unified(operator, changes, stamp, transaction);
        }
        self.rewrite(transaction, |document, side| {
            for (key, change) in changes {
                if theirs_is_better(document.get(key), side, key, change, stamp) {
                    continue;
                }
                for info in &change.infos {
                    let key = self.form.key(info).map_err(|why| internal(&why))?;
                    document.put(&key, info, change.knowledge.clone())?;
                    side.insert(stamp.measurement(&key, &change.knowledge, &change.measured));
                }
            }
            Ok(())
        })
    }

    /// [`BankFile::merge`] for a file of the unified bank: the same tiling under everything that TBE may ask for.
    fn merge_unified(
        &self,
        operator: unified::Operator,
        changes: &BTreeMap<Key, Change>,
        stamp: &Stamp,
        transaction: &mut Transaction<'_>,
    ) -> Result<Merged> {
        transaction.lock_file(&self.path)?;
        let old = Old::from(self.content()?);
        let old_side = self.old_side()?;
        let mut side = Side::parse(self.form, old_side.content());
        let mut bank = unified::Bank::parse(old.content());
        let mut warnings = whole::warnings(&self.path, &bank);
        warnings.extend(self.side_findings(&side));
        let before = unified_records(&bank, operator);
        let there: BTreeMap<&Key, &Knowledge> = before.iter().map(|r| (&r.key, &r.knowledge)).collect();
        for (key, change) in changes {
            if theirs_is_better(there.get(key).copied(), &side, key, change, stamp) {
                continue;
            }
            let Knowledge::Unified(_, knowledge) = &change.knowledge else { return Err(not_unified()) };
            for text in change.infos.iter().filter_map(Value::as_str) {
                unified::put(&mut bank, text, knowledge, change.measured.after_us)?;
                let key = Key::new(text.as_bytes().to_vec());
                side.insert(stamp.measurement(&key, &change.knowledge, &change.measured));
            }
        }
        if bank.is_damaged() {
            warnings.push(whole::set_aside(self.storage, &self.path, old.content(), transaction)?);
        } else {
            side.retain_recorded(before.iter().chain(&unified_records(&bank, operator)));
        }
        transaction.stage(Role::Support, &self.side_path, &[&side.render()?], old_side)?;
        let new = bank.render();
        let changed = !is_made_of(old.content(), &[&new]);
        transaction.stage(Role::Bank, &self.path, &[&new], old)?;
        Ok(Merged { changed, warnings })
    }

    /// The usable records of a unified bank; none for a file of another form.
    pub fn records_of(&self, bank: &unified::Bank) -> Vec<Record> {
        if let Form::Unified(operator) = self.form { unified_records(bank, operator) } else { Vec::new() }
    }

    /// Stages what these side files say of records that were merged into the file under its lock, and answers what there is
    /// to tell of its own. `soc_fields` is the digest of the part whose bank it is, where that is known. Fails where the
    /// side file cannot be read or staged.
    pub fn vouch(
        &self,
        records: &[Record],
        sides: &[Side],
        soc_fields: Option<u64>,
        transaction: &mut Transaction<'_>,
    ) -> Result<Vec<String>> {
        let old = self.old_side()?;
        let mut side = Side::parse(self.form, old.content());
        let warnings = self.side_findings(&side);
        for other in sides {
            side.take_in(other, records.iter(), soc_fields);
        }
        let new = side.render()?;
        if new != *old.content() {
            transaction.stage(Role::Support, &self.side_path, &[&new], old)?;
        }
        Ok(warnings)
    }

    /// Locks the file, reads it as it is now, lets `change` work on it and stages the result.
    ///
    /// The side file keeps what it said of the old records, so that a crash between the two leaves
    /// every record vouched for; it is tidied only where no line is damaged.
    pub fn rewrite(
        &self,
        transaction: &mut Transaction<'_>,
        change: impl FnOnce(&mut Document, &mut Side) -> Result<()>,
    ) -> Result<Merged> {
        transaction.lock_file(&self.path)?;
        let old = Old::from(self.content()?);
        let old_side = self.old_side()?;
        let mut side = Side::parse(self.form, old_side.content());
        let mut document = Document::parse(self.form, &self.op_type, old.content(), &side);
        let mut warnings = self.findings(&document, &side);
        // Without measurements there is nothing to tidy.
        let before: Option<Vec<_>> = (!side.is_empty()).then(|| document.records().cloned().collect());
        change(&mut document, &mut side)?;
        if document.lines.is_damaged() {
            warnings.push(whole::set_aside(self.storage, &self.path, old.content(), transaction)?);
        } else if let Some(before) = before {
            side.retain_recorded(before.iter().chain(document.records()));
        }
        transaction.stage(Role::Support, &self.side_path, &[&side.render()?], old_side)?;
        let new = document.lines.pieces();
        let changed = !is_made_of(old.content(), &new);
        transaction.stage(Role::Bank, &self.path, &new, old)?;
        Ok(Merged { changed, warnings })
    }
}

/// The records of a unified bank.
fn unified_records(bank: &unified::Bank, operator: unified::Operator) -> Vec<Record> {
    let record = |(info, text): (&unified::Dict, String)| {
        let key = Key::new(info.dumps().into_bytes());
        Record { key, knowledge: Knowledge::Unified(operator, text) }
    };
    unified::records(bank).map(record).collect()
}

/// The error for a record of another form among changes to a unified bank.
fn not_unified() -> Error {
    Error::IllegalSchedule { rule: "unified bank record: it is no record of this bank".into() }
}

/// The error for an `info_dict` of ours that has no key.
fn internal(why: &Unusable) -> Error {
    Error::Internal { place: "bank".into(), message: format!("a record of ours has no key: {why}") }
}

/// Whether another process recorded something better since the change was decided.
fn theirs_is_better(theirs: Option<&Knowledge>, side: &Side, key: &Key, change: &Change, stamp: &Stamp) -> bool {
    let Some(knowledge) = theirs.filter(|k| change.replaces.as_ref() != Some(k)) else { return false };
    match side.verdict(key, knowledge) {
        Verdict::Vouched(m) => {
            m.soc_fields == stamp.soc_fields
                && m.backend == change.measured.backend
                && m.after_us <= change.measured.after_us
        }
        Verdict::Unknown | Verdict::Changed => false,
    }
}
