//! `aoe bank repair`: what would not compute is taken out.

use super::common::{FOUND, TROUBLE, json_argument, json_line};
use crate::arguments::Subcommand;
use crate::console::{Console, printable};
use crate::exit_status::DONE;
use aoe::bank::FileName;
use aoe::bank::inspect::files;
use aoe::bank::repair::{Bad, Repaired, repair};
use aoe::status::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// `aoe bank repair`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).num_args(0).action(ArgAction::SetTrue);
    Command::new("repair")
        .about("Take out the records with which CANN's kernels would not compute their result, or at which TBE stops")
        .arg(
            Arg::new("path")
                .value_name("FILE|DIR")
                .required(true)
                .action(ArgAction::Append)
                .num_args(1..)
                .help("Bank files, or directories of them"),
        )
        .arg(flag("dry-run").alias("dry_run").help("Say what would be taken out and write nothing"))
        .arg(flag("all").help("Take out also what libaoe did not write; without it those are only named"))
        .arg(json_argument())
        .after_help(
            "The file as it was stays beside it as NAME.before-repair-1, -2, ...\n\
             Exit status: 0 no such record is left (with --dry-run: there is none), 1 some are left, 2 a wrong command\n\
             line, a bank that CANN installed, or a file that cannot be read or written.",
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

#[expect(clippy::unnecessary_wraps, reason = "every command runs so")]
fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let [dry, all, json] = ["dry-run", "all", "json"].map(|name| matches.get_flag(name));
    let mut status = DONE;
    for given in matches.get_many::<String>("path").into_iter().flatten() {
        let given = Path::new(given);
        // In a directory only operators' banks count; a file that is named has to be one.
        let found = files(given).map(|mut found| {
            let is_bank = |path: &Path| FileName::of(path).is_ok() || FileName::of_unified(path).is_some();
            found.retain(|path| !given.is_dir() || is_bank(path));
            found
        });
        let outcome = found.and_then(|paths| {
            let mut status = DONE;
            for path in paths {
                let repaired = repair(&path, all, dry)?;
                console.text(&told(&path.to_string_lossy(), &repaired, dry, json)?);
                repaired.warnings.iter().for_each(|warning| console.notice("WARNING", warning));
                let left = repaired.left.len() + if dry { repaired.taken.len() } else { 0 };
                status = status.max(if left > 0 { FOUND } else { DONE });
            }
            Ok(status)
        });
        status = status.max(outcome.unwrap_or_else(|error| {
            console.error(&error);
            TROUBLE
        }));
    }
    Ok(status)
}

/// What there is to say of a file.
fn told(path: &str, repaired: &Repaired, dry: bool, json: bool) -> Result<String> {
    let Repaired { taken, left, copy, .. } = repaired;
    let copy = copy.as_ref().map(|copy| copy.to_string_lossy().into_owned());
    let mut text = String::new();
    let all = taken.iter().map(|bad| (bad, true)).chain(left.iter().map(|bad| (bad, false)));
    for (bad, out) in all {
        let Bad { line, record, rule, ours } = bad;
        if json {
            let taken_out = out && !dry;
            let written_by_libaoe = *ours;
            text += &json_line(&RecordOut { file: path, line: *line, record, rule, written_by_libaoe, taken_out })?;
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
        return Ok(text + &json_line(&FileOut { file: path, taken_out, left, copy })?);
    }
    let verb = if dry { "would be taken out" } else { "taken out" };
    let copy = copy.map(|copy| format!("; as it was: {copy}")).unwrap_or_default();
    let hint = if left.is_empty() { "" } else { " (--all takes them out too)" };
    let _ = writeln!(text, "{path}: {} records {verb}, {} left{hint}{copy}", taken.len(), left.len());
    Ok(text)
}
