//! The operator bank as a tuner sees it: look up, record, save.

use super::binary;
use super::disk::Disk;
use super::file::{BankFile, Change};
use super::form::{Form, Writable};
use super::key::Key;
use super::knowledge::Knowledge;
use super::measurement::{Measurement, Stamp};
use super::names;
use super::neighbours::Index;
use super::paths::BankPaths;
use super::record::{Measured, Record};
use super::side;
use super::storage::Storage;
use super::transaction::{self, Transaction};
use super::trials::TrialStore;
use crate::output_file::Patience;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::sync::{Mutex, RwLock};
use crate::workload::{Schedule, Workload};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError};

/// What the bank holds for a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The recorded tiling; legal for the workload.
    pub schedule: Schedule,
    /// What it was measured to cost, where this library measured it on this very SoC description.
    pub measured: Option<Measured>,
    /// The file that holds it.
    pub source: PathBuf,
    /// Whether CANN looks into that file.
    pub is_read_by_cann: bool,
}

/// The operator bank of one SoC. Files are read when first asked for; nothing is written before
/// [`OperatorBank::save`].
pub struct OperatorBank {
    soc: Soc,
    soc_fields: u64,
    paths: BankPaths,
    storage: Arc<dyn Storage>,
    date: String,
    files: RwLock<FxHashMap<String, Arc<Loaded>>>,
    pending: BTreeMap<String, Pending>,
    /// Whether records for TBE's binary kernels are written too.
    binary: bool,
    warnings: Mutex<Warnings>,
}

/// Warnings in the order in which they came, each once.
#[derive(Default)]
struct Warnings {
    texts: Vec<String>,
    known: FxHashSet<String>,
}

/// One operator type's records, custom layer first.
struct Loaded {
    layers: Vec<Layer>,
    /// The same records by what they are near to; made when first asked for.
    index: OnceLock<Index>,
}

impl Loaded {
    fn index(&self, form: Form) -> &Index {
        self.index.get_or_init(|| {
            let mut seen = FxHashSet::default();
            let records = self.layers.iter().flat_map(|layer| &layer.records);
            Index::new(form, records.filter(|(key, _)| seen.insert(*key)).map(|(key, record)| (key, &record.0)))
        })
    }
}

/// One file's usable records.
struct Layer {
    path: PathBuf,
    records: FxHashMap<Key, (Knowledge, Option<Measurement>)>,
}

/// What [`OperatorBank::save`] will write to one file.
struct Pending {
    form: Form,
    op_type: String,
    changes: BTreeMap<Key, Change>,
}

impl OperatorBank {
    /// Opens the bank of a SoC. Nothing is read yet.
    pub fn open(paths: BankPaths, soc: &Soc) -> OperatorBank {
        Self::with_storage(paths, soc, Arc::new(Disk::default()), jiff::Zoned::now().date().to_string())
    }

