//! Options as arguments of clap, built from the library's one option table; what a sub-command is.

use crate::console::Console;
use aoe::search::Algorithm;
use aoe::session::options::{self, Effect, Kind, OPTIONS, OptionSpec};
use aoe::status::Result;
use clap::builder::{Arg, ArgAction, Command};
use clap::{ArgMatches, value_parser};
use std::path::PathBuf;
use std::sync::Arc;

/// The word that may stand before the options of a tuning.
pub const TUNE: &str = "tune";

/// A sub-command of ours.
pub struct Subcommand {
    /// Its name and arguments.
    pub arguments: fn() -> Command,
    /// Does its work and answers the exit status.
    pub run: Run,
}

/// How a sub-command is run.
pub enum Run {
    /// With its own arguments.
    Alone(fn(&ArgMatches, &Arc<Console>) -> Result<u8>),
    /// With the whole command line, of which it tells.
    OfWhole(fn(&ArgMatches, &Arc<Console>, &Command) -> Result<u8>),
}

impl Run {
    /// Runs it, in a program with this command line.
    pub fn call(&self, matches: &ArgMatches, console: &Arc<Console>, whole: &Command) -> Result<u8> {
        match self {
            Run::Alone(run) => run(matches, console),
            Run::OfWhole(run) => run(matches, console, whole),
        }
    }
}

impl Subcommand {
    /// A sub-command that knows nothing of the others.
    pub const fn new(arguments: fn() -> Command, run: fn(&ArgMatches, &Arc<Console>) -> Result<u8>) -> Subcommand {
        Subcommand { arguments, run: Run::Alone(run) }
    }
}

/// An option of a sub-command that takes a value.
pub fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// An option of a sub-command that is there or not.
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// What a sub-command cannot do without, by its place.
pub fn operand(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).required(true).help(help)
}

/// One or more of it.
pub fn operands(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(name, value, help).action(ArgAction::Append).num_args(1..)
}

/// The text that an option of a sub-command was given.
pub fn given<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// The same of what must be there, or has a default.
pub fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    given(matches, name).unwrap_or_default()
}

/// The values that [`operands`] was given.
pub fn paths(matches: &ArgMatches, name: &str) -> Vec<PathBuf> {
    matches.get_many::<String>(name).into_iter().flatten().map(PathBuf::from).collect()
}

/// The value of an option; the values of one that is repeated, by semicolons.
pub fn value_of(matches: &ArgMatches, spec: &OptionSpec) -> String {
    let values = matches.get_many::<String>(spec.name).into_iter().flatten();
    values.map(String::as_str).collect::<Vec<_>>().join(";")
}

/// The arguments for all options, by groups.
pub fn all() -> impl Iterator<Item = Arg> {
    HEADINGS.iter().flat_map(|group| OPTIONS.iter().filter(move |spec| heading(spec) == *group)).map(argument)
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
pub const HEADINGS: [&str; 5] = [
    "Tuning",
    "Tuning, beyond CANN's options",
    "For the model compiler of a device backend (the simulator compiles nothing)",
    "Accepted for compatibility, without effect",
    "Known, but not built in this version (a value is an error)",
];

/// The group of an option.
pub fn heading(spec: &OptionSpec) -> &'static str {
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
