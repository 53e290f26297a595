//! One bank out of several: of two records with one key the better measured stays.

use super::disk::DISK;
use super::document::Document;
use super::file::BankFile;
use super::file_name::{FileName, bank_files, refused};
use super::inspect::{PART_FIELD, Part, is_kept_out, kept_out_line};
use super::key::Key;
use super::knowledge::Knowledge;
use super::lines::by_parts;
use super::measurement::Measurement;
use super::merge_outcome::MergeOutcome;
use super::merge_places::{Place, is_one_file, is_same, places};
use super::merge_whole::{Split, split};
use super::record::Record;
use super::side::{Side, Verdict, soc_digest};
use super::standing::Standing;
use super::storage::Storage;
use super::transaction::Transaction;
use crate::output_file::directory_of;
use crate::soc::Soc;
use crate::status::{Error, Result};
use memchr::memmem::Finder;
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Merges bank files, directories of them or bank roots into one of the same kind; `into` is made when it is not there.
///
/// Of two records with one key, a device's time stands before the simulator's, and any time before none; one of the part as
/// it is described today before one of another description; then the lower time, the later day, and last what the record
/// says: the order of the sources never matters. A record that `built_in` (files or directories
/// that CANN ships) has as well, or has with a better time, is not taken. Fields that libaoe does not know
/// stay, and so do foreign records.
///
/// So for banks of operators, and for unified banks, of whose records a `cost_time` that no side file explains counts as a
/// device's. Of subgraph banks the record with the lower `end2EndTime` stays, of gradient banks the one that was profiled;
/// other forms are not merged. What lies in a
/// directory below a source goes into the directory of that name below `into`.
///
/// The sources are only read. All files of a directory are replaced together, or none. Fails as [`checked`] does, and
/// with [`Error::Bank`] for a source with records of another part.
pub fn merge(sources: &[PathBuf], into: &Path, built_in: &[PathBuf]) -> Result<MergeOutcome> {
    let mut outcome = MergeOutcome::default();
    for place in checked(sources, into, built_in)? {
        merge_place(&place, &mut outcome)?;
    }
    Ok(outcome)
}

/// [`merge`] of directories of operator banks on another storage: the seam through which tests crash and fail it. Their
/// files are read before the target is locked. Other banks in them, and what lies deeper, are left out.
///
/// The sources are only read. All files of the target are replaced together, or none. Fails as [`merge`] does.
pub fn merge_on(storage: &dyn Storage, sources: &[PathBuf], into: &Path) -> Result<MergeOutcome> {
    let found = sources.iter().flat_map(|source| storage.files(source));
    let jobs = paired(found.filter(|path| FileName::of(path).is_ok()).collect(), into, false, &[])?;
    let mut outcome = MergeOutcome::default();
    let mut transaction = Transaction::begin(storage, into)?;
    for job in &jobs {
        let given = job.read_given(storage)?;
        job.take(|| Ok(given), storage, &mut transaction, &mut outcome)?;
    }
    outcome.warnings.extend(transaction.warning());
    transaction.commit()?;
    Ok(outcome)
}

/// Merges what goes into one place.
pub(super) fn merge_place(place: &Place, outcome: &mut MergeOutcome) -> Result<()> {
    let (jobs, others) = prepared(place)?;
    for (path, reason) in others.unmerged {
        outcome.warnings.push(refused(&path, reason).to_string());
        outcome.unmerged.push(path);
    }
    let targets = jobs.iter().map(|job| &job.target).chain(others.jobs.iter().map(|job| &job.target));
    let Some(directory) = targets.map(|target| directory_of(target)).next() else { return Ok(()) };
    let mut transaction = Transaction::begin(&DISK, directory)?;
    for job in &jobs {
        job.run(&mut transaction, outcome)?;
    }
    for job in &others.jobs {
        job.run(&mut transaction, outcome)?;
    }
    outcome.warnings.extend(transaction.warning());
    transaction.commit()?;
    Ok(())
}

