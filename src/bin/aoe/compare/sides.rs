//! What can be compared: anything that tells times of a network's kernels, by name.

use aoe::bank::inspect::{Source, files, items};
use aoe::kernels::Measured;
use aoe::report::model::{Report, ResultFile};
use aoe::status::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest file of results that is read.
const MAX_BYTES: u64 = 1 << 30;

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    /// What it is, with its article.
    pub kind: &'static str,
    /// Microseconds of the whole network, where that is told.
    pub total_us: Option<f64>,
    /// Microseconds by what they are of.
    pub times_us: BTreeMap<String, f64>,
    /// Whether only what the tuning changed is listed: what is missing may well be in the network.
    pub only_changes: bool,
}

impl Side {
    /// Reads a results folder, a report, a result file, a bank or a profile.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`] for what is none of these.
    pub fn read(path: &Path) -> Result<Side> {
        if path.is_dir() && path.join("report.json").is_file() {
            return Side::read(&path.join("report.json"));
        }
        // The page of a results folder has its report beside it.
        let report = path.with_extension("json");
        if path.extension().is_some_and(|suffix| suffix == "html") && report.is_file() {
            return Side::read(&report);
        }
        if path.extension().is_some_and(|suffix| suffix == "csv") {
            return profile(path);
        }
        if path.is_dir() {
            // A folder of profiles has no bank in it, and the other way round.
            let banks =
                files(path)?.into_iter().filter(|file| Source::open(file).is_ok_and(|s| s.check_known().is_ok()));
            let banks: Vec<_> = banks.collect();
            return if banks.is_empty() && !is_bank(path) { profile(path) } else { bank(&banks) };
        }
        let text = aoe::input_file::read(path, MAX_BYTES, "has more than 1 GiB")?;
        match serde_json::from_slice::<Value>(&text) {
            Ok(value) if value.get("layout").is_some() => {
                Ok(of_report(&Report::read(&String::from_utf8_lossy(&text), path)?))
            }
            Ok(Value::Array(_)) => of_result(&ResultFile::read(&text, path)?, path),
            _ => bank(&[path.to_owned()]),
        }
    }
}

/// Whether a directory is a bank or the root of banks in which nothing is recorded: a tuning that finds nothing leaves one.
fn is_bank(directory: &Path) -> bool {
    let below = |directory: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    // As deep as the root of several SoCs: the SoC, and the form.
    let own = || std::iter::once(directory.to_owned());
    let deep = own().chain(below(directory)).chain(below(directory).into_iter().flat_map(|path| below(&path)));
    deep.into_iter().any(|path| path.join(".aoe/lock").is_file())
}

/// A report: every distinct kernel with what CANN runs.
fn of_report(report: &Report<'_>) -> Side {
    let mut times_us = BTreeMap::new();
    for kernel in &report.kernels {
        *times_us.entry(kernel.workload.clone()).or_default() += kernel.taken_us();
    }
    Side { kind: "a report", total_us: Some(report.after_us), times_us, only_changes: false }
}

/// A result file of AOE's: the network, and the operators whose records changed.
fn of_result(result: &ResultFile, path: &Path) -> Result<Side> {
    if result.after_us.is_none() {
        return Err(Error::file("read", path, "is of a tuning that did not end: it has no time after"));
    }
    let times_us = result.operators_us.iter().cloned().collect();
    Ok(Side { kind: "a result file", total_us: result.after_us, times_us, only_changes: true })
}

fn profile(path: &Path) -> Result<Side> {
    let measured = Measured::read(path)?;
    let times_us: BTreeMap<String, f64> =
        measured.types.into_iter().map(|(name, counted)| (name, counted.us)).collect();
    Ok(Side { kind: "a profile", total_us: Some(times_us.values().sum()), times_us, only_changes: false })
}

/// Banks: every record with the time that it was measured to take.
fn bank(banks: &[PathBuf]) -> Result<Side> {
    let mut times_us = BTreeMap::new();
    for file in banks {
        let mut source = Source::open(file)?;
        source.check_known()?;
        items(&mut source, &mut |item| {
            let us = item.times.as_ref().map(|times| times.after_us).or(item.cost_us);
            if let Some(us) = us {
                times_us.insert(format!("{} {}", item.op, item.shapes), us);
            }
            Ok(true)
        })?;
    }
    Ok(Side { kind: "a bank", total_us: None, times_us, only_changes: false })
}
