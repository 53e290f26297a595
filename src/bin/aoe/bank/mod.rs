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

mod check;
mod convert;
mod diff;
mod evaluate;
mod key;
mod merge;
mod repair;
mod show;
mod verify;

use crate::arguments::{self, Subcommand};
use crate::console::Console;
use crate::settings::Settings;
use aoe::bank::FileName;
use aoe::bank::inspect::{Kind, Source, files};
use aoe::session::simulation;
use aoe::soc::Soc;
use aoe::status::{Error, Result};
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe bank COMMAND`.
pub const COMMAND: Subcommand = Subcommand { arguments, run };

/// Exit status when something was found: a bad line, a difference, a record left behind.
const FOUND: u8 = 1;
/// Exit status when the command line is wrong, or a file cannot be read or written.
const TROUBLE: u8 = 2;

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

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Error::CommandLine { reason: "`aoe bank` needs a command".to_owned() });
    };
    let Some(verb) = VERBS.iter().find(|verb| (verb.arguments)().get_name() == name) else {
        return Err(Error::CommandLine { reason: format!("`aoe bank` has no command `{name}`") });
    };
    match (verb.run)(matches, console).and_then(|status| console.finish().map(|()| status)) {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => {
            console.error(&error);
            Ok(TROUBLE)
        }
        status => status,
    }
}

/// The bank files behind a path: itself, or those of a directory and the directories below it. What lies there and is no
/// bank is left; there may be none.
fn banks(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(path)?;
    if path.is_dir() {
        let mut judged = Vec::new();
        for file in found {
            // A bank of which nothing can be read any more still has the name of one.
            let is_named_so = FileName::of(&file).is_ok() || FileName::of_unified(&file).is_some();
            if is_named_so || Source::open(&file)?.kind() != Kind::Unknown {
                judged.push(file);
            }
        }
        found = judged;
    }
    Ok(found)
}

/// The option that asks for JSON lines in place of a text.
fn json_argument() -> Arg {
    Arg::new("json").long("json").num_args(0).action(clap::ArgAction::SetTrue).help("Write JSON lines")
}

/// The options that name a SoC.
fn soc_arguments() -> impl Iterator<Item = Arg> {
    simulation::options().map(|spec| {
        let argument = arguments::argument(spec).help_heading("SoC");
        if spec.name == "soc_version" {
            argument.help("SoC in place of the one that the file's name tells; a name of `aoe soc`, or a JSON or platform_config file")
        } else {
            argument.requires("soc_version")
        }
    })
}

/// The SoC that the options name.
fn soc(matches: &ArgMatches) -> Result<Option<Soc>> {
    let settings = Settings::given(matches, simulation::options())?;
    Ok(simulation::parts(settings.options())?.fixed().cloned())
}

/// An argument that must be there.
fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

/// A value as a line of JSON, with its line feed.
fn json_line(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|e| Error::Internal { place: "aoe bank".to_owned(), message: e.to_string() })
}