/// What is merged where, once it is sure that all of it can be, by what and where it is. Fails with [`Error::Bank`] for
/// files of several SoCs, for one of another number of cores than the file it would go into, for a file whose name does
/// not say what it holds, and for a source that is the file it would go into, by whatever path.
pub(super) fn checked(sources: &[PathBuf], into: &Path, built_in: &[PathBuf]) -> Result<Vec<Place>> {
    if into.as_os_str().is_empty() {
        return Err(Error::param("into", "is empty; the present directory is `.`"));
    }
    let places = places(sources, into, built_in)?;
    for place in &places {
        prepared(place)?;
    }
    Ok(places)
}

/// The jobs of operator banks, and what else there is to do.
fn prepared(Place { sources, into, built_in }: &Place) -> Result<(Vec<Job>, Split)> {
    let others = split(sources, into, is_one_file(into), built_in)?;
    // A built-in file of another form is no operator's.
    let built_in: Vec<_> =
        built_in.iter().filter(|path| !path.is_file() || FileName::of(path).is_ok()).cloned().collect();
    Ok((jobs(&others.operators, into, &built_in)?, others))
}

/// What becomes one file.
#[derive(Debug)]
struct Job {
    target: PathBuf,
    name: FileName,
    sources: Vec<PathBuf>,
    built_in: Vec<PathBuf>,
}

/// Pairs the files of the sources with those of the target.
fn jobs(sources: &[PathBuf], into: &Path, built_in: &[PathBuf]) -> Result<Vec<Job>> {
    let jobs = paired(bank_files(sources)?, into, is_one_file(into), &bank_files(built_in)?)?;
    check_target(into, jobs.first())?;
    Ok(jobs)
}

/// The same of files that were found. `is_file` says whether all go into one.
fn paired(sources: Vec<PathBuf>, into: &Path, is_file: bool, built_in: &[PathBuf]) -> Result<Vec<Job>> {
    let mut jobs: Vec<Job> = Vec::new();
    for source in sources {
        let target = if is_file { into.to_owned() } else { into.join(source.file_name().unwrap_or_default()) };
        if is_same(&source, &target) {
            return Err(refused(&source, "is the file that it would be merged into".into()));
        }
        let name = FileName::of(&target)?;
        let theirs = FileName::of(&source).or_else(|e| if is_file { Ok(name.clone()) } else { Err(e) })?;
        if theirs.soc != jobs.first().map_or(&name, |job| &job.name).soc {
            let reason = format!("is one of {}, and banks of different SoCs are not merged", theirs.soc);
            return Err(refused(&source, reason));
        }
        if theirs.cores != name.cores {
            let reason = format!("is one of {} cores, and {} is for {}", theirs.cores, target.display(), name.cores);
            return Err(refused(&source, reason));
        }
        if (&theirs.op_type, theirs.form) != (&name.op_type, name.form) {
            return Err(refused(&source, format!("holds other records than {}", target.display())));
        }
        if let Some(job) = jobs.iter_mut().find(|job| job.target == target) {
            job.sources.push(source);
        } else {
            let same = |path: &&PathBuf| FileName::of(path).is_ok_and(|other| other == name);
            let built_in = built_in.iter().filter(same).cloned().collect();
            jobs.push(Job { target, name, sources: vec![source], built_in });
        }
    }
    Ok(jobs)
}

/// A directory that holds banks of one SoC takes in no others.
fn check_target(into: &Path, job: Option<&Job>) -> Result<()> {
    let Some(job) = job.filter(|_| into.is_dir()) else { return Ok(()) };
    for path in bank_files(&[into.to_owned()])? {
        let soc = FileName::of(&path)?.soc;
        if soc != job.name.soc {
            let reason = format!("is one of {soc}, and the sources are banks of {}", job.name.soc);
            return Err(refused(&path, reason));
        }
    }
    Ok(())
}

/// A bank file that is only read.
struct Given {
    document: Document,
    side: Side,
    /// What was found wrong in it.
    warnings: Vec<String>,
}

