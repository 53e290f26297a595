//! `aoe bank diff`: what two banks do not share.

use super::{FOUND, json_argument, json_line, text};
use crate::DONE;
use crate::arguments::Subcommand;
use crate::console::Console;
use aoe::bank::inspect::{Change, Difference, Source, diff};
use aoe::status::Result;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// `aoe bank diff`.
pub const COMMAND: Subcommand = Subcommand { arguments, run };

fn arguments() -> Command {
    let file = |name: &'static str, help: &'static str| Arg::new(name).value_name(name).required(true).help(help);
    Command::new("diff")
        .about("Compare two banks of one form: records in one only, and the fields that differ")
        .arg(file("A", "First bank file"))
        .arg(file("B", "Second bank file"))
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

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let json = matches.get_flag("json");
    let (mut a, mut b) = (Source::open(Path::new(text(matches, "A")))?, Source::open(Path::new(text(matches, "B")))?);
    let (mut only_a, mut only_b, mut differ) = (0_usize, 0_usize, 0_usize);
    let equal = diff(&mut a, &mut b, &mut |difference| {
        let out = match &difference {
            Difference::OnlyA(a) => {
                only_a += 1;
                Out { difference: "only_a", record: &a.label, line_a: Some(a.number), line_b: None, fields: &[] }
            }
            Difference::OnlyB(b) => {
                only_b += 1;
                Out { difference: "only_b", record: &b.label, line_a: None, line_b: Some(b.number), fields: &[] }
            }
            Difference::Differs { a, b, changes } => {
                differ += 1;
                let (line_a, line_b) = (Some(a.number), Some(b.number));
                Out { difference: "differs", record: &a.label, line_a, line_b, fields: changes }
            }
        };
        if json {
            console.text(&json_line(&out)?);
        } else {
            console.line(&out.text());
        }
        Ok(())
    })?;
    if !json {
        console.line(&format!("{only_a} only in A, {only_b} only in B, {differ} differ, {equal} equal"));
    }
    Ok(if only_a + only_b + differ > 0 { FOUND } else { DONE })
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
