//! `aoe calibrate`: what real profiles teach the simulator.

use crate::arguments::Subcommand;
use crate::cases;
use crate::console::Console;
use crate::exit_status::DONE;
use crate::settings::Settings;
use crate::streams::{Input, Output};
use aoe::kernels::{calibrate, percent};
use aoe::session::simulation;
use aoe::sim::calibration::{Calibration, Group, Known, Learned, Types};
use aoe::status::{Error, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::collections::BTreeMap;
use std::path::PathBuf;
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
            Arg::new("profiles")
                .value_name("PROFILE")
                .required(true)
                .action(ArgAction::Append)
                .num_args(1..)
                .help("Profiles of one part"),
        )
        .arg(Arg::new("cann_version").long("cann_version").value_name("TEXT").help("CANN's version, for the file to tell"))
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FILE")
                .default_value("-")
                .help("Where the calibration goes; - is standard output"),
        )
        .args(cases::soc())
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    let (soc, note) = simulation::part(Settings::given(matches, simulation::options())?.options())?;
    if note.is_some() {
        console.notice("WARNING", &format!("soc_version is not given: {} is taken", soc.name));
    }
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let profiles: Vec<PathBuf> =
        matches.get_many::<String>("profiles").unwrap_or_default().map(PathBuf::from).collect();
    let calibration = calibrate(&profiles, &soc, text("cann_version"))?;
    tell(&calibration, console);
    let written = serde_json::to_string_pretty(&calibration)
        .map_err(|e| Error::Internal { place: "calibrate".into(), message: e.to_string() })?;
    let mut output = Output::open(text("output").unwrap_or("-"), &Input::none())?;
    match writeln!(output.writer(), "{written}") {
        Ok(()) => output.finish(),
        // A reader that closed the pipe has what it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(output.error(&error)),
    }
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
