//! `aoe search`: the search on a space of the user's own, measured by a program of theirs or replayed from a
//! table of recorded measurements.
//!
//! | file | holds |
//! |---|---|
//! | `command` | one measurement by a program: its arguments, its limits, what it printed |
//! | `family` | the processes that a program starts, and their end |
//! | `measurer` | who measures, several at a time |
//! | `report` | the lines that come out, and what is told on the way |

mod command;
mod family;
mod measured;
mod measurer;
mod report;

use crate::arguments::{Subcommand, algorithm, given, option, search_arguments, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::interrupt::Interrupt;
use aoe::input_file::read_text;
use aoe::search::space::{Recorded, Space};
use aoe::search::{Outcome, Search, Settings, StopReason, Trial};
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command, value_parser};
use measured::Measured;
use measurer::{Measurer, WorkerPool};
use report::Report;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `aoe search --space=FILE`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

/// Seconds that one measurement may take, unless the user says otherwise.
const TIMEOUT_S: &str = "60";

fn arguments() -> Command {
    Command::new("search")
        .about("Find the best configuration of any program: measure it, or replay recorded measurements")
        .arg(
            option("space", "FILE", "Space as JSON (docs/spaces.md), or CSV or CSV.gz of measurements to replay")
                .required(true),
        )
        .arg(option(
            "command",
            "TEXT",
            "Program that measures a JSON space: the shell runs TEXT --NAME=VALUE ..., which prints a time",
        ))
        .arg(
            option("budget", "NUMBER", "Most measurements; failures count")
                .default_value("100")
                .value_parser(value_parser!(u32).range(1..)),
        )
        .args(search_arguments("Seed of the search"))
        .arg(
            option("parallel", "NUMBER", "Measurements at a time")
                .default_value("1")
                .value_parser(value_parser!(u16).range(1..=1024)),
        )
        .arg(
            option("timeout", "SECONDS", "Ends a measurement that takes longer; it has failed then")
                .default_value(TIMEOUT_S)
                .value_parser(seconds),
        )
        .arg(
            option("time-limit", "SECONDS", "Begins no measurement after this time")
                .alias("time_limit")
                .value_parser(seconds),
        )
        .arg(option("output", "FILE", "Where the lines of the trials go instead of standard output"))
        .after_help(
            "Each trial gives one line of JSON, and so does the end. The program's time is the number after the last\n\
             `time=` of its standard output, or else the last number there.\n\
             Exit status: 0 found, 1 nothing could be measured or a file not read or written, 2 a wrong command line\n\
             or space, 130 interrupted.",
        )
}

/// Reads a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| format!("`{text}` is not a number of seconds above 0"))
}

/// Where configurations and their times come from.
enum Source {
    Program(Space),
    Table(Recorded),
}