    /// The same, which waits for the locks of others only so long as this allows.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> OperatorBank {
        self.storage = Arc::new(Disk { patience });
        self
    }

    /// The same, which writes what it records of TBE's operators into their runtime banks too, which their binary kernels
    /// may ask.
    #[must_use]
    pub fn with_binary(mut self, binary: bool) -> OperatorBank {
        self.binary = binary;
        self
    }

    /// Opens a bank on another storage; `date` (`YYYY-MM-DD`) goes into the side files.
    pub fn with_storage(paths: BankPaths, soc: &Soc, storage: Arc<dyn Storage>, date: String) -> OperatorBank {
        OperatorBank {
            soc: soc.clone(),
            soc_fields: side::soc_digest(soc),
            paths,
            storage,
            date,
            files: RwLock::default(),
            pending: BTreeMap::new(),
            binary: false,
            warnings: Mutex::default(),
        }
    }

    /// Where the bank lies.
    pub fn paths(&self) -> &BankPaths {
        &self.paths
    }

    /// The trials kept with the bank. They are apart from it: the threads of a tuning may use them while the
    /// bank is written.
    pub fn trials(&self) -> TrialStore {
        let (storage, directory) = (Arc::clone(&self.storage), self.paths.custom.clone());
        TrialStore::new(storage, directory, self.soc.clone(), self.soc_fields, self.date.clone())
    }

    /// Fails when what is found for these workloads could not be written as things stand: a tuning should know before it
    /// begins, not when it ends. Writes nothing.
    ///
    /// The errors are [`crate::status::Error::Directory`] and, for a bank file that CANN could not open either, [`crate::status::Error::Bank`].
    pub fn check_writable<'w>(&self, workloads: impl IntoIterator<Item = &'w Workload>) -> Result<()> {
        let names = |workload| {
            let form = Form::of(workload, &self.soc);
            let binary = self.binary_operator(workload).map(|operator| binary_form(operator, &self.soc).1);
            binary.into_iter().chain([form.file_name(form.op_type(workload), &self.soc)])
        };
        let names: BTreeSet<_> = workloads.into_iter().flat_map(names).collect();
        let files = names.into_iter().map(|name| self.paths.custom.join(name));
        transaction::check_writable(&*self.storage, &self.paths.custom, files)
    }

    /// What was found wrong in the files read so far, each with file and line.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).texts.clone()
    }

    /// Names the record that a workload is kept under. Workloads with equal names share one record:
    /// CANN's key rounds sizes and folds the 16-bit types.
    pub fn record_name(&self, workload: &Workload) -> Result<String> {
        let form = Form::of(workload, &self.soc);
        let key = form.key_of(workload)?;
        Ok(format!("{}#{:016x}", form.file_name(form.op_type(workload), &self.soc), key.digest()))
    }

    /// Name of the file that the record of a workload stands in.
    pub fn file_name(&self, workload: &Workload) -> String {
        let form = Form::of(workload, &self.soc);
        form.file_name(form.op_type(workload), &self.soc)
    }

    /// What the bank holds for a workload: recorded in this session, else in the custom file, else in
    /// the layers below it.
    ///
    /// A record that is illegal for the workload on this SoC, or with which CANN's kernel would not compute the
    /// result, is a miss and is named in [`OperatorBank::warnings`]. Fails when a file exists and cannot be read.
    pub fn lookup(&self, workload: &Workload) -> Result<Option<Entry>> {
        let form = Form::of(workload, &self.soc);
        let op_type = form.op_type(workload);
        let name = form.file_name(op_type, &self.soc);
        let key = form.key_of(workload)?;
        if let Some(change) = self.pending.get(&name).and_then(|p| p.changes.get(&key)) {
            return Ok(Some(Entry {
                schedule: change.knowledge.schedule(workload)?,
                measured: Some(change.measured.clone()),
                source: self.paths.custom.join(&name),
                is_read_by_cann: true,
            }));
        }
        let loaded = self.loaded(&name, form, op_type)?;
        let keys = form.keys_of(workload)?;
        for layer in &loaded.layers {
            let Some((knowledge, measured)) = keys.iter().find_map(|key| layer.records.get(key)) else { continue };
            match self.usable(knowledge, workload) {
                Ok(schedule) => {
                    let valid = measured.as_ref().filter(|m| m.soc_fields == self.soc_fields);
                    let measured = valid.map(|m| Measured {
                        before_us: m.before_us,
                        after_us: m.after_us,
                        backend: m.backend.clone(),
                        space: m.space,
                        default: m.default,
                    });
                    let is_read_by_cann = self.paths.is_read_by_cann(&layer.path);
                    return Ok(Some(Entry { schedule, measured, source: layer.path.clone(), is_read_by_cann }));
                }
                Err(why) => self.warn(format!("bank {}: record of {workload} not used: {why}", layer.path.display())),
            }
        }
        Ok(None)
    }

    /// Tilings that the bank's files hold for the workloads nearest to this one, nearest first and no more
    /// than `count`: those of the same operator, types, formats and flags, no extent more than eight times as
    /// large or small. Each is as it is for its own workload, and may be illegal for this one; what is
    /// recorded and not saved yet is not among them. Fails when a file exists and cannot be read.
    pub fn neighbours(&self, workload: &Workload, count: usize) -> Result<Vec<Schedule>> {
        let form = Form::of(workload, &self.soc);
        let op_type = form.op_type(workload);
        let loaded = self.loaded(&form.file_name(op_type, &self.soc), form, op_type)?;
        Ok(loaded.index(form).nearest(form, workload, &form.key_of(workload)?, &self.soc, count))
    }

    fn usable(&self, knowledge: &Knowledge, workload: &Workload) -> Result<Schedule> {
        knowledge.fit(workload, &self.soc).map_err(|unfit| Error::IllegalSchedule { rule: unfit.rule() })
    }

    /// Notes a better tiling, to be written by [`OperatorBank::save`]. Where workloads share a record
    /// (see [`OperatorBank::record_name`]), the one that gains more time keeps it. Fails with
    /// [`crate::status::Error::IllegalSchedule`] for a schedule that the workload's record form cannot say, at which
    /// CANN would stop with an error, or with which its kernel would not compute the result.
    pub fn record(&mut self, workload: &Workload, schedule: &Schedule, measured: &Measured) -> Result<()> {
        let form = Form::of(workload, &self.soc);
        let op_type = form.op_type(workload);
        let name = form.file_name(op_type, &self.soc);
        let key = form.key_of(workload)?;
        Writable::of(workload, &self.soc).check(schedule)?;
        let knowledge = form.record_of(schedule, workload, &self.soc)?;
        self.note(form, op_type, name, key, knowledge, workload, measured)?;
        match self.binary_operator(workload) {
            Some(operator) => self.record_binary(operator, workload, schedule, measured),
            None => Ok(()),
        }
    }

    /// The operator whose binary kernels are to have a record of a workload too.
    fn binary_operator(&self, workload: &Workload) -> Option<binary::Operator> {
        self.binary.then(|| binary::Operator::of(workload, &self.soc)).flatten()
    }

    /// Notes a tiling for an operator's binary kernels; one that their fields cannot say is named in
    /// [`OperatorBank::warnings`].
    fn record_binary(
        &mut self,
        operator: binary::Operator,
        workload: &Workload,
        schedule: &Schedule,
        measured: &Measured,
    ) -> Result<()> {
        match operator.knowledge(schedule, workload, &self.soc) {
            Ok(knowledge) => {
                let (form, name) = binary_form(operator, &self.soc);
                let knowledge = Knowledge::Binary(operator, knowledge);
                self.note(form, operator.op_type(), name, form.key_of(workload)?, knowledge, workload, measured)
            }
            Err(why) => {
                self.warn(format!("no record of {workload} for the binary kernels of {}: {why}", operator.op_type()));
                Ok(())
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a record consists of, each of another type")]
    fn note(
        &mut self,
        form: Form,
        op_type: &str,
        name: String,
        key: Key,
        knowledge: Knowledge,
        workload: &Workload,
        measured: &Measured,
    ) -> Result<()> {
        let replaces =
            self.loaded(&name, form, op_type)?.layers.first().and_then(|l| l.records.get(&key)).map(|r| r.0.clone());
        let change = Change {
            infos: form.info_dicts(workload),
            knowledge,
            measured: measured.clone(),
            workload: workload.clone(),
            replaces,
        };
        let pending = self.pending.entry(name).or_insert_with(|| Pending {
            form,
            op_type: op_type.to_owned(),
            changes: BTreeMap::new(),
        });
        let gain = |m: &Measured| m.before_us - m.after_us;
        let kept = pending.changes.get(&key);
        if kept.is_none_or(|k| k.workload == *workload || gain(&k.measured) < gain(measured)) {
            pending.changes.insert(key, change);
        }
        Ok(())
    }

    /// Writes what was recorded and returns the files changed, all under one lock and together with
    /// what other processes wrote meanwhile.
    ///
    /// On failure every file is as it was, and the records stay recorded for another try. The one
    /// exception is a storage that fails between two renames and again when they are taken back: each
    /// file is whole then, but some are new.
    pub fn save(&mut self) -> Result<Vec<PathBuf>> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let saved = self.write();
        // What can be measured again gives way to what was found.
        let trials = self.trials();
        if saved.is_err() && self.pending.keys().filter(|name| trials.give_up(name)).count() > 0 {
            return self.write();
        }
        saved
    }

    /// What is recorded and not saved, put into another bank instead, for where this one cannot be written. Fails as
    /// [`OperatorBank::save`] does.
    pub fn save_elsewhere(&mut self, directory: PathBuf) -> Result<Vec<PathBuf>> {
        let own = std::mem::replace(&mut self.paths.custom, directory);
        let saved = self.write();
        self.paths.custom = own;
        saved
    }

    fn write(&mut self) -> Result<Vec<PathBuf>> {
        let stamp = Stamp { soc: names::soc_name(&self.soc), soc_fields: self.soc_fields, date: self.date.clone() };
        let mut transaction = Transaction::begin(&*self.storage, &self.paths.custom)?;
        let mut written = Vec::new();
        for (name, pending) in &self.pending {
            let file = self.file(&self.paths.custom, name, pending.form, &pending.op_type);
            let merged = file.merge(&pending.changes, &stamp, &mut transaction)?;
            merged.warnings.into_iter().for_each(|w| self.warn(w));
            written.extend(merged.changed.then(|| file.path().to_owned()));
        }
        transaction.warning().into_iter().for_each(|w| self.warn(w));
        transaction.commit()?;
        // What was read before is out of date now.
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        for name in std::mem::take(&mut self.pending).into_keys() {
            files.remove(&name);
        }
        drop(files);
        Ok(written)
    }

    fn file(&self, directory: &Path, name: &str, form: Form, op_type: &str) -> BankFile<'_> {
        BankFile::new(&*self.storage, directory, name, form, op_type)
    }

    fn loaded(&self, name: &str, form: Form, op_type: &str) -> Result<Arc<Loaded>> {
        if let Some(loaded) = self.files.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(Arc::clone(loaded));
        }
        let mut layers = Vec::new();
        for directory in std::iter::once(&self.paths.custom).chain(&self.paths.also_read) {
            let file = self.file(directory, name, form, op_type);
            if let Some((records, side, warnings)) = file.records()? {
                for warning in warnings {
                    self.warn(warning);
                }
                layers.push(Layer::new(file.path(), records, &side));
            } else if layers.is_empty() {
                // The first layer is always the custom one.
                layers.push(Layer { path: file.path().to_owned(), records: FxHashMap::default() });
            }
        }
        let loaded = Arc::new(Loaded { layers, index: OnceLock::new() });
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(files.entry(name.to_owned()).or_insert(loaded)))
    }

    fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.known.insert(warning.clone()) {
            log::warn!("{warning}");
            warnings.texts.push(warning);
        }
    }
}

/// The form of the runtime bank of an operator of TBE's, and its file on a SoC.
fn binary_form(operator: binary::Operator, soc: &Soc) -> (Form, String) {
    let form = Form::runtime(operator.op_type());
    (form, form.file_name(operator.op_type(), soc))
}

impl Layer {
    fn new(path: &Path, records: Vec<Record>, side: &side::Side) -> Layer {
        let records = records.into_iter().map(|record| {
            let measured = match side.verdict(&record.key, &record.knowledge) {
                side::Verdict::Vouched(measured) => Some(measured.clone()),
                side::Verdict::Unknown | side::Verdict::Changed => None,
            };
            (record.key, (record.knowledge, measured))
        });
        Layer { path: path.to_owned(), records: records.collect() }
    }
}
