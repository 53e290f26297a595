//! `aoe --profile`: the products of a profile, tuned; measured times beside predicted ones.

use super::{REPORT_JSON, REPORT_TEXT, targets, write};
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::json;
use crate::settings::Settings;
use crate::table::{fixed, middle_cut, table};
use aoe::kernels::{Profile, percent};
use aoe::output_file::check;
use aoe::report::counted;
use aoe::search::Algorithm;
use aoe::serving::{Profiled, Row, profiled};
use aoe::session::options::flag;
use aoe::session::serving;
use aoe::status::{Error, Result};
use aoe::tune::evaluate;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options that count beside `--profile`.
const COUNTING: [&str; 13] = [
    "profile",
    "soc_version",
    "soc_set",
    "aicore_num",
    "calibration",
    "output",
    "install",
    "dry_run",
    "seed",
    "algorithm",
    "max_tuning_count",
    "tuning_parallel_num",
    "progress_bar",
];
/// Tilings tried for each product where nothing is said.
const TRIALS: usize = 200;
/// What the profile teaches of the part, beside the report.
const CALIBRATION: &str = "calibration.json";
/// Kernels shown; JSON has all.
const SHOWN: usize = 30;

/// Tunes the profile that the options name.
///
/// Fails with [`Error::CommandLine`] for an option that would have no effect, and as [`profiled`] does.
pub fn run(settings: &Settings, console: &Arc<Console>) -> Result<()> {
    let given = settings.options().iter().filter(|(_, value)| !value.is_empty());
    if let Some((other, _)) = given.into_iter().find(|(name, _)| !COUNTING.contains(&name.as_str())) {
        return Err(Error::CommandLine { reason: format!("--{other} has no effect with --profile") });
    }
    let is_of_part = |name: &str| serving::options().any(|spec| spec.name == name);
    let of_part = settings.options().iter().filter(|(name, _)| is_of_part(name));
    let soc = serving::part(&of_part.map(|(name, value)| (name.clone(), value.clone())).collect())?;
    let number = |name: &str| settings.get(name).and_then(|text| text.parse::<usize>().ok());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let search = evaluate::Settings {
        max_trials: number("max_tuning_count").unwrap_or(TRIALS),
        seed: settings.get("seed").and_then(|text| text.parse().ok()).unwrap_or_default(),
        algorithm: settings.get("algorithm").and_then(Algorithm::named).unwrap_or_default(),
        parallel: number("tuning_parallel_num").unwrap_or(cores),
    };
    let is_set = |name: &str| settings.get(name).is_some_and(|value| flag(value).unwrap_or(true));
    let (install, dry_run) = (is_set("install"), is_set("dry_run"));
    let folder = settings.get("output").filter(|_| !dry_run).map(PathBuf::from);
    let beside = folder.iter().map(|folder| folder.join(CALIBRATION));
    folder.iter().flat_map(|folder| targets(folder)).chain(beside).try_for_each(|path| check(&path))?;
    let profile = Profile::read(Path::new(settings.get("profile").unwrap_or_default()), &soc)?;
    let mut place = serving::bank(&soc, folder.as_deref(), install, dry_run)?;
    let (interrupt, cancel) = Interrupt::flag(Interrupt::SAVES, console)?;
    let report = profiled(&profile, &soc, place.banks(), &search, &cancel);
    interrupt.on_arrival(None);
    place.bank.warnings().iter().for_each(|warning| console.notice("WARNING", warning));
    let mut report = report?;
    place.keep_written([&mut report.files, &mut report.to_measure], dry_run);
    let words = text(&report);
    if let Some(folder) = &folder {
        let calibration = report.learned.as_ref().map(json::indented).transpose()?;
        let json = json::text(&report)?;
        let mut files = vec![(REPORT_JSON, json.as_str()), (REPORT_TEXT, words.as_str())];
        files.extend(calibration.as_deref().map(|text| (CALIBRATION, text)));
        write(folder, &files)?;
    }
    console.text(&words);
    console.text(&place.lines([&report.files, &report.to_measure]));
    interrupt.check()
}

