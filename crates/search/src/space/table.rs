//! Tables of recorded measurements as text: CSV with a header, one column for each parameter, then a time and
//! `status` (`ok`, or why there is no time). What follows the time is found by name.

use super::parameter::{Key, key};
use super::{Parameter, Value};
use aoe_base::status::Error;
use csv::{ReaderBuilder, StringRecord, Trim};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The columns that end the parameters, and the milliseconds that one of their units has. What has no unit is
/// taken for milliseconds.
const TIMES: [(&str, f64); 4] = [("time_ms", 1.0), ("time_us", 1e-3), ("time_s", 1e3), ("time", 1.0)];
/// One row in so many may be bad; it is left out then. More say that the table as a whole is not understood.
const BAD_SHARE: usize = 100;
/// Bad rows that a message describes.
const DESCRIBED: usize = 3;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The columns before the time.
    pub parameters: Vec<Parameter>,
    /// The rows as value indices, one after the other; no two are equal.
    pub flat: Vec<u32>,
    /// For each row its time in milliseconds, or why there is none.
    pub outcomes: Vec<Outcome>,
    /// What a user should know.
    pub remarks: Vec<String>,
}

/// A time in milliseconds, or why there is none.
type Outcome = Result<f64, Arc<str>>;

/// What is wrong with a table, or with a row.
#[derive(Debug)]
pub struct Fault {
    /// Line counted from 1, where it can be told.
    pub line: Option<usize>,
    /// What is wrong there.
    pub reason: String,
}

/// Reads a table. A few rows that are malformed, lack a value or come twice are left out, with a remark.
pub fn read(content: &[u8]) -> Result<Table, Fault> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(content);
    let header = reader.headers().map_err(|error| malformed(&error))?;
    let columns = Columns::of(header).map_err(|reason| Fault { line: Some(1), reason })?;
    let mut cells: Vec<Cells> = columns.parameters.iter().map(|_| Cells::default()).collect();
    let mut rows: Vec<Row> = Vec::new();
    let mut bad = Vec::new();
    let mut record = StringRecord::new();
    loop {
        let line = match reader.read_record(&mut record) {
            Ok(false) => break,
            Ok(true) => record.position().map_or(0, |position| position.line() as usize),
            Err(error) => {
                bad.push(malformed(&error));
                continue;
            }
        };
        match columns.outcome(&record) {
            Ok(outcome) => rows.push(Row { line, outcome, good: true }),
            Err(reason) => {
                bad.push(Fault { line: Some(line), reason });
                continue;
            }
        }
        for (column, cell) in cells.iter_mut().zip(&record) {
            column.push(cell);
        }
    }
    let all = rows.len() + bad.len();
    if all == 0 {
        return Err(Fault { line: None, reason: "the table has no rows".to_owned() });
    }
    let mut remarks = Vec::new();
    for (name, column) in columns.parameters.iter().zip(&cells) {
        column.reject_missing(name, &mut rows, &mut bad);
        remarks.extend(column.texts_among_numbers(name, &rows));
    }
    refuse(&mut bad, all)?;
    let indexed = columns.parameters.iter().zip(&cells).map(|(name, column)| column.indexed(name, &rows));
    let (parameters, indices): (Vec<_>, Vec<_>) = indexed.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let flat = distinct(&indices, &mut rows, &mut bad);
    refuse(&mut bad, all)?;
    remarks.extend(left_out(&bad, all));
    let outcomes = rows.into_iter().filter(|row| row.good).map(|row| row.outcome).collect();
    Ok(Table { parameters, flat, outcomes, remarks })
}

/// A row that could be read.
struct Row {
    line: usize,
    outcome: Outcome,
    /// Whether it belongs to the table.
    good: bool,
}

impl Row {
    fn reject(&mut self, bad: &mut Vec<Fault>, reason: String) {
        if std::mem::take(&mut self.good) {
            bad.push(Fault { line: Some(self.line), reason });
        }
    }
}

