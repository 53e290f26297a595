//! Recorded measurements as a space: every row of a table is a legal configuration, and its time is known.
//!
//! The table is CSV, plain or compressed with gzip: a header, one column for each parameter, then `time_ms`
//! and `status` (`ok`, or why there is no time). What follows `time_ms` is found by name.

use super::{Parameter, Space, Value};
use crate::input_file;
use crate::status::{Error, Result};
use csv::{ReaderBuilder, StringRecord, Trim};
use flate2::read::MultiGzDecoder;
use rustc_hash::FxHashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Largest table, unpacked; far more than a million configurations take.
const MAX_BYTES: u64 = 256 << 20;
/// The column that ends the parameters.
const TIME: &str = "time_ms";
/// What gzip files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Recorded measurements.
#[derive(Debug, Clone)]
pub struct Recorded {
    space: Space,
    /// By place of the configuration in lexicographic order.
    outcomes: Vec<Result<f64, Arc<str>>>,
}

impl Recorded {
    /// Reads a table from a file.
    ///
    /// Fails with [`Error::File`] where it cannot be read, and with [`Error::Config`], which names the line,
    /// where it is no such table.
    pub fn read(path: &Path) -> Result<Recorded> {
        let too_large = || format!("has more than {} MiB", MAX_BYTES >> 20);
        let mut content = input_file::read(path, MAX_BYTES, &too_large())?;
        if content.starts_with(&GZIP) {
            let mut unpacked = Vec::new();
            let unpacking = MultiGzDecoder::new(&content[..]).take(MAX_BYTES + 1).read_to_end(&mut unpacked);
            unpacking.map_err(|error| Error::file("unpack", path, error))?;
            if unpacked.len() as u64 > MAX_BYTES {
                return Err(Error::file("unpack", path, too_large()));
            }
            content = unpacked;
        }
        Recorded::parse(&content, path)
    }

    /// Reads a table; `path` is for messages.
    fn parse(content: &[u8], path: &Path) -> Result<Recorded> {
        let fault = |line: Option<usize>, reason: String| Error::Config { path: path.to_owned(), line, reason };
        let malformed = |error: csv::Error| {
            let line = error.position().map(|position| position.line() as usize);
            fault(line, error.to_string())
        };
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(content);
        let columns = Columns::of(reader.headers().map_err(malformed)?).map_err(|reason| fault(Some(1), reason))?;
        let mut cells: Vec<Column> = columns.parameters.iter().map(|_| Column::default()).collect();
        let (mut outcomes, mut lines) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record.map_err(malformed)?;
            let line = record.position().map_or(0, |position| position.line() as usize);
            for (column, cell) in cells.iter_mut().zip(&record) {
                column.push(cell);
            }
            outcomes.push(columns.outcome(&record).map_err(|reason| fault(Some(line), reason))?);
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(fault(None, "the table has no rows".to_owned()));
        }
        let located = |error: Error| match error {
            Error::Space { place, reason } => fault(None, format!("{place}: {reason}")),
            other => other,
        };
        let listed = columns.parameters.iter().zip(cells).map(|(name, column)| column.indexed(name));
        let (parameters, indices): (Vec<_>, Vec<_>) =
            listed.collect::<Result<Vec<_>>>().map_err(located)?.into_iter().unzip();
        let rows: Vec<Vec<u32>> =
            (0..outcomes.len()).map(|r| indices.iter().map(|column| column[r]).collect()).collect();
        let mut seen: FxHashMap<&[u32], usize> = FxHashMap::default();
        for (row, &line) in rows.iter().zip(&lines) {
            if let Some(earlier) = seen.insert(row, line) {
                return Err(fault(Some(line), format!("the configuration is that of line {earlier}")));
            }
        }
        let space = Space::listed(parameters, &[""; 0], &rows.concat()).map_err(located)?;
        let mut ordered: Vec<_> = rows.iter().map(|row| space.index(row)).zip(outcomes).collect();
        ordered.sort_by_key(|(index, _)| *index);
        Ok(Recorded { space, outcomes: ordered.into_iter().map(|(_, outcome)| outcome).collect() })
    }

    /// The configurations that have a row.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The recorded time in milliseconds, or why there is none; `None` for a configuration without a row.
    pub fn outcome(&self, configuration: &[u32]) -> Option<Result<f64, &str>> {
        let outcome = &self.outcomes[self.space.index(configuration)? as usize];
        Some(outcome.as_ref().map(|&time| time).map_err(|status| &**status))
    }

    /// The shortest of all recorded times; `None` where every configuration failed.
    pub fn optimum(&self) -> Option<f64> {
        self.outcomes.iter().filter_map(|outcome| outcome.as_ref().ok().copied()).min_by(f64::total_cmp)
    }
}

