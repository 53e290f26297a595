//! The command line as clap sees it, built from the library's one option table.

use crate::config;
use crate::console::Console;
use crate::settings::Settings;
use crate::soc;
use aoe::session::options::{self, Effect, Kind, OPTIONS, OptionSpec};
use aoe::status::{Error, Result};
use clap::builder::{Arg, ArgAction, Command};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, error};
use std::ffi::OsString;
use std::path::Path;

/// A sub-command of ours.
pub struct Subcommand {
    /// Its name and arguments.
    pub arguments: fn() -> Command,
    /// Does its work.
    pub run: fn(&ArgMatches, &Console) -> Result<()>,
}

/// Every sub-command.
const COMMANDS: &[Subcommand] = &[soc::COMMAND];

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
    let matches = match command().try_get_matches_from(utf8(arguments)?) {
        Ok(matches) => matches,
        Err(error) => return translate(&error),
    };
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = COMMANDS.iter().find(|c| (c.arguments)().get_name() == name)
    {
        return Ok(Request::Command(command, matches.clone()));
    }
    settings(&matches).map(Request::Tune)
}

/// The options of a command line, over those of the configuration file.
fn settings(matches: &ArgMatches) -> Result<Settings> {
    let given = |spec: &OptionSpec| matches.value_source(spec.name) == Some(ValueSource::CommandLine);
    let value = |spec: &OptionSpec| -> String {
        let values = matches.get_many::<String>(spec.name).into_iter().flatten();
        values.map(String::as_str).collect::<Vec<_>>().join(";")
    };
    let mut settings = match options::find("config").filter(|spec| given(spec)).map(value) {
        Some(path) if !path.is_empty() => config::read(Path::new(&path))?,
        _ => Settings::default(),
    };
    for spec in OPTIONS.iter().filter(|spec| given(spec)) {
        settings.set(spec.name, value(spec))?;
    }
    Ok(settings)
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
fn command() -> Command {
    Command::new("aoe")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tunes neural networks for Ascend NPUs, with or without a device.")
        .override_usage(
            "aoe --model=FILE --job_type=2 [OPTIONS]\n       \
             aoe --model_path=DIR --job_type=2 [OPTIONS]\n       \
             aoe COMMAND",
        )
        .after_help(
            "An option is written --name=value or --name value. The environment variables TUNE_BANK_PATH,\n\
             ASCEND_CACHE_PATH, ASCEND_WORK_PATH, ASCEND_DEVICE_ID, REPEAT_TUNE and TE_PARALLEL_COMPILER count too.\n\
             Exit status: 0 tuned, 1 failed, 2 a wrong command line or option, 130 interrupted.",
        )
        .args_conflicts_with_subcommands(true)
        .subcommand_value_name("COMMAND")
        .max_term_width(100)
        .args(
            HEADINGS.iter().flat_map(|group| OPTIONS.iter().filter(move |spec| heading(spec) == *group)).map(argument),
        )
        .subcommands(COMMANDS.iter().map(|command| (command.arguments)()))
}

/// One option as an argument.
fn argument(spec: &'static OptionSpec) -> Arg {
    let argument = Arg::new(spec.name).long(spec.name).help_heading(heading(spec)).help(help(spec));
    let argument = match spec.short {
        Some(letter) => argument.short(letter),
        None => argument,
    };
    let argument = if spec.default.is_empty() { argument } else { argument.default_value(spec.default) };
    match spec.kind {
        Kind::Flag => {
            argument.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("true|false")
        }
        Kind::Assignments => argument.action(ArgAction::Append).value_name("KEY=VALUE"),
        Kind::OneOf(_) => argument.value_name("WORD"),
        Kind::Integer(..) => argument.value_name("NUMBER"),
        Kind::File => argument.value_name("FILE"),
        Kind::Path => argument.value_name("PATH"),
        Kind::Shapes => argument.value_name("SHAPES"),
        Kind::IntegerList => argument.value_name("NUMBERS"),
        Kind::Text => argument.value_name("TEXT"),
    }
}

/// The groups of options in the help, in its order.
const HEADINGS: [&str; 4] = [
    "Tuning",
    "Tuning, beyond CANN's options",
    "For the model compiler of a device backend (the simulator compiles nothing)",
    "Accepted for compatibility, without effect",
];

/// The group of an option.
fn heading(spec: &OptionSpec) -> &'static str {
    HEADINGS[match spec.effect {
        Effect::Tuning | Effect::CommandLine => usize::from(spec.ours),
        Effect::Compiler => 2,
        Effect::Accepted => 3,
    }]
}

/// The help of an option, with the words it takes.
fn help(spec: &OptionSpec) -> String {
    match spec.kind {
        Kind::OneOf(words) => format!("{} [{}]", spec.help, words.join(", ")),
        _ => spec.help.to_owned(),
    }
}

