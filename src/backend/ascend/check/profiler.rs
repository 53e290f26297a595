//! Which number of cores a kernel was launched with, by CANN's profiler.

use super::machine::{Machine, OnOneCore};
use super::{Step, Verdict};
use crate::backend::ascend::backend::Refused;
use crate::backend::ascend::places::program;
use crate::output_file::HiddenFolder;
use crate::status::{Error, Result};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where an installed CANN has the program, from its root on.
const PLACES: [&str; 2] = ["bin/msprof", "tools/profiler/bin/msprof"];
/// Folders below the profiler's output that are looked through.
const DEPTH: usize = 4;
const ADVICE: &str = "install CANN's toolkit (its msprof), or compare by hand: msprof with the record in \
                      TUNE_BANK_PATH, column `Block Dim` of op_summary";

/// Runs a record of one core under the profiler.
pub(super) fn step(machine: &Machine<'_>, trial: &OnOneCore) -> Result<Step> {
    let (workload, schedule) = match trial {
        Ok(trial) => trial,
        Err(reason) => return Ok(Step::new("profiler", Verdict::NotPossible, reason, "")),
    };
    let env = machine.env;
    let Some(program) = program(env, &PLACES) else {
        return Ok(Step::new("profiler", Verdict::NotPossible, "no msprof below the installed CANN", ADVICE));
    };
    let folder = HiddenFolder::fresh(env.temporary(), "aoe-check-");
    let folder = folder.map_err(|e| Error::directory("create a folder in", env.temporary(), e))?;
    let mut output = OsString::from("--output=");
    output.push(folder.path());
    let prefix = [program.into_os_string(), output];
    match machine.ascend.timed_under(workload, schedule, &prefix) {
        Err(Refused::Cancelled) => return Err(Error::Cancelled),
        Err(Refused::Failed(reason) | Refused::Ended(reason)) => {
            return Ok(Step::new("profiler", Verdict::NotPossible, format!("under msprof: {reason}"), ADVICE));
        }
        Ok(_) => {}
    }
    Ok(match block_dims(folder.path(), workload.op_type()) {
        Err(reason) => Step::new("profiler", Verdict::NotPossible, reason, ADVICE),
        Ok(found) => {
            let taken = !found.is_empty() && found.iter().all(|&cores| cores == 1);
            let said = format!("launched on {found:?} cores; the record says 1");
            let verdict = if taken { Verdict::Passed } else { Verdict::Failed };
            let advice = if taken { "" } else { super::ADVICE_RECORD };
            Step::new("profiler", verdict, said, advice).with(&json!({ "block_dim": found }))
        }
    })
}

/// The distinct numbers of cores of an operator's launches in the `op_summary` files below a folder.
fn block_dims(folder: &Path, op_type: &str) -> Result<Vec<u64>, String> {
    let files = summaries(folder, DEPTH);
    if files.is_empty() {
        return Err("msprof left no op_summary_*.csv".to_owned());
    }
    let mut found = Vec::new();
    for file in files {
        let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", file.display());
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_path(&file).map_err(|e| wrong(&e))?;
        let header = rows.headers().map_err(|e| wrong(&e))?.clone();
        let column = |names: &[&str]| header.iter().position(|title| names.contains(&title.trim()));
        let (Some(kind), Some(cores)) = (column(&["OP Type", "Op Type"]), column(&["Block Dim", "Block Num"])) else {
            return Err(wrong(&"it has no columns `OP Type` and `Block Dim`"));
        };
        for row in rows.records() {
            let row = row.map_err(|e| wrong(&e))?;
            let is_ours = row.get(kind).is_some_and(|name| name.trim() == op_type);
            found.extend(row.get(cores).filter(|_| is_ours).and_then(|text| text.trim().parse::<u64>().ok()));
        }
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err(format!("msprof saw no {op_type}")) } else { Ok(found) }
}

fn summaries(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && depth > 0 {
            files.extend(summaries(&path, depth - 1));
        } else if name.starts_with("op_summary") && path.extension().is_some_and(|suffix| suffix == "csv") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(table: &str) -> Result<Vec<u64>, String> {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("PROF_1/mindstudio_profiler_output");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("op_summary_20260101.csv"), table).unwrap();
        block_dims(folder.path(), "MatMulV3")
    }

    #[test]
    fn the_cores_of_an_operators_launches_are_found_by_its_type() {
        let table = "Op Name,OP Type,Block Dim,Task Duration(us)\na,MatMulV3,1,9.5\nb,Cast,40,1\nc,MatMulV3,1,9\n";
        assert_eq!(found(table), Ok(vec![1]));
        assert_eq!(found("OP Type,Block Num\nMatMulV3,24\n"), Ok(vec![24]));
    }

    #[test]
    fn a_table_without_the_operator_or_the_column_says_so() {
        assert!(found("OP Type,Block Dim\nCast,40\n").unwrap_err().contains("saw no MatMulV3"));
        assert!(found("OP Type\nMatMulV3\n").unwrap_err().contains("`Block Dim`"));
        let folder = tempfile::tempdir().unwrap();
        assert!(block_dims(folder.path(), "MatMulV3").unwrap_err().contains("op_summary"));
    }
}
