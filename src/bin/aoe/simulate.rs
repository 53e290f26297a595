//! `aoe simulate`: cases in, predictions out.

use crate::DONE;
use crate::arguments::{self, Subcommand};
use crate::console::Console;
use crate::settings::Settings;
use crate::streams::{Input, Output};
use aoe::session::simulation;
use aoe::simulate::Form;
use aoe::status::{Error, Result};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;

/// `aoe simulate`.
pub const COMMAND: Subcommand = Subcommand { arguments, run: |matches, console| run(matches, console).map(|()| DONE) };

fn arguments() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FILE").default_value("-").help(help)
    };
    Command::new("simulate")
        .about("Predict kernels: one JSON case a line in, one answer a line out")
        .override_usage(
            "aoe simulate [--soc_version=NAME|FILE] [--soc_set KEY=VALUE]... [--input=FILE] [--output=FILE]",
        )
        .after_help(
            "The form of cases and answers: docs/simulate.md. A case that cannot be priced gets an answer with\n\
             `error`; the others are priced all the same.\n\
             Exit status: 0 every case was answered, 1 reading or writing failed, 2 a wrong command line or option,\n\
             130 interrupted.",
        )
        .arg(file("input", "Cases; - is standard input"))
        .arg(file("output", "Answers; - is standard output. A file is replaced when all answers are there"))
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
        .args(simulation::options().map(|spec| arguments::argument(spec).help_heading("SoC")))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let mut settings = Settings::default();
    for spec in simulation::options().filter(|s| matches.value_source(s.name) == Some(ValueSource::CommandLine)) {
        settings.set(spec.name, arguments::value_of(matches, spec))?;
    }
    let mut parts = simulation::parts(settings.options())?;
    let text = |name: &str| matches.get_one::<String>(name).map_or("-", String::as_str);
    let form = match matches.get_one::<String>("explain").map(String::as_str) {
        None => Form::Answers,
        Some("trace") => Form::Trace,
        Some(_) => Form::Text,
    };
    let mut input = Input::open(text("input"))?;
    let mut output = Output::open(text("output"), &input)?;
    let mut read_failed = false;
    let mut reader = Noting { reader: input.reader(), failed: &mut read_failed };
    let outcome = aoe::simulate::run(&mut reader, output.writer(), &mut parts, form);
    let count = match (outcome, read_failed) {
        (Ok(count), _) => count,
        (Err(error), true) => return Err(Error::file("read", &input.name, error)),
        // Who reads no further has what it wanted.
        (Err(error), false) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
        (Err(error), false) => return Err(output.error(&error)),
    };
    output.finish()?;
    if count.failed > 0 {
        console
            .notice("WARNING", &format!("{} of {} cases could not be priced, see `error`", count.failed, count.cases));
    }
    Ok(())
}

/// A reader that tells its failures apart from those of the writer.
struct Noting<'a> {
    reader: &'a mut dyn BufRead,
    failed: &'a mut bool,
}

impl Noting<'_> {
    fn note<T>(failed: &mut bool, outcome: io::Result<T>) -> io::Result<T> {
        // An interrupted call is made again.
        if outcome.as_ref().is_err_and(|e| e.kind() != ErrorKind::Interrupted) {
            *failed = true;
        }
        outcome
    }
}

impl Read for Noting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Noting::note(self.failed, self.reader.read(buffer))
    }
}

impl BufRead for Noting<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Noting::note(self.failed, self.reader.fill_buf())
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
    }
}
