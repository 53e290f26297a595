//! `aoe bank check`: whether CANN will find records for a model.

use super::common::{FOUND, json_argument};
use crate::arguments::{self, Subcommand, given, operand, option, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use crate::settings::Settings;
use crate::table::{middle_cut, table};
use aoe::report::time;
use aoe::session::bank_check::{Asked, BankCheck, Found, check};
use aoe::session::kernels::{self, Launched};
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use std::path::Path;
use std::sync::Arc;

/// `aoe bank check`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Letters of a name in the table; JSON has all.
const NAME: usize = 40;

fn arguments() -> Command {
    Command::new("check")
        .about("Say for each operator of a model whether CANN finds a record for it, and why not")
        .arg(operand("model", "MODEL", "The model file"))
        .arg(
            option("bank", "DIR", "Bank root as TUNE_BANK_PATH names one, or a results folder (default: where CANN's compiler looks)"),
        )
        .arg(json_argument().help("Write a JSON line for each operator and one for the model"))
        .args(kernels::options().map(arguments::argument))
        .after_help(
            "Give the options that the model is compiled with: they decide types, formats and what is fused.\n\
             Exit status: 0 every operator that asks a bank finds its record, 1 some do not, 2 a wrong command line or\n\
             option, or a file that cannot be read.",
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let settings = Settings::given(matches, kernels::options())?;
    let model = Path::new(text(matches, "model"));
    let in_model = |error: Error| if error.is_about_model() { error.in_model(model) } else { error };
    let launched = Launched::of(model, settings.options()).map_err(in_model)?;
    let root = given(matches, "bank").map(Path::new);
    let found = check(&launched, root).map_err(in_model)?;
    for warning in &found.warnings {
        console.notice("WARNING", warning);
    }
    if matches.get_flag("json") {
        for asked in &found.kernels {
            console.text(&json::line(asked)?);
        }
        console.text(&json::line(&Total::of(&found))?);
    } else {
        print(&found, console);
    }
    Ok(if Total::of(&found).misses > 0 { FOUND } else { DONE })
}

/// The whole model.
#[derive(serde::Serialize)]
struct Total {
    hits: usize,
    misses: usize,
    not_asked: usize,
    hit_us: f64,
    missed_us: f64,
    not_asked_us: f64,
}

impl Total {
    fn of(found: &BankCheck) -> Total {
        let (hit_us, hits) = found.sum(|found| matches!(found, Found::Hit { .. }));
        let (missed_us, misses) = found.sum(|found| matches!(found, Found::Miss { .. }));
        let (not_asked_us, not_asked) = found.sum(|found| matches!(found, Found::NotAsked { .. }));
        Total { hits, misses, not_asked, hit_us, missed_us, not_asked_us }
    }
}

fn print(found: &BankCheck, console: &Console) {
    let places: Vec<String> = found.places.iter().map(|place| place.display().to_string()).collect();
    console.line(&format!("Bank of {}: {}", found.soc, places.join(", then ")));
    let Total { hits, misses, not_asked, hit_us, missed_us, not_asked_us } = Total::of(found);
    console.line(&format!(
        "{hits} kernels of {} find a record, {misses} of {} ask for one that is not there, {not_asked} of {} ask no bank",
        time(hit_us),
        time(missed_us),
        time(not_asked_us)
    ));
    let row = |asked: &Asked| {
        let (word, why) = match &asked.found {
            Found::Hit { unproven, .. } if unproven.is_empty() => ("hit", String::new()),
            Found::Hit { unproven, .. } => ("hit", format!("not proven on a device: {}", unproven.join(", "))),
            Found::Miss { why } => ("miss", why.clone()),
            Found::NotAsked { why } => ("-", why.clone()),
        };
        let count = if asked.count > 1 { format!(" (x{})", asked.count) } else { String::new() };
        [middle_cut(&asked.name, NAME) + &count, asked.op_type.clone(), time(asked.us), word.to_owned(), why]
    };
    for line in table(["operator", "type", "time", "", ""], "llrll", &found.kernels.iter().map(row).collect::<Vec<_>>())
    {
        console.line(&line);
    }
}