/// Where a table has what.
struct Columns {
    parameters: Vec<String>,
    time: usize,
    status: Option<usize>,
}

impl Columns {
    fn of(header: &StringRecord) -> Result<Columns, String> {
        let find = |name: &str| header.iter().position(|column| column == name);
        let time = find(TIME).ok_or_else(|| format!("the header has no column `{TIME}`"))?;
        if time == 0 {
            return Err(format!("there is no parameter: `{TIME}` is the first column"));
        }
        let parameters = header.iter().take(time).map(str::to_owned).collect();
        Ok(Columns { parameters, time, status: find("status") })
    }

    /// The time of a row, or its status where that is not `ok`. A table without statuses has no failures.
    fn outcome(&self, record: &StringRecord) -> Result<Result<f64, Arc<str>>, String> {
        let status = self.status.and_then(|column| record.get(column)).unwrap_or("ok");
        if status != "ok" {
            return Ok(Err(Arc::from(if status.is_empty() { "no status" } else { status })));
        }
        let cell = record.get(self.time).unwrap_or_default();
        match cell.parse::<f64>() {
            Ok(time) if time.is_finite() && time >= 0.0 => Ok(Ok(time)),
            _ => Err(format!("the status is `ok`, but `{cell}` is not a time")),
        }
    }
}

/// The cells of one parameter.
#[derive(Default)]
struct Column {
    distinct: Vec<String>,
    places: FxHashMap<String, u32>,
    /// For each row, which of the distinct cells it has.
    rows: Vec<u32>,
}

impl Column {
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

