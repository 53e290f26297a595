//! `aoe device check`: an acceptance test of this machine's device.

use crate::arguments::{self, Subcommand, given, option};
use crate::console::Console;
use crate::exit_status::{DONE, FAILED};
use crate::interrupt::Interrupt;
use crate::json;
use crate::settings::Settings;
use crate::streams::{Input, Output};
use aoe::backend::ascend::{CheckReport, Step, Verdict};
use aoe::session::device_check;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use std::sync::Arc;

/// `aoe device check`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Width of the steps' names.
const NAME_WIDTH: usize = 14;
/// Width of the verdicts.
const VERDICT_WIDTH: usize = 12;

fn arguments() -> Command {
    Command::new("device")
        .about("Try this machine's Ascend device: does CANN take our records, is the result right, how far is the simulator")
        .subcommand_required(true)
        .subcommand_value_name("COMMAND")
        .subcommand(
            Command::new("check")
                .about("Run the acceptance test: some ten minutes on a device")
                .override_usage("aoe device check [--output=FILE] [--device=N] [OPTIONS]")
                .after_help(
                    "Each step says passed, failed or not possible, and what to do. The file is JSON, fit to be sent.\n\
                     More: docs/devices.md.\n\
                     Exit status: 0 all passed, 1 a step failed or was not possible, 2 a wrong command line or option,\n\
                     130 interrupted: the file has the steps that were done, and `finished` is false.",
                )
                .arg(option("output", "FILE", "Write the report there as JSON"))
                .args(device_check::options().map(|spec| arguments::argument(spec).help_heading("Device"))),
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    match matches.subcommand() {
        Some(("check", matches)) => check(matches, console),
        _ => Err(Error::CommandLine { reason: "`aoe device` needs a command: check".to_owned() }),
    }
}

fn check(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let settings = Settings::given(matches, device_check::options())?;
    // Ten minutes are not to be spent before a path that cannot be written is found out.
    let output = given(matches, "output").map(|path| Output::open_attended(path, &Input::none())).transpose()?;
    let means = if output.is_some() { "writing what was tried so far" } else { "ending the check" };
    let (interrupt, cancel) = Interrupt::flag(means, console)?;
    let report = device_check::check(settings.options(), cancel, &mut |step| show(step, console))?;
    interrupt.on_arrival(None);
    let broken_off = if report.finished { "" } else { ", broken off" };
    console.line(&format!("{}: {}{broken_off}", report.verdict.text(), sums(&report)));
    if let Some(mut output) = output {
        output.writer().write_all(json::indented(&report)?.as_bytes()).map_err(|e| output.error(&e))?;
        output.finish()?;
    }
    if !report.finished {
        return Err(Error::Cancelled);
    }
    Ok(if report.verdict == Verdict::Passed { DONE } else { FAILED })
}

/// One step on the console.
fn show(step: &Step, console: &Console) {
    let Step { name, verdict, finding, advice, .. } = step;
    console.line(&format!("{name:<NAME_WIDTH$} {:<VERDICT_WIDTH$} {finding}", verdict.text()));
    if !advice.is_empty() {
        console.line(&format!("{:<NAME_WIDTH$} {:<VERDICT_WIDTH$} {advice}", "", "to do:"));
    }
}

/// How many steps ended how.
fn sums(report: &CheckReport) -> String {
    let count = |verdict: Verdict| report.steps.iter().filter(|step| step.verdict == verdict).count();
    let (passed, failed, other) = (count(Verdict::Passed), count(Verdict::Failed), count(Verdict::NotPossible));
    format!("{passed} steps passed, {failed} failed, {other} were not possible")
}
