//! A merge told record by record: what became of each, and why.

use super::gains::{Gains, Times};
use super::part::Part;
use super::record::Record;
use super::runs::kept_out;
use super::source::{Line, Source, files};
use crate::bank::file_name::FileName;
use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::bank::merge::{checked, merge_place};
use crate::bank::merge_outcome::{Fate, MergeOutcome, MergedRecord};
use crate::bank::merge_places::{Place, is_one_file};
use crate::bank::side::side_path;
use crate::output_file::HiddenFolder;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// Records of sources that are told one by one; a merge of more is told by its counts.
const MOST_LISTED: usize = 100_000;

/// A merge and what there is to tell of it.
#[derive(Debug)]
pub struct Merged {
    /// The counts, and the files written or, for a rehearsal, to be written.
    pub outcome: MergeOutcome,
    /// Each usable record of the sources; `None` where they are too many.
    pub records: Option<Vec<MergedRecord>>,
}

/// Merges as [`crate::bank::merge()`] does and tells what became of each record. With `rehearse`, a directory for temporary
/// files, the bank stays as it is and a copy there is merged into. Fails as that does, and where the copy
/// cannot be made.
pub fn merge_with_records(
    sources: &[PathBuf],
    into: &Path,
    built_in: &[PathBuf],
    rehearse: Option<&Path>,
) -> Result<Merged> {
    let mut merged = Merged { outcome: MergeOutcome::default(), records: Some(Vec::new()) };
    // Of the copy that a rehearsal merges into, a source is never the same file: all is checked before.
    for place in checked(sources, into, built_in)? {
        let into = std::path::absolute(&place.into).map_err(|e| Error::directory("resolve", &place.into, e))?;
        let place = Place { into, ..place };
        let mut records = merged.place(place, rehearse)?;
        if let Some(records) = &mut records {
            records.append(&mut merged.outcome.records);
        }
        merged.records = merged.records.take().zip(records).map(|(mut all, records)| {
            all.extend(records);
            all
        });
    }
    merged.records = merged.records.filter(|records| records.len() <= MOST_LISTED);
    Ok(merged)
}

impl Merged {
    /// Merges what goes into one place; answers what became of each record, unless they are too many.
    fn place(&mut self, place: Place, rehearse: Option<&Path>) -> Result<Option<Vec<MergedRecord>>> {
        let into = place.into.clone();
        let before = State::of(&into)?;
        let copy = rehearse.map(|directory| Copy::of(&into, directory)).transpose()?;
        let target = copy.as_ref().map_or(&into, |copy| &copy.path).clone();
        let changed = self.outcome.changed.len();
        let place = Place { into: target, ..place };
        merge_place(&place, &mut self.outcome)?;
        let records = before
            .zip(State::of(&place.into)?)
            .map(|(before, after)| records_of(&place.sources, &into, &before, &after))
            .transpose()?;
        if copy.is_some() {
            for path in &mut self.outcome.changed[changed..] {
                *path = if is_one_file(&into) { into.clone() } else { into.join(path.file_name().unwrap_or_default()) };
            }
        }
        Ok(records.flatten())
    }
}

/// A copy of a bank that lives as long as the value.
struct Copy {
    _directory: HiddenFolder,
    path: PathBuf,
}

impl Copy {
    fn of(into: &Path, directory: &Path) -> Result<Copy> {
        let failed = |e: std::io::Error| Error::directory("copy to", directory, e);
        let directory = HiddenFolder::fresh(directory, "aoe-merge-").map_err(failed)?;
        let path = directory.path().join(into.file_name().unwrap_or("bank".as_ref()));
        if !is_one_file(into) {
            std::fs::create_dir(&path).map_err(failed)?;
        }
        for file in files_of(into)? {
            let to = if is_one_file(into) { path.clone() } else { path.join(file.file_name().unwrap_or_default()) };
            std::fs::copy(&file, &to).map_err(failed)?;
            let (side, copied) = (side_path(&file), side_path(&to));
            if side.is_file() {
                copied.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
                std::fs::copy(&side, &copied).map_err(failed)?;
            }
        }
        Ok(Copy { _directory: directory, path })
    }
}

/// The files that a path names and that a merge may replace; none where there is nothing yet.
fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return bank_files(path);
    }
    Ok(files(path)?.into_iter().filter(|file| file.parent() == Some(path)).collect())
}

/// The operator banks that a path names; none where there is nothing yet.
fn bank_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |e: std::io::Error| Error::directory("read", path, e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.file_name().and_then(|n| n.to_str()).and_then(FileName::parse).is_some() && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A record with its time.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    knowledge: Knowledge,
    times: Option<Times>,
}

/// The records of a bank by file name and key; the first of equal ones.
struct State(FxHashMap<(Option<String>, Key), Known>);

