//! How much of the optimum each search algorithm finds in how many measurements, and what it costs.
//!
//! `make search-bench` runs it on generated spaces, `make search-bench DATA=folder` on a folder of recorded
//! ones (`*.csv`, `*.csv.gz`; see docs/search.md). From the environment: `SEEDS` (20), `ALGORITHMS`
//! (a comma-separated list), `ONLY` (part of a space's name), `TRANSFER=0` and `NOISE=0` (leave
//! those tables out), `PEERS` (runs of other tuners, a file that
//! scripts/search-peers writes), `OUT` (where runs.tsv and convergence.svg go).

mod generated;
mod noise;
mod plot;
mod replay;
mod report;
mod run;
mod transfer;

use aoe::search::Algorithm;
use replay::Replay;
use run::Run;
use std::path::{Path, PathBuf};

/// Unique measurements at which runs are judged.
pub const MARKS: [usize; 4] = [25, 50, 100, 200];

fn main() {
    if let Err(message) = bench() {
        eprintln!("search-bench: {message}");
        std::process::exit(1);
    }
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn bench() -> Result<(), String> {
    let seeds: u64 = match setting("SEEDS") {
        Some(text) => text.parse().map_err(|_| format!("SEEDS={text} is not a number"))?,
        None => 20,
    };
    let names = setting("ALGORITHMS").unwrap_or_else(|| Algorithm::NAMES.join(","));
    let algorithms = names.split(',').map(|name| {
        let algorithm = Algorithm::named(name.trim()).ok_or_else(|| format!("ALGORITHMS: `{name}` is none"))?;
        Ok((name.trim().to_owned(), algorithm))
    });
    let algorithms = algorithms.collect::<Result<Vec<_>, String>>()?;
    let mut spaces = match setting("DATA") {
        Some(folder) => Replay::read_folder(Path::new(&folder))?,
        None => generated::spaces(),
    };
    if let Some(part) = setting("ONLY") {
        spaces.retain(|space| part.split(',').any(|part| space.name.contains(part)));
    }
    if spaces.is_empty() || seeds == 0 {
        return Err("there is nothing to run: no space, or no seed".into());
    }
    let out = setting("OUT").map_or_else(|| PathBuf::from("target/search-bench"), PathBuf::from);
    std::fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;

    let mut runs: Vec<Run> = Vec::new();
    for (name, algorithm) in &algorithms {
        for space in &spaces {
            runs.extend((0..seeds).map(|seed| run::run(space, name, *algorithm, seed)));
        }
        eprintln!("{name}: {} runs done", spaces.len() as u64 * seeds);
    }
    report::write_runs(&out.join("runs.tsv"), &runs)?;
    if let Some(file) = setting("PEERS") {
        runs.extend(report::read_runs(Path::new(&file))?);
    }
    report::print(&spaces, &runs, seeds);
    report::print_cost(&spaces, seeds);
    if setting("TRANSFER").is_none_or(|value| value != "0") {
        transfer::print(&spaces, seeds);
    }
    if setting("NOISE").is_none_or(|value| value != "0") {
        noise::print(&spaces, seeds);
    }
    let svg = out.join("convergence.svg");
    std::fs::write(&svg, plot::svg(&spaces, &runs)).map_err(|e| format!("cannot write {}: {e}", svg.display()))?;
    println!("\nRuns {}, plot {}", out.join("runs.tsv").display(), svg.display());
    Ok(())
}
