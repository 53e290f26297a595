//! `aoe soc`: the SoCs that can be tuned for.

use crate::arguments::Subcommand;
use crate::console::Console;
use crate::exit_status::DONE;
use crate::table::{Align, table};
use aoe::soc::Soc;
use aoe::status::{Error, Result};
use clap::{Arg, ArgMatches, Command};
use std::sync::Arc;

/// `aoe soc [NAME]`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

fn arguments() -> Command {
    Command::new("soc")
        .about("List the SoCs to tune for, or show one as the JSON that --soc_version reads")
        .arg(
            Arg::new("sources")
                .long("sources")
                .num_args(0)
                .action(clap::ArgAction::SetTrue)
                .requires("name")
                .help("Show where each value of the SoC comes from, as a table"),
        )
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .help("SoC to show, in any case, or a file that --soc_version reads; all are listed without it"),
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    match matches.get_one::<String>("name") {
        Some(name) if matches.get_flag("sources") => sources(&Soc::named(name)?, console),
        Some(name) => show(&Soc::named(name)?, console),
        None => list(console),
    }
}

fn list(console: &Console) -> Result<()> {
    console.line(&format!(
        "{:<20} {:<12} {:>5} {:>7} {:>6} {:>8} {:>8} {:>8}",
        "soc_version", "family", "cube", "vector", "MHz", "L2 MiB", "GiB", "GB/s"
    ));
    for name in Soc::names() {
        let soc = Soc::find(&name)?;
        console.line(&format!(
            "{:<20} {:<12} {:>5} {:>7} {:>6} {:>8} {:>8} {:>8}",
            soc.name,
            soc.short_name,
            soc.ai_core_cnt,
            soc.vector_core_cnt,
            soc.cube_freq_mhz,
            soc.l2_size >> 20,
            soc.memory_size >> 30,
            soc.hbm_gb_s
        ));
    }
    Ok(())
}

/// One line for each value: what it is, how it is known, from where.
fn sources(soc: &Soc, console: &Console) -> Result<()> {
    let serde_json::Value::Object(fields) = to_json(soc)? else { return Ok(()) };
    let row = |(field, value): (&String, &serde_json::Value)| {
        let (origin, text) = soc.source(field).map_or(("", ""), |(origin, text)| (origin.name(), text));
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        [field.clone(), value, origin.to_owned(), text.to_owned()]
    };
    let rows: Vec<_> = fields.iter().map(row).collect();
    let columns = [("field", Align::Left), ("value", Align::Right), ("known", Align::Left), ("source", Align::Left)];
    for line in table(columns, &rows) {
        console.line(&line);
    }
    Ok(())
}

fn to_json(soc: &Soc) -> Result<serde_json::Value> {
    serde_json::to_value(soc)
        .map_err(|error| Error::Internal { place: "aoe soc".to_owned(), message: error.to_string() })
}

fn show(soc: &Soc, console: &Console) -> Result<()> {
    let json = serde_json::to_string_pretty(soc)
        .map_err(|error| Error::Internal { place: "aoe soc".to_owned(), message: error.to_string() })?;
    console.text(&format!("{json}\n"));
    Ok(())
}