fn malformed(error: &csv::Error) -> Fault {
    Fault { line: error.position().map(|position| position.line() as usize), reason: error.to_string() }
}

/// Fails where too many rows are bad, and names the first.
fn refuse(bad: &mut [Fault], all: usize) -> Result<(), Fault> {
    bad.sort_by_key(|fault| fault.line);
    match bad.first() {
        Some(first) if bad.len() * BAD_SHARE > all => {
            let count = bad.len();
            let reason = format!(
                "{}; {count} of {all} rows are bad, and no more than one in {BAD_SHARE} is left out",
                first.reason
            );
            Err(Fault { line: first.line, reason })
        }
        _ => Ok(()),
    }
}

/// Says which rows are missing and why.
fn left_out(bad: &[Fault], all: usize) -> Option<String> {
    let described = bad.iter().take(DESCRIBED).map(|fault| match fault.line {
        Some(line) => format!("line {line}: {}", fault.reason),
        None => fault.reason.clone(),
    });
    let mut described: Vec<String> = described.collect();
    if bad.len() > DESCRIBED {
        described.push(format!("and {} more", bad.len() - DESCRIBED));
    }
    (!bad.is_empty()).then(|| format!("{} of {all} rows are left out: {}", bad.len(), described.join("; ")))
}

/// The good rows as indices one after the other; those that come again are rejected.
fn distinct(indices: &[Vec<u32>], rows: &mut [Row], bad: &mut Vec<Fault>) -> Vec<u32> {
    let mut flat = Vec::with_capacity(rows.len() * indices.len());
    let mut seen: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
    for (r, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.good) {
        let configuration: Vec<u32> = indices.iter().map(|column| column[r]).collect();
        if let Some(earlier) = seen.get(&configuration) {
            row.reject(bad, format!("the configuration is that of line {earlier}"));
        } else {
            flat.extend_from_slice(&configuration);
            seen.insert(configuration, row.line);
        }
    }
    flat
}

/// Where a table has what.
struct Columns {
    parameters: Vec<String>,
    time: usize,
    /// Milliseconds of a unit of the time.
    unit: f64,
    status: Option<usize>,
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Columns, String> {
        let find = |name: &str| header.iter().position(|column| column == name);
        let mut times = TIMES.iter().filter_map(|&(name, unit)| Some((name, unit, find(name)?)));
        let Some((name, unit, time)) = times.next() else {
            return Err(format!("the header has no column `{}` (nor `time_us`, `time_s`, `time`)", TIMES[0].0));
        };
        if let Some((other, _, _)) = times.next() {
            return Err(format!("there are columns `{other}` and `{name}`, and only one can be the time; rename one"));
        }
        if time == 0 {
            return Err(format!("there is no parameter: `{name}` is the first column"));
        }
        let parameters = header.iter().take(time).map(str::to_owned).collect();
        Ok(Columns { parameters, time, unit, status: find("status") })
    }

    /// The time of a row, or its status where that is not `ok`. Without a column of statuses, what has no time
    /// has failed.
    fn outcome(&self, record: &StringRecord) -> Result<Outcome, String> {
        let status = self.status.map(|column| record.get(column).unwrap_or_default());
        let cell = record.get(self.time).unwrap_or_default();
        match status {
            Some("") => return Ok(Err(Arc::from("no status"))),
            Some("ok") => {}
            Some(status) => return Ok(Err(Arc::from(status))),
            None if cell.is_empty() => return Ok(Err(Arc::from("no time"))),
            None => {}
        }
        match cell.parse::<f64>().map(|time| time * self.unit) {
            Ok(time) if time.is_finite() && time >= 0.0 => Ok(Ok(time)),
            _ if self.status.is_some() => Err(format!("the status is `ok`, but `{cell}` is not a time")),
            _ => Err(format!("`{cell}` is not a time")),
        }
    }
}

