//! Bank files as streams: opened once, told apart by how they begin, read line by line.

use super::part::Part;
use crate::bank::FileName;
use crate::bank::kind::{Kind, PEEKED, is_empty_object, look};
use crate::bank::lines::trim;
use crate::input_file;
use crate::lines;
use crate::status::{Error, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Longest line that is read; the largest record known has some tens of kilobytes.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// Largest file that is one JSON value and therefore read as a whole.
const MAX_WHOLE_BYTES: u64 = 1 << 28;

/// Directories below the one named that are looked into: `<soc>/unified_bank` and some to spare.
const DEPTH: usize = 4;

/// An open bank file.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    kind: Kind,
    /// What it looks like where it is no bank.
    look: String,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: usize,
}

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without the line feed.
    Bytes(&'a [u8]),
    /// It had so many bytes, more than [`MAX_LINE_BYTES`].
    TooLong(u64),
}

impl Source {
    /// Opens a file and looks at its beginning. Fails with [`Error::File`] for what cannot be opened or is no
    /// regular file.
    pub fn open(path: &Path) -> Result<Source> {
        let file = input_file::open(path)?;
        let mut reader = BufReader::with_capacity(PEEKED, file);
        let beginning = reader.fill_buf().map_err(|e| Error::file("read", path, e))?;
        let kind = Kind::of(beginning);
        let look = if kind == Kind::Unknown { look(beginning) } else { String::new() };
        // The name of an operator bank tells one line without fields from an empty object.
        let is_operators = path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse).is_some();
        let kind = if is_operators && is_empty_object(trim(beginning)) { Kind::Records } else { kind };
        Ok(Source { path: path.to_owned(), kind, look, reader, line: Vec::new(), number: 0 })
    }

    /// Fails with [`Error::Bank`], which says what it looks like, for a file that is no bank.
    pub fn check_known(&self) -> Result<()> {
        let reason = || format!("is no bank of any known form; it looks like {}", self.look);
        let known = self.kind != Kind::Unknown;
        if known { Ok(()) } else { Err(Error::Bank { path: self.path.clone(), line: None, reason: reason() }) }
    }

    /// What the file is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What its name says, where it is built like the names of operator banks.
    pub fn name(&self) -> Option<FileName> {
        FileName::parse(self.path.file_name()?.to_str()?)
    }

    /// The part that its name says it is for; unified banks have it there too.
    pub fn part(&self) -> Option<Part> {
        let (part, _) = self.path.file_name()?.to_str()?.split_once("_AiCore_")?;
        Part::parse(part)
    }

    /// The whole of a file that makes sense only as one. Fails with [`Error::File`] where it cannot be read or has
    /// more than 256 MiB.
    pub fn content(&self) -> Result<Vec<u8>> {
        let too_large =
            format!("has more than {} MiB, too many for a bank that is read as a whole", MAX_WHOLE_BYTES >> 20);
        input_file::read(&self.path, MAX_WHOLE_BYTES, &too_large)
    }

    /// The next line with its number, counted from 1; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<(usize, Line<'_>)>> {
        let next = lines::next(&mut self.reader, &mut self.line, MAX_LINE_BYTES);
        let Some(kind) = next.map_err(|e| Error::file("read", &self.path, e))? else { return Ok(None) };
        self.number += 1;
        Ok(Some(match kind {
            lines::Line::Whole => (self.number, Line::Bytes(&self.line)),
            lines::Line::TooLong(bytes) => (self.number, Line::TooLong(bytes)),
        }))
    }
}

/// The bank files behind a path: itself, or those of a directory and the directories below it, by name. In a
/// directory every `.json` and `.jsonl` file counts that is not hidden.
///
/// Fails with [`Error::File`] or [`Error::Directory`] where nothing can be read.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    collect(path, DEPTH, &mut seen, &mut found)?;
    found.sort();
    Ok(found)
}

/// Notes the files of a directory, each directory once whatever links lead to it.
fn collect(directory: &Path, depth: usize, seen: &mut BTreeSet<PathBuf>, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |e: std::io::Error| Error::directory("read", directory, e);
    if !seen.insert(std::fs::canonicalize(directory).map_err(failed)?) {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let json = path.extension().is_some_and(|suffix| suffix == "json" || suffix == "jsonl");
        if !hidden && depth > 0 && path.is_dir() {
            collect(&path, depth - 1, seen, found)?;
        } else if !hidden && json && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_of_any_length_is_read_past() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"first\n").unwrap();
        file.write_all(&vec![b'x'; MAX_LINE_BYTES + 1]).unwrap();
        file.write_all(b"\nlast").unwrap();
        let mut source = Source::open(file.path()).unwrap();
        assert_eq!(source.next_line().unwrap(), Some((1, Line::Bytes(b"first"))));
        assert_eq!(source.next_line().unwrap(), Some((2, Line::TooLong(MAX_LINE_BYTES as u64 + 1))));
        assert_eq!(source.next_line().unwrap(), Some((3, Line::Bytes(b"last"))));
        assert_eq!(source.next_line().unwrap(), None);
    }

    #[test]
    fn a_directory_means_its_banks_and_not_our_own_files() {
        let root = tempfile::tempdir().unwrap();
        let bank = root.path().join("Ascend910B2/unified_bank");
        std::fs::create_dir_all(bank.join(".aoe")).unwrap();
        for name in ["b_runtime_kb.json", "a_aoe_kb.json", "a_aoe_kb.json.damaged-1", ".aoe/a.side.jsonl", "notes.txt"]
        {
            std::fs::write(bank.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(root.path(), bank.join("round")).unwrap();
        assert_eq!(files(root.path()).unwrap(), [bank.join("a_aoe_kb.json"), bank.join("b_runtime_kb.json")]);
        assert!(files(&root.path().join("none")).unwrap().len() == 1, "opening it says what is wrong");
    }
}
