//! The result file on disk, replaced whole after each operator.

use super::Context;
use super::process::{Entry, ProcessFiles};
use crate::output_file::{create_whole, replace, replace_hastily, sweep};
use crate::status::{Error, Result};
use std::fs;
use std::io::ErrorKind;
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
    /// Fails with [`Error::Directory`] or [`Error::File`].
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

/// CANN's `aoe_result_<job>_<timestamp>_pid<pid>.json`, replaced whole.
#[derive(Debug)]
pub(super) struct NamedFile {
    /// Where it lies.
    pub path: PathBuf,
}

impl NamedFile {
    /// Makes a file of a new name with this content; also the time stamp in the name. What killed tunings left beside
    /// it goes.
    pub fn reserve(directory: &Path, job: &str, content: &str) -> Result<(NamedFile, String)> {
        fs::create_dir_all(directory).map_err(|e| Error::directory("create", directory, e))?;
        sweep(directory);
        let mut moment = jiff::Zoned::now();
        loop {
            let timestamp = timestamp(&moment);
            let path = directory.join(file_name(RESULT, job, &timestamp, std::process::id()));
            // Whoever looks, and be it after a kill, finds JSON.
            match create_whole(&path, content.as_bytes()) {
                Ok(()) => return Ok((NamedFile { path }, timestamp)),
                // Another session of this process began in the same millisecond.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => moment = next(&moment),
                Err(e) => return Err(Error::file("create", &path, e)),
            }
        }
    }

    /// Replaces the content. Only the last one is worth waiting for the disk.
    pub fn replace(&self, content: &str, durable: bool) -> Result<()> {
        let put = if durable { replace } else { replace_hastily };
        put(&self.path, content.as_bytes())
    }

    /// Takes it away, as far as that is possible.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The next moment that a time stamp can tell from this one.
pub(super) fn next(moment: &jiff::Zoned) -> jiff::Zoned {
    // The end of time is far.
    moment.checked_add(jiff::SignedDuration::from_millis(1)).unwrap_or_else(|_| jiff::Zoned::now())
}

/// `YYYYMMDD_HHMMSSmmm`.
pub(super) fn timestamp(moment: &jiff::Zoned) -> String {
    format!("{}{:03}", moment.strftime("%Y%m%d_%H%M%S"), moment.millisecond())
}

/// How the names of result files begin.
const RESULT: &str = "aoe_result";

/// `<kind>_<job>_<timestamp>_pid<pid>.json`.
fn file_name(kind: &str, job: &str, timestamp: &str, pid: u32) -> String {
    format!("{kind}_{job}_{timestamp}_pid{pid}.json")
}

#[cfg(test)]
mod tests {
    use super::{RESULT, file_name, timestamp};

    #[test]
    fn the_name_holds_the_moment_and_the_process() {
        let moment = jiff::civil::datetime(2026, 3, 4, 5, 6, 7, 89_000_000).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        let name = file_name(RESULT, "opat", &timestamp(&moment), 42);
        assert_eq!(name, "aoe_result_opat_20260304_050607089_pid42.json");
    }
}
