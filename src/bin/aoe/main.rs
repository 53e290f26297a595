//! The `aoe` command line: CANN's options, console text and progress around the library's sessions.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the command line, built from the library's one option table |
//! | `settings`, `config` | the options given, and the JSON file that may give them |
//! | `tune`, `models`, `shard` | the main job, the model files it is for, and one machine's part of them |
//! | `interrupt` | Ctrl-C: stop, save, then end |
//! | `console`, `progress` | everything printed: results on stdout, the rest on stderr |
//! | `summary`, `gains`, `gradients`, `table` | the text after a tuning |
//! | `search` | the sub-command `aoe search`: any space, measured by a program or from a table |
//! | `help` | the sub-command `aoe help`, and what `aoe` alone prints |
//! | `report` | the sub-command `aoe report` |
//! | `compare` | the sub-command `aoe compare` |
//! | `simulate`, `tiling` | the sub-commands `aoe simulate` and `aoe tiling` |
//! | `cases`, `streams` | what these have in common; their input and output |
//! | `completions` | the sub-commands `aoe completions` and `aoe manual` |
//! | `calibrate` | the sub-command `aoe calibrate` |
//! | `measure` | the hidden sub-command that measures one candidate on a device |
//! | `kernels` | the sub-command `aoe kernels` |
//! | `llm` | the sub-command `aoe llm`, and its text |
//! | `model` | the sub-command `aoe model` |
//! | `soc` | the sub-command `aoe soc` |
//! | `device` | the sub-command `aoe device` |
//! | `bank` | the sub-command `aoe bank`, one file for each of its commands |
#![forbid(unsafe_code)]

mod arguments;
mod bank;
mod calibrate;
mod cases;
mod command_line;
mod compare;
mod completions;
mod config;
mod console;
mod device;
mod exit_status;
mod gains;
mod gradients;
mod help;
mod interrupt;
mod json;
mod kernels;
mod labels;
mod llm;
mod measure;
mod model;
mod models;
mod progress;
mod report;
mod search;
mod settings;
mod shard;
mod simulate;
mod soc;
mod streams;
mod summary;
mod table;
mod tiling;
mod tune;

use aoe::status::{Result, Status};
use command_line::Request;
use console::Console;
use exit_status::{DONE, FAILED, MISUSED};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let console = Arc::new(Console::default());
    // A limit of file sizes fails the write, which says so; unheard, the signal would end the process on the spot.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let outcome = run(&console).and_then(|status| console.finish().map(|()| status));
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console.error(&error);
            ExitCode::from(match error.status() {
                Status::InvalidOptionAttr => MISUSED,
                Status::Cancelled => interrupt::EXIT_STATUS,
                _ => FAILED,
            })
        }
    }
}

/// Does what the command line asks for and answers the exit status.
fn run(console: &Arc<Console>) -> Result<u8> {
    match command_line::parse(std::env::args_os())? {
        Request::Print(text) => {
            console.text(&text);
            Ok(DONE)
        }
        Request::Command(command, matches) => command.run.call(&matches, console, &command_line::command()),
        Request::Tune(settings) => tune::run(&settings, console).map(|()| DONE),
    }
}
