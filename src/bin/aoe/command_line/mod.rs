//! The whole command line: every sub-command, the options of a tuning, and what the user asks for.

mod mistakes;
#[cfg(test)]
mod tests;

use crate::arguments::{self, Subcommand, value_of};
use crate::config;
use crate::settings::Settings;
use crate::{
    bank, calibrate, compare, completions, device, help, kernels, llm, measure, model, report, search, simulate, soc,
    tiling,
};
use aoe::session::options::{self, OPTIONS, OptionSpec};
use aoe::status::{Error, Result};
use clap::ArgMatches;
use clap::builder::{Arg, Command};
use clap::parser::ValueSource;
use std::ffi::OsString;
use std::path::Path;

/// Every sub-command.
const COMMANDS: &[Subcommand] = &[
    bank::COMMAND,
    calibrate::COMMAND,
    compare::COMMAND,
    completions::COMMAND,
    completions::MANUAL,
    device::COMMAND,
    help::COMMAND,
    kernels::COMMAND,
    llm::COMMAND,
    measure::COMMAND,
    model::COMMAND,
    report::COMMAND,
    search::COMMAND,
    simulate::COMMAND,
    soc::COMMAND,
    tiling::COMMAND,
];

/// The argument that names a model without an option.
const MODEL: &str = "MODEL";

/// What a command line asks for.
pub enum Request {
    /// Tune with these options.
    Tune(Settings),
    /// Run a sub-command.
    Command(&'static Subcommand, ArgMatches),
    /// Print a help or version text.
    Print(String),
}

/// Reads the command line, its program name first, and the configuration file it names.
///
/// Fails with [`Error::CommandLine`] for what is not an option, with [`Error::Option`] for a malformed value and
/// as [`config::read`] does.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request> {
    let mut arguments: Vec<String> = utf8(arguments)?.into_iter().map(spelled).collect();
    // The main job has a name too.
    if arguments.get(1).is_some_and(|word| word == arguments::TUNE) {
        arguments.remove(1);
    }
    if arguments.len() < 2 {
        return Ok(Request::Print(help::short(&command())));
    }
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return mistakes::translate(&error, &arguments, &command()).map(Request::Print),
    };
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = COMMANDS.iter().find(|c| (c.arguments)().get_name() == name)
    {
        return Ok(Request::Command(command, matches.clone()));
    }
    let mut settings = settings(&matches)?;
    if let Some(model) = matches.get_one::<String>(MODEL) {
        take_model(model, &mut settings)?;
    }
    take_output(&mut settings)?;
    Ok(Request::Tune(settings))
}

/// Takes an output that is no file, and has not the suffix of a model, for a directory, which the library knows by its
/// end.
fn take_output(settings: &mut Settings) -> Result<()> {
    let Some(output) = settings.get("output") else { return Ok(()) };
    let path = Path::new(output);
    let is_model = ["air", "om"].into_iter().any(|suffix| {
        let beside = format!("{output}.{suffix}");
        path.extension().is_some_and(|own| own == suffix) || Path::new(&beside).is_file()
    });
    if is_model || path.is_file() || output.ends_with('/') {
        return Ok(());
    }
    let directory = format!("{output}/");
    settings.set("output", directory)
}

/// Takes the word that stands alone for a model, or a directory of models.
///
/// Fails with [`Error::CommandLine`] where an option names what to tune already, and where the word is more likely a
/// mistyped command than a file that is not there.
fn take_model(word: &str, settings: &mut Settings) -> Result<()> {
    let path = Path::new(word);
    if let Some(other) = ["model", "model_path", "singleop", "profile"].into_iter().find(|o| settings.get(o).is_some())
    {
        return Err(Error::CommandLine { reason: format!("`{word}` and --{other} exclude each other") });
    }
    let whole = command();
    if whole.get_subcommands().any(|command| command.get_name() == word) {
        let reason = format!("`{word}` is a command: it stands first, before options of its own; a file is `./{word}`");
        return Err(Error::CommandLine { reason });
    }
    let is_plain = path.extension().is_none() && path.components().count() == 1;
    if is_plain && !path.exists() {
        return Err(Error::CommandLine { reason: mistakes::unknown(word, &[], &whole) });
    }
    settings.set(if path.is_dir() { "model_path" } else { "model" }, word.to_owned())
}

/// The options of a command line, over those of the configuration file.
fn settings(matches: &ArgMatches) -> Result<Settings> {
    let given = |spec: &OptionSpec| matches.value_source(spec.name) == Some(ValueSource::CommandLine);
    let value = |spec: &OptionSpec| value_of(matches, spec);
    let mut settings = match options::find("config").filter(|spec| given(spec)).map(value) {
        Some(path) if !path.is_empty() => config::read(Path::new(&path))?,
        _ => Settings::default(),
    };
    for spec in OPTIONS.iter().filter(|spec| given(spec)) {
        settings.set(spec.name, value(spec))?;
    }
    Ok(settings)
}

/// An option as the table spells it: where it has none of this name, dashes within may stand for underscores.
fn spelled(argument: String) -> String {
    let Some(option) = argument.strip_prefix("--") else { return argument };
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let known = name.replace('-', "_");
    match value {
        _ if options::find(name).is_some() || options::find(&known).is_none() => argument,
        Some(value) => format!("--{known}={value}"),
        None => format!("--{known}"),
    }
}

/// The arguments as text. Options are UTF-8 throughout the library, paths among them.
fn utf8(arguments: impl Iterator<Item = OsString>) -> Result<Vec<String>> {
    let text = |(position, argument): (usize, OsString)| {
        argument.into_string().map_err(|argument| Error::CommandLine {
            reason: format!("argument {position} is not UTF-8: {}", argument.to_string_lossy()),
        })
    };
    arguments.enumerate().map(text).collect()
}

/// The whole command line.
pub fn command() -> Command {
    Command::new("aoe")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tunes neural networks for Ascend NPUs, with or without a device.")
        .override_usage(
            "aoe [tune] MODEL|--model=FILE [--job_type=1|2|4] [OPTIONS]\n       \
             aoe [tune] DIR|--model_path=DIR|LIST [--shard=I/N] [--job_type=1|2|4] [OPTIONS]\n       \
             aoe COMMAND",
        )
        .after_help(
            "An option is written --name=value or --name value. The environment variables TUNE_BANK_PATH,\n\
             ASCEND_CACHE_PATH, ASCEND_WORK_PATH, ASCEND_DEVICE_ID, REPEAT_TUNE, TE_PARALLEL_COMPILER,\n\
             PROFILING_MODE and PROFILING_OPTIONS count too.\n\
             Exit status: 0 tuned, 1 failed, 2 a wrong command line or option, 130 interrupted.",
        )
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .arg(Arg::new(MODEL).index(1).value_name(MODEL).help("The model to tune, or a directory of models"))
        .subcommand_value_name("COMMAND")
        .max_term_width(100)
        .args(arguments::all())
        .subcommands(COMMANDS.iter().map(|command| (command.arguments)()))
}