fn text(report: &Profiled) -> String {
    let Profiled {
        soc,
        profile,
        total_us,
        without_operands_us,
        left_out,
        gain_us,
        files,
        to_measure,
        calibration,
        kernels,
        ..
    } = report;
    let names: Vec<String> = profile.iter().map(|file| file.display().to_string()).collect();
    let percent = |us: f64| 100.0 * us / total_us.max(f64::MIN_POSITIVE);
    let mut lines = vec![format!(
        "{} on {soc}: {total_us:.0} us measured, {:.1} % of it in kernels whose operands are not told",
        names.join(", "),
        percent(*without_operands_us)
    )];
    lines.extend(left_out.clone());
    lines.push(format!("Records gain {} us of measured time, {} %", fixed(*gain_us, 0), fixed(percent(*gain_us), 2)));
    lines.extend(files.iter().map(|file| format!("  {}", file.display())));
    let apart: Vec<_> = kernels.iter().filter(|row| row.tuned.as_ref().is_some_and(|tuned| tuned.to_measure)).collect();
    if !apart.is_empty() {
        let us: f64 = apart.iter().map(|row| row.may_gain_us).sum();
        let count = counted(apart.len() as u64, "record", "records");
        lines.push(format!("{count} more may save {} us, or nothing", fixed(us, 0)));
        lines.extend(to_measure.iter().map(|file| format!("  {}", file.display())));
    }
    lines.push(learned(report));
    lines.push(String::new());
    let rows: Vec<_> = kernels.iter().take(SHOWN).map(row).collect();
    lines.extend(table(
        ["type", "reads", "count", "share", "measured us", "predicted us", "calibrated us", "tuned us", ""],
        "llrrrrrrl",
        &rows,
    ));
    if kernels.len() > SHOWN {
        lines.push(format!("{} more in the JSON report (--output=DIR)", kernels.len() - SHOWN));
    }
    lines.push(String::new());
    lines.push("Measured over predicted, by type".to_owned());
    let rows: Vec<_> = calibration
        .iter()
        .map(|(op, c)| {
            [op.clone(), c.kernels.to_string(), format!("{:.2}", c.factor), format!("{:.0} %", 100.0 * c.spread)]
        })
        .collect();
    lines.extend(table(["type", "kernels", "factor", "spread"], "lrrr", &rows));
    lines.join("\n") + "\n"
}

/// What the profile teaches of the part.
fn learned(report: &Profiled) -> String {
    match (report.learned_error, &report.not_learned) {
        (Some([before, after]), _) => format!(
            "The profile calibrates the simulator: error {} before, {} after, on launches or kernels that it did not learn from ({CALIBRATION} of --output=DIR)",
            percent(before),
            percent(after)
        ),
        (None, reason) => {
            format!("The profile calibrates nothing: {}", reason.as_deref().unwrap_or("it has no kernels"))
        }
    }
}

fn row(row: &Row) -> [String; 9] {
    let us = |us: f64| format!("{us:.1}");
    let shapes: Vec<String> = row.case["inputs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|x| x["shape"].to_string().replace(['[', ']'], ""))
        .collect();
    let verdict = match (&row.tuned, &row.reason) {
        (_, Some(reason)) => middle_cut(reason, 48),
        (None, None) => String::new(),
        (Some(tuned), None) => tuned.outcome().to_owned(),
    };
    [
        middle_cut(&row.op, 32),
        middle_cut(&shapes.join(";"), 40),
        row.count.to_string(),
        format!("{:.1} %", 100.0 * row.share),
        us(row.measured_us),
        row.predicted_us.map(us).unwrap_or_default(),
        row.calibrated_us.map(us).unwrap_or_default(),
        row.tuned.as_ref().map(|tuned| us(tuned.after_us)).unwrap_or_default(),
        verdict,
    ]
}
