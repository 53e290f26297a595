//! `aoe simulate`: cases in, predictions out.

use crate::arguments::{Subcommand, argument};
use crate::cases;
use crate::console::Console;
use crate::exit_status::DONE;
use crate::settings::Settings;
use aoe::session::environment::Environment;
use aoe::session::simulation;
use aoe::simulate::Form;
use aoe::status::Result;
use clap::{Arg, ArgMatches, Command};
use std::sync::Arc;

/// `aoe simulate`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

fn arguments() -> Command {
    Command::new("simulate")
        .about("Predict kernels: one JSON case a line in, one answer a line out")
        .override_usage(
            "aoe simulate [--soc_version=NAME|FILE] [--soc_set KEY=VALUE]... [--calibration=FILE]\n             \
             [--input=FILE] [--output=FILE]",
        )
        .after_help(
            "The form of cases and answers: docs/simulate.md. A case that cannot be priced gets an answer with\n\
             `error`; the others are priced all the same.\n\
             Exit status: 0 every case has its answer, be it an `error`, 1 reading or writing failed, 2 a wrong command\n\
             line or option, 130 interrupted.",
        )
        .args(cases::streams())
        .arg(
            Arg::new("explain")
                .long("explain")
                .value_name("FORM")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("text")
                .value_parser(["text", "trace"])
                .help("Write why each kernel takes its time, not answers: text, or a Chrome trace for Perfetto"),
        )
        .args(simulation::pricing_options().map(|spec| argument(spec).help_heading("SoC")))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let form = match matches.get_one::<String>("explain").map(String::as_str) {
        None => Form::Answers,
        Some("trace") => Form::Trace,
        Some(_) => Form::Text,
    };
    let settings = Settings::given(matches, simulation::pricing_options())?;
    let parts = simulation::pricing(settings.options(), &Environment::read())?;
    cases::answer(matches, console, parts, "priced", |input, output, parts| {
        aoe::simulate::run(input, output, parts, form)
    })
}
