//! Recorded measurements as a space: every row of a table is a legal configuration, and its time is known.

use super::{Space, table};
use crate::Domain;
use aoe_base::input_file;
use aoe_base::status::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Largest table, unpacked; far more than a million configurations take.
const MAX_BYTES: u64 = 256 << 20;
/// What gzip files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Recorded measurements.
#[derive(Debug, Clone)]
pub struct Recorded {
    space: Space,
    /// By place of the configuration in lexicographic order.
    outcomes: Vec<Result<f64, Arc<str>>>,
    remarks: Vec<String>,
}

impl Recorded {
    /// Reads a table from a file, plain or packed with gzip, whatever its name; docs/cli.md describes the form.
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
        let fault = |line, reason| Error::Config { path: path.to_owned(), line, reason };
        let table = table::read(content).map_err(|fault_of| fault(fault_of.line, fault_of.reason))?;
        let located = |error: Error| match error {
            Error::Space { place, reason } => fault(None, format!("{place}: {reason}")),
            other => other,
        };
        let space = Space::listed(table.parameters, &[""; 0], &table.flat).map_err(located)?;
        let rows = table.flat.chunks_exact(space.sizes().len());
        let mut ordered: Vec<_> = rows.map(|row| space.index(row)).zip(table.outcomes).collect();
        ordered.sort_by_key(|(index, _)| *index);
        let outcomes = ordered.into_iter().map(|(_, outcome)| outcome).collect();
        Ok(Recorded { space, outcomes, remarks: table.remarks })
    }

    /// The configurations that have a row.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// What a user should know of how the table was read: rows that were left out, and why.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
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

#[cfg(test)]
mod tests {
    use super::super::{Parameter, Value};
    use super::*;
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
        // The name does not matter.
        let misnamed = directory.path().join("table.csv");
        std::fs::copy(&path, &misnamed).unwrap();
        assert_eq!(Recorded::read(&misnamed).unwrap().optimum(), Some(1.25));
        std::fs::write(&path, format!("\u{feff}{TABLE}").replace('\n', "\r\n")).unwrap();
        let plain = Recorded::read(&path).unwrap();
        assert_eq!((plain.optimum(), plain.space().parameters()[0].name()), (Some(1.25), "tile"));
        std::fs::write(&path, [GZIP[0], GZIP[1], 0, 0]).unwrap();
        assert!(matches!(Recorded::read(&path), Err(Error::File { action: "unpack", .. })));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_named_with_its_line() {
        for (text, parts) in [
            ("", &[":1", "no column `time_ms`"][..]),
            ("a,time,time_ms\n1,2,3\n", &[":1", "`time` and `time_ms`"]),
            ("a,b,time_ms\n1,2,3\n,3,3\n", &[":3", "column `a` is empty"]),
            ("a,b,time_ms\n1,2,3\n2,nan,3\n", &[":3", "column `b`", "`nan`"]),
            ("a,time_ms\n1,2\n2,2\n\"\",2\n", &[":4", "1 of 3 rows"]),
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

    #[test]
    fn a_time_may_have_another_unit_and_an_empty_one_without_status_is_a_failure() {
        for (name, milliseconds) in [("time_ms", 3.0), ("time_us", 3e-3), ("time_s", 3e3), ("time", 3.0)] {
            let recorded = parse(&format!("a,{name}\n1,3\n2,\n")).unwrap();
            let Some(Ok(time)) = recorded.outcome(&[0]) else { panic!("{name}") };
            assert!((time / milliseconds - 1.0).abs() < 1e-12, "{name}: {time}");
            assert_eq!(recorded.outcome(&[1]), Some(Err("no time")), "{name}");
            assert!(recorded.remarks().is_empty());
        }
    }

    /// A table of so many good rows and then these.
    fn with_rows(good: usize, rows: &str) -> String {
        let good: Vec<String> = (0..good).map(|row| format!("{row},{},x{row},1\n", row % 7)).collect();
        format!("a,b,c,time_ms\n{}{rows}", good.concat())
    }

    #[test]
    fn a_few_bad_rows_are_left_out_and_named() {
        let bad = "1000,,y,1\n0,0,x0,2\n1001,1\n1002,nan,y,1\n1003,1,y,-1\n";
        let recorded = parse(&with_rows(600, bad)).unwrap();
        assert_eq!(recorded.space().count(), Some(600));
        assert_eq!(recorded.space().parameters()[1].values().len(), 7, "the column holds numbers");
        assert_eq!(recorded.outcome(&[0, 0, 0]), Some(Ok(1.0)), "the first of equal rows counts");
        let [remark] = recorded.remarks() else { panic!("{:?}", recorded.remarks()) };
        for part in ["5 of 605 rows", "line 602: column `b` is empty", "line 603", "line 2", "line 604", "and 2 more"] {
            assert!(remark.contains(part), "{part}: {remark}");
        }
        let error = parse(&with_rows(400, bad)).unwrap_err().to_string();
        assert!(error.contains(":402") && error.contains("5 of 405 rows"), "{error}");
    }

    #[test]
    fn a_text_among_numbers_is_told() {
        let recorded = parse(&with_rows(6, "6,auto,y,1\n7,auto,y,1\n,1,,2\n")).unwrap_err().to_string();
        assert!(recorded.contains(":10") && recorded.contains("column `a` is empty"), "{recorded}");
        let recorded = parse(&with_rows(6, "6,auto,,1\n")).unwrap();
        let [remark] = recorded.remarks() else { panic!("{:?}", recorded.remarks()) };
        assert!(remark.contains("column `b`") && remark.contains("`auto`") && remark.contains("line 8"), "{remark}");
        assert_eq!(recorded.space().parameters()[1].values()[6], Value::Text("auto".into()));
        assert_eq!(recorded.space().parameters()[2].values()[6], Value::Text(String::new()), "a text may be empty");
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
