//! Gradients that were recorded on a device: what CANN's graph compiler says of them (`gradient_summary.csv`) and what
//! a profile of several runs says of their trace nodes.
//!
//! `docs/gradients.md` describes both files, and the rule by which times become those of the bank.

use super::gradients::{DTYPES, Gradient, MOST_BYTES, Training, WORLD};
use crate::bank::gradient::model_hash;
use crate::graph::DataType;
use crate::input_file;
use crate::status::{Error, Result};
use csv::{ReaderBuilder, StringRecord, Trim};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// The largest values of each gradient that do not count: what a run took longer than others says little.
const DROPPED: usize = 3;

/// Standard deviation, in nanoseconds, above which CANN's tool warns.
const NOISE_NS: f64 = 3.0;

/// Type of the nodes whose times are those of the gradients.
pub const TRACE_TYPE: &str = "TensorRedirect";

/// Where it is wrong: the line, counted from 1, and why.
pub type Wrong = (Option<usize>, String);

/// Reads a recording: the summary, and the profile of the runs. Returns the name of the graph as well.
///
/// Fails with [`Error::File`], or with [`Error::Config`] that names file, line and fault.
pub fn read(summary: &Path, profile: &Path) -> Result<(String, Training)> {
    let named = |path: &Path, (line, reason): Wrong| Error::Config { path: path.to_owned(), line, reason };
    let profile_text = load(profile)?;
    let measured = Profile::parse(&profile_text).map_err(|wrong| named(profile, wrong))?;
    let rows = parse_summary(&load(summary)?, &measured.model).map_err(|wrong| named(summary, wrong))?;
    if measured.is_noisy {
        log::warn!("{}: the times of a gradient differ by more than {NOISE_NS} ns from run to run", profile.display());
    }
    let model = measured.model.clone();
    let training = combine(&rows, measured).map_err(|reason| named(profile, (None, reason)))?;
    Ok((model, training))
}

fn load(path: &Path) -> Result<Vec<u8>> {
    let text = input_file::read(path, MAX_BYTES, "has more than 1 GiB, too many for a recording")?;
    input_file::check_table(&text).map_err(|reason| Error::file("read", path, reason))?;
    Ok(text)
}

/// Columns of `gradient_summary.csv` behind the number of the row.
const SUMMARY: [&str; 7] = [
    "gradient_size(byte)",
    "data_type",
    "graph_id",
    "group_name",
    "gradient_node_name",
    "trace_node_name",
    "allreduce_node_name",
];

/// One row of `gradient_summary.csv`, with the name of its trace node.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the trace node.
    pub trace: String,
    /// The gradient.
    pub gradient: Gradient,
}

/// The gradients of a recording in the order of the profile, which must have the same as the summary.
pub fn combine(rows: &[Row], measured: Profile) -> Result<Training, String> {
    let by_trace: FxHashMap<&str, &Gradient> = rows.iter().map(|row| (row.trace.as_str(), &row.gradient)).collect();
    if measured.traces.len() != rows.len() {
        let reason =
            format!("a run has {} trace tasks, the summary {} gradients of graph", measured.traces.len(), rows.len());
        return Err(format!("{reason} `{}`", measured.model));
    }
    let of = |trace: &String| by_trace.get(trace.as_str()).copied().cloned().ok_or_else(|| trace.clone());
    let gradients = measured.traces.iter().map(of).collect::<Result<Vec<_>, _>>();
    let gradients = gradients.map_err(|trace| format!("trace task `{trace}` is not in the summary"))?;
    let hash = model_hash(gradients.iter().map(|gradient| (gradient.dtype, 0)));
    let training = Training { gradients, times_ns: measured.times_ns, rest_us: 0.0, from_begin: false, hash };
    training.check()?;
    Ok(training)
}

/// The rows of one graph in `gradient_summary.csv`.
pub fn parse_summary(text: &[u8], graph: &str) -> Result<Vec<Row>, Wrong> {
    let mut rows: Vec<Row> = Vec::new();
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    let mut all = 0u64;
    each_row(text, SUMMARY, |[size, dtype, graph_id, group, node, trace, all_reduce], line| {
        if graph_id != graph {
            return Ok(());
        }
        let bytes = size.parse::<u64>().ok().filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or_else(|| format!("`{size}` is no number of bytes from 1 on"))?;
        let sum = all.checked_add(bytes).filter(|sum| *sum <= MOST_BYTES);
        all = sum.ok_or_else(|| format!("the gradients up to here have more than {MOST_BYTES} bytes"))?;
        let dtype = type_named(dtype).ok_or_else(|| format!("`{dtype}` is no type of a gradient"))?;
        if let Some(first) = seen.insert(trace.to_owned(), line) {
            return Err(format!("trace node `{trace}` has a row already, on line {first}"));
        }
        let text = str::to_owned;
        let group = if group.is_empty() { WORLD } else { group };
        let gradient = Gradient { node: text(node), all_reduce: text(all_reduce), dtype, bytes, group: text(group) };
        rows.push(Row { trace: text(trace), gradient });
        Ok(())
    })?;
    if rows.is_empty() { Err((None, format!("there is no gradient of graph `{graph}`"))) } else { Ok(rows) }
}

