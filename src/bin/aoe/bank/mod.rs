//! `aoe bank`: knowledge banks looked at, judged, compared, merged and priced.
//!
//! | file | holds |
//! |---|---|
//! | `show` | records as a table or as JSON lines |
//! | `verify` | every line judged |
//! | `check` | whether CANN finds records for a model |
//! | `repair` | what would not compute taken out |
//! | `key` | ids from `info_dict`s |
//! | `diff` | what two banks do not share |
//! | `merge` | one bank out of several |
//! | `convert` | records from one form to another |
//! | `evaluate` | recorded tilings priced beside CANN's and ours |
//! | `common` | arguments and exit statuses of several |

mod check;
mod common;
mod convert;
mod diff;
mod evaluate;
mod key;
mod merge;
mod repair;
mod show;
mod verify;

use crate::arguments::{Run, Subcommand};
use crate::console::Console;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use common::TROUBLE;
use std::sync::Arc;

/// `aoe bank COMMAND`.
pub const COMMAND: Subcommand = Subcommand { arguments, run: Run::OfWhole(run) };

/// Every command.
const VERBS: &[Subcommand] = &[
    show::COMMAND,
    verify::COMMAND,
    check::COMMAND,
    repair::COMMAND,
    key::COMMAND,
    diff::COMMAND,
    merge::COMMAND,
    convert::EXPORT,
    convert::IMPORT,
    evaluate::COMMAND,
];

fn arguments() -> Command {
    Command::new("bank")
        .about("Look at knowledge banks, judge, compare, merge and price them")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .subcommands(VERBS.iter().map(|verb| (verb.arguments)().max_term_width(100)))
        .after_help(
            "More: docs/banks.md.\n\
             Exit status: 0 done, 1 something was found (see each command), 2 a wrong command line, or a file that cannot\n\
             be read or written, 130 interrupted.",
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>, whole: &Command) -> Result<u8> {
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Error::CommandLine { reason: "`aoe bank` needs a command".to_owned() });
    };
    let Some(verb) = VERBS.iter().find(|verb| (verb.arguments)().get_name() == name) else {
        return Err(Error::CommandLine { reason: format!("`aoe bank` has no command `{name}`") });
    };
    match verb.run.call(matches, console, whole).and_then(|status| console.finish().map(|()| status)) {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => {
            console.error(&error);
            Ok(TROUBLE)
        }
        status => status,
    }
}
