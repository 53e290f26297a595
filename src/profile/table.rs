//! Tables as CANN's profiler writes them: CSV with a header, `N/A` where a value is not known.

use crate::spelling::printable;
use crate::status::{Error, Result};
use std::borrow::Cow;

/// What stands where a value is not known.
pub const UNKNOWN: &str = "N/A";

/// The device of a simulated run.
pub const DEVICE: &str = "0";
/// The device of what the host knows.
pub const HOST: &str = "host";

/// A table under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    header: Vec<Cow<'static, str>>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(header: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Table {
        Table { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// A table without rows, its columns as CSV has them.
    pub fn with_header(header: &'static str) -> Table {
        Table::new(header.split(','))
    }

    /// Adds a row, which has a value for each column. What a name of the network would do to a terminal or a spreadsheet
    /// that shows it is written as an escape.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len(), "{row:?}");
        self.rows.push(row.into_iter().map(shown).collect());
    }

    /// The table as CSV.
    pub fn csv(&self) -> Result<Vec<u8>> {
        let failed = |reason: String| Error::Internal { place: "profile table".into(), message: reason };
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.header.iter().map(AsRef::as_ref)).map_err(|e| failed(e.to_string()))?;
        for row in &self.rows {
            writer.write_record(row).map_err(|e| failed(e.to_string()))?;
        }
        writer.into_inner().map_err(|e| failed(e.to_string()))
    }
}

/// A cell as it is shown; the tab behind a moment stays.
fn shown(cell: String) -> String {
    let text = cell.trim_end_matches('\t');
    match printable(text) {
        Cow::Borrowed(_) => cell,
        Cow::Owned(clean) => clean,
    }
}

/// Microseconds, to the nanosecond.
pub fn us(us: f64) -> String {
    format!("{us:.3}")
}

/// A moment in microseconds, with the tab that keeps spreadsheets from rounding it.
pub fn moment(us: f64) -> String {
    format!("{us:.3}\t")
}

/// A value that may not be known.
pub fn known(value: Option<String>) -> String {
    value.unwrap_or_else(|| UNKNOWN.to_owned())
}