/// The cells of one parameter.
#[derive(Default)]
struct Cells {
    distinct: Vec<String>,
    places: FxHashMap<String, u32>,
    /// For each row, which of the distinct cells it has.
    rows: Vec<u32>,
}

impl Cells {
    fn push(&mut self, cell: &str) {
        let place = if let Some(&place) = self.places.get(cell) {
            place
        } else {
            self.distinct.push(cell.to_owned());
            let place = self.distinct.len() as u32 - 1;
            self.places.insert(cell.to_owned(), place);
            place
        };
        self.rows.push(place);
    }

    /// Whether all cells but those without a value are numbers.
    fn is_numeric(&self) -> bool {
        let mut present = self.distinct.iter().filter(|cell| !is_missing(cell)).peekable();
        present.peek().is_some() && present.all(|cell| Value::parse(cell).number().is_some())
    }

    /// Rejects the rows that lack a number where all others have one.
    fn reject_missing(&self, name: &str, rows: &mut [Row], bad: &mut Vec<Fault>) {
        if !self.distinct.iter().any(|cell| is_missing(cell)) || !self.is_numeric() {
            return;
        }
        for (row, &place) in rows.iter_mut().zip(&self.rows) {
            match self.distinct[place as usize].as_str() {
                "" => row.reject(bad, format!("column `{name}` is empty, where other rows have a number")),
                cell if is_missing(cell) => {
                    row.reject(bad, format!("column `{name}` holds `{cell}`, where other rows have a number"));
                }
                _ => {}
            }
        }
    }

    /// A remark where a few texts make texts of many numbers.
    fn texts_among_numbers(&self, name: &str, rows: &[Row]) -> Option<String> {
        if self.is_numeric() {
            return None;
        }
        let is_number = |cell: &String| Value::parse(cell).number().is_some();
        let numbers = self.distinct.iter().filter(|cell| is_number(cell)).count();
        let text = self.distinct.iter().position(|cell| !is_number(cell))?;
        if 2 * numbers <= self.distinct.len() {
            return None;
        }
        let row = self.rows.iter().position(|&place| place as usize == text)?;
        Some(format!(
            "column `{name}` holds texts without an order, because of `{}` in line {}; {numbers} of its {} values are \
             numbers",
            self.distinct[text],
            rows[row].line,
            self.distinct.len()
        ))
    }

    /// The parameter, and the index of its value in each row; 0 in rows that are left out.
    fn indexed(&self, name: &str, rows: &[Row]) -> Result<(Parameter, Vec<u32>), Fault> {
        let mut used = vec![false; self.distinct.len()];
        for (_, &place) in rows.iter().zip(&self.rows).filter(|(row, _)| row.good) {
            used[place as usize] = true;
        }
        // One text makes all of them texts, as they are written.
        let numeric = self.is_numeric();
        let value = |cell: &String| if numeric { Value::parse(cell) } else { Value::Text(cell.clone()) };
        let values: Vec<Value> = self.distinct.iter().map(value).collect();
        // A number may be written in two ways.
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut different: Vec<Value> = Vec::new();
        let mut places = vec![0; values.len()];
        for (place, value) in values.iter().enumerate().filter(|&(place, _)| used[place]) {
            places[place] = *known.entry(key(value)).or_insert_with(|| {
                different.push(value.clone());
                different.len() - 1
            });
        }
        let parameter = Parameter::new(name, different).map_err(|error| match error {
            Error::Space { place, reason } => Fault { line: None, reason: format!("{place}: {reason}") },
            other => Fault { line: None, reason: other.to_string() },
        })?;
        let indices = parameter.indices_of_given();
        let index = |&place: &u32| indices.get(places[place as usize]).copied().unwrap_or_default();
        let rows = self.rows.iter().map(index).collect();
        Ok((parameter, rows))
    }
}

/// Whether a cell is where a number is missing: empty, or what programs print for none.
fn is_missing(cell: &str) -> bool {
    cell.is_empty() || cell.parse::<f64>().is_ok_and(|number| !number.is_finite())
}