impl State {
    /// Reads a bank; `None` where it has too many records to tell them.
    fn of(path: &Path) -> Result<Option<State>> {
        let mut state = State(FxHashMap::default());
        let single = is_one_file(path);
        for file in bank_files(path)? {
            let name = (!single).then(|| name_of(&file));
            let finished = each(&file, &mut |_, record, known| {
                state.0.entry((name.clone(), record.key)).or_insert(known);
                Ok(state.0.len() <= MOST_LISTED)
            })?;
            if !finished {
                return Ok(None);
            }
        }
        Ok(Some(state))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Takes each usable record of a file until `take` answers false; answers whether it came to the end.
fn each(path: &Path, take: &mut dyn FnMut(usize, Record, Known) -> Result<bool>) -> Result<bool> {
    let mut source = Source::open(path)?;
    let mut gains = Gains::of(&source);
    while let Some((number, line)) = source.next_line()? {
        let Line::Bytes(line) = line else { continue };
        let Ok(record) = Record::parse(line) else { continue };
        let Ok(knowledge) = record.tiling() else { continue };
        let known = Known { knowledge, times: gains.times(&record) };
        if !take(number, record, known)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What became of each record of the sources.
fn records_of(sources: &[PathBuf], into: &Path, before: &State, after: &State) -> Result<Option<Vec<MergedRecord>>> {
    let single = is_one_file(into);
    let mut records = Vec::new();
    for source in sources {
        for file in bank_files(source)? {
            let name = (!single).then(|| name_of(&file));
            let target = if single { into.to_owned() } else { into.join(file.file_name().unwrap_or_default()) };
            let soc = FileName::of(&target).ok().and_then(|name| Part { soc: name.soc, cores: name.cores }.soc().ok());
            let finished = each(&file, &mut |line, record, new| {
                let key = (name.clone(), record.key.clone());
                let broken = || kept_out(&record, soc.as_ref()?);
                let (fate, reason) = fate(&new, before.0.get(&key), after.0.get(&key), &broken);
                records.push(MergedRecord { fate, source: file.clone(), line, record: super::label(&record), reason });
                Ok(records.len() <= MOST_LISTED)
            })?;
            if !finished {
                return Ok(None);
            }
        }
    }
    Ok(Some(records))
}

/// What became of a record that the bank had so before and has so now.
///
/// One that came to nothing is one that breaks a rule of the kernel, or one that the built-in bank has as good.
fn fate(
    new: &Known,
    before: Option<&Known>,
    after: Option<&Known>,
    broken: &dyn Fn() -> Option<String>,
) -> (Fate, String) {
    let is_there = after.is_some_and(|after| after.knowledge == new.knowledge);
    let had = before.is_some_and(|old| old.knowledge == new.knowledge);
    if let Some(rule) = (!is_there && !had).then(broken).flatten() {
        return (Fate::Refused, rule);
    }
    match (before, after) {
        (None, None) => (Fate::Refused, "the built-in bank has as good a tiling".into()),
        (None, Some(_)) if is_there => (Fate::Added, format!("the bank had none; {}", cost(new.times.as_ref()))),
        (None, Some(other)) => (Fate::Kept, format!("another source has a better one: {}", compared(other, new))),
        (Some(_), _) if had => (Fate::Kept, "the bank has the same tiling".into()),
        (Some(old), _) if is_there => (Fate::Updated, compared(new, old)),
        (Some(_), Some(other)) => (Fate::Kept, compared(other, new)),
        // A record that was there stays.
        (Some(old), None) => (Fate::Kept, compared(old, new)),
    }
}

/// Why one tiling stays and another goes.
fn compared(stays: &Known, goes: &Known) -> String {
    match (&stays.times, &goes.times) {
        (Some(a), Some(b)) if a.backend != b.backend => {
            format!("the time of {} stays, that of {} goes", a.backend, b.backend)
        }
        (Some(a), Some(b)) if a.soc_fields != b.soc_fields && a.after_us >= b.after_us => {
            "the time on the part as it is described today stays".to_owned()
        }
        (Some(a), Some(b)) if a.after_us < b.after_us => {
            format!("{:.2} us stay, {:.2} us go ({})", a.after_us, b.after_us, a.backend)
        }
        (Some(a), Some(b)) if a.date != b.date => format!("measured on {} stays, on {} goes", a.date, b.date),
        (Some(_), None) | (None, Some(_)) => "one that was measured stays, one that was not goes".to_owned(),
        (Some(_), Some(_)) => "both were measured alike, and the one whose text sorts last stays".to_owned(),
        (None, None) => "neither was measured, and the one whose text sorts last stays".to_owned(),
    }
}

fn cost(times: Option<&Times>) -> String {
    times.map_or_else(
        || "not measured".to_owned(),
        |t| format!("{:.2} us instead of {:.2} ({})", t.after_us, t.before_us, t.backend),
    )
}
