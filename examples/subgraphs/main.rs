//! What subgraph tuning gains on every model of a directory, and where it comes from, as a table.
//!
//! Run with `cargo run --release --example subgraphs -- DIR [SOC..]`; `BATCH=8` gives open batches a size. Prints one
//! table for each SoC (`Ascend310P3` where none is named): docs/subgraphs.md explains the columns. Nothing is written.
//! Fails where a model cannot be tuned, or a subgraph got slower.

use aoe::bank::BankPaths;
use aoe::bank::subgraph::SubgraphBank;
use aoe::frontend::{self, Gear, ModelOptions};
use aoe::graph::infer;
use aoe::lower::{Settings, Switches, graph_fusion, with_conversions};
use aoe::soc::Soc;
use aoe::status::{Error, Result};
use aoe::tune::Variant;
use aoe::tune::sgat::{Sgat, SgatJob, SgatOutcome, SgatSettings, State, sgat};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(Error::CommandLine { reason: "subgraphs DIR [SOC..]: no directory of models".into() });
    };
    let named: Vec<String> = arguments.collect();
    let socs = if named.is_empty() { vec!["Ascend310P3".to_owned()] } else { named };
    let mut models = Vec::new();
    collect(Path::new(&directory), &mut models)?;
    for soc in socs {
        let soc = Soc::find(&soc)?;
        println!("{}\n", soc.name);
        println!("| model | launches | MB moved | MB from device memory | ms | gain | nonhomo_split |");
        println!("|---|---|---|---|---|---|---|");
        for model in &models {
            match gain(model, &soc) {
                Ok(row) => println!("{row}"),
                // Formats that are known but not read, and networks whose sizes nobody tells.
                Err(error @ (Error::Unsupported { .. } | Error::Option { .. })) => {
                    eprintln!("{}: {error}", model.display());
                }
                Err(error) => return Err(error),
            }
        }
        println!();
    }
    Ok(())
}

/// Every file below a directory that is a model, by name.
fn collect(directory: &Path, models: &mut Vec<PathBuf>) -> Result<()> {
    let error = |e| Error::directory("read", directory, e);
    let mut entries =
        std::fs::read_dir(directory).map_err(error)?.collect::<std::io::Result<Vec<_>>>().map_err(error)?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, models)?;
        } else if frontend::is_model_file(&path) {
            models.push(path);
        }
    }
    Ok(())
}

/// The row of one model.
fn gain(model: &Path, soc: &Soc) -> Result<String> {
    let batch = std::env::var("BATCH").ok().and_then(|text| text.parse().ok());
    let mut graph = frontend::load_file(model, None, &ModelOptions::default())?;
    let open = infer::require_static(&graph).is_err();
    let inputs = ModelOptions { gear: open.then(|| Gear::Batch(batch.unwrap_or(1))), ..ModelOptions::default() };
    frontend::bind_inputs(&mut graph, &inputs)?;
    let lowering = Settings::default();
    let (graph, _) = graph_fusion(graph, soc, &lowering, &Switches::default())?;
    let (graph, lowered) = with_conversions(graph, soc, &lowering)?;
    let variants = [Variant { label: String::new(), graph, lowered }];
    let alike = tuned(&variants, lowering, soc, false)?;
    let mixed = tuned(&variants, lowering, soc, true)?;
    let (before, after) = alike.traffic();
    let (from, to) = (alike.before_us(), alike.after_us());
    let megabytes = |a: f64, b: f64| format!("{:.1} → {:.1}", a / 1e6, b / 1e6);
    let percent = |to: f64| (from - to) / to * 100.0;
    Ok(format!(
        "| {}{} | {} → {} | {} | {} | {:.3} → {:.3} | {:.2}% | {:.2}% |",
        model.file_stem().unwrap_or_default().to_string_lossy(),
        if open { format!(" (batch {})", batch.unwrap_or(1)) } else { String::new() },
        before.launches,
        after.launches,
        megabytes(before.bytes, after.bytes),
        megabytes(before.from_memory, after.from_memory),
        from / 1e3,
        to / 1e3,
        percent(to),
        percent(mixed.after_us()),
    ))
}

/// Tunes a network from an empty bank: what is gained is gained by the search. No subgraph may get slower.
fn tuned(variants: &[Variant], lowering: Settings, soc: &Soc, mixed: bool) -> Result<SgatOutcome> {
    let nowhere = tempfile::tempdir().map_err(|e| Error::directory("create", &std::env::temp_dir(), e))?;
    let paths = BankPaths { custom: nowhere.path().to_owned(), also_read: Vec::new() };
    let mut job = SgatJob {
        name: "model",
        variants,
        lowering: &lowering,
        soc,
        bank: &mut SubgraphBank::open(&paths, soc),
        state: &mut State::new(nowhere.path(), soc, &SgatSettings::default()),
        settings: &SgatSettings { mixed, ..SgatSettings::default() },
        cancel: &AtomicBool::new(false),
    };
    let Sgat { outcome, .. } = sgat(&mut job, &mut ())?;
    for subgraph in &outcome.subgraphs {
        assert!(subgraph.after.us <= subgraph.before.us, "{} got slower", subgraph.name());
    }
    Ok(outcome)
}
