//! The table of a profile, row by row: `op_summary_*.csv` and `kernel_details.csv` have the columns that count under
//! two names each. Such files have gigabytes.

use crate::input_file;
use crate::spelling::{self, beginning};
use crate::status::{Error, Result};
use csv::StringRecord;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A table under way.
pub(super) struct Table {
    path: PathBuf,
    rows: csv::Reader<Bounded>,
    columns: Columns,
    /// Values that a row has at most.
    width: usize,
    row: StringRecord,
}

/// Bytes that a row may have. None comes near; what follows a quote that nobody closes would be one row.
const LONGEST_ROW: usize = 64 << 20;

/// A file of which no row takes more memory than [`LONGEST_ROW`].
struct Bounded {
    file: BufReader<File>,
    /// Bytes that the row under way may still have.
    left: usize,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let reason = format!("a row has more than {LONGEST_ROW} bytes: is a quote not closed?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let most = self.left.min(into.len());
        let count = self.file.read(&mut into[..most])?;
        self.left -= count;
        Ok(count)
    }
}

/// A kernel's row.
pub(super) struct Row<'a> {
    values: &'a StringRecord,
    columns: &'a Columns,
    /// Where it stands in the file.
    pub line: u64,
    /// What it says of its time.
    pub took: Took,
}

/// Most blocks that a launch can have: what a case may say of them.
const MOST_BLOCKS: f64 = (1 << 20) as f64;

/// What a row says of its kernel's time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Took {
    /// Microseconds, above 0.
    Us(f64),
    /// Nothing: the launch was not timed.
    Nothing,
    /// What no kernel can take; a sentence.
    Absurd(String),
}

impl Table {
    /// Opens a table and finds its columns.
    ///
    /// Fails with [`Error::File`] for what is no regular file or no text of UTF-8, for another separator than a comma,
    /// and where a column is missing or there twice.
    pub fn open(path: &Path) -> Result<Table> {
        let failed = |reason: String| Error::file("read", path, reason);
        let mut file = BufReader::with_capacity(1 << 20, input_file::open(path)?);
        let start = file.fill_buf().map_err(|e| failed(e.to_string()))?;
        input_file::check_table(start).map_err(failed)?;
        // Lines end with a line feed, before which a carriage return may stand: so each counts once, whoever wrote them.
        let mut table = csv::ReaderBuilder::new();
        table.flexible(true).terminator(csv::Terminator::Any(b'\n')).trim(csv::Trim::All);
        let mut rows = table.from_reader(Bounded { file, left: LONGEST_ROW });
        let header = rows.headers().map_err(|e| failed(reason(&e)))?.clone();
        let columns = Columns::of(&header).map_err(failed)?;
        Ok(Table { path: path.to_owned(), rows, columns, width: header.len(), row: StringRecord::new() })
    }

    /// Whether the table has columns of shapes, types and formats.
    pub fn has_operands(&self) -> bool {
        self.columns.operands.is_some()
    }

    /// The next kernel.
    ///
    /// Fails with [`Error::File`] and the line for a row that ends early, one that is longer than the header, and for
    /// what is no time.
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        let failed = |reason: String| Error::file("read", &self.path, reason);
        loop {
            self.rows.get_mut().left = LONGEST_ROW;
            if !self.rows.read_record(&mut self.row).map_err(|e| failed(reason(&e)))? {
                return Ok(None);
            }
            if !is_blank(&self.row) {
                break;
            }
        }
        let line = self.row.position().map_or(0, csv::Position::line);
        let took = self.columns.took(&self.row, self.width);
        let took = took.map_err(|reason| failed(format!("line {line}: {reason}")))?;
        Ok(Some(Row { values: &self.row, columns: &self.columns, line, took }))
    }
}

impl<'a> Row<'a> {
    fn value(&self, column: usize) -> &'a str {
        self.values.get(column).map_or("", str::trim)
    }

    /// The operator's name.
    pub fn name(&self) -> &'a str {
        self.value(self.columns.name)
    }

    /// The kernel's type; of one that TBE names after its parts, the first of them. `N/A` where none is told.
    pub fn op_type(&self) -> &'a str {
        let op_type = self.value(self.columns.op_type);
        let first = op_type.strip_prefix("FusionOp_").and_then(|parts| parts.split('_').next());
        match first.filter(|part| !part.is_empty()).unwrap_or(op_type) {
            "" => "N/A",
            op_type => op_type,
        }
    }

    /// The device; empty where the table does not tell.
    pub fn device(&self) -> &'a str {
        self.columns.device.map_or("", |column| self.value(column))
    }

    /// The step or inference; empty where the table does not tell.
    pub fn step(&self) -> &'a str {
        self.columns.step.map_or("", |column| self.value(column))
    }

    /// Blocks that the launch had: on the cores that lead, and those of the vector cores beside them or the other way round;
    /// `None` where none are told.
    ///
    /// Fails with a sentence for what is no number of blocks.
    pub fn blocks(&self) -> std::result::Result<Blocks, String> {
        let (lead, mixed) = (self.lead_blocks()?, self.count(self.columns.blocks[1])?);
        let task_type = self.columns.task_type.map_or("", |column| self.value(column));
        Ok(match task_type {
            "MIX_AIC" => Blocks { cube: lead, vector: mixed.or(lead) },
            "MIX_AIV" => Blocks { cube: mixed.or(lead), vector: lead },
            _ => Blocks { cube: lead, vector: lead },
        })
    }

    /// Blocks on the cores that lead. `None` and failures as of [`Row::blocks`].
    pub fn lead_blocks(&self) -> std::result::Result<Option<u64>, String> {
        self.count(self.columns.blocks[0])
    }

    fn count(&self, column: Option<usize>) -> std::result::Result<Option<u64>, String> {
        column.map_or(Ok(None), |column| blocks(self.value(column)))
    }

    /// Shapes, types and formats of what is read and of what is written; `None` where the table has no such columns.
    pub fn operands(&self) -> Option<[[&'a str; 3]; 2]> {
        self.columns.operands.map(|sides| sides.map(|side| side.map(|column| self.value(column))))
    }
}

