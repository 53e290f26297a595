//! `aoe bank evaluate`: recorded tilings priced beside CANN's and ours.

use super::common::{json_argument, soc, soc_arguments};
use crate::arguments::{Subcommand, algorithm, operand, option, search_arguments, text};
use crate::console::{Console, printable};
use crate::exit_status::DONE;
use crate::interrupt::Interrupt;
use crate::json;
use crate::table::table;
use aoe::bank::inspect::{Socs, Source, items};
use aoe::status::{Error, Result};
use aoe::tune::evaluate::{Evaluation, Recorded, Settings, Summary, evaluate};
use aoe::workload::Schedule;
use clap::{ArgMatches, Command, value_parser};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// `aoe bank evaluate`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

fn arguments() -> Command {
    Command::new("evaluate")
        .about("Price each record's tiling on the simulator, beside CANN's default and the best of a search")
        .arg(operand("file", "FILE", "Operator bank file"))
        .arg(json_argument())
        .arg(option("limit", "NUMBER", "Most records to price").value_parser(value_parser!(u64)))
        .arg(
            option("budget", "NUMBER", "Most tilings that the search prices for each distinct problem")
                .default_value("1000")
                .value_parser(value_parser!(u32).range(1..=1_000_000)),
        )
        .args(search_arguments("Seed of the searches"))
        .arg(
            option("parallel", "NUMBER", "Problems at a time; the result is the same (default: the processors)")
                .value_parser(value_parser!(u16).range(1..=1024)),
        )
        .args(soc_arguments())
        .after_help(
            "Times are simulated microseconds. A record of CANN's is priced at the largest sizes that it serves.\n\
             Exit status: 0 priced, 2 a wrong command line, or a file that cannot be read, 130 interrupted.",
        )
}

/// A record with its place and name.
struct Case {
    line: usize,
    label: String,
    record: Result<Recorded, String>,
}

#[derive(Serialize)]
struct Out<'a> {
    line: usize,
    record: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    soc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ours_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<&'a Schedule>,
    /// Why the record, or its tiling, has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct SummaryOut<'a> {
    summary: &'a Summary,
    /// Records without any time.
    unpriced: usize,
    budget: usize,
    seed: u64,
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let path = Path::new(text(matches, "file"));
    let limit = matches.get_one::<u64>("limit").copied().unwrap_or(u64::MAX);
    let (cases, bad) = read(path, limit, &mut Socs::new(soc(matches)?))?;
    if bad > 0 {
        let text =
            format!("{}: {bad} lines hold no record that is understood; `aoe bank verify` names them", path.display());
        console.notice("WARNING", &text);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let settings = Settings {
        max_trials: matches.get_one::<u32>("budget").map_or(1, |&budget| budget as usize),
        seed: matches.get_one("seed").copied().unwrap_or_default(),
        algorithm: algorithm(matches),
        parallel: matches.get_one::<u16>("parallel").map_or(cores, |&count| count.into()),
    };
    let (interrupt, cancel) = Interrupt::flag("printing what was judged so far", console)?;
    let records: Vec<_> = cases.iter().filter_map(|case| case.record.as_ref().ok().cloned()).collect();
    let mut answers = evaluate(&records, &settings, &cancel).into_iter();
    interrupt.on_arrival(None);
    let outcomes: Vec<(&Case, Result<Evaluation, String>)> = cases
        .iter()
        .filter_map(|case| match &case.record {
            Err(reason) => Some((case, Err(reason.clone()))),
            // What was not answered was interrupted.
            Ok(_) => answers.next().flatten().map(|answer| (case, answer)),
        })
        .collect();
    let summary = Summary::of(outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()));
    if matches.get_flag("json") {
        write_json(&outcomes, &summary, &settings, console)?;
    } else {
        console.text(&in_words(&outcomes, &summary));
    }
    interrupt.check()?;
    Ok(DONE)
}

