//! `aoe bank repair`: what would not compute is taken out.

use super::common::{FOUND, TROUBLE, banks, json_argument};
use crate::arguments::{Subcommand, flag, operands};
use crate::console::{Console, printable};
use crate::exit_status::DONE;
use crate::interrupt::Interrupt;
use crate::json;
use aoe::bank::FileName;
use aoe::bank::inspect::files;
use aoe::bank::repair::{Bad, Repaired, repair_patiently};
use aoe::output_file::Patience;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe bank repair`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new("repair")
        .about("Take out the records with which CANN's kernels would not compute their result, or at which TBE stops")
        .arg(
            operands("path", "FILE|DIR", "Bank files, or directories of them"),
        )
        .arg(flag("dry-run", "Say what would be taken out and write nothing").alias("dry_run"))
        .arg(flag("all", "Take out also what libaoe did not write; without it those are only named"))
        .arg(json_argument())
        .after_help(
            "The file as it was stays beside it as NAME.before-repair-1, -2, ...\n\
             Exit status: 0 no such record is left (with --dry-run: there is none), 1 some are left, 2 a wrong command\n\
             line, a bank that CANN installed, or a file that cannot be read or written (the others are repaired all the\n\
             same), 130 interrupted.",
        )
}

#[derive(Serialize)]
struct RecordOut<'a> {
    file: &'a str,
    line: usize,
    record: &'a str,
    rule: &'a str,
    written_by_libaoe: bool,
    taken_out: bool,
}

#[derive(Serialize)]
struct FileOut<'a> {
    file: &'a str,
    taken_out: usize,
    left: usize,
    copy: Option<String>,
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let [dry, all, json] = ["dry-run", "all", "json"].map(|name| matches.get_flag(name));
    let (interrupt, cancel) = Interrupt::flag("the file at work is brought to its end", console)?;
    let one = |path: PathBuf| -> Result<u8> {
        interrupt.check()?;
        let repaired = repair_patiently(&path, all, dry, Patience::until(Arc::clone(&cancel)))?;
        console.text(&text(&path.to_string_lossy(), &repaired, dry, json)?);
        repaired.warnings.iter().for_each(|warning| console.notice("WARNING", warning));
        let left = repaired.left.len() + if dry { repaired.taken.len() } else { 0 };
        Ok(if left > 0 { FOUND } else { DONE })
    };
    // What cannot be repaired must not keep the next from it.
    let status_of = |outcome: Result<u8>| match outcome {
        Err(Error::Cancelled) => DONE,
        outcome => outcome.unwrap_or_else(|error| {
            console.error(&error);
            TROUBLE
        }),
    };
    let mut status = DONE;
    for given in matches.get_many::<String>("path").into_iter().flatten() {
        let outcome = to_repair(Path::new(given), console)
            .map(|paths| paths.into_iter().map(|path| status_of(one(path))).max().unwrap_or(DONE));
        status = status.max(status_of(outcome));
    }
    interrupt.on_arrival(None);
    interrupt.check()?;
    Ok(status)
}

/// The files behind a path. In a directory only operators' banks count; a file that is named has to be one. Fails for a
/// directory without any bank.
fn to_repair(given: &Path, console: &Console) -> Result<Vec<PathBuf>> {
    std::fs::metadata(given).map_err(|error| Error::file("open", given, error))?;
    let mut found = files(given)?;
    if given.is_dir() {
        found.retain(|path| FileName::of(path).is_ok() || FileName::of_unified(path).is_some());
        if found.is_empty() && banks(given)?.is_empty() {
            return Err(Error::directory("read", given, "no bank file lies there or below"));
        }
        if found.is_empty() {
            let given = given.display();
            console.notice("INFO", &format!("{given}: no bank of operators lies there: there is nothing to take out"));
        }
    }
    Ok(found)
}

/// What there is to say of a file.
fn text(path: &str, repaired: &Repaired, dry: bool, json: bool) -> Result<String> {
    let Repaired { taken, left, copy, .. } = repaired;
    let copy = copy.as_ref().map(|copy| copy.to_string_lossy().into_owned());
    let mut text = String::new();
    let all = taken.iter().map(|bad| (bad, true)).chain(left.iter().map(|bad| (bad, false)));
    for (bad, out) in all {
        let Bad { line, record, rule, ours } = bad;
        if json {
            let taken_out = out && !dry;
            let written_by_libaoe = *ours;
            text += &json::line(&RecordOut { file: path, line: *line, record, rule, written_by_libaoe, taken_out })?;
            continue;
        }
        let done = match (out, dry) {
            (true, false) => "taken out",
            (true, true) => "would be taken out",
            (false, _) => "left, libaoe did not write it",
        };
        let _ = writeln!(text, "{}", printable(&format!("{path}:{line}: {done}: {record}: {rule}")));
    }
    if json {
        let taken_out = if dry { 0 } else { taken.len() };
        let left = left.len() + taken.len() - taken_out;
        return Ok(text + &json::line(&FileOut { file: path, taken_out, left, copy })?);
    }
    let verb = if dry { "would be taken out" } else { "taken out" };
    let copy = copy.map(|copy| format!("; as it was: {copy}")).unwrap_or_default();
    // "0 left" would read as if the bank were empty now.
    let rest = match left.len() {
        0 => "no other would fail".to_owned(),
        left => format!("{left} that would fail left (--all takes them out too)"),
    };
    let _ = writeln!(text, "{path}: {} records {verb}, {rest}{copy}", taken.len());
    Ok(text)
}