/// Blocks of a launch, by the cores that they ran on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Blocks {
    /// On cores with a cube, or that are all of a part.
    pub cube: Option<u64>,
    /// On vector cores, or those that are all of a part.
    pub vector: Option<u64>,
}

/// Places of the columns that count.
struct Columns {
    name: usize,
    op_type: usize,
    duration: usize,
    device: Option<usize>,
    step: Option<usize>,
    /// Shapes, types and formats of what is read and of what is written.
    operands: Option<[[usize; 3]; 2]>,
    /// Blocks on the cores that lead a kernel, and on those beside them.
    blocks: [Option<usize>; 2],
    /// Which cores lead.
    task_type: Option<usize>,
}

impl Columns {
    /// The columns by CANN's names and `torch_npu`'s; a sentence where one is missing, or there twice.
    fn of(header: &StringRecord) -> std::result::Result<Columns, String> {
        let names: Vec<&str> = header.iter().map(|name| name.trim().trim_start_matches('\u{feff}')).collect();
        let find = |known: &[&str]| {
            let mut places = (0..names.len()).filter(|&place| known.contains(&names[place]));
            match (places.next(), places.next()) {
                (Some(one), Some(other)) => Err(format!(
                    "columns {} and {} are `{}` and `{}`: which of them counts is not clear",
                    one + 1,
                    other + 1,
                    names[one],
                    names[other]
                )),
                (place, _) => Ok(place),
            }
        };
        let need = |known: &[&'static str]| {
            find(known)?.ok_or_else(|| {
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
            let column = |what: &str| find(&[&format!("{side} {what}")]);
            let columns = [column("Shapes")?, column("Data Types")?, column("Formats")?];
            Ok::<_, String>(if let [Some(a), Some(b), Some(c)] = columns { Some([a, b, c]) } else { None })
        };
        Ok(Columns {
            operands: operands("Input")?.zip(operands("Output")?).map(|(read, written)| [read, written]),
            name: need(&["Op Name", "Name"])?,
            op_type: need(&["OP Type", "Type"])?,
            duration: need(&["Task Duration(us)", "Duration(us)"])?,
            device: find(&["Device_id", "Device ID"])?,
            step: find(&["Step Id", "Infer ID"])?,
            blocks: [find(&["Block Dim", "Block Num"])?, find(&["Mix Block Dim", "Mix Block Num"])?],
            task_type: find(&["Task Type", "Accelerator Core"])?,
        })
    }

    /// What a row of a table of so many columns says of its time; a sentence where that cannot be read.
    fn took(&self, row: &StringRecord, width: usize) -> std::result::Result<Took, String> {
        let last = [(self.name, "Op Name"), (self.op_type, "OP Type"), (self.duration, "Task Duration(us)")];
        if let Some((_, name)) = last.into_iter().find(|(column, _)| *column >= row.len()) {
            return Err(format!("it ends before `{name}`"));
        }
        if row.iter().skip(width).any(|value| !value.is_empty()) {
            return Err(format!(
                "it has {} values for {width} columns: a comma in a number or a text wants quotes, and decimals a point",
                row.len()
            ));
        }
        took(row[self.duration].trim())
    }
}

/// What is wrong with a row that could not be read.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { pos, err } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line}: {}", input_file::not_utf8(&[], err))
        }
        _ => error.to_string(),
    }
}

/// Whether a line holds nothing.
fn is_blank(row: &StringRecord) -> bool {
    row.len() == 1 && row.get(0).is_some_and(|only| only.trim().is_empty())
}

/// Longest that a launch can take, in microseconds: an hour. Exchanges that wait for other devices are given up after half
/// of one (`HCCL_EXEC_TIMEOUT`, 1836 s).
const LONGEST_US: f64 = 3.6e9;

/// What a duration says; a sentence where it is no number.
fn took(text: &str) -> std::result::Result<Took, String> {
    if ["", "N/A"].contains(&text) {
        return Ok(Took::Nothing);
    }
    match text.parse::<f64>() {
        Ok(0.0) => Ok(Took::Nothing),
        Ok(us) if us > 0.0 && us <= LONGEST_US => Ok(Took::Us(us)),
        Ok(_) => Ok(Took::Absurd(format!("no kernel takes `{}` microseconds", beginning(text)))),
        Err(_) => {
            let comma = if text.contains(',') { "; decimals want a point" } else { "" };
            Err(format!("`{}` is no time of a kernel in microseconds{comma}", beginning(text)))
        }
    }
}

/// A number of blocks; none where nothing ran in blocks, a sentence for what is no such number. Tables that went through other
/// programs have `24.0`.
fn blocks(text: &str) -> std::result::Result<Option<u64>, String> {
    if ["", "N/A"].contains(&text) {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(count) if count.fract() == 0.0 && (0.0..=MOST_BLOCKS).contains(&count) => {
            Ok((count > 0.0).then_some(count as u64))
        }
        _ => Err(format!("`{}` is no number of blocks", beginning(text))),
    }
}
