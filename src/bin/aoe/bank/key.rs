//! `aoe bank key`: ids from `info_dict`s.

use super::common::FOUND;
use crate::arguments::{Subcommand, given, option, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::streams::Input;
use aoe::bank::Layout;
use aoe::bank::inspect::{MAX_LINE_BYTES, id_of, trim};
use aoe::lines;
use aoe::spelling;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use std::sync::Arc;

/// `aoe bank key`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new("key")
        .about("Print the id that CANN gives an info_dict: JSON lines in, one id a line out")
        .arg(option("op", "TYPE", "Operator type of the info_dicts; whole records name theirs. An info_dict of libaoe's own form needs none"))
        .arg(
            option("info", "FILE", "The info_dicts, or whole records, one a line; - is standard input").required(true),
        )
        .after_help(
            "A line that has no id is named on standard error, and the others go on.\n\
             Exit status: 0 every line has its id, 1 some have none, 2 a wrong command line, or a file that cannot be read.",
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let op = given(matches, "op").map(operator).transpose()?;
    let mut input = Input::open(text(matches, "info"))?;
    let name = input.name.clone();
    let (mut line, mut number, mut status) = (Vec::new(), 0_usize, DONE);
    while !console.is_closed() {
        let next = lines::next(input.reader(), &mut line, MAX_LINE_BYTES);
        let Some(kind) = next.map_err(|e| Error::file("read", &name, e))? else { break };
        number += 1;
        let id = match kind {
            lines::Line::Whole if trim(&line).is_empty() => continue,
            lines::Line::Whole => id_of(&line, op),
            lines::Line::TooLong(bytes) => Err(format!("{bytes} bytes are too many for a line")),
        };
        match id {
            Ok(id) => console.line(&id.to_string()),
            Err(reason) => {
                console.notice("ERROR", &format!("{}:{number}: {reason}", name.display()));
                status = FOUND;
            }
        }
    }
    Ok(status)
}

/// The operator type of this name, in CANN's spelling.
fn operator(name: &str) -> Result<&'static str> {
    let known: Vec<_> = Layout::all().iter().map(Layout::op_type).collect();
    known.iter().copied().find(|op| op.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let hint = spelling::nearest(name, known.iter().copied());
        let hint = hint.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Error::option("op", format!("the key of `{name}` is not known; {hint}known are {}", known.join(", ")))
    })
}
