//! `aoe bank verify`: every line judged.

use super::common::{FOUND, TROUBLE, banks, json_argument, soc, soc_arguments};
use crate::arguments::{Subcommand, flag, operands};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use aoe::bank::inspect::{Judgement, Kind, Remark, Socs, Source, Status, verify};
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe bank verify`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Different remarks of one status that are printed; the rest are counted.
const PRINTED: usize = 50;

fn arguments() -> Command {
    Command::new("verify")
        .about("Judge every line of bank files: what is damaged, stale, foreign, double, illegal, or would not compute")
        .arg(operands("file", "FILE|DIR", "Bank files, or directories of them"))
        .arg(json_argument().help("Write a JSON line for each line and one for each file"))
        .arg(
            flag("strict", "Let every finding count for the exit status, also what CANN passes over"),
        )
        .args(soc_arguments())
        .after_help(
            "Exit status: 0 all is well, 1 there are lines at which CANN's loader or operators stumble (damaged, blank,\n\
             duplicate, unusable, refused), or whose kernel would not compute its result (with --strict any finding), 2 a wrong command line, or a file that cannot be read.",
        )
}

/// How many lines of a file were judged how.
#[derive(Debug, Default)]
struct Tally {
    lines: usize,
    ok: usize,
    by_status: BTreeMap<Status, usize>,
    /// The lines of each remark.
    remarks: BTreeMap<Status, BTreeMap<String, Vec<usize>>>,
}

#[derive(Serialize)]
struct LineOut<'a> {
    file: &'a str,
    line: usize,
    status: &'static str,
    remarks: &'a [Remark],
}

#[derive(Serialize)]
struct FileOut<'a> {
    file: &'a str,
    kind: &'static str,
    lines: usize,
    ok: usize,
    findings: &'a BTreeMap<Status, usize>,
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let mut socs = Socs::new(soc(matches)?);
    let (json, strict) = (matches.get_flag("json"), matches.get_flag("strict"));
    let mut status = DONE;
    for given in matches.get_many::<String>("file").into_iter().flatten() {
        // What cannot be read must not hide what is wrong with the next.
        let judged = banks(Path::new(given)).and_then(|paths| {
            let judge = |path: PathBuf| file(&path.to_string_lossy(), json, strict, &mut socs, console);
            paths
                .into_iter()
                .map(judge)
                .map(|judged| status_of(judged, console))
                .max()
                .ok_or_else(|| Error::directory("read", Path::new(given), "no bank file lies there or below"))
        });
        status = status.max(status_of(judged, console));
    }
    Ok(status)
}

/// The exit status of what was judged, or of what could not be, which is said.
fn status_of(judged: Result<u8>, console: &Console) -> u8 {
    judged.unwrap_or_else(|error| {
        console.error(&error);
        TROUBLE
    })
}

/// Judges one file; answers the exit status that it deserves.
fn file(path: &str, json: bool, strict: bool, socs: &mut Socs, console: &Console) -> Result<u8> {
    let mut source = Source::open(Path::new(path))?;
    let mut tally = Tally::default();
    let kind = source.kind();
    if kind == Kind::Empty {
        console.notice("WARNING", &format!("{path}: holds nothing"));
    }
    verify(&mut source, socs, &mut |judgement| {
        if json {
            console.text(&json::line(&LineOut::new(path, &judgement))?);
        }
        tally.take(judgement);
        Ok(())
    })?;
    if json {
        let (lines, ok, findings) = (tally.lines, tally.ok, &tally.by_status);
        console.text(&json::line(&FileOut { file: path, kind: kind.name(), lines, ok, findings })?);
    } else {
        console.text(&tally.text(path, kind));
    }
    let found = tally.by_status.keys().any(|status| strict || status.stumbles());
    Ok(if found { FOUND } else { DONE })
}

impl<'a> LineOut<'a> {
    fn new(file: &'a str, judgement: &'a Judgement) -> LineOut<'a> {
        let worst = judgement.remarks.iter().map(|remark| remark.status).min();
        LineOut { file, line: judgement.line, status: worst.map_or("ok", Status::words), remarks: &judgement.remarks }
    }
}

impl Tally {
    fn take(&mut self, judgement: Judgement) {
        self.lines += 1;
        self.ok += usize::from(judgement.remarks.is_empty());
        for Remark { status, reason } in judgement.remarks {
            *self.by_status.entry(status).or_default() += 1;
            let reasons = self.remarks.entry(status).or_default();
            if reasons.len() < PRINTED || reasons.contains_key(&reason) {
                reasons.entry(reason).or_default().push(judgement.line);
            }
        }
    }

    /// The findings, each with its lines, and the summary.
    fn text(&self, path: &str, kind: Kind) -> String {
        let mut text = String::new();
        for (status, reasons) in &self.remarks {
            let mut by_line: Vec<_> = reasons.iter().collect();
            by_line.sort_by_key(|(_, lines)| lines[0]);
            for (reason, lines) in by_line {
                let reason = format!("{path}:{}: {}: {reason}", ranges(lines), status.words());
                let _ = writeln!(text, "{}", crate::console::printable(&reason));
            }
            let printed: usize = reasons.values().map(Vec::len).sum();
            if let Some(more) = self.by_status[status].checked_sub(printed).filter(|&more| more > 0) {
                let _ = writeln!(text, "{path}: {}: {more} more lines", status.words());
            }
        }
        let counts = self.by_status.iter().map(|(status, count)| format!("{count} {}", status.words()));
        let counts: Vec<_> = std::iter::once(format!("{} ok", self.ok)).chain(counts).collect();
        let _ = writeln!(text, "{path}: {}, {} judged: {}", kind.name(), self.lines, counts.join(", "));
        text
    }
}

/// Line numbers in few letters: `3`, `3-7`, `3-7,9 and 12 more`.
pub fn ranges(lines: &[usize]) -> String {
    const RANGES: usize = 6;
    let runs: Vec<&[usize]> = lines.chunk_by(|a, b| *b == a + 1).collect();
    let run = |run: &&[usize]| match run {
        [only] => only.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    let shown: Vec<_> = runs.iter().take(RANGES).map(run).collect();
    let more: usize = runs.iter().skip(RANGES).map(|run| run.len()).sum();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(",") + &more
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn lines_are_told_in_few_letters() {
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[1, 3, 5, 7, 9, 11, 13, 15, 16]), "1,3,5,7,9,11 and 3 more");
    }
}
