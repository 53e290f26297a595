//! `aoe bank show`: records as a table or as JSON lines.

use super::common::json_argument;
use crate::arguments::{Subcommand, given, operand, option, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use crate::table::{middle_cut, table};
use aoe::bank::inspect::{Item, Kind, Part, Source, files, items};
use aoe::spelling;
use aoe::status::Result;
use clap::{ArgMatches, Command, value_parser};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// `aoe bank show`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Rows whose columns are lined up together; a bank of a million records is not held in memory for it.
const BLOCK: usize = 5_000;
/// Files of a directory that are no banks and are told one by one: a results folder has many.
const TOLD: usize = 3;
/// Letters of a cell at least, when a table is cut to a terminal.
const NARROWEST: usize = 12;

fn arguments() -> Command {
    Command::new("show")
        .about("Show the records of a bank file, or of all banks of a directory, as a table")
        .arg(operand("path", "FILE|DIR", "Bank file, or directory with some"))
        .arg(option("op", "TYPE", "Only records of this operator type, in any case"))
        .arg(option("limit", "NUMBER", "Most records to show").value_parser(value_parser!(u64)))
        .arg(json_argument())
        .after_help("Exit status: 0 shown, 2 a wrong command line, or a file that cannot be read.")
}

/// What is shown so far.
struct Printer<'a> {
    console: &'a Console,
    json: bool,
    op: Option<&'a str>,
    is_directory: bool,
    /// Records that may still be shown.
    left: u64,
    rows: Vec<[String; 6]>,
    titled: bool,
    /// Operator types that were passed over.
    others: BTreeSet<String>,
    shown: u64,
    /// Lines that hold no record.
    bad: usize,
    /// Files of a directory that are no banks.
    strangers: usize,
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let path = Path::new(text(matches, "path"));
    let mut printer = Printer {
        console,
        json: matches.get_flag("json"),
        op: given(matches, "op"),
        is_directory: path.is_dir(),
        left: matches.get_one("limit").copied().unwrap_or(u64::MAX),
        rows: Vec::new(),
        titled: false,
        others: BTreeSet::new(),
        shown: 0,
        bad: 0,
        strangers: 0,
    };
    let files = files(path)?;
    if files.is_empty() {
        console.notice("WARNING", &format!("{}: no bank file lies there or below", path.display()));
    }
    for file in files {
        printer.file(&file)?;
    }
    printer.flush();
    printer.conclude(path);
    Ok(DONE)
}

impl Printer<'_> {
    fn is_done(&self) -> bool {
        self.left == 0 || self.console.is_closed()
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let mut source = Source::open(path)?;
        // In a directory may lie what it likes; a file that was named must be a bank.
        if let (true, Err(error)) = (self.is_directory, source.check_known()) {
            self.strangers += 1;
            if self.strangers <= TOLD {
                self.console.notice("WARNING", &error.to_string());
            }
            return Ok(());
        }
        if source.kind() == Kind::Empty {
            self.console.notice("WARNING", &format!("{}: holds nothing", path.display()));
        }
        self.bad += items(&mut source, &mut |item| {
            self.item(path, item)?;
            Ok(!self.is_done())
        })?;
        Ok(())
    }

    fn item(&mut self, path: &Path, item: Item) -> Result<()> {
        if self.op.is_some_and(|op| !op.eq_ignore_ascii_case(&item.op)) {
            self.others.insert(item.op);
            return Ok(());
        }
        self.left -= 1;
        self.shown += 1;
        if self.json {
            self.console.text(&json::line(&json_of(path, item))?);
            return Ok(());
        }
        self.rows.push(cells(path, &item));
        if self.rows.len() == BLOCK {
            self.flush();
        }
        Ok(())
    }

    /// Prints the rows gathered so far.
    fn flush(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        fit(&mut rows);
        let mut text = String::new();
        for line in table(["operator", "shapes", "tiling", "us", "gain", "source"], "lllrrl", &rows)
            .iter()
            .skip(usize::from(self.titled))
        {
            text.push_str(&crate::console::printable(line));
            text.push('\n');
        }
        self.titled |= !rows.is_empty();
        self.console.text(&text);
    }

    fn conclude(&self, path: &Path) {
        if self.strangers > TOLD {
            let text = format!("{}: {} more files are no banks", path.display(), self.strangers - TOLD);
            self.console.notice("WARNING", &text);
        }
        if self.bad > 0 {
            let text = format!("{} lines hold no record that is understood; `aoe bank verify` names them", self.bad);
            self.console.notice("WARNING", &text);
        }
        if let Some(op) = self.op.filter(|_| self.shown == 0 && self.left > 0) {
            let known: Vec<_> = self.others.iter().map(String::as_str).collect();
            let hint = match spelling::nearest(op, known.iter().copied()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None if known.is_empty() => String::new(),
                None => format!("; there are records of {}", spelling::listed(&known)),
            };
            self.console.notice("WARNING", &format!("{}: no record of `{op}`{hint}", path.display()));
        }
    }
}

/// A record as a line of JSON: its own fields, then ours, which win.
fn json_of(path: &Path, item: Item) -> Map<String, Value> {
    let mut out = item.fields;
    out.insert("file".into(), path.to_string_lossy().into());
    out.insert("line".into(), item.line.into());
    out.insert("op".into(), item.op.into());
    out.insert("id".into(), item.id);
    out.insert("shapes".into(), item.shapes.into());
    out.insert("tiling".into(), item.tiling.into());
    out.extend(item.part.map(|part| ("part".to_owned(), part.to_string().into())));
    out.extend(item.cost_us.map(|us| ("cost_us".to_owned(), us.into())));
    if let Some(times) = item.times {
        out.insert("gain".into(), times.gain().into());
        out.extend(serde_json::to_value(&times).ok().map(|times| ("measured".to_owned(), times)));
    }
    out
}

fn cells(path: &Path, item: &Item) -> [String; 6] {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = item.part.as_ref().map(Part::to_string).filter(|part| !name.starts_with(part.as_str()));
    let us = item.times.as_ref().map(|times| times.after_us).or(item.cost_us);
    let none = || "-".to_owned();
    [
        item.op.clone(),
        item.shapes.clone(),
        item.tiling.clone(),
        us.map_or_else(none, |us| format!("{us:.2}")),
        item.times.as_ref().map_or_else(none, |times| format!("{:.1}%", 100.0 * times.gain())),
        format!("{name}:{}{}", item.line, part.map(|part| format!(" {part}")).unwrap_or_default()),
    ]
}

/// Cuts the widest cells so that a row has room on the terminal; a pipe or file gets them whole.
fn fit(rows: &mut [[String; 6]]) {
    let terminal = console::Term::stdout();
    let Some((_, columns)) = terminal.size_checked().filter(|_| terminal.is_term()) else { return };
    let widths = crate::table::widths(rows);
    for (column, most) in crate::table::fitting(widths, usize::from(columns), NARROWEST).into_iter().enumerate() {
        for row in rows.iter_mut() {
            row[column] = middle_cut(&row[column], most);
        }
    }
}
