//! The result file on disk, replaced whole after each operator.

use super::Context;
use super::named_file::{NamedFile, file_name};
use super::process::{Entry, ProcessFiles};
use crate::status::Result;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Share of the tuning's time that writing its intermediate results may take, as its reciprocal. A
/// network with very many operators would otherwise spend its time on them.
const WRITE_SHARE: u32 = 10;

/// The results of one tuning: a file of its own, or an entry in the file of the process.
#[derive(Debug)]
pub struct ResultFile {
    place: Place,
    path: PathBuf,
    timestamp: String,
    last_write: Option<(Instant, Duration)>,
}

#[derive(Debug)]
enum Place {
    Own(NamedFile),
    Entry(Entry),
}

impl ResultFile {
    /// Reserves a file of a new name for a job (`opat`, `sgat`) in the work path, which is created when it
    /// does not exist; where there are files of the process, an entry in the one for this job and work path. Until the
    /// first [`ResultFile::update`] it holds nothing; dropped before that, it is removed.
    ///
    /// Fails with [`Error::Directory`](crate::status::Error::Directory) or [`Error::File`](crate::status::Error::File).
    pub fn create(context: &Context, job: &str, files: Option<&ProcessFiles>) -> Result<ResultFile> {
        let (place, path, timestamp) = if let Some(files) = files {
            let entry = files.entry(&context.work_path, job)?;
            let (path, timestamp) = (entry.path().to_owned(), entry.timestamp().to_owned());
            (Place::Entry(entry), path, timestamp)
        } else {
            let (file, timestamp) = NamedFile::reserve(&context.work_path, job, "[]\n")?;
            let path = file.path.clone();
            (Place::Own(file), path, timestamp)
        };
        Ok(ResultFile { place, path, timestamp, last_write: None })
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The moment at which it was begun, which the other files of a tuning share in their names: `YYYYMMDD_HHMMSSmmm`.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// Another file of the same tuning, beside this one: named by `kind` and the tuning's own moment, which is not the
    /// one in the name of a file that tunings share.
    pub fn sibling(&self, kind: &str, job: &str) -> PathBuf {
        self.path.with_file_name(file_name(kind, job, &self.timestamp, std::process::id()))
    }

    /// Writes the text of the outcome so far, unless writing would take up a tenth of the time; answers
    /// whether it did. A reader finds the old or the new JSON, whole.
    pub fn update(&mut self, text: impl FnOnce() -> Result<String>) -> Result<bool> {
        let now = Instant::now();
        let busy = |(end, took): (Instant, Duration)| now.duration_since(end) < took * WRITE_SHARE;
        if self.last_write.is_some_and(busy) {
            return Ok(false);
        }
        self.put(text, false)?;
        Ok(true)
    }

    /// Counts as writing what else was made of the outcome so far, such as the report, and took this long until now.
    pub fn count(&mut self, took: Duration) {
        if let Some((end, all)) = &mut self.last_write {
            (*end, *all) = (Instant::now(), all.saturating_add(took));
        }
    }

    /// Writes the text of the last outcome and waits until the disk has it.
    pub fn finish(&mut self, text: impl FnOnce() -> Result<String>) -> Result<()> {
        self.put(text, true)
    }

    /// Takes the results away again: nothing came of the tuning.
    pub fn discard(&mut self) {
        self.last_write = None;
    }

    fn put(&mut self, text: impl FnOnce() -> Result<String>, durable: bool) -> Result<()> {
        let begun = Instant::now();
        let text = text()?;
        match &self.place {
            Place::Own(file) => file.replace(&text, durable)?,
            Place::Entry(entry) => entry.replace(&text, durable)?,
        }
        self.last_write = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if self.last_write.is_none() {
            // Nothing was tuned: an empty array would say nothing.
            match &self.place {
                Place::Own(file) => file.remove(),
                Place::Entry(entry) => entry.remove(),
            }
        }
    }
}
