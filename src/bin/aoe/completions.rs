//! `aoe completions` and `aoe manual`: what shells and `man` know of the command line, from the same tables as its help.

use crate::arguments::{self, Run, Subcommand};
use crate::console::Console;
use crate::exit_status::DONE;
use aoe::output_file::Publication;
use aoe::session::options::{self, Kind, OPTIONS};
use aoe::soc::Soc;
use aoe::status::{Error, Result};
use clap::builder::{PossibleValuesParser, Str, ValueHint};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe completions SHELL`.
pub const COMMAND: Subcommand = Subcommand { arguments, run: Run::OfWhole(run) };

/// `aoe manual DIR`.
pub const MANUAL: Subcommand = Subcommand { arguments: arguments_of_manual, run: Run::OfWhole(run_manual) };

/// The shells whose completions are tested, by name.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn arguments() -> Command {
    Command::new("completions")
        .about("Print what completes `aoe` in your shell")
        .after_help(
            "bash: source <(aoe completions bash), in ~/.bashrc\n\
             zsh:  aoe completions zsh > a folder of $fpath/_aoe\n\
             fish: aoe completions fish > ~/.config/fish/completions/aoe.fish",
        )
        .arg(Arg::new("shell").value_name("bash|zsh|fish").required(true).value_parser(SHELLS).help("The shell"))
}

fn run(matches: &ArgMatches, console: &Arc<Console>, whole: &Command) -> Result<u8> {
    let name = matches.get_one::<String>("shell").map_or("", String::as_str);
    let shell: Shell = name.parse().map_err(|reason| Error::CommandLine { reason })?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut described(whole), "aoe", &mut text);
    console.text(&String::from_utf8_lossy(&text));
    Ok(DONE)
}

/// The command line as a shell sees it: without what no user calls, with `tune` as a command, which [`crate::command_line::parse`] takes
/// off, and with what words or files may follow.
fn described(whole: &Command) -> Command {
    let tune = Command::new(arguments::TUNE).about("Tune a model").args(OPTIONS.iter().map(arguments::argument));
    let shown = whole.get_subcommands().filter(|below| !below.is_hide_set()).cloned();
    let command = Command::new("aoe").version(env!("CARGO_PKG_VERSION")).args(whole.get_arguments().cloned());
    hinted(command.disable_help_subcommand(true).subcommands(shown).subcommand(tune))
}

/// Every argument of a command and of those below, with what may follow.
fn hinted(command: Command) -> Command {
    command.mut_args(hinted_argument).mut_subcommands(hinted)
}

fn hinted_argument(argument: Arg) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let words = match options::find(&id).map(|spec| spec.kind) {
        Some(Kind::OneOf(words)) => words.iter().map(|word| (*word).to_owned()).collect(),
        _ if id == "soc_version" => Soc::names(),
        _ => Vec::new(),
    };
    if !words.is_empty() {
        return argument.value_parser(PossibleValuesParser::new(words));
    }
    let hint = match argument.get_value_names().and_then(<[_]>::first).map(Str::as_str) {
        Some("DIR") => ValueHint::DirPath,
        Some("FILE" | "CONFIG") => ValueHint::FilePath,
        Some("PATH" | "FILE|DIR" | "DIR|FILE" | "MODEL" | "PROFILE" | "SRC" | "DST") => ValueHint::AnyPath,
        _ => return argument,
    };
    argument.value_hint(hint)
}

fn arguments_of_manual() -> Command {
    Command::new("manual")
        .about("Write the pages of `man aoe` into a folder")
        .after_help("One page a command: aoe.1, aoe-bank.1, aoe-bank-merge.1, ... make install and packages put them in share/man/man1.")
        .arg(
            Arg::new("folder")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The folder"),
        )
}

fn run_manual(matches: &ArgMatches, console: &Arc<Console>, whole: &Command) -> Result<u8> {
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    let mut command = whole.clone().disable_help_subcommand(true);
    command.build();
    let mut pages = Publication::new();
    let count = prepare_pages(&command, &folder, &mut pages)?;
    pages.commit()?;
    console.line(&format!("{count} pages in {}", folder.display()));
    Ok(DONE)
}

/// Prepares the page of a command and of each below it that is not hidden, and answers how many these are.
fn prepare_pages(command: &Command, folder: &Path, pages: &mut Publication) -> Result<usize> {
    let page = Man::new(command.clone()).manual("libaoe").source(concat!("aoe ", env!("CARGO_PKG_VERSION")));
    pages.file_with(&folder.join(page.get_filename()), |mut file| page.render(&mut file))?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.map(|below| prepare_pages(below, folder, pages)).sum::<Result<usize>>().map(|below| below + 1)
}
