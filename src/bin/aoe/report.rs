//! `aoe report`: the page of a results folder, made again.

use crate::arguments::{Subcommand, operand, text};
use crate::console::Console;
use crate::exit_status::DONE;
use aoe::report::Folder;
use aoe::status::Result;
use clap::{ArgMatches, Command};
use std::path::Path;
use std::sync::Arc;

/// `aoe report DIR`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new("report")
        .about("Make report.html of a results folder again, from its report.json")
        .after_help("What lies in a results folder: docs/results.md.")
        .arg(operand("folder", "DIR", "The folder that --output named"))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let page = Folder::of_tuning(Path::new(text(matches, "folder")))?.draw()?;
    console.line(&page.display().to_string());
    Ok(DONE)
}
