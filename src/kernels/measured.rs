//! Kernels of a real run: `op_summary_*.csv` of CANN's profiler, `kernel_details.csv` of `torch_npu`'s, or a folder that
//! holds them. Read line by line: such files have gigabytes.

use super::devices::Devices;
use super::table::{Table, Took};
use crate::spelling;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folders below the one given in which files are looked for: `PROF_*/device_0/summary`, and one around it.
const DEPTH: usize = 5;
/// Most entries of folders that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// Kernels of one type in one run of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Launches.
    pub count: f64,
    /// Microseconds of all of them.
    pub us: f64,
}

/// What a profile tells.
#[derive(Debug, Default)]
pub struct Measured {
    /// The files read.
    pub files: Vec<PathBuf>,
    /// Runs of the network in them.
    pub runs: u64,
    /// Kernels of one run, by type.
    pub types: BTreeMap<String, Counted>,
    /// Launches of one run, by type and the blocks that they ran in on the cores that lead, as far as the profile tells.
    pub blocks: BTreeMap<String, Blocks>,
}

/// Launches by their number of blocks.
pub type Blocks = BTreeMap<u64, f64>;

/// A file under way.
#[derive(Default)]
struct Sums {
    types: BTreeMap<String, Counted>,
    blocks: BTreeMap<String, Blocks>,
    /// Launches of each name: most names come once in a run.
    names: FxHashMap<String, u64>,
    steps: BTreeSet<String>,
    devices: Devices,
}

impl Measured {
    /// Reads a profile: a file, or a folder that holds one.
    ///
    /// Fails with [`Error::File`] where there is none or more than one, where a column is missing, where a time is none or
    /// more than a kernel can take, and where the kernels are of several devices.
    pub fn read(path: &Path) -> Result<Measured> {
        let files = files(path)?;
        let mut sums = Sums::default();
        for file in &files {
            read(file, &mut sums)?;
        }
        if sums.types.is_empty() {
            return Err(Error::file("read", path, "it tells of no kernel"));
        }
        sums.devices.check(path)?;
        let runs = sums.runs();
        let mut types = sums.types;
        for counted in types.values_mut() {
            counted.count /= runs as f64;
            counted.us /= runs as f64;
        }
        let mut blocks = sums.blocks;
        blocks.values_mut().flat_map(BTreeMap::values_mut).for_each(|count| *count /= runs as f64);
        Ok(Measured { files, runs, types, blocks })
    }
}

impl Sums {
    /// Runs of the network: the steps where the profile counts them, else what most names' launches are.
    fn runs(&self) -> u64 {
        if !self.steps.is_empty() {
            return self.steps.len() as u64;
        }
        let mut often: BTreeMap<u64, u64> = BTreeMap::new();
        self.names.values().for_each(|&count| *often.entry(count).or_default() += 1);
        // Of counts that come equally often the smaller one.
        often.into_iter().rev().max_by_key(|&(_, names)| names).map_or(1, |(count, _)| count.max(1))
    }
}

fn read(path: &Path, sums: &mut Sums) -> Result<()> {
    let mut table = Table::open(path)?;
    while let Some(row) = table.next()? {
        let counted = sums.types.entry(row.op_type().to_owned()).or_default();
        counted.count += 1.0;
        counted.us += match &row.took {
            Took::Us(us) => *us,
            Took::Nothing => 0.0,
            Took::Absurd(reason) => return Err(Error::file("read", path, format!("line {}: {reason}", row.line))),
        };
        let failed = |reason: String| Error::file("read", path, format!("line {}: {reason}", row.line));
        if let Some(blocks) = row.lead_blocks().map_err(failed)? {
            *sums.blocks.entry(row.op_type().to_owned()).or_default().entry(blocks).or_default() += 1.0;
        }
        match sums.names.get_mut(row.name()) {
            Some(count) => *count += 1,
            None => drop(sums.names.insert(row.name().to_owned(), 1)),
        }
        sums.devices.note(row.device());
        let step = row.step();
        if !["", "N/A"].contains(&step) && !sums.steps.contains(step) {
            sums.steps.insert(step.to_owned());
        }
    }
    Ok(())
}

/// The files of a profile: the one given, or in a folder the only one, with its slices.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut entries = 0;
    gather(path, DEPTH, &mut entries, &mut found)?;
    found.sort_unstable();
    let is_slice = |file: &&PathBuf| name(file).contains("_slice_");
    let whole: Vec<&PathBuf> = found.iter().filter(|file| !is_slice(file)).collect();
    match (found.len(), whole.len()) {
        (0, _) => Err(Error::file("read", path, "it holds neither op_summary_*.csv nor kernel_details.csv")),
        (1, _) | (_, 0) => Ok(found),
        _ => {
            let names: Vec<String> = found.iter().map(|file| file.display().to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Err(Error::file("read", path, format!("it holds several profiles; give one: {}", spelling::listed(&names))))
        }
    }
}

fn gather(folder: &Path, depth: usize, entries: &mut usize, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(|e| Error::file("read", folder, e))? {
        let entry = entry.map_err(|e| Error::file("read", folder, e))?;
        *entries += 1;
        if *entries > MOST_ENTRIES {
            return Err(Error::file(
                "read",
                folder,
                format!("it holds more than {MOST_ENTRIES} entries; give the file"),
            ));
        }
        let kind = entry.file_type().map_err(|e| Error::file("read", folder, e))?;
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            gather(&path, depth - 1, entries, found)?;
        } else if is_profile(&name(&path)) && (kind.is_file() || kind.is_symlink() && path.is_file()) {
            found.push(path);
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "msprof writes the name in this case only")]
fn is_profile(name: &str) -> bool {
    name == "kernel_details.csv" || name.starts_with("op_summary_") && name.ends_with(".csv")
}
