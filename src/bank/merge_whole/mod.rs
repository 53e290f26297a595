//! Merging of the banks that are one file each: unified, subgraph, gradient.
//!
//! `records` says which of two records stays, `times` what side files say of them.

mod records;
mod times;

use super::disk::DISK;
use super::file::BankFile;
use super::file_name::{FileName, bank_files, refused};
use super::form::Form;
use super::inspect::{Kind, Part, Source, files};
use super::merge_outcome::{MergeOutcome, MergedRecord};
use super::merge_places::is_same;
use super::side::soc_digest;
use super::transaction::Transaction;
use super::whole;
use super::{gradient, subgraph, unified};
use crate::soc::Soc;
use crate::status::Result;
use records::{Merge, Others, Taken};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use times::Times;

/// The sources of a merge by the way in which they are merged.
#[derive(Debug, Default)]
pub struct Split {
    /// Operator banks, and directories with some.
    pub operators: Vec<PathBuf>,
    /// One for each file of another form that is to be written.
    pub jobs: Vec<Job>,
    /// Banks that are not merged, each with the reason.
    pub unmerged: Vec<(PathBuf, String)>,
}

/// What becomes one file.
#[derive(Debug)]
pub struct Job {
    /// The file.
    pub target: PathBuf,
    kind: Kind,
    /// Whose numbers the records of a subgraph bank are under.
    numbers: Option<subgraph::Kind>,
    sources: Vec<PathBuf>,
    built_in: Vec<PathBuf>,
}

/// Tells the sources apart by what they hold. `is_file` says whether all go into one file.
///
/// Fails with [`crate::status::Error::Bank`] for a file that is no bank or of a form that is not merged, for one that would
/// go into a file of another form or part, and for one that is that file.
pub fn split(sources: &[PathBuf], into: &Path, is_file: bool, built_in: &[PathBuf]) -> Result<Split> {
    let mut split = Split::default();
    for source in sources {
        if source.is_dir() {
            split.operators.push(source.clone());
            split.look_into(source, into, is_file)?;
            continue;
        }
        let kind = if is_operators(source) { Kind::Records } else { Source::open(source)?.kind() };
        match kind {
            Kind::Records | Kind::Empty => split.operators.push(source.clone()),
            Kind::Unknown => Source::open(source)?.check_known()?,
            _ => match unmergeable(kind) {
                Some(reason) => return Err(refused(source, reason)),
                None => split.add(kind, source, into, is_file)?,
            },
        }
    }
    for job in &mut split.jobs {
        job.built_in = named_like(&job.target, built_in);
    }
    split.check_socs(into, is_file)?;
    Ok(split)
}

impl Split {
    /// Takes in the files of a directory that are no operator banks.
    fn look_into(&mut self, directory: &Path, into: &Path, is_file: bool) -> Result<()> {
        let (mut found, mut unmerged) = (false, Vec::new());
        for path in files(directory)?.into_iter().filter(|path| path.parent() == Some(directory)) {
            let kind = if is_operators(&path) { Kind::Records } else { Source::open(&path)?.kind() };
            if matches!(kind, Kind::Unknown | Kind::Empty) {
                continue;
            }
            found = true;
            if kind == Kind::Records && is_operators(&path) {
                // `bank_files` finds it too.
            } else if kind == Kind::Records {
                unmerged.push((path, "its name does not say for what operator it is".to_owned()));
            } else if let Some(reason) = unmergeable(kind) {
                unmerged.push((path, reason));
            } else {
                self.add(kind, &path, into, is_file)?;
            }
        }
        if !found && bank_files(&[directory.to_owned()])?.is_empty() {
            unmerged.push((directory.to_owned(), "no bank lies there".to_owned()));
        }
        self.unmerged.extend(unmerged);
        Ok(())
    }

    /// Adds a source to the job of its target.
    fn add(&mut self, kind: Kind, source: &Path, into: &Path, is_file: bool) -> Result<()> {
        let target = if is_file { into.to_owned() } else { into.join(source.file_name().unwrap_or_default()) };
        let place = self.jobs.iter().position(|job| job.target == target);
        let held = place.map(|place| self.jobs[place].kind).or(held(&target)?);
        if is_same(source, &target) {
            return Err(refused(source, "is the file that it would be merged into".into()));
        }
        if let Some(held) = held.filter(|held| *held != kind) {
            let reason = format!("is a {}, and {} is for another form, {}", kind.name(), target.display(), held.name());
            return Err(refused(source, reason));
        }
        if let (Some(theirs), Some(own)) = (part_of(source), part_of(&target))
            && theirs != own
        {
            return Err(refused(source, format!("is one of {theirs}, and {} is one of {own}", target.display())));
        }
        let numbers = (kind == Kind::Subgraph).then(|| self.numbers(source, &target, place)).transpose()?;
        if let Some(place) = place {
            self.jobs[place].sources.push(source.to_owned());
        } else {
            let (sources, built_in) = (vec![source.to_owned()], Vec::new());
            self.jobs.push(Job { target, kind, numbers, sources, built_in });
        }
        Ok(())
    }

