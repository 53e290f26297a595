//! `aoe bank merge`: one bank out of several.

use super::common::{FOUND, json_argument};
use crate::arguments::{Subcommand, flag, operands, option, paths, text};
use crate::console::{Console, printable};
use crate::exit_status::DONE;
use crate::json;
use aoe::bank::inspect::{Fate, Merged, MergedRecord, merge_with_records};
use aoe::session::base;
use aoe::status::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe bank merge`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Records of each fate that a text lists; `--json` lists all.
const LISTED: usize = 100;

fn arguments() -> Command {
    Command::new("merge")
        .about("Merge banks into one: of two records for the same, the better measured stays")
        .arg(operands(
            "source",
            "SRC",
            "Bank files, or directories of them; a results folder is the bank in it; only read",
        ))
        .arg(option("into", "DST", "Bank file or directory to merge into").required(true))
        .args(options())
        .arg(json_argument())
        .after_help(
            "Exit status: 0 merged, 1 some banks of the sources were not (each is named), 2 a wrong command line,\n\
             or a file that cannot be read or written; nothing has changed then.",
        )
}

/// The options of everything that merges.
pub fn options() -> [Arg; 2] {
    let built_in = option("built_in", "PATH", "Bank that CANN ships: what gains nothing over it is not taken");
    let dry_run = flag("dry-run", "Only say what would be done").alias("dry_run");
    [built_in.visible_alias("built-in").action(ArgAction::Append), dry_run]
}

#[derive(Serialize)]
struct SummaryOut<'a> {
    added: usize,
    updated: usize,
    kept: usize,
    refused: usize,
    broken: usize,
    foreign: usize,
    changed: &'a [PathBuf],
    unmerged: &'a [PathBuf],
    dry_run: bool,
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    // A results folder stands for the bank in it: what is only to be measured joins no other records.
    let sources: Vec<PathBuf> = paths(matches, "source").iter().map(|source| base::root(source)).collect();
    let (into, dry_run) = (Path::new(text(matches, "into")), matches.get_flag("dry-run"));
    let rehearsal = dry_run.then(std::env::temp_dir);
    let merged = merge_with_records(&sources, into, &paths(matches, "built_in"), rehearsal.as_deref())?;
    report(&merged, true, matches.get_flag("json"), dry_run, console)?;
    Ok(if merged.outcome.unmerged.is_empty() { DONE } else { FOUND })
}

/// Prints what a merge did; each record where `listed`.
pub fn report(merged: &Merged, listed: bool, json: bool, dry_run: bool, console: &Console) -> Result<()> {
    for warning in &merged.outcome.warnings {
        console.notice("WARNING", warning);
    }
    let outcome = &merged.outcome;
    let records = merged.records.as_deref().filter(|_| listed);
    if json {
        for record in records.unwrap_or_default() {
            console.text(&json::line(record)?);
        }
        console.text(&json::line(&SummaryOut {
            added: outcome.added,
            updated: outcome.updated,
            kept: outcome.kept,
            refused: outcome.refused,
            broken: outcome.broken,
            foreign: outcome.foreign,
            changed: &outcome.changed,
            unmerged: &outcome.unmerged,
            dry_run,
        })?);
        return Ok(());
    }
    match records {
        Some(records) => console.text(&list(records)),
        None if listed => console.line("too many records to list them"),
        None => {}
    }
    let (done, would) = if dry_run { ("would be ", "would be written") } else { ("", "written") };
    let refused = if outcome.refused > 0 { format!(", {} {done}refused", outcome.refused) } else { String::new() };
    let foreign =
        if outcome.foreign > 0 { format!(", {} lines {done}carried along", outcome.foreign) } else { String::new() };
    console.line(&format!(
        "{} {done}added, {} {done}updated, {} {done}kept{refused}{foreign}",
        outcome.added, outcome.updated, outcome.kept
    ));
    for path in &outcome.changed {
        console.line(&format!("{}: {would}", path.display()));
    }
    Ok(())
}

/// The records by what became of them.
fn list(records: &[MergedRecord]) -> String {
    let mut text = String::new();
    for (fate, word) in
        [(Fate::Added, "added"), (Fate::Updated, "updated"), (Fate::Kept, "kept"), (Fate::Refused, "refused")]
    {
        let of_fate: Vec<_> = records.iter().filter(|record| record.fate == fate).collect();
        for MergedRecord { source, line, record, reason, .. } in of_fate.iter().take(LISTED) {
            let place = format!("{}:{line}", source.display());
            let _ = writeln!(text, "{}", printable(&format!("{word:<8}{record}: {reason} ({place})")));
        }
        if of_fate.len() > LISTED {
            let _ = writeln!(text, "{word:<8}and {} more", of_fate.len() - LISTED);
        }
    }
    text
}
