//! Banks that take in what files of any form hold.

use super::convert::{Content, Converted, Target};
use super::export::{Left, RecordLines, converted, note, put_faster};
use super::item::Item;
use super::items::items;
use super::merging::{Merged, merge_with_records};
use super::part::Socs;
use super::source::Source;
use crate::bank::disk::DISK;
use crate::bank::file_name::{FileName, refused};
use crate::bank::kind::Kind;
use crate::bank::side::side_path;
use crate::bank::transaction::OWN_DIRECTORY;
use crate::bank::whole::Content as _;
use crate::bank::{unified, update};
use crate::output_file::HiddenFolder;
use crate::soc::Soc;
use crate::status::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What an import did.
#[derive(Debug)]
pub struct Import {
    /// Records that were offered to the bank.
    pub count: usize,
    /// What did not come along of the others.
    pub left: Vec<Left>,
    /// Lines of the files that hold no record.
    pub bad: usize,
    /// What the bank made of them.
    pub merged: Merged,
}

/// Converts the records of files of any form and merges them into a bank: a directory, or a file whose name says its
/// form. Records keep their times where their file has both, see [`merge_with_records`]; `temporary` is a directory
/// for the converted ones, and with `rehearse` the bank stays as it is.
///
/// Fails as [`merge_with_records`] does, where a file cannot be read or the converted one not be written, and with
/// [`Error::Bank`] for records of several SoCs and a directory.
pub fn import(
    sources: &[PathBuf],
    into: &Path,
    built_in: &[PathBuf],
    socs: &mut Socs,
    temporary: &Path,
    rehearse: bool,
) -> Result<Import> {
    let name = into.file_name().and_then(|name| name.to_str()).filter(|_| !into.is_dir());
    let target = match name.and_then(FileName::parse) {
        Some(name) if name.form == crate::bank::form::Form::Canonical => Some(Target::Canonical),
        Some(_) => Some(Target::Runtime),
        None if name.is_some() && into.extension().is_some_and(|suffix| suffix == "json") => {
            return import_unified(sources, into, socs, rehearse);
        }
        None => None,
    };
    let failed = |e: std::io::Error| Error::directory("write to", temporary, e);
    let staging = HiddenFolder::fresh(temporary, "aoe-import-").map_err(failed)?;
    let (mut files, mut left, mut bad, mut count) = (BTreeMap::<String, Staged>::new(), Vec::new(), 0, 0);
    let mut unified_files = BTreeMap::<String, unified::Bank>::new();
    for path in sources {
        let mut source = Source::open(path)?;
        if target.is_none() && source.kind() == Kind::Unified {
            let (taken, unusable) = take_unified(&source, socs, &mut unified_files, &mut left)?;
            (count, bad) = (count + taken, bad + unusable);
            continue;
        }
        bad += items(&mut source, &mut |item| {
            let outcome = runs(&item, socs).and_then(|()| converted(&item, target, socs)).and_then(|converted| {
                let soc = socs.of(item.part.as_ref()).map_err(str::to_owned)?;
                if matches!(converted.content, Content::Element { .. }) {
                    return stage_unified(converted, soc, &mut unified_files);
                }
                stage(converted, target.and(name), soc, &mut files)
            });
            count += usize::from(outcome.is_ok());
            note(path, &item, outcome, &mut left);
            Ok(true)
        })?;
    }
    check_socs(files.keys().chain(unified_files.keys()), into)?;
    let mut offered = Vec::new();
    for (name, bank) in unified_files {
        let path = staging.path().join(&name);
        std::fs::write(&path, bank.render()).map_err(failed)?;
        offered.push(path);
    }
    for (name, staged) in files {
        let path = staging.path().join(&name);
        std::fs::write(&path, staged.lines.text).map_err(failed)?;
        if !staged.side.is_empty() {
            std::fs::create_dir_all(staging.path().join(OWN_DIRECTORY)).map_err(failed)?;
            std::fs::write(side_path(&path), staged.side).map_err(failed)?;
        }
        offered.push(path);
    }
    let merged = merge_with_records(&offered, into, built_in, rehearse.then_some(temporary))?;
    Ok(Import { count, left, bad, merged })
}

/// Fails with the rule that keeps a record from running on its part: no bank takes one in, be it one of ours.
fn runs(item: &Item, socs: &mut Socs) -> Result<(), String> {
    if item.workload.is_err() || item.schedule.is_err() {
        // Why is told where it is converted.
        return Ok(());
    }
    let soc = socs.of(item.part.as_ref()).map_err(str::to_owned)?;
    item.legal_schedule(soc).map(drop).map_err(|rule| format!("on {} it would not run: {rule}", soc.name))
}

/// Banks of several SoCs do not go into one directory.
fn check_socs<'n>(names: impl Iterator<Item = &'n String>, into: &Path) -> Result<()> {
    let of = |name: &String| FileName::of_unified(Path::new(name)).or_else(|| FileName::parse(name));
    let socs: BTreeSet<_> = names.filter_map(of).map(|name| name.soc).collect();
    if socs.len() <= 1 {
        return Ok(());
    }
    let socs: Vec<_> = socs.into_iter().collect();
    let reason = format!(
        "the records are for {}, and a bank directory is of one SoC; name a bank file, which takes those of its part",
        socs.join(", ")
    );
    Err(Error::Bank { path: into.to_owned(), line: None, reason })
}

