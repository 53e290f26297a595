//! What earlier tunings measured: for each workload and backend one file of trials beside the bank.
//!
//! JSON lines packed with gzip, `.aoe/<name>.trials/<digest>.jsonl.gz`: a head that says what was measured
//! where, then one trial a line. The files are no part of the bank's transaction: one that is lost, torn,
//! foreign or out of date costs measurements and nothing else.

use super::form::Form;
use super::storage::Storage;
use super::transaction::{OWN_DIRECTORY, Transaction};
use super::{hash, json};
use crate::output_file::directory_of;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload, canonical_json};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// What ends the name of the directory with the trials of a bank file.
pub const TRIALS: &str = ".trials";
/// What ends the name of a file with trials.
const ENDING: &str = ".jsonl.gz";
/// Trials that are kept of one workload on one backend.
pub const MOST_TRIALS: usize = 4096;

/// Bytes of an unpacked file: 4096 of the longest schedules take less than half.
const MOST_BYTES: u64 = 8 << 20;

/// Number of the layout; raised when a field changes its meaning.
const LAYOUT: u32 = 1;

/// A tiling and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownTrial {
    /// The tiling.
    pub schedule: Schedule,
    /// Microseconds; `None` where it could not be run.
    pub us: Option<f64>,
}

/// The trials of one workload, in the order of measuring.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownTrials {
    /// The search that made the last of them: version of the space, algorithm, seed. Whoever would search just
    /// so goes on where it ended.
    pub search: String,
    /// The trials, each schedule once.
    pub trials: Vec<KnownTrial>,
    /// Trials that were made as well and are not kept.
    pub dropped: usize,
}

/// First line of a file.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Head {
    backend: String,
    date: String,
    dropped: usize,
    layout: u32,
    search: String,
    soc: String,
    soc_fields: String,
    trials: usize,
    workload: Value,
}

/// The trials kept with a bank. Independent of the bank that it came from, so that the threads of a tuning may
/// use it while the bank is written.
#[derive(Clone)]
pub struct TrialStore {
    storage: Arc<dyn Storage>,
    directory: PathBuf,
    soc: Soc,
    soc_fields: u64,
    date: String,
}

impl TrialStore {
    /// The trials kept in a bank directory for one SoC description; `soc_fields` is its digest.
    pub fn new(storage: Arc<dyn Storage>, directory: PathBuf, soc: Soc, soc_fields: u64, date: String) -> TrialStore {
        TrialStore { storage, directory, soc, soc_fields, date }
    }

    /// What is known of a workload: trials of the same backend on the same SoC description. Whatever cannot be
    /// read is not known.
    pub fn read(&self, workload: &Workload, backend: &str) -> Option<KnownTrials> {
        let content = self.storage.read(&self.path(workload, backend)).ok()??;
        let head = self.head(workload, backend);
        parse(&content, |found| {
            found.soc_fields == head.soc_fields && found.workload == head.workload && found.backend == head.backend
        })
    }

    /// Keeps the trials of a workload in place of those known before; of more than [`MOST_TRIALS`] the fastest.
    /// A crash may lose them: nothing is synced.
    pub fn write(&self, workload: &Workload, backend: &str, known: &KnownTrials) -> Result<()> {
        let path = self.path(workload, backend);
        let failed = |e| Error::file("write", &path, e);
        let kept = fastest(&known.trials);
        let dropped = known.dropped + known.trials.len() - kept.len();
        let search = known.search.clone();
        let head = Head { search, trials: kept.len(), dropped, ..self.head(workload, backend) };
        let content = render(&head, &kept).map_err(failed)?;
        let transaction = Transaction::begin(&*self.storage, &self.directory)?;
        let directory = directory_of(&path);
        self.storage.target(directory).map_err(|e| Error::directory("write to", directory, e))?;
        if !self.storage.is_directory(directory) {
            self.storage.make_directory(directory).map_err(|e| Error::directory("create", directory, e))?;
        }
        transaction.replace_unsynced(&path, &content).map_err(failed)
    }

    /// Removes all trials kept for an operator file: they make room for records, without which they are worth nothing.
    /// Answers whether there were any.
    pub fn give_up(&self, file: &str) -> bool {
        let mut kept = self.storage.files(&self.place(file));
        // Nothing else, wherever a link leads.
        kept.retain(|path| path.to_str().is_some_and(|path| path.ends_with(ENDING)));
        let removed = kept.iter().filter(|path| self.storage.remove(path).is_ok()).count();
        if removed > 0 {
            log::warn!("{removed} files of earlier trials beside {file} were removed, to make room for its records");
        }
        removed > 0
    }

    /// Where the trials of an operator file are kept.
    fn place(&self, file: &str) -> PathBuf {
        self.directory.join(OWN_DIRECTORY).join(format!("{file}{TRIALS}"))
    }

    fn head(&self, workload: &Workload, backend: &str) -> Head {
        Head {
            backend: backend.to_owned(),
            date: self.date.clone(),
            dropped: 0,
            layout: LAYOUT,
            search: String::new(),
            soc: self.soc.name.clone(),
            soc_fields: format!("{:016x}", self.soc_fields),
            trials: 0,
            workload: canonical_json(workload),
        }
    }

    fn path(&self, workload: &Workload, backend: &str) -> PathBuf {
        let form = Form::of(workload, &self.soc);
        let name = form.file_name(form.op_type(workload), &self.soc);
        let text = json::to_sorted_text(&canonical_json(workload));
        let digest = hash::digest(format!("{backend} {text}").as_bytes());
        self.place(&name).join(format!("{digest:016x}{ENDING}"))
    }
}

/// The fastest trials in the order of measuring; those that failed count as slowest.
fn fastest(trials: &[KnownTrial]) -> Vec<&KnownTrial> {
    let mut order: Vec<usize> = (0..trials.len()).collect();
    let time = |&at: &usize| trials[at].us.unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| time(a).total_cmp(&time(b)));
    order.truncate(MOST_TRIALS);
    order.sort_unstable();
    order.into_iter().map(|at| &trials[at]).collect()
}

fn render(head: &Head, trials: &[&KnownTrial]) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut out, head)?;
    let mut line = Vec::new();
    for trial in trials {
        line.clear();
        line.push(b'\n');
        serde_json::to_writer(&mut line, trial)?;
        out.write_all(&line)?;
    }
    out.write_all(b"\n")?;
    out.finish()
}

/// Reads a file whose head is as wanted. gzip's own sum tells a damaged one.
fn parse(content: &[u8], is_wanted: impl Fn(&Head) -> bool) -> Option<KnownTrials> {
    let mut lines = BufReader::new(GzDecoder::new(content).take(MOST_BYTES));
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    let head: Head = serde_json::from_str(&line).ok().filter(|head: &Head| head.layout == LAYOUT && is_wanted(head))?;
    let mut trials = Vec::new();
    loop {
        line.clear();
        if lines.read_line(&mut line).ok()? == 0 {
            break;
        }
        let trial: KnownTrial = serde_json::from_str(&line).ok()?;
        if trials.len() == MOST_TRIALS || trial.us.is_some_and(|us| !us.is_finite() || us < 0.0) {
            return None;
        }
        trials.push(trial);
    }
    (trials.len() == head.trials).then_some(KnownTrials { search: head.search, trials, dropped: head.dropped })
}
