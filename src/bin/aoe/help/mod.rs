//! `aoe help [TOPIC]`: a topic, a command or an option in a few lines; and what `aoe` alone prints.

use crate::arguments::{self, Run, Subcommand};
use crate::console::Console;
use crate::exit_status::DONE;
use aoe::session::options::{self, OPTIONS, OptionSpec};
use aoe::spelling;
use aoe::status::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::fmt::Write as _;
use std::sync::Arc;

/// `aoe help [TOPIC]`.
pub const COMMAND: Subcommand = Subcommand { arguments, run: Run::OfWhole(run) };

/// A page of help.
struct Topic {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

const fn topic(name: &'static str, about: &'static str, text: &'static str) -> Topic {
    Topic { name, about, text }
}

const TOPICS: &[Topic] = &[
    topic("jobs", "what --job_type tunes", include_str!("jobs.txt")),
    topic("shapes", "sizes of the inputs", include_str!("shapes.txt")),
    topic("records", "where records go, and what has CANN read them", include_str!("records.txt")),
    topic("results", "the files that a tuning leaves", include_str!("results.txt")),
    topic("devices", "the way to a device", include_str!("devices.txt")),
    topic("environment", "variables that count", include_str!("environment.txt")),
    topic("status", "what the exit status means", include_str!("status.txt")),
];

/// The word for the list of every option.
const ALL_OPTIONS: &str = "options";

fn arguments() -> Command {
    Command::new("help")
        .about("Explain a topic, a command or an option")
        .arg(
            Arg::new("topic")
                .value_name("TOPIC")
                .num_args(0..)
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .help("What to explain"),
        )
        .after_help("Without a topic: all of them.")
}

fn run(matches: &ArgMatches, console: &Arc<Console>, whole: &Command) -> Result<u8> {
    let words: Vec<&str> = matches.get_many::<String>("topic").into_iter().flatten().map(String::as_str).collect();
    console.text(&if words.is_empty() { overview(whole) } else { explained(&words, whole)? });
    Ok(DONE)
}

/// What a command line without anything prints: the first steps, and where to read on.
pub fn short(whole: &Command) -> String {
    let mut text = include_str!("short.txt").to_owned();
    let _ = writeln!(text, "Commands: {}", commands(whole).map(Command::get_name).collect::<Vec<_>>().join(", "));
    text + "More:     aoe help, aoe help TOPIC, aoe COMMAND --help; every option: aoe --help\n"
}

/// The commands and topics.
fn overview(whole: &Command) -> String {
    let mut text = include_str!("short.txt").to_owned();
    text += "Commands (aoe help COMMAND):\n";
    for command in commands(whole) {
        let _ = writeln!(text, "  {:<14}{}", command.get_name(), command.get_about().cloned().unwrap_or_default());
    }
    text += "\nTopics (aoe help TOPIC):\n";
    for Topic { name, about, .. } in TOPICS {
        let _ = writeln!(text, "  {name:<14}{about}");
    }
    let _ = writeln!(text, "  {ALL_OPTIONS:<14}every option of a tuning; aoe help OPTION explains one");
    text
}

/// The text on a topic, an option, or a command and those below it.
///
/// Fails with [`Error::CommandLine`], which names the nearest, where there is none of this name.
fn explained(words: &[&str], whole: &Command) -> Result<String> {
    let word = words[0];
    if let Some(topic) = TOPICS.iter().find(|topic| topic.name == word) {
        return Ok(topic.text.to_owned());
    }
    if word == ALL_OPTIONS {
        return Ok(whole.clone().render_long_help().to_string());
    }
    if let Some(command) = commands(whole).find(|command| command.get_name() == word) {
        return below(command.clone(), &words[1..]);
    }
    let name = word.trim_start_matches('-').replace('-', "_");
    match OPTIONS.iter().find(|spec| spec.name == name || is_letter(spec, word)) {
        Some(spec) => Ok(of_option(spec)),
        None => Err(unknown(word, whole)),
    }
}

fn is_letter(spec: &OptionSpec, word: &str) -> bool {
    spec.short.is_some_and(|letter| word.trim_start_matches('-') == letter.to_string())
}

/// The help of a command, or of the one below it that the words name.
fn below(command: Command, words: &[&str]) -> Result<String> {
    let (mut command, mut path) = (command, "aoe".to_owned());
    for word in words {
        let _ = write!(path, " {}", command.get_name());
        let Some(next) = command.get_subcommands().find(|next| next.get_name() == *word) else {
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let has = if names.is_empty() { "no commands".to_owned() } else { names.join(", ") };
            return Err(Error::CommandLine { reason: format!("`{path}` has no command `{word}`; it has: {has}") });
        };
        command = next.clone();
    }
    let name = format!("{path} {}", command.get_name());
    Ok(command.bin_name(name).render_help().to_string())
}

/// One option: its forms, its values, its default.
fn of_option(spec: &OptionSpec) -> String {
    let letter = spec.short.map(|letter| format!(", -{letter}")).unwrap_or_default();
    let default = if spec.default.is_empty() { String::new() } else { format!("\nDefault: {}", spec.default) };
    format!("--{}{letter} {}\n{}{default}\n", spec.name, arguments::values(spec), spec.help)
}

fn unknown(word: &str, whole: &Command) -> Error {
    let topics = TOPICS.iter().map(|topic| topic.name).chain([ALL_OPTIONS]);
    let names = commands(whole).map(Command::get_name).chain(topics);
    let near = spelling::nearest(word, names).or_else(|| options::nearest(word));
    let hint = near.map(|name| format!(", did you mean `aoe help {name}`?")).unwrap_or_default();
    Error::CommandLine { reason: format!("there is no topic, command or option `{word}`{hint}; `aoe help` lists them") }
}

/// The commands that are shown.
fn commands(whole: &Command) -> impl Iterator<Item = &Command> {
    whole.get_subcommands().filter(|command| !command.is_hide_set())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::command;

    #[test]
    fn every_command_topic_and_option_has_a_text() {
        let whole = command();
        let explained = |words: &[&str]| explained(words, &whole);
        for name in commands(&whole).map(Command::get_name) {
            assert!(explained(&[name]).unwrap().contains("Usage: aoe"), "{name}");
        }
        for topic in TOPICS {
            assert!(
                explained(&[topic.name]).unwrap().lines().all(|line| line.chars().count() <= 120),
                "{}",
                topic.name
            );
        }
        for spec in OPTIONS {
            assert!(explained(&[&format!("--{}", spec.name)]).unwrap().contains(spec.help), "{}", spec.name);
        }
        assert!(explained(&["bank", "merge"]).unwrap().contains("aoe bank merge"));
        assert!(explained(&["-j"]).unwrap().starts_with("--job_type, -j"));
    }

    #[test]
    fn a_mistyped_topic_names_the_nearest() {
        let whole = command();
        let explained = |words: &[&str]| explained(words, &whole);
        for (word, near) in
            [("bnak", "aoe help bank"), ("record", "aoe help records"), ("job_tpye", "aoe help job_type")]
        {
            let error = explained(&[word]).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean `{near}`?; `aoe help` lists them")), "{error}");
        }
        assert!(explained(&["bank", "mrge"]).unwrap_err().to_string().contains("merge"));
    }

    #[test]
    fn the_short_help_fits_a_terminal() {
        let text = short(&command());
        assert!(text.lines().count() <= 24 && text.contains("aoe help TOPIC"), "{text}");
    }
}
