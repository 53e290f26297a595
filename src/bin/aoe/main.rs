//! The `aoe` command line: CANN's options, console text and progress around the library's sessions.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the command line, built from the library's one option table |
//! | `settings`, `config` | the options given, and the JSON file that may give them |
//! | `console` | everything printed: results on stdout, the rest on stderr |
//! | `soc` | the sub-command `aoe soc` |
#![forbid(unsafe_code)]

mod arguments;
mod config;
mod console;
mod settings;
mod soc;

use aoe::status::{Error, Result, Status};
use arguments::Request;
use console::Console;
use std::process::ExitCode;

/// Exit status of a failure while working.
const FAILED: u8 = 1;
/// Exit status of a mistake in the command line, in an option or in a configuration file.
const MISUSED: u8 = 2;
/// Exit status after an interrupt, as shells expect it of SIGINT.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let console = Console::default();
    let outcome = run(&console).and_then(|()| console.finish());
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console.error(&error);
            ExitCode::from(match error.status() {
                Status::InvalidOptionAttr => MISUSED,
                Status::Cancelled => INTERRUPTED,
                _ => FAILED,
            })
        }
    }
}

fn run(console: &Console) -> Result<()> {
    match arguments::parse(std::env::args_os())? {
        Request::Print(text) => {
            console.text(&text);
            Ok(())
        }
        Request::Command(command, matches) => (command.run)(&matches, console),
        Request::Tune(_settings) => Err(Error::Unsupported {
            what: "tuning from the command line".into(),
            reason: "use the C functions".into(),
        }),
    }
}
