//! `aoe soc`: the SoCs that can be tuned for.

use crate::arguments::Subcommand;
use crate::console::Console;
use aoe::soc::Soc;
use aoe::status::{Error, Result};
use clap::{Arg, ArgMatches, Command};
use std::sync::Arc;

/// `aoe soc [NAME]`.
pub const COMMAND: Subcommand = Subcommand { arguments, run };

fn arguments() -> Command {
    Command::new("soc")
        .about("List the SoCs to tune for, or show one as the JSON that --soc_version reads")
        .arg(Arg::new("name").value_name("NAME").help("SoC to show, in any case; all are listed without it"))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<()> {
    match matches.get_one::<String>("name") {
        Some(name) => show(&Soc::find(name)?, console),
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

fn show(soc: &Soc, console: &Console) -> Result<()> {
    let json = serde_json::to_string_pretty(soc)
        .map_err(|error| Error::Internal { place: "aoe soc".to_owned(), message: error.to_string() })?;
    console.text(&format!("{json}\n"));
    Ok(())
}
