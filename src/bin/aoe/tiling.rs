//! `aoe tiling`: cases in, CANN's default tilings out.

use crate::arguments::{Subcommand, flag};
use crate::cases;
use crate::console::Console;
use crate::exit_status::DONE;
use crate::settings::Settings;
use aoe::defaults::Form;
use aoe::session::simulation;
use aoe::status::Result;
use clap::{ArgMatches, Command};
use std::sync::Arc;

/// `aoe tiling`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

fn arguments() -> Command {
    Command::new("tiling")
        .about("CANN's own tiling of kernels: one JSON case a line in, one answer a line out")
        .override_usage(
            "aoe tiling [--soc_version=NAME|FILE] [--soc_set KEY=VALUE]... [--input=FILE] [--output=FILE] [--explain]",
        )
        .after_help(
            "The form of cases and answers: docs/tiling.md. A case that cannot be answered gets an answer with\n\
             `error`; the others are answered all the same.\n\
             Exit status: 0 every case has its answer, be it an `error`, 1 reading or writing failed, 2 a wrong command\n\
             line or option, 130 interrupted.",
        )
        .args(cases::streams())
        .arg(
            flag("explain", "Write which rules decided, in words, not answers"),
        )
        .args(cases::soc())
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let form = if matches.get_flag("explain") { Form::Text } else { Form::Answers };
    let parts = simulation::parts(Settings::given(matches, simulation::options())?.options())?;
    cases::answer(matches, console, parts, "answered", |input, output, parts| {
        aoe::defaults::run(input, output, parts, form)
    })
}