impl Job {
    fn run(&self, transaction: &mut Transaction<'_>, outcome: &mut MergeOutcome) -> Result<()> {
        std::thread::scope(|scope| {
            // Meanwhile the target is locked and read.
            let given = scope.spawn(|| self.read_given(&DISK));
            let given = || given.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.take(given, &DISK, transaction, outcome)
        })
    }

    /// Merges what the built-in bank and the sources have, which is asked for once the target is locked and read.
    fn take(
        &self,
        given: impl FnOnce() -> Result<(Vec<Given>, Vec<Given>)>,
        storage: &dyn Storage,
        transaction: &mut Transaction<'_>,
        outcome: &mut MergeOutcome,
    ) -> Result<()> {
        let merged = self.file(storage, &self.target).rewrite(transaction, |document, side| {
            let (built_in, sources) = given()?;
            let given = built_in.iter().chain(&sources);
            outcome.warnings.extend(given.flat_map(|given| given.warnings.iter().cloned()));
            let soc = self.soc();
            let soc_fields = soc.as_ref().map(soc_digest);
            let mut merging = Merging { soc: soc.as_ref(), soc_fields, document, side, built_in: &built_in, outcome };
            for source in &sources {
                merging.take_in(source);
            }
            Ok(())
        })?;
        outcome.warnings.extend(merged.warnings);
        outcome.changed.extend(merged.changed.then(|| self.target.clone()));
        Ok(())
    }

    /// Reads what the built-in bank and the sources have.
    fn read_given(&self, storage: &dyn Storage) -> Result<(Vec<Given>, Vec<Given>)> {
        let read = |paths: &[PathBuf]| paths.iter().map(|path| self.read(storage, path)).collect::<Result<Vec<_>>>();
        let (built_in, mut sources) = (read(&self.built_in)?, read(&self.sources)?);
        for (path, source) in self.sources.iter().zip(&sources) {
            self.check_parts(path, &source.document)?;
        }
        // The order in which they were named never matters, not even for the order of the lines that are added.
        sources.sort_by(|a, b| a.document.lines.texts().cmp(b.document.lines.texts()));
        Ok((built_in, sources))
    }

    /// A record that says which part it is for belongs into a bank of that part.
    fn check_parts(&self, path: &Path, document: &Document) -> Result<()> {
        let field = Finder::new(PART_FIELD);
        for (text, _) in document.lines.iter().filter(|(text, _)| field.find(text).is_some()) {
            let own = serde_json::from_slice(text).ok().and_then(|line: Value| line.get(PART_FIELD).cloned());
            let own = own.as_ref().and_then(Value::as_str).and_then(Part::parse);
            if let Some(own) = own.filter(|own| (&own.soc, own.cores) != (&self.name.soc, self.name.cores)) {
                let reason = format!(
                    "holds records of {own}, and {} is for {} cores of {}; `aoe bank import` takes those of one part",
                    self.target.display(),
                    self.name.cores,
                    self.name.soc
                );
                return Err(refused(path, reason));
            }
        }
        Ok(())
    }

    fn soc(&self) -> Option<Soc> {
        Part { soc: self.name.soc.clone(), cores: self.name.cores }.soc().ok()
    }

    fn file<'a>(&self, storage: &'a dyn Storage, path: &Path) -> BankFile<'a> {
        BankFile::at(storage, path, self.name.form, self.name.op_type.as_deref().unwrap_or_default())
    }

    fn read(&self, storage: &dyn Storage, path: &Path) -> Result<Given> {
        let file = self.file(storage, path);
        let (document, side) =
            file.read()?.ok_or_else(|| Error::file("read", path, "there is no such file".to_owned()))?;
        let warnings = file.findings(&document, &side);
        Ok(Given { document, side, warnings })
    }
}

/// A file while others are merged into it.
struct Merging<'a> {
    /// The part whose bank it is, where it is one that is known.
    soc: Option<&'a Soc>,
    /// Digest of its description.
    soc_fields: Option<u64>,
    document: &'a mut Document,
    side: &'a mut Side,
    built_in: &'a [Given],
    outcome: &'a mut MergeOutcome,
}