    /// The parameter, and the index of its value in each row.
    fn indexed(self, name: &str) -> Result<(Parameter, Vec<u32>)> {
        let mut values: Vec<Value> = self.distinct.iter().map(|cell| Value::parse(cell)).collect();
        // One text makes all of them texts, as they are written.
        if values.iter().any(|value| matches!(value, Value::Text(_))) {
            values = self.distinct.into_iter().map(Value::Text).collect();
        }
        // A number may be written in two ways.
        let mut different: Vec<Value> = Vec::new();
        for value in &values {
            if !different.iter().any(|known| known.equals(value)) {
                different.push(value.clone());
            }
        }
        let parameter = Parameter::new(name, different)?;
        let indices: Vec<u32> = values.iter().filter_map(|value| parameter.index_of(value)).collect();
        Ok((parameter, self.rows.into_iter().map(|place| indices[place as usize]).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Domain;
    use std::io::Write;

    fn parse(text: &str) -> Result<Recorded> {
        Recorded::parse(text.as_bytes(), Path::new("table.csv"))
    }

    const TABLE: &str = "tile,layout,time_ms,status,std_ms\n64,row,2.5,ok,0.1\n16,row,,compile error,\n64,8,1.25,ok,\n";

    #[test]
    fn a_table_is_a_space_with_outcomes() {
        let recorded = parse(TABLE).unwrap();
        let space = recorded.space();
        assert_eq!(space.count(), Some(3));
        let tile = Parameter::new("tile", vec![Value::Integer(16), Value::Integer(64)]).unwrap();
        assert_eq!(space.parameters()[0].values(), tile.values());
        assert_eq!(space.parameters()[1].values(), ["row", "8"].map(|text| Value::Text(text.into())));
        assert_eq!(recorded.outcome(&[0, 0]), Some(Err("compile error")));
        assert_eq!(recorded.outcome(&[1, 0]), Some(Ok(2.5)));
        assert_eq!(recorded.outcome(&[1, 1]), Some(Ok(1.25)));
        assert_eq!(recorded.outcome(&[0, 1]), None);
        assert_eq!(recorded.optimum(), Some(1.25));
    }

    #[test]
    fn columns_are_found_by_name_and_packed_tables_are_read() {
        let plain = parse("a,time_ms\n1,3\n2.0,4\n").unwrap();
        assert_eq!(plain.outcome(&[1]), Some(Ok(4.0)));
        let texts = parse("a,time_ms\n0.50,3\n\"x,y\",4\n").unwrap();
        assert_eq!(texts.space().parameters()[0].values(), ["0.50", "x,y"].map(|text| Value::Text(text.into())));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv.gz");
        let mut packer =
            flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
        packer.write_all(TABLE.as_bytes()).unwrap();
        packer.finish().unwrap();
        assert_eq!(Recorded::read(&path).unwrap().optimum(), Some(1.25));
        std::fs::write(&path, [GZIP[0], GZIP[1], 0, 0]).unwrap();
        assert!(matches!(Recorded::read(&path), Err(Error::File { action: "unpack", .. })));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_named_with_its_line() {
        for (text, parts) in [
            ("", &[":1", "no column `time_ms`"][..]),
            ("a,b\n1,2\n", &[":1", "no column `time_ms`"]),
            ("time_ms,a\n1,2\n", &[":1", "no parameter"]),
            ("a,time_ms\n", &["no rows"]),
            ("a,time_ms\n1,2,3\n", &["table.csv:2"]),
            ("a,time_ms,status\n1,2,ok\n2,,ok\n", &[":3", "`` is not a time"]),
            ("a,time_ms\n1,nan\n", &[":2", "`nan` is not a time"]),
            ("a,time_ms\n1,-2\n", &[":2", "`-2` is not a time"]),
            ("a,b,time_ms\n1,2,3\n2,2,3\n1,2,4\n", &[":4", "that of line 2"]),
            ("a,a,time_ms\n1,2,3\n", &["`a`", "same name"]),
            ("a,time_ms\n1,2\n1.0,2\n", &[":3", "that of line 2"]),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{text:?}: {message}");
        }
    }

    /// The recorded matrix products, where `LIBAOE_DATA` names a folder that has them, are legal under
    /// the constraints that their library documents, and complete tables are exactly the legal set.
    #[test]
    fn recorded_matrix_products_are_what_their_constraints_say() {
        let Some(folder) = std::env::var_os("LIBAOE_DATA") else { return };
        let constraints = [
            "MWG % (MDIMC * VWM) == 0 and NWG % (NDIMC * VWN) == 0",
            "MWG % (MDIMA * VWM) == 0 and NWG % (NDIMB * VWN) == 0",
            "32 % ((MDIMC * NDIMC) / MDIMA) == 0 and 32 % ((MDIMC * NDIMC) / NDIMB) == 0",
        ];
        let files = std::fs::read_dir(Path::new(&folder).join("spaces")).unwrap().map(|entry| entry.unwrap().path());
        let products: Vec<_> =
            files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("gemm")).collect();
        assert!(!products.is_empty());
        let mut complete = 0;
        for path in products {
            let recorded = Recorded::read(&path).unwrap();
            let space = Space::new(recorded.space().parameters().to_vec(), &constraints).unwrap();
            let rows = recorded.space().enumerate(usize::MAX).unwrap();
            let width = space.sizes().len();
            assert!(rows.chunks_exact(width).all(|row| space.is_legal(row)), "{}", path.display());
            // Some devices have not run all of them.
            complete += usize::from(space.enumerate(usize::MAX).unwrap() == rows);
        }
        assert!(complete >= 2, "{complete} tables are complete");
    }
}
