//! Takes the records out of a bank with which CANN's kernels would not compute their result, or at which TBE's compilation
//! of a network stops.
//!
//! Versions of libaoe before the rules of the kernels were known wrote such records. The side file tells which are
//! ours; what others wrote goes only where that is asked for.

use super::disk::DISK;
use super::file::BankFile;
use super::file_name::{FileName, refused};
use super::form::Form;
use super::inspect::{Ours, Part, Record, broken_rule, shapes, stopping_rule};
use super::side::Side;
use super::storage::Storage;
use super::transaction::{Old, Role, Transaction};
use super::unified;
use super::whole::set_aside_as;
use crate::output_file::directory_of;
use crate::soc::Soc;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::path::{Path, PathBuf};

/// Directories, one in the other, below which CANN installs its own banks.
const INSTALLED: [&str; 3] = ["built-in", "data", "op"];

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

/// Takes out of a bank file in CANN's form, a runtime bank or a unified one, what would not compute: the records that libaoe wrote, with `all` everybody's.
/// The file as it was stays beside it as `<name>.before-repair-<n>`. Where there is nothing to take out, and with
/// `rehearse`, nothing is written.
///
/// Fails with [`Error::Bank`] for a file that CANN installed or whose name does not say what it holds, and as any
/// write of a bank does.
pub fn repair(path: &Path, all: bool, rehearse: bool) -> Result<Repaired> {
    let absolute = std::path::absolute(path).map_err(|e| Error::directory("resolve", path, e))?;
    if let Some(name) = FileName::of_unified(path) {
        let part = Part { soc: name.soc, cores: name.cores };
        let soc = part.soc()?;
        return rewrite(path, &absolute, rehearse, |content| {
            Ok(stopping(content, &Ours::of(&absolute)?, &part, &soc, all))
        });
    }
    let name = FileName::of(path)?;
    if !matches!(name.form, Form::Runtime(_)) {
        // Our own form is read by libaoe alone, which judges a tiling before it uses it.
        return Ok(Repaired::default());
    }
    let soc = Part { soc: name.soc.clone(), cores: name.cores }.soc()?;
    let file = BankFile::at(&DISK, &absolute, name.form, name.op_type.as_deref().unwrap_or_default());
    rewrite(path, &absolute, rehearse, |content| {
        let Found { repaired, stays } = Found::of(content, &file.side()?, &soc, all);
        Ok((repaired, stays))
    })
}

/// Puts what `judge` leaves of a file in its place, with a copy of the file as it was beside it, where anything is taken
/// out. A rehearsal only judges.
fn rewrite(
    path: &Path,
    absolute: &Path,
    rehearse: bool,
    judge: impl FnOnce(&[u8]) -> Result<(Repaired, Vec<u8>)>,
) -> Result<Repaired> {
    let read = || DISK.read(absolute).map_err(|e| Error::file("read", path, e));
    if rehearse {
        return Ok(judge(&read()?.unwrap_or_default())?.0);
    }
    if is_installed(absolute) {
        return Err(refused(path, "is one that CANN installed; it is only read".into()));
    }
    let mut transaction = Transaction::begin(&DISK, directory_of(absolute))?;
    transaction.lock_file(absolute)?;
    let old = Old::from(read()?.map(Bytes::from));
    let (mut repaired, stays) = judge(old.content())?;
    repaired.warnings.extend(transaction.warning());
    if !repaired.taken.is_empty() {
        repaired.copy = Some(set_aside_as("before-repair", &DISK, absolute, old.content(), &mut transaction)?);
        transaction.stage(Role::Bank, absolute, &[&stays], old)?;
        transaction.commit()?;
    }
    Ok(repaired)
}

/// The elements of a unified bank, judged, and the file without those that are taken out.
fn stopping(content: &[u8], ours: &Ours, part: &Part, soc: &Soc, all: bool) -> (Repaired, Vec<u8>) {
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
    let stays = if repaired.taken.is_empty() { content.to_owned() } else { bank.without(goes) };
    (repaired, stays)
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