    /// Whose numbers the records of a subgraph bank and of its target are under; an error where these differ.
    fn numbers(&self, source: &Path, target: &Path, place: Option<usize>) -> Result<subgraph::Kind> {
        let of = |path: &Path| Ok(subgraph::Kind::of(path, &Source::open(path)?.content()?));
        let theirs = of(source)?;
        let own = match place.and_then(|place| self.jobs[place].numbers) {
            Some(own) => own,
            None if held(target)?.is_some() => of(target)?,
            None => subgraph::Kind::named(target).unwrap_or(theirs),
        };
        if theirs == own {
            return Ok(own);
        }
        let numbers = |kind| if kind == subgraph::Kind::Cann { "CANN's numbers" } else { "ours" };
        let reason = format!("is under {}, and {} under {}", numbers(theirs), target.display(), numbers(own));
        Err(refused(source, reason))
    }

    /// A directory of operator banks is of one SoC, its unified banks too.
    fn check_socs(&self, into: &Path, is_file: bool) -> Result<()> {
        let unified: Vec<_> = self.jobs.iter().filter(|job| job.kind == Kind::Unified).collect();
        let (Some(first), false) = (unified.first(), is_file) else { return Ok(()) };
        let beside = if into.is_dir() { bank_files(&[into.to_owned()])? } else { Vec::new() };
        let operators = bank_files(&self.operators)?;
        let all = unified.iter().map(|job| &job.target).chain(&beside).chain(&operators);
        let socs: BTreeSet<_> = all.filter_map(|path| Some(soc_of(path)?.to_owned())).collect();
        if socs.len() < 2 {
            return Ok(());
        }
        let socs: Vec<_> = socs.into_iter().collect();
        let reason = format!("banks of different SoCs are not merged: {}", socs.join(", "));
        Err(refused(&first.target, reason))
    }
}

impl Job {
    /// Merges the sources into the file and stages it.
    pub fn run(&self, transaction: &mut Transaction<'_>, outcome: &mut MergeOutcome) -> Result<()> {
        let no_times = &|| Ok(Times::default());
        match (self.kind, self.numbers) {
            (Kind::Subgraph, Some(numbers)) => {
                self.run_as(&|c| subgraph::Bank::parse(numbers, c), no_times, &mut |_| {}, transaction, outcome)
            }
            (Kind::Gradient, _) => self.run_as(&gradient::Bank::parse, no_times, &mut |_| {}, transaction, outcome),
            _ => self.run_unified(transaction, outcome),
        }
    }

    /// Merges unified banks by what their side files say, and keeps what these say of the records that stay.
    fn run_unified(&self, transaction: &mut Transaction<'_>, outcome: &mut MergeOutcome) -> Result<()> {
        // One whose name does not say the operator has no side file.
        let Some(name) = FileName::of_unified(&self.target) else {
            let no_times = &|| Ok(Times::default());
            return self.run_as(&unified::Bank::parse, no_times, &mut |_| {}, transaction, outcome);
        };
        let at = |path: &Path| BankFile::at(&DISK, path, name.form, name.op_type.as_deref().unwrap_or_default());
        let mut sides = Vec::new();
        for source in &self.sources {
            let (file, side) = (at(source), at(source).side()?);
            outcome.warnings.extend(file.side_findings(&side));
            sides.push(side);
        }
        let shipped = self.built_in.iter().map(|path| at(path).side()).collect::<Result<Vec<_>>>()?;
        let (file, mut records) = (at(&self.target), Vec::new());
        let part = part_named(&self.target);
        let soc_fields = part.as_ref().map(|(_, soc)| soc_digest(soc));
        // Asked for under the lock of the target.
        let times = || {
            let operator = if let Form::Unified(operator) = name.form { Some(operator) } else { None };
            let mut times = Times { operator, side: file.side()?, soc_fields };
            for side in sides.iter().chain(&shipped) {
                times.side.take_all(side, soc_fields);
            }
            Ok(times)
        };
        self.run_as(&unified::Bank::parse, &times, &mut |bank| records = file.records_of(bank), transaction, outcome)?;
        outcome.warnings.extend(file.vouch(&records, &sides, soc_fields, transaction)?);
        Ok(())
    }

