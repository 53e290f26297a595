//! Takes the records out of a bank with which CANN's kernels would not compute their result, or at which TBE's compilation
//! of a network stops.
//!
//! Versions of libaoe before the rules of the kernels were known wrote such records. The side file tells which are
//! ours; what others wrote goes only where that is asked for.

use super::disk::Disk;
use super::file_name::{FileName, refused};
use super::inspect::{Ours, Part, Record, broken_rule, shapes, stopping_rule, written_here};
use super::side::Side;
use super::storage::Storage;
use super::transaction::{Old, Role, Transaction, clear_abandoned};
use super::unified;
use super::whole::{clear_abandoned_copy, set_aside_as};
use crate::output_file::{Patience, directory_of};
use crate::soc::Soc;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::{Path, PathBuf};

/// Directories, one in the other, below which CANN installs its own banks.
const INSTALLED: [&str; 3] = ["built-in", "data", "op"];

/// What a copy of a file as it was before is called.
const SET_ASIDE: &str = "before-repair";

/// Damaged lines that are named one by one.
const MOST_NAMED: usize = 10;

/// A record that would not compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bad {
    /// Its line, counted from 1.
    pub line: usize,
    /// What it is for, in words.
    pub record: String,
    /// The rule that it breaks.
    pub rule: String,
    /// Whether libaoe wrote it.
    pub ours: bool,
}

/// What a repair did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records taken out.
    pub taken: Vec<Bad>,
    /// Records that would not compute either and stay: others wrote them.
    pub left: Vec<Bad>,
    /// The copy of the file as it was.
    pub copy: Option<PathBuf>,
    /// What was found wrong on the way.
    pub warnings: Vec<String>,
}

/// Takes out of a bank file in CANN's form, a runtime bank or a unified one, what would not compute: the records that
/// libaoe wrote, with `all` everybody's. The file as it was stays beside it as `<name>.before-repair-<n>`, where a link
/// leads there. Where there is nothing to take out, and with `rehearse`, nothing is written.
///
/// Fails with [`Error::Bank`] for a file that CANN installed or whose name does not say what it holds, with
/// [`Error::File`] for one that is not there, and as any write of a bank does.
pub fn repair(path: &Path, all: bool, rehearse: bool) -> Result<Repaired> {
    repair_patiently(path, all, rehearse, Patience::WITHOUT_CANCEL)
}

/// [`repair`] by who may be cancelled while another writer has the bank.
pub fn repair_patiently(path: &Path, all: bool, rehearse: bool, patience: Patience) -> Result<Repaired> {
    let absolute = std::path::absolute(path).map_err(|e| Error::directory("resolve", path, e))?;
    let (unified, name) = (FileName::of_unified(path), FileName::of(path));
    let name = unified.clone().map_or(name, Ok)?;
    let disk = Disk { patience };
    let file = Place::of(&disk, path, absolute)?;
    let part = Part { soc: name.soc.clone(), cores: name.cores };
    let soc = soc_of(path, &part)?;
    if unified.is_some() {
        return file.rewrite(rehearse, |content| {
            let ours = Ours::of(&file.absolute)?;
            Ok(stopping(path, content, &ours, &part, &soc, all))
        });
    }
    file.rewrite(rehearse, |content| {
        let Found { repaired, stays } = Found::of(content, &written_here(&file.absolute)?, &soc, all);
        Ok((repaired, stays))
    })
}

/// The SoC that a file's name tells; an error names the file.
fn soc_of(path: &Path, part: &Part) -> Result<Soc> {
    if part.cores == 0 {
        return Err(refused(path, "the name says that it is for no AI Core".into()));
    }
    part.soc().map_err(|e| refused(path, format!("the part that its name says is not known: {e}")))
}

/// A file that is to be repaired.
struct Place<'a> {
    disk: &'a Disk,
    /// As it was given.
    path: &'a Path,
    absolute: PathBuf,
    /// Where links lead: the copy goes there.
    target: PathBuf,
}

