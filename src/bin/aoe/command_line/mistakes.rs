//! What is said of a command line that clap does not take.

use aoe::session::options;
use aoe::spelling;
use aoe::status::{Error, Result};
use clap::builder::Command;
use clap::error::{self, ContextKind, ContextValue, ErrorKind};

/// What clap has to say of a command line, as a text to print or as an error of ours.
pub(super) fn translate(error: &error::Error, arguments: &[String], whole: &Command) -> Result<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let reason = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Ok(error.to_string()),
        ErrorKind::ArgumentConflict if is_second_model(context(ContextKind::InvalidSubcommand), arguments, whole) => {
            // The first of them may be a command that is mistyped.
            if let Some(first) = arguments.get(1).filter(|first| is_mistyped_command(first, whole)) {
                return Err(Error::CommandLine { reason: unknown(first, arguments, whole) });
            }
            "one model at a time; several are given with --model_path, as a directory or a list of files".to_owned()
        }
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            let word = match context(ContextKind::InvalidArg) {
                "" => context(ContextKind::InvalidSubcommand),
                word => word,
            };
            unknown(word, arguments, whole)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(names)) => names.join(", "),
                _ => context(ContextKind::InvalidArg).to_owned(),
            };
            format!("missing: {missing}")
        }
        kind => {
            let text = error.to_string();
            let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            format!("{text}{}", choices(error, kind, context(ContextKind::InvalidValue)))
        }
    };
    Err(Error::CommandLine { reason })
}

/// The end of a message about a word that is missing or none of those that may stand there: these.
fn choices(error: &error::Error, kind: ErrorKind, word: &str) -> String {
    let known = match kind {
        ErrorKind::InvalidValue => ContextKind::ValidValue,
        ErrorKind::MissingSubcommand => ContextKind::ValidSubcommand,
        _ => return String::new(),
    };
    match error.get(known) {
        Some(ContextValue::Strings(names)) if !names.is_empty() => {
            let meant = spelling::meant(word, names.iter().map(String::as_str));
            format!("; there is: {}{meant}", names.join(", "))
        }
        _ => String::new(),
    }
}

/// Whether the word that clap takes for a sub-command is another model.
fn is_second_model(word: &str, arguments: &[String], whole: &Command) -> bool {
    let is_command = |word: &str| whole.get_subcommands().any(|command| command.get_name() == word);
    !word.is_empty() && !is_command(word) && arguments.iter().any(|argument| argument == word)
}

/// Whether a word is no file, and nearly a command.
fn is_mistyped_command(word: &str, whole: &Command) -> bool {
    let names = whole.get_subcommands().map(Command::get_name);
    !std::path::Path::new(word).exists() && spelling::nearest(word, names).is_some()
}

/// What to say about a word that is neither an option nor a sub-command.
pub(super) fn unknown(word: &str, arguments: &[String], whole: &Command) -> String {
    if let Some(command) = arguments.get(1).and_then(|name| with_verbs(name, whole)) {
        let verbs: Vec<_> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        if !word.starts_with('-') && !arguments.get(2).is_some_and(|verb| verbs.contains(verb)) {
            let meant = spelling::meant(word, verbs.iter().map(String::as_str));
            // What was meant ends in a question mark.
            let hint = if meant.is_empty() { "." } else { &meant };
            return format!("`aoe {}` has no command `{word}`{hint} It has: {}", command.get_name(), verbs.join(", "));
        }
    }
    if options::find(word.trim_start_matches('-')).is_some_and(|_| word.starts_with("--")) {
        return format!("option `{word}` does not belong to this command");
    }
    if word.starts_with('-') {
        let hint = options::nearest(word).map(|name| format!("; did you mean `--{name}`?")).unwrap_or_default();
        return format!("there is no option `{word}`{hint}");
    }
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<_> = shown.map(|command| command.get_name().to_owned()).collect();
    // `tune` goes without saying, and so is not shown; it may be written.
    let hint = spelling::nearest(word, names.iter().map(String::as_str).chain(["tune"]));
    let hint = hint.map(|name| format!("; did you mean `aoe {name}`?")).unwrap_or_default();
    format!("`{word}` is neither a file nor a command (there is: {}){hint}", names.join(", "))
}

/// The sub-command of this name, where it has commands of its own.
fn with_verbs<'a>(name: &str, whole: &'a Command) -> Option<&'a Command> {
    whole.get_subcommands().find(|c| c.get_name() == name && c.has_subcommands())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_command_is_followed_by_a_sentence_of_those_there_are() {
        let bank = Command::new("bank").subcommands([Command::new("list"), Command::new("verify")]);
        let whole = Command::new("aoe").subcommand(bank);
        let said = |word: &str| unknown(word, &["aoe", "bank", word].map(str::to_owned), &whole);
        assert_eq!(said("zork"), "`aoe bank` has no command `zork`. It has: list, verify");
        assert_eq!(said("verfy"), "`aoe bank` has no command `verfy`; did you mean `verify`? It has: list, verify");
    }
}
