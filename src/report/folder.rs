//! The results folder that option `output` names: everything that there is to know of the last tuning that ended there.

use super::earlier::{Earlier, RUNS, SUMMARY, earlier};
use super::html::{MADE_BY, pages};
use super::operators::{is_ours, op_tuning};
use super::summary::summary;
use super::{Context, Tuned};
use crate::input_file;
use crate::output_file::{Patience, Publication, check, check_directory};
use crate::status::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Largest file that is looked at before it is replaced or removed.
const MAX_BYTES: u64 = 1 << 30;

/// Whether a file has this in it.
fn has(file: &[u8], text: &str) -> bool {
    memchr::memmem::find(file, text.as_bytes()).is_some()
}

/// A results folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, which need not exist, made sure that its files can be written: no tuning should begin
    /// whose results have no place.
    ///
    /// Fails with [`Error::File`].
    pub fn at(path: &Path) -> Result<Folder> {
        let folder = Folder(path.to_owned());
        [folder.summary(), folder.report(), folder.page(), folder.more(), folder.fusions()]
            .iter()
            .try_for_each(|path| check(path))?;
        // Whatever its operators are called.
        check(&folder.operators().join("Op_fp16.json"))?;
        Ok(folder)
    }

    /// The folder at `path`, which a tuning left.
    ///
    /// Fails with [`Error::Directory`] for what is none.
    pub fn of_tuning(path: &Path) -> Result<Folder> {
        if !path.is_dir() {
            let reason = check_directory(path).err().map_or("it does not exist".to_owned(), |e| e.to_string());
            return Err(Error::directory("read", path, format!("{reason}; name the folder that --output named")));
        }
        Ok(Folder(path.to_owned()))
    }

    fn summary(&self) -> PathBuf {
        self.0.join(SUMMARY)
    }

    fn report(&self) -> PathBuf {
        self.0.join("report.json")
    }

    fn fusions(&self) -> PathBuf {
        self.0.join("fusion_result.json")
    }

    fn page(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// Operators that the page has no room for.
    fn more(&self) -> PathBuf {
        self.0.join("report_more.html")
    }

    fn operators(&self) -> PathBuf {
        self.0.join("op_tuning")
    }

    /// The folder in which a run that began at this moment keeps its reports.
    fn run(&self, began: &str) -> Folder {
        Folder(self.0.join(RUNS).join(began))
    }

    /// The runs that ended here so far, the newest first.
    pub fn earlier(&self) -> Vec<Earlier> {
        earlier(&self.0)
    }

    /// Prepares the reports of a tuning, to take the place of those of an earlier one, which stay in `runs`; `report` is
    /// the text of the full one. One that came to nothing takes no place.
    ///
    /// Fails with [`Error::Directory`] or [`Error::File`]; then none is prepared: those of two tunings do not belong
    /// together.
    pub fn prepare(
        &self,
        publication: &mut Publication,
        tuned: Tuned<'_>,
        report: &str,
        context: &Context,
    ) -> Result<()> {
        let texts = self.texts(tuned, report, context)?;
        let prepared = texts.iter().try_for_each(|(path, text)| publication.file(path, text.as_bytes()).map(drop));
        if prepared.is_err() {
            for (path, _) in &texts {
                publication.withdraw(path);
            }
        }
        prepared
    }

    /// The files of a tuning.
    fn texts(&self, tuned: Tuned<'_>, report: &str, context: &Context) -> Result<Vec<(PathBuf, String)>> {
        let operators = tuned.operators().map_or(Ok(Vec::new()), |outcome| op_tuning(outcome, context.soc.as_ref()))?;
        let directory = self.operators();
        let mut texts: Vec<_> = operators.into_iter().map(|(name, text)| (directory.join(name), text)).collect();
        let summary = summary(tuned, context)?;
        let run = (!context.began.is_empty()).then(|| self.run(&context.began));
        if let Some(run) = &run {
            texts.push((run.summary(), summary.clone()));
            texts.push((run.report(), report.to_owned()));
            texts.extend(run.drawn(report)?);
        }
        if tuned.is_empty() && run.is_some() && self.report().exists() {
            // A good report is not replaced by an empty one.
            texts.retain(|(path, _)| path.starts_with(self.0.join(RUNS)));
            return Ok(texts);
        }
        texts.push((self.summary(), summary));
        if let Some(fusions) = &context.fusions {
            texts.push((self.fusions(), fusions.text()));
        }
        texts.push((self.report(), report.to_owned()));
        texts.extend(self.drawn(report)?);
        Ok(texts)
    }

    /// The pages of the folder's report.
    fn drawn(&self, report: &str) -> Result<impl Iterator<Item = (PathBuf, String)>> {
        let pages = pages(report, &self.report())?;
        Ok(std::iter::once((self.page(), pages.first)).chain(pages.more.map(|more| (self.more(), more))))
    }

    /// Has the second page of an earlier report go, where this one has none.
    fn retire_more(&self, publication: &mut Publication) {
        let more = self.more();
        let is_ours = || input_file::read(&more, MAX_BYTES, "too large").is_ok_and(|page| has(&page, MADE_BY));
        if !publication.has(&more) && is_ours() {
            publication.retire(more);
        }
    }

    /// Puts what is prepared in place, while no other tuning does that here. Where reports are among it, the files of
    /// operators that are not replaced go.
    ///
    /// Fails with [`Error::Directory`] or [`Error::File`].
    pub fn publish(&self, mut publication: Publication, patience: &Patience) -> Result<()> {
        publication.lock(&self.0, patience)?;
        let is_reported = publication.has(&self.report());
        if is_reported {
            let earlier = self.earlier_operators()?;
            for path in earlier.into_iter().filter(|path| !publication.has(path)).collect::<Vec<_>>() {
                publication.retire(path);
            }
            self.retire_more(&mut publication);
        }
        publication.commit()?;
        if is_reported {
            // One that holds something stays.
            let _ = fs::remove_dir(self.operators());
        }
        Ok(())
    }

    /// The files of operators that tunings left. What someone else put there is not among them.
    fn earlier_operators(&self) -> Result<Vec<PathBuf>> {
        let directory = self.operators();
        let entries = match fs::read_dir(&directory) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|e| Error::directory("read", &directory, e))?,
        };
        let is_earlier = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let read = name.ends_with(".json").then(|| input_file::read(path, MAX_BYTES, "too large"));
            read.is_some_and(|earlier| earlier.is_ok_and(|earlier| is_ours(&name, &earlier)))
        };
        Ok(entries.flatten().map(|entry| entry.path()).filter(is_earlier).collect())
    }

    /// Makes the page again from the report that lies in the folder; answers where it is.
    ///
    /// Fails with [`Error::File`] for what is not there, no report, or cannot be written.
    pub fn draw(&self) -> Result<PathBuf> {
        let mut publication = Publication::new();
        // No tuning replaces the report until the page is the one of it.
        publication.lock(&self.0, &Patience::default())?;
        let report = input_file::read(&self.report(), MAX_BYTES, "has more than 1 GiB, too many for a report")?;
        let text = String::from_utf8(report)
            .map_err(|e| Error::file("read", &self.report(), format!("is not UTF-8 text: {}", e.utf8_error())))?;
        for (path, page) in self.drawn(&text)? {
            publication.file(&path, page.as_bytes())?;
        }
        self.retire_more(&mut publication);
        publication.commit()?;
        Ok(self.page())
    }
}
