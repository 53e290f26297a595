//! `aoe kernels`: what CANN would launch for a model, alone or beside a real profile.

use crate::arguments::{self, Subcommand, flag, given, operand, option, text};
use crate::console::{self, Console};
use crate::exit_status::DONE;
use crate::settings::Settings;
use crate::streams::Output;
use crate::table::{middle_cut, table};
use aoe::kernels::{Alike, Comparison, Listing, Measured, Row, Unknown};
use aoe::session::{
    self,
    kernels::{self, Launched},
};
use aoe::spelling::printable;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// `aoe kernels MODEL`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

/// Most letters of the shapes of a kernel in the table; JSON has all.
const SHAPES: usize = 44;

/// Most nodes of unknown time that are named.
const UNKNOWN: usize = 5;

fn arguments() -> Command {
    Command::new("kernels")
        .about("List the kernels that CANN would launch for a model, alone or beside a real profile")
        .override_usage("aoe kernels MODEL [--soc_version=NAME|FILE] [--against=PROFILE] [--json|--cases] [--output=FILE]")
        .after_help(
            "PROFILE is op_summary_*.csv of CANN's profiler, kernel_details.csv of torch_npu's, or a folder that holds\n\
             one of them (PROF_*): docs/kernels.md.\n\
             Exit status: 0 listed, whether or not a profile agrees, 1 reading or writing failed or the model cannot run,\n\
             2 a wrong command line or option.",
        )
        .arg(operand("model", "MODEL", "The model file"))
        .arg(option("against", "PROFILE", "Hold the kernels beside those of a real run"))
        .arg(option("output", "FILE", "Where it goes; - is standard output").default_value("-"))
        .arg(flag("json", "Write JSON: every launch in order, and alike ones together"))
        .arg(flag("cases", "Write each distinct kernel as a case of aoe simulate").conflicts_with_all(["json", "against"]))
        .args(kernels::options().map(arguments::argument))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    session::logging::set_sink(Some(console::log_sink(console)));
    let settings = Settings::given(matches, kernels::options())?;
    // A profile that cannot be read is told of before the model is.
    let measured = given(matches, "against").map(|path| Measured::read(Path::new(path))).transpose()?;
    let model = Path::new(text(matches, "model"));
    let in_model = |error: Error| if error.is_about_model() { error.in_model(model) } else { error };
    let launched = Launched::of(model, settings.options()).map_err(in_model)?;
    let written = if matches.get_flag("cases") {
        launched.cases().iter().map(Value::to_string).collect::<Vec<_>>()
    } else {
        let listing = launched.listing().map_err(in_model)?;
        let comparison = measured.map(|measured| Comparison::of(&listing, measured));
        if matches.get_flag("json") {
            vec![json!({"kernels": listing, "against": comparison}).to_string()]
        } else {
            comparison.map_or_else(|| listed(&listing), |comparison| compared(&listing, &comparison))
        }
    };
    let text: String = written.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    Output::write(given(matches, "output").unwrap_or("-"), &text)
}

fn us(us: f64) -> String {
    format!("{us:.1}")
}

/// The kernels by groups.
fn listed(listing: &Listing) -> Vec<String> {
    let Listing { network, soc, count, total_us, untimed, unknown, ub_fusion, groups, .. } = listing;
    let without = if *untimed == 0 { String::new() } else { format!(" without {untimed} of unknown time") };
    let network = printable(network);
    let mut lines = vec![format!("{network} on {soc}: {count} kernels, {} us by the model{without}", us(*total_us))];
    lines.extend(listing.calibration.as_ref().map(|by| format!("Times corrected by {by}")));
    if !ub_fusion.is_empty() {
        let passes: Vec<String> = ub_fusion.iter().map(|(pass, count)| format!("{count} {pass}")).collect();
        lines.push(format!("Fused: {}", passes.join(", ")));
    }
    for node in unknown.iter().take(UNKNOWN) {
        let Unknown { name, op_type, .. } = node;
        lines.push(format!("No time: `{}` ({}): {}", printable(name), printable(op_type), printable(node.why())));
    }
    if unknown.len() > UNKNOWN {
        lines.push(format!("         and {} more; --json has all", unknown.len() - UNKNOWN));
    }
    lines.push(String::new());
    let row = |group: &Alike| {
        let time = |time_us: f64| if group.untimed < group.count { us(time_us) } else { "-".to_owned() };
        let signature = &group.signature;
        let first = |text: &str| text.split(';').next().unwrap_or_default().to_owned();
        [
            group.count.to_string(),
            middle_cut(&signature.op_type, 32),
            middle_cut(&signature.input_shapes, SHAPES),
            middle_cut(&signature.output_shapes, SHAPES),
            first(&signature.input_types),
            first(&signature.input_formats),
            time(group.us),
            time(group.total_us),
        ]
    };
    let rows: Vec<_> = groups.iter().map(row).collect();
    lines.extend(table(["count", "type", "reads", "writes", "dtype", "format", "us", "sum"], "rlllllrr", &rows));
    lines
}

/// The kernels beside those of a profile, by type.
fn compared(listing: &Listing, comparison: &Comparison) -> Vec<String> {
    let Comparison { files, runs, kernels, us: sums, agreeing_share, covered_share, same_blocks_share, types } =
        comparison;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut lines = vec![
        format!(
            "{} on {} beside {} ({runs} run{})",
            printable(&listing.network),
            listing.soc,
            names.join(", "),
            plural(*runs)
        ),
        format!(
            "Kernels: {} expected, {} found, {} the same by type and count",
            number(kernels[0]),
            number(kernels[1]),
            percent(*agreeing_share)
        ),
        format!(
            "Time:    {} us predicted, {} us measured, of which {} in kernels that were expected",
            us(sums[0]),
            us(sums[1]),
            percent(*covered_share)
        ),
    ];
    let blocks = same_blocks_share.map(percent);
    lines.extend(blocks.map(|share| format!("Blocks:  {share} of the kernels found run in as many as expected")));
    lines.extend(listing.calibration.as_ref().map(|by| format!("Predicted times corrected by {by}")));
    lines.push(String::new());
    let row = |row: &Row| {
        let Row { op_type, count, us: time, agrees, same_blocks_share } = row;
        let verdict = match (count[0] > 0.0, count[1] > 0.0) {
            _ if *agrees => "agrees",
            (true, false) => "only expected",
            (false, true) => "only found",
            _ => "counts differ",
        };
        let ratio = if time.iter().all(|us| *us > 0.0) { format!("{:.2}", time[0] / time[1]) } else { String::new() };
        let [expected, found] = count.map(number);
        let blocks = same_blocks_share.map(percent).unwrap_or_default();
        [middle_cut(op_type, 40), expected, found, us(time[0]), us(time[1]), ratio, blocks, verdict.to_owned()]
    };
    let rows: Vec<_> = types.iter().map(row).collect();
    lines.extend(table(
        ["type", "expected", "found", "predicted us", "measured us", "ratio", "same blocks", ""],
        "lrrrrrrl",
        &rows,
    ));
    lines
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A count, which is whole where the profile has whole runs.
fn number(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count:.0}") } else { format!("{count:.2}") }
}