    fn run_as<B: Merge>(
        &self,
        parse: &dyn Fn(&[u8]) -> B,
        times: &dyn Fn() -> Result<Times>,
        look: &mut dyn FnMut(&B),
        transaction: &mut Transaction<'_>,
        outcome: &mut MergeOutcome,
    ) -> Result<()> {
        let (built_in, mut sources) = (contents(&self.built_in)?, contents(&self.sources)?);
        // The order in which they were named never matters.
        sources.sort_unstable();
        let [built_in, sources] = [built_in, sources].map(|contents| parsed(contents, parse));
        let updated = whole::update_in(transaction, &DISK, &self.target, parse, |bank| {
            let others = Others { built_in: &built_in, part: part_named(&self.target), times: times()? };
            for (path, source) in &sources {
                bank.take_in(source, &others, &mut |Taken { fate, is_broken, line, record, reason }| {
                    outcome.count(fate);
                    if is_broken {
                        outcome.name_broken(|| Some((reason.clone(), record.clone())));
                    }
                    outcome.records.push(MergedRecord { fate, source: (*path).clone(), line, record, reason });
                })?;
            }
            look(bank);
            Ok(())
        })?;
        for (path, bank) in built_in.iter().chain(&sources) {
            outcome.warnings.extend(whole::warnings(path, bank));
        }
        outcome.warnings.extend(updated.warnings);
        outcome.changed.extend(updated.changed.then(|| self.target.clone()));
        Ok(())
    }
}

/// What files hold, each with its path.
fn contents(paths: &[PathBuf]) -> Result<Vec<(Vec<u8>, &PathBuf)>> {
    paths.iter().map(|path| Ok((Source::open(path)?.content()?, path))).collect()
}

fn parsed<'p, B>(contents: Vec<(Vec<u8>, &'p PathBuf)>, parse: &dyn Fn(&[u8]) -> B) -> Vec<(&'p PathBuf, B)> {
    contents.into_iter().map(|(content, path)| (path, parse(&content))).collect()
}

/// Why the banks of a form are not merged, where they are not.
fn unmergeable(kind: Kind) -> Option<String> {
    let why = match kind {
        Kind::Unified | Kind::Subgraph | Kind::Gradient => return None,
        Kind::Repository => "which is read only; `aoe bank import` converts its records",
        _ => "what its records say is not public, so that none can be told to be better",
    };
    Some(format!("is of a form that is not merged, {}: {why}", kind.name()))
}

/// What a file to be written holds or, by its name, is to hold; `None` where it may be anything.
fn held(target: &Path) -> Result<Option<Kind>> {
    if is_operators(target) {
        return Ok(Some(Kind::Records));
    }
    let kind = target.exists().then(|| Source::open(target)).transpose()?.map(|source| source.kind());
    Ok(kind.filter(|kind| *kind != Kind::Empty))
}

fn is_operators(path: &Path) -> bool {
    FileName::of(path).is_ok()
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The part, or the SoC, that a file's name says it is for.
fn part_of(path: &Path) -> Option<String> {
    let name = name_of(path);
    let ends = ["_l2cache_aoe.json", "_l2cache.json", "_gradient_fusion.json"];
    let front = name.split_once("_AiCore_").map(|(part, _)| part);
    let front = front.or_else(|| ends.iter().find_map(|end| name.strip_suffix(end)))?;
    Some(front.to_lowercase())
}

/// The part in the name of a unified bank, where it is known.
fn part_named(target: &Path) -> Option<(Part, Soc)> {
    let FileName { soc, cores, .. } = FileName::of_unified(target)?;
    let part = Part { soc, cores };
    let soc = part.soc().ok()?;
    Some((part, soc))
}

/// The SoC in the name of an operator's bank.
fn soc_of(path: &Path) -> Option<&str> {
    let (part, _) = name_of(path).split_once("_AiCore_")?;
    part.rsplit_once('_').map(|(soc, _)| soc)
}

/// The file of a target's name among these files and directories.
fn named_like(target: &Path, places: &[PathBuf]) -> Vec<PathBuf> {
    let name = name_of(target);
    let file = |place: &PathBuf| if place.is_dir() { place.join(name) } else { place.clone() };
    places.iter().map(file).filter(|file| name_of(file) == name && file.is_file()).collect()
}
