//! The sub-command `aoe measure-candidate`, which no user calls: one measurement in a process of its own.

use crate::arguments::Subcommand;
use crate::console::Console;
use aoe::backend::ascend;
use aoe::status::{Error, Result};
use clap::builder::{Arg, Command};
use clap::{ArgMatches, value_parser};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::sync::Arc;

/// The sub-command.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new(ascend::COMMAND)
        .about("Measures one candidate on a device, for a tuning under way.")
        .hide(true)
        .arg(Arg::new("job").value_name("FILE").required(true).value_parser(value_parser!(PathBuf)))
}

fn run(matches: &ArgMatches, _: &Arc<Console>) -> Result<u8> {
    let failed = |error: std::io::Error| Error::Tuning { reason: format!("cannot listen for signals: {error}") };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    // What compiles for this process ends with it.
    let end = move || {
        if signals.forever().next().is_some() {
            let _ = kill_current_process_group(Signal::KILL);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(end).map_err(failed)?;
    let job = matches.get_one::<PathBuf>("job").cloned().unwrap_or_default();
    ascend::work(&job).map(|()| 0)
}
