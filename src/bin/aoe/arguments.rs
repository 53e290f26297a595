//! The command line as clap sees it, built from the library's one option table.

mod mistakes;

use crate::config;
use crate::console::Console;
use crate::settings::Settings;
use crate::{
    bank, calibrate, compare, completions, device, help, kernels, llm, measure, model, report, search, simulate, soc,
    tiling,
};
use aoe::search::Algorithm;
use aoe::session::options::{self, Effect, Kind, OPTIONS, OptionSpec};
use aoe::status::{Error, Result};
use clap::builder::{Arg, ArgAction, Command};
use clap::parser::ValueSource;
use clap::{ArgMatches, value_parser};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// A sub-command of ours.
pub struct Subcommand {
    /// Its name and arguments.
    pub arguments: fn() -> Command,
    /// Does its work and answers the exit status.
    pub run: fn(&ArgMatches, &Arc<Console>) -> Result<u8>,
}

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

/// The word that may stand before the options of a tuning.
pub const TUNE: &str = "tune";
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
    if arguments.get(1).is_some_and(|word| word == TUNE) {
        arguments.remove(1);
    }
    if arguments.len() < 2 {
        return Ok(Request::Print(help::short()));
    }
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return mistakes::translate(&error, &arguments),
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
    if commands().any(|command| command.get_name() == word) {
        let reason = format!("`{word}` is a command: it stands first, before options of its own; a file is `./{word}`");
        return Err(Error::CommandLine { reason });
    }
    let is_plain = path.extension().is_none() && path.components().count() == 1;
    if is_plain && !path.exists() {
        return Err(Error::CommandLine { reason: mistakes::unknown(word, &[]) });
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

/// The value of an option; the values of one that is repeated, by semicolons.
pub fn value_of(matches: &ArgMatches, spec: &OptionSpec) -> String {
    let values = matches.get_many::<String>(spec.name).into_iter().flatten();
    values.map(String::as_str).collect::<Vec<_>>().join(";")
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

/// Every sub-command as clap sees it.
pub fn commands() -> impl Iterator<Item = Command> {
    COMMANDS.iter().map(|command| (command.arguments)())
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
        .args(
            HEADINGS.iter().flat_map(|group| OPTIONS.iter().filter(move |spec| heading(spec) == *group)).map(argument),
        )
        .subcommands(commands())
}

/// One option as an argument.
pub fn argument(spec: &'static OptionSpec) -> Arg {
    let argument = Arg::new(spec.name).long(spec.name).help_heading(heading(spec)).help(help(spec));
    let argument = match spec.short {
        Some(letter) => argument.short(letter),
        None => argument,
    };
    let argument = if spec.default.is_empty() { argument } else { argument.default_value(spec.default) };
    let argument = argument.value_name(value_name(spec.kind));
    match spec.kind {
        Kind::Flag => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Kind::Assignments => argument.action(ArgAction::Append),
        Kind::Job => argument.num_args(0..=1).default_missing_value(options::NEWEST),
        _ => argument,
    }
}

/// What stands for a value in the help.
const fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "true|false",
        Kind::Assignments => "KEY=VALUE",
        Kind::OneOf(_) => "WORD",
        Kind::Integer(..) => "NUMBER",
        Kind::File => "FILE",
        Kind::Path => "PATH",
        Kind::Shapes => "SHAPES",
        Kind::IntegerList | Kind::IntegerLists | Kind::Devices => "NUMBERS",
        Kind::OutNodes => "NODES",
        Kind::Profiling => "JSON",
        Kind::Text => "TEXT",
        Kind::Job => "DIR",
    }
}

/// The values that an option takes, in a few words.
pub fn values(spec: &OptionSpec) -> String {
    match spec.kind {
        Kind::OneOf(words) => words.join("|"),
        Kind::Integer(low, u64::MAX) => format!("NUMBER from {low}"),
        Kind::Integer(low, high) => format!("NUMBER from {low} to {high}"),
        kind => value_name(kind).to_owned(),
    }
}

/// The arguments of a sub-command that searches: the seed, with a help of its own, and the algorithm.
pub fn search_arguments(help_of_seed: &'static str) -> [Arg; 2] {
    let argument = |name: &'static str, value: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).default_value(default).help(help)
    };
    [
        argument("seed", "NUMBER", "0", help_of_seed).value_parser(value_parser!(u64)),
        argument("algorithm", "WORD", "auto", "Search algorithm").value_parser(Algorithm::NAMES.to_vec()),
    ]
}

/// The algorithm that [`search_arguments`] was given.
pub fn algorithm(matches: &ArgMatches) -> Algorithm {
    matches.get_one::<String>("algorithm").and_then(|name| Algorithm::named(name)).unwrap_or_default()
}

/// The groups of options in the help, in its order.
const HEADINGS: [&str; 5] = [
    "Tuning",
    "Tuning, beyond CANN's options",
    "For the model compiler of a device backend (the simulator compiles nothing)",
    "Accepted for compatibility, without effect",
    "Known, but not built in this version (a value is an error)",
];

/// The group of an option.
fn heading(spec: &OptionSpec) -> &'static str {
    HEADINGS[match spec.effect {
        Effect::Tuning | Effect::CommandLine => usize::from(spec.ours),
        Effect::Compiler => 2,
        Effect::Accepted => 3,
        Effect::NotBuilt => 4,
    }]
}

/// The help of an option, with the words it takes.
fn help(spec: &OptionSpec) -> String {
    match spec.kind {
        Kind::OneOf(words) => format!("{} [{}]", spec.help, words.join(", ")),
        _ => spec.help.to_owned(),
    }
}

#[cfg(test)]
mod tests;