/// The type of this name, where gradients have it.
fn type_named(name: &str) -> Option<DataType> {
    DTYPES.into_iter().find(|dtype| dtype.name() == name)
}

/// What a profile says of the gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The graph that ran.
    pub model: String,
    /// Names of the trace tasks, in order.
    pub traces: Vec<String>,
    /// When the first one started, and how long after the end of the one before each other did: the mean over the
    /// runs but the slowest.
    pub times_ns: Vec<u64>,
    /// Whether the times of one gradient vary more than CANN's tool takes without a warning.
    pub is_noisy: bool,
}

/// One run.
#[derive(Debug, Default)]
struct Loop {
    number: u64,
    traces: Vec<String>,
    times_ns: Vec<u64>,
    /// Start of the first task.
    began: u64,
    /// Start of the last task.
    started: u64,
    /// End of the last trace task.
    ended: u64,
}

impl Profile {
    /// Reads the tasks of all runs.
    pub fn parse(text: &[u8]) -> Result<Profile, Wrong> {
        let mut loops: Vec<Loop> = Vec::new();
        let mut model: Option<String> = None;
        let columns = ["loop", "modelName", "opName", "opType", "taskStartTime", "taskEndTime"];
        each_row(text, columns, |[number, name, op, op_type, start, end], _| {
            let number = number.parse::<u64>().map_err(|_| format!("`{number}` is no number of a loop"))?;
            match &model {
                Some(first) if first != name => {
                    return Err(format!("task of graph `{name}`, the first is of `{first}`"));
                }
                Some(_) => {}
                None => model = Some(name.to_owned()),
            }
            let time = |text: &str| {
                let reason = || format!("`{text}` is no time: a whole number of nanoseconds is wanted");
                text.parse::<u64>().map_err(|_| reason())
            };
            let follows = loops.last().map(|last| (last.number == number, last.number.checked_add(1) == Some(number)));
            match follows {
                Some((true, _)) => {}
                None | Some((_, true)) => loops.push(Loop { number, began: time(start)?, ..Loop::default() }),
                Some(_) => {
                    let last = loops.last().map_or(0, |last| last.number);
                    return Err(format!("loop {number} follows loop {last}: there is a gap, or they are not in order"));
                }
            }
            match loops.last_mut() {
                Some(current) => current.add(op, op_type == TRACE_TYPE, time(start)?, time(end)?),
                None => Ok(()),
            }
        })?;
        let model = model.ok_or((None, "there is no task".to_owned()))?;
        Profile::of(model, &loops).map_err(|reason| (None, reason))
    }

    fn of(model: String, loops: &[Loop]) -> Result<Profile, String> {
        if loops.len() <= DROPPED {
            let reason = format!("there are {} loops; the {DROPPED} slowest do not count", loops.len());
            return Err(format!("{reason}, so that {} or more are needed", DROPPED + 1));
        }
        let traces = loops.first().map(|first| first.traces.clone()).unwrap_or_default();
        for run in loops {
            let number = run.number;
            if run.traces.is_empty() {
                return Err(format!("loop {number} has no task of type {TRACE_TYPE}"));
            }
            if run.traces.len() != traces.len() {
                let (count, first) = (run.traces.len(), traces.len());
                return Err(format!("loop {number} has {count} trace tasks, the first one {first}"));
            }
            if let Some((other, expected)) = run.traces.iter().zip(&traces).find(|(a, b)| a != b) {
                return Err(format!("loop {number} has trace task `{other}` where the first one has `{expected}`"));
            }
        }
        let mut seen = FxHashSet::default();
        if let Some(twice) = traces.iter().find(|trace| !seen.insert(trace.as_str())) {
            return Err(format!("each loop has trace task `{twice}` twice"));
        }
        if let Some((before, after)) = loops.iter().zip(loops.iter().skip(1)).find(|(a, b)| b.began < a.ended) {
            let (number, next) = (before.number, after.number);
            return Err(format!(
                "loop {next} starts at {}, before loop {number} ends at {}",
                after.began, before.ended
            ));
        }
        if loops.iter().all(|run| run.began == run.ended) {
            return Err("no time passes in any loop".to_owned());
        }
        let mut is_noisy = false;
        let mean = |gradient: usize| {
            let mut times: Vec<u64> = loops.iter().map(|run| run.times_ns[gradient]).collect();
            times.sort_unstable();
            times.truncate(times.len() - DROPPED);
            let count = times.len() as u128;
            let mean = times.iter().map(|&ns| u128::from(ns)).sum::<u128>() / count;
            // When a run starts says nothing of its noise.
            let squares: f64 = times.iter().map(|&ns| (ns as f64 - mean as f64).powi(2)).sum();
            is_noisy |= gradient > 0 && (squares / count as f64).sqrt() > NOISE_NS;
            mean as u64
        };
        let times_ns = (0..traces.len()).map(mean).collect();
        Ok(Profile { model, traces, times_ns, is_noisy })
    }
}