impl Merging<'_> {
    fn take_in(&mut self, source: &Given) {
        let mut foreign: FxHashSet<Bytes> =
            self.document.lines.iter().filter(|(_, record)| record.is_none()).map(|(text, _)| text.clone()).collect();
        let broken = self.broken(source);
        for ((place, (text, record)), is_broken) in source.document.lines.iter().enumerate().zip(broken) {
            match record {
                Some(_) if is_broken => self.refuse(text),
                Some(record) => self.take_record(source, place, record),
                None if foreign.insert(text.clone()) => {
                    self.document.lines.push_foreign(text.clone());
                    self.outcome.foreign += 1;
                }
                None => {}
            }
        }
        self.side.take_later(&source.side);
    }

    fn take_record(&mut self, source: &Given, place: usize, record: &Record) {
        let time = vouched(&source.side, &record.key, &record.knowledge);
        let old = self.document.get(&record.key);
        let is_known = old.is_some();
        if let Some(old) = old {
            let is_same = *old == record.knowledge;
            let soc_fields = self.soc_fields;
            let standing = |measurement, knowledge| Standing { measurement, stated_us: None, knowledge, soc_fields };
            let own = standing(vouched(self.side, &record.key, old), old);
            let is_better = standing(time, &record.knowledge).outranks(&own);
            if is_same || !is_better {
                if let Some(time) = time.filter(|_| is_same && is_better) {
                    self.side.insert(time.clone());
                }
                self.outcome.kept += 1;
                return;
            }
        }
        if self.is_built_in(record, time) {
            self.outcome.refused += 1;
            return;
        }
        self.document.adopt(&source.document, place);
        if let Some(time) = time {
            self.side.insert(time.clone());
        }
        *(if is_known { &mut self.outcome.updated } else { &mut self.outcome.added }) += 1;
    }

    /// Of each line whether CANN's operator would stop at its record, or its kernel not compute the result with it, whoever
    /// wrote it. What stands in the bank already is not judged. Most of a merge's time goes here, so several threads do it.
    fn broken(&self, source: &Given) -> Vec<bool> {
        let lines: Vec<_> = source.document.lines.iter().collect();
        let Some(soc) = self.soc else { return vec![false; lines.len()] };
        let is_broken = |(text, record): &(&Bytes, Option<&Record>)| {
            let is_new = |record: &&Record| self.document.get(&record.key) != Some(&record.knowledge);
            record.filter(is_new).is_some_and(|_| is_kept_out(text, soc))
        };
        by_parts(&lines, |lines| lines.iter().map(is_broken).collect::<Vec<_>>()).concat()
    }

    /// Leaves a broken record out. The first ones are named.
    fn refuse(&mut self, line: &[u8]) {
        self.outcome.refused += 1;
        self.outcome.name_broken(|| self.soc.and_then(|soc| kept_out_line(line, soc)));
    }

    /// Whether a record gains nothing over what CANN ships. Without times to compare, a tiling that someone
    /// put beside CANN's is taken for better.
    fn is_built_in(&self, record: &Record, time: Option<&Measurement>) -> bool {
        // The first layer that has the key is the one that CANN would use.
        let found = self.built_in.iter().find_map(|given| Some((given, given.document.get(&record.key)?)));
        let Some((given, knowledge)) = found else { return false };
        if *knowledge == record.knowledge {
            return true;
        }
        match (time, vouched(&given.side, &record.key, knowledge)) {
            (Some(ours), Some(theirs)) => is_comparable(ours, theirs) && ours.after_us >= theirs.after_us,
            _ => false,
        }
    }
}

fn vouched<'a>(side: &'a Side, key: &Key, knowledge: &Knowledge) -> Option<&'a Measurement> {
    if side.is_empty() {
        return None;
    }
    match side.verdict(key, knowledge) {
        Verdict::Vouched(measurement) => Some(measurement),
        Verdict::Unknown | Verdict::Changed => None,
    }
}

fn is_comparable(a: &Measurement, b: &Measurement) -> bool {
    (&a.backend, a.soc_fields) == (&b.backend, b.soc_fields)
}
