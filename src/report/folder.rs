//! The results folder that option `output` names: everything that there is to know of the last tuning that ended there.

use super::html::page;
use super::operators::{is_ours, op_tuning};
use super::summary::summary;
use super::{Context, Tuned};
use crate::input_file;
use crate::output_file::{check, replace};
use crate::status::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest file that is looked at before it is replaced or removed.
const MAX_BYTES: u64 = 1 << 30;

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
        [folder.summary(), folder.report(), folder.page()].iter().try_for_each(|path| check(path))?;
        // Whatever its operators are called.
        check(&folder.operators().join("Op_fp16.json"))?;
        Ok(folder)
    }

    fn summary(&self) -> PathBuf {
        self.0.join("summary.json")
    }

    fn report(&self) -> PathBuf {
        self.0.join("report.json")
    }

    fn page(&self) -> PathBuf {
        self.0.join("report.html")
    }

    fn operators(&self) -> PathBuf {
        self.0.join("op_tuning")
    }

    /// Writes the reports of a tuning, in place of those of an earlier one; `report` is the text of the full one.
    ///
    /// Each file is the old one or the new one, whole. Fails with [`Error::Directory`] or [`Error::File`].
    pub fn write(&self, tuned: Tuned<'_>, report: &str, context: &Context) -> Result<()> {
        self.write_operators(tuned, context)?;
        replace(&self.summary(), summary(tuned)?.as_bytes())?;
        let page = page(report, &self.report())?;
        replace(&self.report(), report.as_bytes())?;
        replace(&self.page(), page.as_bytes())
    }

    /// Makes the page again from the report that lies in the folder; answers where it is.
    ///
    /// Fails with [`Error::File`] for what is not there, no report, or cannot be written.
    pub fn draw(&self) -> Result<PathBuf> {
        let report = input_file::read(&self.report(), MAX_BYTES, "has more than 1 GiB, too many for a report")?;
        let text = String::from_utf8(report)
            .map_err(|e| Error::file("read", &self.report(), format!("is not UTF-8 text: {}", e.utf8_error())))?;
        let path = self.page();
        replace(&path, page(&text, &self.report())?.as_bytes())?;
        Ok(path)
    }

    /// Writes the files of the operators, and removes those of an earlier tuning that are not replaced.
    fn write_operators(&self, tuned: Tuned<'_>, context: &Context) -> Result<()> {
        let directory = self.operators();
        let files = tuned.operators().map_or(Ok(Vec::new()), |outcome| op_tuning(outcome, context.soc.as_ref()))?;
        fs::create_dir_all(&directory).map_err(|e| Error::directory("create", &directory, e))?;
        for (name, text) in &files {
            replace(&directory.join(name), text.as_bytes())?;
        }
        for entry in fs::read_dir(&directory).map_err(|e| Error::directory("read", &directory, e))?.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_new = files.iter().any(|(new, _)| *new == name);
            let read = (!is_new && name.ends_with(".json")).then(|| input_file::read(&path, MAX_BYTES, "too large"));
            // What someone else put there stays.
            if read.is_some_and(|earlier| earlier.is_ok_and(|earlier| is_ours(&name, &earlier))) {
                fs::remove_file(&path).map_err(|e| Error::file("remove", &path, e))?;
            }
        }
        Ok(())
    }
}