impl Loop {
    fn add(&mut self, op: &str, is_trace: bool, start: u64, end: u64) -> Result<(), String> {
        let number = self.number;
        if end < start {
            return Err(format!("task `{op}` of loop {number} ends at {end}, before it starts at {start}"));
        }
        if start < self.started {
            let last = self.started;
            return Err(format!("task `{op}` of loop {number} starts at {start}, before the one above it at {last}"));
        }
        self.started = start;
        if !is_trace {
            return Ok(());
        }
        let pause = if self.traces.is_empty() { Some(start) } else { start.checked_sub(self.ended) };
        let Some(pause) = pause else {
            let ended = self.ended;
            return Err(format!("task `{op}` of loop {number} starts at {start}, before the last one ends at {ended}"));
        };
        self.traces.push(op.to_owned());
        self.times_ns.push(pause);
        self.ended = end;
        Ok(())
    }
}

/// Calls `row` with the values of these columns, found by their names, for each row, and its line.
fn each_row<const N: usize>(
    text: &[u8],
    columns: [&str; N],
    mut row: impl FnMut([&str; N], usize) -> Result<(), String>,
) -> Result<(), Wrong> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text);
    let wrong = |error: csv::Error| {
        let line = error.position().map(|position| position.line() as usize);
        (line, error.to_string())
    };
    let header = reader.headers().map_err(wrong)?.clone();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(columns) {
        let mut found = (0..).zip(&header).filter(|(_, column)| *column == name).map(|(at, _)| at);
        *place = found.next().ok_or_else(|| (Some(1), format!("there is no column `{name}`")))?;
        if found.next().is_some() {
            return Err((Some(1), format!("there are two columns `{name}`")));
        }
    }
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(wrong)? {
        let line = record.position().map(|position| position.line() as usize);
        let values = places.map(|place| record.get(place).unwrap_or_default());
        row(values, line.unwrap_or(0)).map_err(|reason| (line, reason))?;
    }
    Ok(())
}

/// The text of `gradient_summary.csv` as CANN's graph compiler writes it, with the gradients of a graph behind what the
/// file has of other graphs by now: `before`, which may be empty.
///
/// Fails where that is no such file.
pub fn summary_text(before: &[u8], gradients: &[Gradient], graph: &str) -> Result<String, Wrong> {
    let mut rows: Vec<[String; SUMMARY.len()]> = Vec::new();
    if !before.trim_ascii().is_empty() {
        each_row(before, SUMMARY, |values, _| {
            if values[2] != graph {
                rows.push(values.map(str::to_owned));
            }
            Ok(())
        })?;
    }
    rows.extend(gradients.iter().map(|gradient| {
        let Gradient { node, all_reduce, dtype, bytes, group } = gradient;
        let trace = format!("{all_reduce}_{TRACE_TYPE}");
        [&bytes.to_string(), dtype.name(), graph, group, node, &trace, all_reduce].map(str::to_owned)
    }));
    // CANN quotes nothing; a name with a comma would be two columns.
    let mut text = csv::Writer::from_writer(Vec::new());
    let numbers = std::iter::once("No".to_owned()).chain((1..).map(|number: usize| number.to_string()));
    let header = SUMMARY.map(str::to_owned);
    let written = numbers
        .zip(std::iter::once(&header).chain(&rows))
        .try_for_each(|(number, row)| text.write_record(std::iter::once(&number).chain(row)));
    let failed = |reason: String| (None, reason);
    written.map_err(|error| failed(error.to_string()))?;
    let bytes = text.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// A file that is to have the summary of a graph besides those that it has: its content, once these are in.
///
/// Fails with [`Error::File`], and with [`Error::Config`] where the file is something else, which is left alone.
pub fn summary_in(path: &Path, gradients: &[Gradient], graph: &str) -> Result<String> {
    let before = if path.exists() { load(path)? } else { Vec::new() };
    summary_text(&before, gradients, graph).map_err(|(line, reason)| {
        let reason = format!("{reason}; it is to be a gradient summary: move what is there away");
        Error::Config { path: path.to_owned(), line, reason }
    })
}
