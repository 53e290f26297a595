//! Kernels of a real run: `op_summary_*.csv` of CANN's profiler, `kernel_details.csv` of `torch_npu`'s, or a folder that
//! holds them. Read line by line: such files have gigabytes.

use crate::spelling;
use crate::status::{Error, Result};
use csv::StringRecord;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
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
}

/// A file under way.
#[derive(Default)]
struct Sums {
    types: BTreeMap<String, Counted>,
    /// Launches of each name: most names come once in a run.
    names: FxHashMap<String, u64>,
    steps: BTreeSet<String>,
    devices: BTreeSet<String>,
}

impl Measured {
    /// Reads a profile: a file, or a folder that holds one.
    ///
    /// Fails with [`Error::File`] where there is none or more than one, where a column is missing or a value is none, and
    /// where the kernels are of several devices.
    pub fn read(path: &Path) -> Result<Measured> {
        let files = files(path)?;
        let mut sums = Sums::default();
        for file in &files {
            read(file, &mut sums)?;
        }
        if sums.types.is_empty() {
            return Err(Error::file("read", path, "it tells of no kernel"));
        }
        if sums.devices.len() > 1 {
            let devices: Vec<&str> = sums.devices.iter().map(String::as_str).collect();
            let reason = format!(
                "it has kernels of {} devices ({}); give the profile of one",
                devices.len(),
                spelling::listed(&devices)
            );
            return Err(Error::file("read", path, reason));
        }
        let runs = sums.runs();
        let mut types = sums.types;
        for counted in types.values_mut() {
            counted.count /= runs as f64;
            counted.us /= runs as f64;
        }
        Ok(Measured { files, runs, types })
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

/// Places of the columns that count.
pub(super) struct Columns {
    pub name: usize,
    pub op_type: usize,
    pub duration: usize,
    pub device: Option<usize>,
    step: Option<usize>,
    /// Shapes, types and formats of what is read and of what is written.
    pub operands: Option<[[usize; 3]; 2]>,
}

impl Columns {
    /// The columns by CANN's names and `torch_npu`'s; a sentence where one is missing.
    pub fn of(header: &StringRecord) -> std::result::Result<Columns, String> {
        let names: Vec<&str> = header.iter().map(|name| name.trim().trim_start_matches('\u{feff}')).collect();
        let find = |known: &[&str]| names.iter().position(|name| known.contains(name));
        let need = |known: &[&'static str]| {
            find(known).ok_or_else(|| {
                let wanted = known.join("` or `");
                let meant = known.iter().find_map(|column| spelling::nearest(column, names.iter().copied()));
                let near = meant.map(|name| format!(" (it has `{name}`)")).unwrap_or_default();
                let foreign = if names.iter().all(|name| name.is_ascii()) {
                    ""
                } else {
                    " (its columns are named in another language: export it with English ones)"
                };
                format!("there is no column `{wanted}`{near}{foreign}; op_summary_*.csv and kernel_details.csv have it")
            })
        };
        let operands = |side: &str| {
            let column = |what: &str| names.iter().position(|name| *name == format!("{side} {what}"));
            Some([column("Shapes")?, column("Data Types")?, column("Formats")?])
        };
        Ok(Columns {
            operands: operands("Input").zip(operands("Output")).map(|(read, written)| [read, written]),
            name: need(&["Op Name", "Name"])?,
            op_type: need(&["OP Type", "Type"])?,
            duration: need(&["Task Duration(us)", "Duration(us)"])?,
            device: find(&["Device_id", "Device ID"]),
            step: find(&["Step Id", "Infer ID"]),
        })
    }
}

fn read(path: &Path, sums: &mut Sums) -> Result<()> {
    let failed = |reason: String| Error::file("read", path, reason);
    let file = crate::input_file::open(path)?;
    let mut reader = table(file);
    let header = reader.headers().map_err(|e| failed(e.to_string()))?.clone();
    let columns = Columns::of(&header).map_err(failed)?;
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).map_err(|e| failed(e.to_string()))? {
        if is_blank(&row) {
            continue;
        }
        let line = row.position().map_or(0, csv::Position::line);
        let value = |column: usize, name: &str| {
            let value = row.get(column).map(str::trim);
            value.ok_or_else(|| failed(format!("line {line}: it ends before `{name}`")))
        };
        let op_type = plain_type(value(columns.op_type, "OP Type")?);
        let duration = value(columns.duration, "Task Duration(us)")?;
        let us = microseconds(duration).map_err(|reason| failed(format!("line {line}: {reason}")))?;
        let counted = sums.types.entry(op_type.to_owned()).or_default();
        counted.count += 1.0;
        counted.us += us;
        let name = value(columns.name, "Op Name")?;
        match sums.names.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(sums.names.insert(name.to_owned(), 1)),
        }
        let mut note = |column: Option<usize>, set: fn(&mut Sums) -> &mut BTreeSet<String>| {
            let value = column.and_then(|column| row.get(column)).map(str::trim);
            if let Some(value) =
                value.filter(|value| !value.is_empty() && *value != "N/A" && !set(sums).contains(*value))
            {
                let _ = set(sums).insert(value.to_owned());
            }
        };
        note(columns.device, |sums| &mut sums.devices);
        note(columns.step, |sums| &mut sums.steps);
    }
    Ok(())
}

/// A reader of a profile's table. Lines end with a line feed, before which a carriage return may stand: so each counts
/// once, whoever wrote them.
pub(super) fn table(file: File) -> csv::Reader<BufReader<File>> {
    let mut table = csv::ReaderBuilder::new();
    table.flexible(true).terminator(csv::Terminator::Any(b'\n')).trim(csv::Trim::All);
    table.from_reader(BufReader::with_capacity(1 << 20, file))
}

/// Whether a line holds nothing.
pub(super) fn is_blank(row: &StringRecord) -> bool {
    row.len() == 1 && row.get(0).is_some_and(|only| only.trim().is_empty())
}

/// Longest that a kernel can take, in microseconds: a year.
const LONGEST_US: f64 = 3.2e13;

/// A duration; none counts as nothing.
pub(super) fn microseconds(text: &str) -> std::result::Result<f64, String> {
    match text {
        "" | "N/A" => Ok(0.0),
        number => {
            let us = number.parse::<f64>().ok().filter(|us| (0.0..=LONGEST_US).contains(us));
            us.ok_or_else(|| format!("`{}` is no time of a kernel in microseconds", spelling_cut(number)))
        }
    }
}

/// The beginning of a value that may be of any length.
fn spelling_cut(value: &str) -> String {
    value.chars().take(40).flat_map(char::escape_default).collect()
}

/// The type of a kernel; of one that TBE names after its parts, the first of them.
pub(super) fn plain_type(op_type: &str) -> &str {
    match op_type.strip_prefix("FusionOp_") {
        Some(parts) => parts.split('_').next().unwrap_or(parts),
        None => op_type,
    }
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
        } else if kind.is_file() && is_profile(&name(&path)) {
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
