//! `aoe soc`: the SoCs that can be tuned for.

use crate::arguments::{Subcommand, flag, given};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::json;
use crate::table::table;
use aoe::soc::Soc;
use aoe::status::Result;
use clap::{Arg, ArgMatches, Command};
use std::sync::Arc;

/// `aoe soc [NAME]`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, |matches, console| run(matches, console).map(|()| DONE));

fn arguments() -> Command {
    Command::new("soc")
        .about("List the SoCs to tune for, or show one as the JSON that --soc_version reads")
        .arg(flag("sources", "Show where each value of the SoC comes from, as a table").requires("name"))
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .help("SoC to show, in any case, or a file that --soc_version reads; all are listed without it"),
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    match given(matches, "name") {
        Some(name) if matches.get_flag("sources") => {
            sources(&Soc::named(name)?, console);
            Ok(())
        }
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
fn sources(soc: &Soc, console: &Console) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(soc) else { return };
    let row = |(field, value): (&String, &serde_json::Value)| {
        let (origin, text) = soc.source(field).map_or(("", ""), |(origin, text)| (origin.name(), text));
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        [field.clone(), value, origin.to_owned(), text.to_owned()]
    };
    let rows: Vec<_> = fields.iter().map(row).collect();
    for line in table(["field", "value", "known", "source"], "lrll", &rows) {
        console.line(&line);
    }
}

fn show(soc: &Soc, console: &Console) -> Result<()> {
    console.text(&json::indented(soc)?);
    Ok(())
}