impl<'a> Place<'a> {
    /// Fails with [`Error::File`] for a file that is not there, and for a link that somebody else may have laid.
    fn of(disk: &'a Disk, path: &'a Path, absolute: PathBuf) -> Result<Place<'a>> {
        let failed = |e: std::io::Error| Error::file("read", path, e);
        let target = disk.target(&absolute).map_err(failed)?;
        std::fs::metadata(&target).map_err(failed)?;
        Ok(Place { disk, path, absolute, target })
    }

    fn read(&self) -> Result<Option<Vec<u8>>> {
        self.disk.read(&self.absolute).map_err(|e| Error::file("read", self.path, e))
    }

    /// Puts what `judge` leaves of a file in its place, with a copy of the file as it was beside it, where anything is
    /// taken out. A rehearsal only judges.
    fn rewrite(&self, rehearse: bool, judge: impl Fn(&[u8]) -> Result<(Repaired, Vec<u8>)>) -> Result<Repaired> {
        if !rehearse && is_installed(&self.absolute) {
            return Err(refused(self.path, "is one that CANN installed; it is only read".into()));
        }
        let (found, _) = judge(&self.read()?.unwrap_or_default())?;
        if rehearse {
            return Ok(found);
        }
        if found.taken.is_empty() {
            clear_abandoned(self.disk, &self.target);
            clear_abandoned_copy(SET_ASIDE, self.disk, &self.target);
            return Ok(found);
        }
        let mut transaction = Transaction::begin(self.disk, directory_of(&self.target))?;
        transaction.lock_file(&self.absolute)?;
        // Once more, as it is now that nobody else writes.
        let old = Old::from(self.read()?.map(Bytes::from));
        let (mut repaired, stays) = judge(old.content())?;
        repaired.warnings.extend(transaction.warning());
        if !repaired.taken.is_empty() {
            let copy = set_aside_as(SET_ASIDE, self.disk, &self.target, old.content(), &mut transaction)?;
            repaired.copy = Some(copy);
            transaction.stage(Role::Bank, &self.absolute, &[&stays], old)?;
            transaction.commit()?;
        }
        Ok(repaired)
    }
}

/// The elements of a unified bank, judged, and the file without those that are taken out.
fn stopping(path: &Path, content: &[u8], ours: &Ours, part: &Part, soc: &Soc, all: bool) -> (Repaired, Vec<u8>) {
    let bank = unified::Bank::parse(content);
    let mut repaired = Repaired::default();
    for (line, entry) in bank.lines().zip(bank.entries()) {
        for element in entry.elements() {
            let Some((record, rule)) = stopping_rule(entry.key(), element, part, soc) else { continue };
            let bad = Bad { line, record, rule, ours: ours.wrote(element) };
            if bad.ours || all { repaired.taken.push(bad) } else { repaired.left.push(bad) }
        }
    }
    let goes = |element: unified::Element<'_>| {
        let key = unified::key(element.info_dict());
        (all || ours.wrote(element)) && stopping_rule(&key, element, part, soc).is_some()
    };
    if repaired.taken.is_empty() {
        return (repaired, content.to_owned());
    }
    repaired.warnings.extend(dropped(path, bank.dropped()));
    (repaired, bank.without(goes))
}

/// What is said of the damaged lines of a unified bank, which do not come into a file that CANN is to read.
fn dropped(path: &Path, lines: &[usize]) -> Option<String> {
    let named: Vec<_> = lines.iter().take(MOST_NAMED).map(usize::to_string).collect();
    let more = lines.len().checked_sub(MOST_NAMED).filter(|&more| more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let said = || {
        format!(
            "{} damaged lines hold no entry that can be read and go with what is taken out; the copy alone has them: \
             line {}{more}",
            lines.len(),
            named.join(", ")
        )
    };
    (!lines.is_empty()).then(|| refused(path, said()).to_string())
}

/// Whether a path lies where CANN installs its banks, by whatever links.
fn is_installed(path: &Path) -> bool {
    let below = |path: &Path| {
        let names: Vec<_> = path.components().map(|part| part.as_os_str().to_owned()).collect();
        names.windows(INSTALLED.len()).any(|part| part.iter().zip(INSTALLED).all(|(name, word)| name == word))
    };
    below(path) || std::fs::canonicalize(path).is_ok_and(|path| below(&path))
}

/// The lines of a file, judged.
struct Found {
    repaired: Repaired,
    /// The lines that stay, byte by byte.
    stays: Vec<u8>,
}

impl Found {
    fn of(content: &[u8], side: &Side, soc: &Soc, all: bool) -> Found {
        let mut found = Found { repaired: Repaired::default(), stays: Vec::new() };
        for (index, line) in content.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let Some(bad) = bad(index + 1, line, side, soc) else {
                found.stays.extend_from_slice(line);
                continue;
            };
            if bad.ours || all {
                found.repaired.taken.push(bad);
            } else {
                found.stays.extend_from_slice(line);
                found.repaired.left.push(bad);
            }
        }
        found
    }
}

fn bad(line: usize, text: &[u8], side: &Side, soc: &Soc) -> Option<Bad> {
    let rule = broken_rule(text, soc)?;
    let record = Record::parse(text).ok()?;
    let knowledge = record.tiling().ok()?;
    let ours = side.wrote(&record.key, &knowledge);
    let what = record.workload().map(|workload| shapes(&workload)).unwrap_or_default();
    Some(Bad { line, record: format!("{} {what}", record.op), rule, ours })
}