/// What clap has to say, as a text to print or as an error of ours.
fn translate(error: &error::Error) -> Result<Request> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let reason = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Ok(Request::Print(error.to_string())),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            let word = match context(ContextKind::InvalidArg) {
                "" => context(ContextKind::InvalidSubcommand),
                word => word,
            };
            unknown(word)
        }
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    };
    Err(Error::CommandLine { reason })
}

/// What to say about a word that is neither an option nor a sub-command.
fn unknown(word: &str) -> String {
    if word.starts_with('-') {
        let hint = options::nearest(word).map(|name| format!("; did you mean `--{name}`?")).unwrap_or_default();
        return format!("there is no option `{word}`{hint}");
    }
    let names: Vec<_> = COMMANDS.iter().map(|command| (command.arguments)().get_name().to_owned()).collect();
    format!("`{word}` is not a command (there is: {}); a model is given with --model={word}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tune(arguments: &[&str]) -> Result<Settings> {
        match parse(["aoe"].iter().chain(arguments).map(OsString::from))? {
            Request::Tune(settings) => Ok(settings),
            _ => panic!("not a tuning"),
        }
    }

    #[test]
    fn clap_accepts_the_table() {
        command().debug_assert();
    }

    #[test]
    fn every_option_reads_alike_with_an_equals_sign_and_with_a_space() {
        for spec in OPTIONS.iter().filter(|spec| spec.name != "config") {
            let value = sample(spec);
            let joined = tune(&[&format!("--{}={value}", spec.name)]).unwrap();
            assert_eq!(joined.get(spec.name), Some(value), "{}", spec.name);
            if spec.kind != Kind::Flag {
                assert_eq!(tune(&[&format!("--{}", spec.name), value]).unwrap(), joined, "{}", spec.name);
            }
            if let Some(letter) = spec.short {
                assert_eq!(tune(&[&format!("-{letter}"), value]).unwrap(), joined, "{}", spec.name);
            }
        }
    }

    /// A well-formed value.
    fn sample(spec: &OptionSpec) -> &'static str {
        match spec.kind {
            Kind::OneOf(words) => words[0],
            Kind::Integer(..) => "1",
            Kind::Flag => "true",
            Kind::Shapes => "x:1,3",
            Kind::IntegerList => "1,2",
            Kind::Assignments => "k=v",
            Kind::File | Kind::Path | Kind::Text => "a b/c.d",
        }
    }

    #[test]
    fn an_empty_value_is_accepted_and_means_not_set() {
        for spec in OPTIONS {
            let settings = tune(&[&format!("--{}=", spec.name)]).unwrap();
            assert_eq!(settings.get(spec.name), None, "{}", spec.name);
        }
        assert_eq!(tune(&["--output", ""]).unwrap().get("output"), None);
    }

    #[test]
    fn defaults_are_not_settings() {
        assert_eq!(tune(&[]).unwrap(), Settings::default());
    }

    #[test]
    fn a_flag_takes_no_value_after_a_space() {
        let settings = tune(&["--Fdeeper_opat", "--seed", "7"]).unwrap();
        assert_eq!((settings.get("Fdeeper_opat"), settings.get("seed")), (Some("true"), Some("7")));
        assert!(tune(&["--Fdeeper_opat", "true"]).is_err());
    }

    #[test]
    fn assignments_add_up() {
        let settings = tune(&["--soc_set", "a=1", "--soc_set=b=2"]).unwrap();
        assert_eq!(settings.get("soc_set"), Some("a=1;b=2"));
    }

    #[test]
    fn mistakes_name_the_word_and_the_likely_option() {
        for (arguments, parts) in [
            (&["--job-tpye=2"][..], ["--job-tpye", "--job_type"]),
            (&["--zzzzzz"], ["--zzzzzz", "no option"]),
            (&["resnet.onnx"], ["resnet.onnx", "--model=resnet.onnx"]),
            (&["--model"], ["--model", "value is required"]),
            (&["--model", "--job_type", "2"], ["--model", "value is required"]),
            (&["--seed=1", "--seed=2"], ["--seed", "multiple times"]),
            (&["-x"], ["-x", "no option"]),
        ] {
            let error = tune(arguments).unwrap_err();
            assert_eq!(error.id(), Some("EG0000"), "{error}");
            assert!(parts.iter().all(|part| error.to_string().contains(part)), "{arguments:?}: {error}");
        }
        assert_eq!(tune(&["--seed=-1"]).unwrap_err().id(), Some("EG0003"));
    }

    #[test]
    fn the_command_line_wins_over_the_configuration_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"job_type": "subgraph", "seed": 3}"#).unwrap();
        let settings = tune(&["--config", file.path().to_str().unwrap(), "-j", "2"]).unwrap();
        assert_eq!((settings.get("job_type"), settings.get("seed")), (Some("2"), Some("3")));
    }

    #[test]
    fn help_names_every_option_and_its_group() {
        let Ok(Request::Print(help)) = parse(["aoe", "-h"].iter().map(OsString::from)) else { panic!("no help") };
        for spec in OPTIONS {
            assert!(help.contains(&format!("--{}", spec.name)) && help.contains(heading(spec)), "{}", spec.name);
        }
    }
}
