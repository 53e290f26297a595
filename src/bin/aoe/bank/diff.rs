//! `aoe bank diff`: what two banks do not share.

use super::common::{FOUND, banks, json_argument};
use crate::arguments::{Subcommand, operand, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use aoe::bank::inspect::{Change, Difference, Source, diff, items};
use aoe::status::Result;
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe bank diff`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new("diff")
        .about("Compare two banks of one form, or two directories of banks: records in one only, and the fields that differ")
        .arg(operand("A", "A", "First bank file or directory"))
        .arg(operand("B", "B", "Second one"))
        .arg(json_argument())
        .after_help(
            "A line begins with < for a record of A only, > for one of B only, ! for one that differs.\n\
             Exit status: 0 no difference, 1 differences, 2 a wrong command line, or a file that cannot be read.",
        )
}

#[derive(Serialize)]
struct Out<'a> {
    difference: &'static str,
    record: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_a: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_b: Option<usize>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fields: &'a [Change],
}

/// How many differences were found.
#[derive(Default)]
struct Count {
    only_a: usize,
    only_b: usize,
    differ: usize,
    equal: usize,
}

impl Count {
    fn found(&self) -> usize {
        self.only_a + self.only_b + self.differ
    }
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let json = matches.get_flag("json");
    let (a, b) = (Path::new(text(matches, "A")), Path::new(text(matches, "B")));
    let mut count = Count::default();
    if a.is_dir() && b.is_dir() {
        directories(a, b, json, &mut count, console)?;
    } else {
        pair(a, b, json, &mut count, console)?;
    }
    if !json {
        let Count { only_a, only_b, differ, equal } = count;
        console.line(&format!("{only_a} only in A, {only_b} only in B, {differ} differ, {equal} equal"));
    }
    Ok(if count.found() > 0 { FOUND } else { DONE })
}

/// Compares the files of two directories that lie at the same place below them.
fn directories(a: &Path, b: &Path, json: bool, count: &mut Count, console: &Console) -> Result<()> {
    let below = |root: &Path| -> Result<BTreeSet<PathBuf>> {
        let relative = |file: PathBuf| file.strip_prefix(root).map(Path::to_owned).unwrap_or(file);
        Ok(banks(root)?.into_iter().map(relative).collect())
    };
    let (in_a, in_b) = (below(a)?, below(b)?);
    for file in in_a.union(&in_b) {
        if !json {
            console.line(&format!("{}:", file.display()));
        }
        match (in_a.contains(file), in_b.contains(file)) {
            (true, true) => pair(&a.join(file), &b.join(file), json, count, console)?,
            (true, false) => count.only_a += lone(&a.join(file), "only_a", json, console)?,
            _ => count.only_b += lone(&b.join(file), "only_b", json, console)?,
        }
    }
    Ok(())
}

/// Tells the records of a file that the other side has not; answers how many.
fn lone(path: &Path, difference: &'static str, json: bool, console: &Console) -> Result<usize> {
    let mut found = 0;
    items(&mut Source::open(path)?, &mut |item| {
        found += 1;
        let record = format!("{} {}", item.op, item.shapes);
        let line = |side: &str| (side == difference).then_some(item.line);
        let (line_a, line_b) = (line("only_a"), line("only_b"));
        tell(&Out { difference, record: &record, line_a, line_b, fields: &[] }, json, console)?;
        Ok(true)
    })?;
    Ok(found)
}

fn tell(out: &Out<'_>, json: bool, console: &Console) -> Result<()> {
    if json {
        console.text(&json::line(out)?);
    } else {
        console.line(&out.text());
    }
    Ok(())
}

/// Compares two files.
fn pair(a: &Path, b: &Path, json: bool, count: &mut Count, console: &Console) -> Result<()> {
    let (mut a, mut b) = (Source::open(a)?, Source::open(b)?);
    count.equal += diff(&mut a, &mut b, &mut |difference| {
        let out = match &difference {
            Difference::OnlyA(a) => {
                count.only_a += 1;
                Out { difference: "only_a", record: &a.label, line_a: Some(a.number), line_b: None, fields: &[] }
            }
            Difference::OnlyB(b) => {
                count.only_b += 1;
                Out { difference: "only_b", record: &b.label, line_a: None, line_b: Some(b.number), fields: &[] }
            }
            Difference::Differs { a, b, changes } => {
                count.differ += 1;
                let (line_a, line_b) = (Some(a.number), Some(b.number));
                Out { difference: "differs", record: &a.label, line_a, line_b, fields: changes }
            }
        };
        tell(&out, json, console)
    })?;
    Ok(())
}

impl Out<'_> {
    fn text(&self) -> String {
        let place = |line: Option<usize>| line.map_or_else(String::new, |line| format!(" (line {line})"));
        match self.difference {
            "only_a" => format!("< {}{}", self.record, place(self.line_a)),
            "only_b" => format!("> {}{}", self.record, place(self.line_b)),
            _ => {
                let value =
                    |value: &Option<Value>| value.as_ref().map_or_else(|| "absent".to_owned(), Value::to_string);
                let field = |c: &Change| format!("{} {} -> {}", c.field, value(&c.a), value(&c.b));
                let fields: Vec<_> = self.fields.iter().map(field).collect();
                format!("! {}: {}", self.record, fields.join(", "))
            }
        }
    }
}