/// The records of a file. One without a SoC ends it: no other would have one.
fn read(path: &Path, limit: u64, socs: &mut Socs) -> Result<(Vec<Case>, usize)> {
    let mut source = Source::open(path)?;
    let (mut cases, of_file) = (Vec::new(), source.part());
    let bad = items(&mut source, &mut |item| {
        if cases.len() as u64 >= limit {
            return Ok(false);
        }
        let soc = socs.of(item.part.as_ref()).map_err(|why| Error::Bank {
            path: path.to_owned(),
            line: Some(item.line),
            reason: format!("{why}; name it with --soc_version"),
        })?;
        let schedule = item.legal_schedule(soc);
        let own = item.part.filter(|part| of_file.as_ref() != Some(part));
        let part = own.map(|part| format!("{part} ")).unwrap_or_default();
        let label = format!("{part}{} {}", item.op, item.shapes);
        let record = item.workload.map(|workload| Recorded { workload, schedule, missed: None, soc: soc.clone() });
        cases.push(Case { line: item.line, label, record });
        Ok(true)
    })?;
    Ok((cases, bad))
}

fn write_json(
    outcomes: &[(&Case, Result<Evaluation, String>)],
    summary: &Summary,
    settings: &Settings,
    console: &Console,
) -> Result<()> {
    for (case, outcome) in outcomes {
        let evaluation = outcome.as_ref().ok();
        let recorded = evaluation.map(|e| e.recorded_us.clone());
        console.text(&json::line(&Out {
            line: case.line,
            record: &case.label,
            soc: case.record.as_ref().ok().map(|record| record.soc.name.as_str()),
            recorded_us: recorded.clone().and_then(Result::ok),
            default_us: evaluation.map(|e| e.default_us),
            ours_us: evaluation.map(|e| e.ours_us),
            ours: evaluation.map(|e| &e.ours),
            reason: recorded.and_then(Result::err).or_else(|| outcome.as_ref().err().cloned()),
        })?);
    }
    let unpriced = outcomes.len() - summary.records;
    let (budget, seed) = (settings.max_trials, settings.seed);
    console.text(&json::line(&SummaryOut { summary, unpriced, budget, seed })?);
    Ok(())
}

/// The table, the reasons and the summary.
fn in_words(outcomes: &[(&Case, Result<Evaluation, String>)], summary: &Summary) -> String {
    let time = |us: f64| format!("{us:.2}");
    let ratio = |us: f64, of: f64| format!("{:.3}", us / of);
    let row = |(case, outcome): &(&Case, Result<Evaluation, String>)| {
        let e = outcome.as_ref().ok()?;
        let none = || "illegal".to_owned();
        let recorded = e.recorded_us.as_ref().ok();
        Some([
            case.line.to_string(),
            case.label.clone(),
            recorded.map_or_else(none, |&us| time(us)),
            time(e.default_us),
            time(e.ours_us),
            recorded.map_or_else(|| "-".to_owned(), |&us| ratio(us, e.default_us)),
            ratio(e.ours_us, e.default_us),
        ])
    };
    let rows: Vec<_> = outcomes.iter().filter_map(row).collect();
    let mut lines = table(
        ["line", "record", "recorded us", "default us", "ours us", "recorded/default", "ours/default"],
        "rlrrrrr",
        &rows,
    );
    for (case, outcome) in outcomes {
        match outcome {
            Err(reason) => lines.push(format!("line {}: {}: not priced: {reason}", case.line, case.label)),
            Ok(Evaluation { recorded_us: Err(reason), .. }) => {
                lines.push(format!("line {}: {}: {reason}", case.line, case.label));
            }
            Ok(_) => {}
        }
    }
    let mut text = lines.iter().fold(String::new(), |text, line| text + &printable(line) + "\n");
    let Summary { records, illegal, recorded_best, default_best, ours_best, .. } = summary;
    let unpriced = outcomes.len() - records;
    let _ = writeln!(text, "{records} records priced, {illegal} with an illegal tiling, {unpriced} not priced");
    let medians = [
        ("recorded/default", summary.recorded_over_default),
        ("ours/default", summary.ours_over_default),
        ("ours/recorded", summary.ours_over_recorded),
    ];
    let medians: Vec<_> =
        medians.iter().filter_map(|(name, median)| Some(format!("{name} {:.3}", (*median)?))).collect();
    if !medians.is_empty() {
        let _ = writeln!(text, "median of times: {}", medians.join(", "));
    }
    let _ = writeln!(text, "best or equal: recorded {recorded_best}, default {default_best}, ours {ours_best}");
    text
}
