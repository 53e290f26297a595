//! `aoe bank export` and `aoe bank import`: records from one form to another.

use super::common::{FOUND, json_argument, soc, soc_arguments};
use super::merge;
use super::verify::ranges;
use crate::arguments::{Subcommand, operands, option, paths, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use crate::streams::{Input, Output};
use aoe::bank::inspect::{Export, Left, Socs, Source, Target, import};
use aoe::status::Result;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// `aoe bank export`.
pub const EXPORT: Subcommand = Subcommand::new(export_arguments, run_export);
/// `aoe bank import`.
pub const IMPORT: Subcommand = Subcommand::new(import_arguments, run_import);

/// Different things left behind that are told; the rest are counted.
const TOLD: usize = 100;

fn files() -> Arg {
    operands("file", "FILE", "Bank files of any form")
}

fn export_arguments() -> Command {
    Command::new("export")
        .about("Write the records of bank files in another form")
        .arg(files())
        .arg(
            option("to", "FORM", "runtime (CANN's), unified (CANN's before), or canonical (ours, JSON lines)").required(true).value_parser(Target::NAMES.map(|(name, _)| name)),
        )
        .arg(
            option("output", "FILE", "Where it goes; - is standard output. A file is replaced when all is there").default_value("-"),
        )
        .args(soc_arguments())
        .after_help(
            "What cannot be carried over is told on standard error, record by record.\n\
             Exit status: 0 every record is there, 1 some were left out, 2 a wrong command line, or a file that cannot be\n\
             read or written.",
        )
}

fn import_arguments() -> Command {
    Command::new("import")
        .about("Take the records of bank files of any form into a bank")
        .arg(files())
        .arg(option("into", "DST", "Bank directory, or file whose name says its form (..._runtime_kb.json, ..._aoe_kb.json, else unified)").required(true))
        .args(merge::options())
        .arg(json_argument())
        .args(soc_arguments())
        .after_help(
            "What cannot be carried over is told, record by record; the bank decides as `aoe bank merge` does.\n\
             Exit status: 0 every record was offered to the bank, 1 some were left out, 2 a wrong command line, or a file\n\
             that cannot be read or written; nothing has changed then.",
        )
}

fn run_export(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let mut socs = Socs::new(soc(matches)?);
    let target = Target::named(text(matches, "to")).unwrap_or(Target::Canonical);
    let mut export = Export::new(target);
    let mut bad = 0;
    let paths: Vec<_> = matches.get_many::<String>("file").into_iter().flatten().collect();
    for path in &paths {
        bad += export.take(&mut Source::open(Path::new(path))?, &mut socs)?;
    }
    let input = Input::open(paths.first().map_or("-", |path| path.as_str()))?;
    let mut output = Output::open(text(matches, "output"), &input)?;
    let written = output.writer().write_all(&export.content()).and_then(|()| output.writer().flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(output.error(&error)),
        Ok(()) => output.finish()?,
    }
    tell(&export.left, bad, console);
    console.notice("INFO", &format!("{} records written, {}", export.count, counts(&export.left)));
    Ok(status(&export.left, bad))
}

#[derive(Serialize)]
struct SummaryOut {
    offered: usize,
    left_out: usize,
    lines_without_record: usize,
}

fn run_import(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let mut socs = Socs::new(soc(matches)?);
    let (into, rehearse) = (Path::new(text(matches, "into")), matches.get_flag("dry-run"));
    let temporary = std::env::temp_dir();
    let done = import(&paths(matches, "file"), into, &paths(matches, "built_in"), &mut socs, &temporary, rehearse)?;
    let left_out = done.left.iter().filter(|left| left.left_out.is_some()).count();
    if matches.get_flag("json") {
        for left in &done.left {
            console.text(&json::line(left)?);
        }
        console.text(&json::line(&SummaryOut { offered: done.count, left_out, lines_without_record: done.bad })?);
    } else {
        tell(&done.left, done.bad, console);
        console.line(&format!("{} records offered, {}", done.count, counts(&done.left)));
    }
    merge::report(&done.merged, false, matches.get_flag("json"), rehearse, console)?;
    Ok(status(&done.left, done.bad))
}

fn status(left: &[Left], bad: usize) -> u8 {
    if bad > 0 || left.iter().any(|left| left.left_out.is_some()) { FOUND } else { DONE }
}

fn counts(left: &[Left]) -> String {
    let left_out = left.iter().filter(|left| left.left_out.is_some()).count();
    format!("{left_out} left out, {} not carried over in full", left.len() - left_out)
}

/// Tells what did not come along, equal things together with their lines.
fn tell(left: &[Left], bad: usize, console: &Console) {
    let mut lines: BTreeMap<(&Path, String), Vec<usize>> = BTreeMap::new();
    for Left { file, line, left_out, lost, .. } in left {
        let text = match left_out {
            Some(reason) => format!("left out: {reason}"),
            None => format!("not carried over: {}", lost.join(", ")),
        };
        lines.entry((file, text)).or_default().push(*line);
    }
    for ((file, text), lines) in lines.iter().take(TOLD) {
        console.notice("WARNING", &format!("{}:{}: {text}", file.display(), ranges(lines)));
    }
    if lines.len() > TOLD {
        console.notice("WARNING", &format!("and {} more such findings", lines.len() - TOLD));
    }
    if bad > 0 {
        let text = format!("{bad} lines hold no record that is understood; `aoe bank verify` names them");
        console.notice("WARNING", &text);
    }
}
