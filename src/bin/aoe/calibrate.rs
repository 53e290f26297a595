//! `aoe calibrate`: what real profiles teach the simulator.

use crate::arguments::{Subcommand, given, operands, option, paths, text};
use crate::cases;
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use crate::settings::Settings;
use crate::streams::Output;
use aoe::kernels::{calibrate, percent};
use aoe::session::simulation;
use aoe::sim::calibration::{Calibration, Group, Known, Learned, Types};
use aoe::status::Result;
use clap::{ArgMatches, Command};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `aoe calibrate PROFILE...`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

fn arguments() -> Command {
    Command::new("calibrate")
        .about("Learn from real profiles how far the simulator is off on your device")
        .override_usage(
            "aoe calibrate PROFILE... [--soc_version=NAME|FILE] [--cann_version=TEXT] [--output=FILE]",
        )
        .after_help(
            "PROFILE is op_summary_*.csv of CANN's profiler, kernel_details.csv of torch_npu's, or a folder that holds\n\
             one of them (PROF_*). aoe simulate --calibration=FILE uses what is written: docs/calibrate.md.\n\
             Exit status: 0 written, 1 reading or writing failed or no class of kernels gains (nothing is written),\n\
             2 a wrong command line or option.",
        )
        .arg(
            operands("profiles", "PROFILE", "Profiles of one part"),
        )
        .arg(option("cann_version", "TEXT", "CANN's version, for the file to tell"))
        .arg(
            option("output", "FILE", "Where the calibration goes; - is standard output").default_value("-"),
        )
        .args(cases::soc())
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let (soc, note) = simulation::part(Settings::given(matches, simulation::options())?.options())?;
    if note.is_some() {
        console.notice("WARNING", &format!("soc_version is not given: {} is taken", soc.name));
    }
    let calibration = calibrate(&paths(matches, "profiles"), &soc, given(matches, "cann_version"))?;
    tell(&calibration, console);
    Output::write(text(matches, "output"), &json::indented(&calibration)?)
}

/// The verdict, class by class, beside the file.
fn tell(calibration: &Calibration, console: &Console) {
    let one = |(group, learned): (&Group, &Learned)| {
        let Learned { problems, error_before, error_after, refused, .. } = learned;
        match (refused, error_after) {
            (None, Some(after)) => format!(
                "{}: error {} before, {} after, on held-out parts of {problems} problems",
                group.name(),
                percent(*error_before),
                percent(*after)
            ),
            _ => format!("{}: not corrected, {}", group.name(), refused.as_deref().unwrap_or_default()),
        }
    };
    calibration.classes.iter().for_each(|class| console.notice("INFO", &one(class)));
    if let Some(Known { repeated, error_before, error_after, problems }) = &calibration.known {
        let corrected = calibration.known.as_ref().map_or(0, Known::corrected);
        let said = format!(
            "known: error {} before, {} after, on half of the launches of {repeated} kernels; {corrected} kernels are corrected by their own, {} are right as they are",
            percent(*error_before),
            percent(*error_after),
            problems.len() - corrected
        );
        console.notice("INFO", &said);
    }
    if let Some(Types { compared, error_before, error_after, of }) = &calibration.types {
        let said = format!(
            "types: error {} before, {} after, on {compared} kernels held out; {} operator types are corrected near the kernels of the profiles",
            percent(*error_before),
            percent(*error_after),
            of.values().map(BTreeMap::len).sum::<usize>()
        );
        console.notice("INFO", &said);
    }
    calibration.doubts.iter().for_each(|doubt| console.notice("WARNING", doubt));
}