impl Source {
    fn read(path: &Path) -> Result<Source> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if [".csv", ".csv.gz"].iter().any(|suffix| name.ends_with(suffix)) {
            return Recorded::read(path).map(Source::Table);
        }
        let located = |error: Error| match error {
            Error::Space { place, reason } => {
                Error::Config { path: path.to_owned(), line: None, reason: format!("{place}: {reason}") }
            }
            other => other,
        };
        Space::from_json(&read_text(path)?).map(Source::Program).map_err(located)
    }

    fn space(&self) -> &Space {
        match self {
            Source::Program(space) => space,
            Source::Table(recorded) => recorded.space(),
        }
    }
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let path = PathBuf::from(text(matches, "space"));
    let begun = Instant::now();
    let source = Source::read(&path)?;
    let found_in = begun.elapsed();
    let command = given(matches, "command");
    let measurer = match (&source, command) {
        (Source::Table(recorded), None) => Measurer::table(recorded),
        (Source::Program(space), Some(command)) => {
            let warn = |text: &str| console.notice("WARNING", text);
            Measurer::program(space, command, *required::<Duration>(matches, "timeout"), warn)?
        }
        (Source::Table(_), Some(_)) => {
            let reason = "--command measures a JSON space; a table of measurements is replayed".to_owned();
            return Err(Error::CommandLine { reason });
        }
        (Source::Program(_), None) => {
            let reason = "a JSON space needs --command=TEXT, the program that measures a configuration".to_owned();
            return Err(Error::CommandLine { reason });
        }
    };
    let output = given(matches, "output").map(PathBuf::from);
    if output.as_deref().is_some_and(|output| are_one(output, &path)) {
        return Err(Error::option("output", format!("{} is the space too", path.display())));
    }
    let settings = settings(matches, command.is_some());
    let mut report = Report::new(console, source.space(), output.as_deref(), settings.max_trials)?;
    report.begin(&path, found_in);
    if let Source::Table(recorded) = &source {
        let warn = |remark: &String| console.notice("WARNING", &format!("{}: {remark}", path.display()));
        recorded.remarks().iter().for_each(warn);
    }
    let interrupt = Interrupt::listen_to("telling what was found", console)?;
    let stopper = measurer.stopper();
    interrupt.on_arrival(Some(Box::new(move || stopper.stop())));
    let parallel = usize::from(*required::<u16>(matches, "parallel"));
    let outcome = drive(settings, &measurer, parallel, &mut report);
    interrupt.on_arrival(None);
    // What was found is told whatever has ended the search; the first failure is the one that counts.
    let ended = report.end(*outcome.as_ref().unwrap_or(&StopReason::Cancelled));
    outcome.and(ended)?;
    interrupt.check()
}

/// Whether two names are of one file, which a link may hide.
fn are_one(a: &Path, b: &Path) -> bool {
    let identity = |path| std::fs::metadata(path).map(|data| (data.dev(), data.ino()));
    matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
}

/// The value of an argument that has a default or must be given.
fn required<'a, T: Clone + Send + Sync + 'static>(matches: &'a ArgMatches, name: &str) -> &'a T {
    matches.get_one(name).expect("clap fills in defaults and asks for what is required")
}

fn settings(matches: &ArgMatches, noise: bool) -> Settings {
    Settings {
        algorithm: algorithm(matches),
        seed: *required(matches, "seed"),
        max_trials: *required::<u32>(matches, "budget") as usize,
        time_limit: matches.get_one("time-limit").copied(),
        // A program's times scatter; a table answers the same each time.
        noise,
        ..Settings::default()
    }
}

/// Asks, measures and tells until the search is over or stopped; answers why it ended.
fn drive(settings: Settings, measurer: &Measurer, parallel: usize, report: &mut Report) -> Result<StopReason> {
    let mut search = Search::new(measurer.space(), settings)?;
    let outcome = std::thread::scope(|scope| {
        let pool = measurer.pool(scope, parallel)?;
        let outcome = ask_and_tell(&mut search, measurer, &pool, parallel, report);
        if outcome.is_err() {
            // The scope waits for what is under way.
            measurer.stopper().stop();
        }
        outcome
    });
    if measurer.stopped() {
        search.cancel();
    }
    outcome.map(|()| search.stop_reason().unwrap_or(StopReason::Cancelled))
}

fn ask_and_tell(
    search: &mut Search<&Space>,
    measurer: &Measurer,
    pool: &WorkerPool,
    parallel: usize,
    report: &mut Report,
) -> Result<()> {
    let mut waiting: HashMap<u64, Trial> = HashMap::new();
    loop {
        while waiting.len() < parallel && !measurer.stopped() {
            let Some(trial) = search.ask() else { break };
            pool.measure(&trial);
            waiting.insert(trial.id, trial);
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let (id, result) = pool.next();
        let Some(trial) = waiting.remove(&id) else { continue };
        let outcome = match &result {
            Measured::Time(time) => Outcome::Cost(*time),
            Measured::Failed(_) => Outcome::Failed,
            // Nothing is known about it, and the search is over.
            Measured::Interrupted => continue,
        };
        search.tell(id, outcome)?;
        report.trial(&trial, &result, search.best())?;
        if report.is_closed() {
            // Nobody would learn of the rest.
            measurer.stopper().stop();
        }
    }
}
