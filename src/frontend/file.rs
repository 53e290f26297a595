//! Getting at a model's bytes, and telling whose they are.

use super::Framework;
use super::air::dump;
use super::limits::{MAX_BYTES, TOO_LARGE};
use super::om::is_om;
use super::registry::{by_content, by_suffix, suffixes};
use super::unreadable;
use crate::input_file;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a model file: its content, and its framework where none is given. A dump of CANN's that is text is read piece by
/// piece, and its content is the message that it stands for; `name` names it in errors.
pub fn read_model(path: &Path, name: &str, framework: Option<Framework>) -> Result<(Bytes, Framework)> {
    if framework.is_none_or(|framework| framework == Framework::Air) {
        let (head, file) = open(path)?;
        let is_whole = head.len() < dump::HEAD_BYTES;
        if let Some(reason) = unreadable::nothing(&head).filter(|_| is_whole) {
            return Err(Error::file("read", path, reason));
        }
        if dump::is_dump(&head) || framework.is_some() && dump::is_text(&head) {
            let model = dump::encode_model(head.as_slice().chain(file), &format!("model `{name}`"))?;
            return Ok((model, Framework::Air));
        }
    }
    let data = read(path)?;
    if let Some(error) = readable_form(path) {
        return Err(error);
    }
    match framework {
        Some(framework) => Ok((data, framework)),
        None => framework_of(path, &data).map(|framework| (data, framework)),
    }
}

/// Why a dump in the form for people is not read.
fn readable_form(path: &Path) -> Option<Error> {
    let reason =
        "is a dump for people to read, which has not all of the graph; give the ge_proto file of the same number";
    dump::names::is_readable_form(path).then(|| Error::file("read", path, reason))
}

/// The beginning of a file, and what comes behind it: as much as there was when it was opened.
fn open(path: &Path) -> Result<(Vec<u8>, impl Read)> {
    let failed = |error| Error::file("read", path, error);
    let file = input_file::open(path)?;
    let size = file.metadata().map_err(failed)?.len();
    let (mut head, mut file) = (Vec::new(), file.take(size));
    file.by_ref().take(dump::HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
    Ok((head, file))
}

/// Reads a whole model file.
fn read(path: &Path) -> Result<Bytes> {
    let data = input_file::read(path, MAX_BYTES as u64, TOO_LARGE)?;
    match unreadable::nothing(&data) {
        Some(reason) => Err(Error::file("read", path, reason)),
        None => Ok(Bytes::from(data)),
    }
}

/// The framework of a file by its suffix, and by its content where the suffix leaves it open: graphs
/// that CANN dumps have any.
fn framework_of(path: &Path, data: &Bytes) -> Result<Framework> {
    by_suffix(&suffix(path), data).or_else(|| by_content(data)).ok_or_else(|| {
        let reason = "neither the suffix nor the content tells the framework; give option framework";
        Error::file("read", path, unreadable::of_another_kind(data).unwrap_or(reason))
    })
}

fn suffix(path: &Path) -> String {
    path.extension().map_or_else(String::new, |s| s.to_string_lossy().to_ascii_lowercase())
}

/// Largest binary file that is opened to see whether it is a model: one operator that CANN dumped has at most
/// its small constants in it.
const MAX_DUMP_BYTES: u64 = 64 << 20;

/// Suffix of files that go with a model and are none.
const WEIGHTS: &str = "caffemodel";

/// Whether a file of a directory is a model to tune: by its suffix, or, where that says nothing, by its
/// content, as a graph that CANN's adapters dump. A file that cannot be read is none, nor is an om file.
pub fn is_model_file(path: &Path) -> bool {
    let suffix = suffix(path);
    if suffixes().any(|known| known == suffix) {
        return suffix != WEIGHTS;
    }
    if open(path).is_ok_and(|(head, _)| dump::is_dump(&head)) {
        return true;
    }
    let data = input_file::read(path, MAX_DUMP_BYTES, "is too large");
    data.is_ok_and(|data| by_content(&Bytes::from(data)).is_some_and(|framework| framework != Framework::Om))
}

/// Whether a file is an om file: one that a tuning left behind, or one that was compiled.
pub fn is_om_file(path: &Path) -> bool {
    // Only of plain files: opening others may wait.
    let head = || {
        let mut head = Vec::new();
        File::open(path).ok()?.take(4).read_to_end(&mut head).ok()?;
        Some(Bytes::from(head))
    };
    path.is_file() && head().is_some_and(|head| is_om(&head))
}