/// A file to be merged.
#[derive(Debug, Default)]
struct Staged {
    lines: RecordLines,
    side: Vec<u8>,
}

/// Takes the records of a unified bank into those of its part, one for each operator, as they stand; answers how many
/// there were and how many entries hold none.
fn take_unified(
    source: &Source,
    socs: &mut Socs,
    files: &mut BTreeMap<String, unified::Bank>,
    left: &mut Vec<Left>,
) -> Result<(usize, usize)> {
    let bank = unified::Bank::parse(&source.content()?);
    let part = source.part();
    let soc = socs.of(part.as_ref());
    let mut count = 0;
    for (line, entry) in bank.lines().zip(bank.entries()) {
        let Some(element) = entry.best() else { continue };
        let op = unified::op_type(element.info_dict()).unwrap_or_default();
        let name = match (&soc, unified::Operator::find(op)) {
            (Ok(soc), Some(operator)) => Ok(unified::file_name(operator.op_type(), soc)),
            (Err(why), _) => Err((*why).to_owned()),
            (Ok(_), None) => Err(format!("which bank the operator {op:?} asks is not known")),
        };
        match name {
            Ok(name) => {
                files.entry(name).or_default().adopt(element);
                count += 1;
            }
            Err(why) => left.push(Left {
                file: source.path().to_owned(),
                line,
                record: entry.key().to_owned(),
                left_out: Some(why),
                lost: Vec::new(),
            }),
        }
    }
    Ok((count, bank.findings().len()))
}

/// Puts a record into the unified bank that its operator asks; answers what it lost on the way.
fn stage_unified(
    converted: Converted,
    soc: &Soc,
    files: &mut BTreeMap<String, unified::Bank>,
) -> Result<Vec<String>, String> {
    let Content::Element { info, knowledge, cost_us } = &converted.content else {
        return Err("it is no record of the unified bank".into());
    };
    let bank = files.entry(unified::file_name(&converted.op, soc)).or_default();
    put_faster(bank, info, knowledge, *cost_us)?;
    Ok(converted.lost)
}

/// Puts a record into the file that it belongs to; answers what it lost on the way.
fn stage(
    converted: Converted,
    only: Option<&str>,
    soc: &Soc,
    files: &mut BTreeMap<String, Staged>,
) -> Result<Vec<String>, String> {
    let Content::Record { form, mut fields, side } = converted.content else {
        return Err("it is of the unified bank".into());
    };
    // What stands beside the five fields is for files of several parts.
    fields.remove(super::PART_FIELD);
    fields.remove(super::COST_FIELD);
    let own = form.file_name(&converted.op, soc);
    if let Some(only) = only.filter(|only| *only != own) {
        return Err(format!("it belongs into {own}, not into {only}"));
    }
    let staged = files.entry(own).or_default();
    staged.lines.add("", fields)?;
    staged.side.extend(side.unwrap_or_default());
    Ok(converted.lost)
}

/// Fails for a file that is there and holds anything but a unified bank: its name alone does not say what it is to hold.
fn check_unified(into: &Path) -> Result<()> {
    if !into.exists() {
        return Ok(());
    }
    let source = Source::open(into)?;
    source.check_known()?;
    if matches!(source.kind(), Kind::Unified | Kind::Empty) {
        return Ok(());
    }
    Err(refused(into, format!("holds a {}, into which no records of operators go", source.kind().name())))
}

/// Takes the records of files into a unified bank, where they are faster than what it has.
fn import_unified(sources: &[PathBuf], into: &Path, socs: &mut Socs, rehearse: bool) -> Result<Import> {
    check_unified(into)?;
    let (mut left, mut bad, mut elements) = (Vec::new(), 0, Vec::new());
    for path in sources {
        bad += items(&mut Source::open(path)?, &mut |item| {
            let outcome =
                runs(&item, socs).and_then(|()| converted(&item, Some(Target::Unified), socs)).map(|converted| {
                    elements.push(converted.content);
                    converted.lost
                });
            note(path, &item, outcome, &mut left);
            Ok(true)
        })?;
    }
    let mut outcome = crate::bank::MergeOutcome::default();
    let mut take = |bank: &mut unified::Bank| {
        for element in &elements {
            let Content::Element { info, knowledge, cost_us } = element else { continue };
            let old = bank.get(info).map(|old| old.cost_us().unwrap_or(f64::INFINITY));
            match old {
                Some(old) if old <= *cost_us => outcome.kept += 1,
                _ => {
                    bank.put(info, knowledge, *cost_us)?;
                    *(if old.is_some() { &mut outcome.updated } else { &mut outcome.added }) += 1;
                }
            }
        }
        Ok(())
    };
    let count = elements.len();
    if rehearse {
        let content = if into.exists() { Source::open(into)?.content()? } else { Vec::new() };
        let mut bank = unified::Bank::parse(&content);
        take(&mut bank)?;
    } else {
        let path = std::path::absolute(into).map_err(|e| Error::directory("resolve", into, e))?;
        outcome.warnings = update(&DISK, &path, unified::Bank::parse, take)?.warnings;
    }
    outcome.changed.extend((outcome.added + outcome.updated > 0).then(|| into.to_owned()));
    Ok(Import { count, left, bad, merged: Merged { outcome, records: None } })
}
