//! Commands that answer cases, one JSON object a line: their arguments, streams and exit status.

use crate::arguments::{self, option, text};
use crate::console::Console;
use crate::streams::{Input, Output};
use aoe::cases::{Count, Parts};
use aoe::session::simulation;
use aoe::status::{Error, Result};
use clap::{Arg, ArgMatches};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::Arc;

/// `--input` and `--output`.
pub fn streams() -> [Arg; 2] {
    let input = option("input", "FILE", "Cases; - is standard input");
    let output =
        option("output", "FILE", "Answers; - is standard output. A file is replaced when all answers are there");
    [input, output].map(|stream| stream.default_value("-"))
}

/// The options that say which part counts.
pub fn soc() -> impl Iterator<Item = Arg> {
    simulation::options().map(|spec| arguments::argument(spec).help_heading("SoC"))
}

/// Answers the cases of the input, of these parts, with `run`; `done` is what happens to a case that is answered.
pub fn answer(
    matches: &ArgMatches,
    console: &Arc<Console>,
    mut parts: Parts,
    done: &str,
    run: impl FnOnce(&mut dyn BufRead, &mut dyn Write, &mut Parts) -> io::Result<Count>,
) -> Result<()> {
    let mut input = Input::open(text(matches, "input"))?;
    let mut output = Output::open(text(matches, "output"), &input)?;
    let mut read_failed = false;
    let mut reader = Noting { reader: input.reader(), failed: &mut read_failed };
    let outcome = run(&mut reader, output.writer(), &mut parts);
    let count = match (outcome, read_failed) {
        (Ok(count), _) => count,
        (Err(error), true) => return Err(Error::file("read", &input.name, error)),
        // A reader that closed the pipe has what it wanted.
        (Err(error), false) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
        (Err(error), false) => return Err(output.error(&error)),
    };
    output.finish()?;
    if count.failed > 0 {
        console
            .notice("WARNING", &format!("{} of {} cases could not be {done}, see `error`", count.failed, count.cases));
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
