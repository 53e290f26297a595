//! The earlier tuning that `base_result` names: a bank, or a directory with results of a tuning. One that was
//! named by `output` holds a copy of its records, which goes with it to another machine, and says in a hidden file of ours
//! where the bank lies; elsewhere we leave nothing but results.

use super::destination::OWN;
use crate::bank::{BankPaths, OperatorBank};
use crate::output_file::replace;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::{self, OpatJob};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The hidden file of an output directory: a JSON object with the bank directory of each SoC tuned for.
const BANKS: &str = ".aoe_banks.json";

/// Copies the records of a tuning, and the trials by which they were found, into its output directory, unless the bank
/// itself lies there. Fails where the copy cannot be written.
pub fn keep_copy(job: &OpatJob<'_>, soc: &Soc, directory: &Path) -> Result<()> {
    let copy = BankPaths::operator_below(&directory.join(OWN), soc);
    if std::path::absolute(&job.bank.paths().custom).ok() == std::path::absolute(&copy.custom).ok() {
        return Ok(());
    }
    tune::copy(job, &mut OperatorBank::open(copy, soc))
}

/// The bank of the earlier tuning: the copy in its output directory, the bank that it says, or the directory itself.
/// `None` for results that have neither copy nor bank any more; the present one is used then, with a word. Fails with
/// [`Error::Option`] where there are no results either.
pub fn bank(path: &Path, soc: &Soc) -> Result<Option<BankPaths>> {
    let named = banks_below(path).remove(&soc.name);
    let found = copies(path, soc).or_else(|| BankPaths::found_in(named.as_deref()?, soc));
    let found = found.or_else(|| BankPaths::found_in(path, soc));
    if found.is_none() && has_results(path) {
        let why = match named {
            Some(bank) => format!("the bank that they name, {}, is not there", bank.display()),
            None => "they do not say where their bank lies".to_owned(),
        };
        log::warn!("the results in {} hold no records, and {why}; the present bank is used", path.display());
        return Ok(None);
    }
    found.map(Some).ok_or_else(|| {
        let reason =
            format!("`{}` holds neither results of an earlier tuning nor a bank for {}", path.display(), soc.name);
        Error::option("base_result", reason)
    })
}

/// The bank root that a directory stands for: that in it, where a tuning left its results there.
pub fn root(directory: &Path) -> PathBuf {
    let own = directory.join(OWN);
    if own.is_dir() { own } else { directory.to_owned() }
}

/// The copies of records in an output directory, or in those of its models.
fn copies(path: &Path, soc: &Soc) -> Option<BankPaths> {
    let places = std::iter::once(path.to_owned()).chain(directories(path));
    let mut found = places.filter_map(|place| BankPaths::found_in(&place.join(OWN), soc));
    let first = found.next()?;
    let also_read = first.also_read.into_iter().chain(found.map(|paths| paths.custom)).collect();
    Some(BankPaths { custom: first.custom, also_read })
}

/// Whether result files lie in a directory, or in those of its models.
fn has_results(directory: &Path) -> bool {
    std::iter::once(directory.to_owned()).chain(directories(directory)).any(|directory| {
        let Ok(entries) = std::fs::read_dir(directory) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("aoe_result_opat_"))
    })
}

/// The directories in a directory, in order: an output directory of several models has one for each.
fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    found.sort_unstable();
    found
}

/// Notes in an output directory where the bank lies. Whether that succeeds is of no matter to this tuning.
pub fn remember(directory: &Path, soc: &Soc, bank: &BankPaths) {
    let mut banks = banks(directory);
    if banks.insert(soc.name.clone(), bank.custom.clone()).as_ref() == Some(&bank.custom) {
        return;
    }
    if let Err(error) = write(directory, &banks) {
        log::warn!("{} cannot serve as base_result: {error}", directory.display());
    }
}

fn write(directory: &Path, banks: &BTreeMap<String, PathBuf>) -> Result<()> {
    let path = directory.join(BANKS);
    let mut text = serde_json::to_vec(banks).map_err(|e| Error::file("write", &path, e))?;
    text.push(b'\n');
    replace(&path, &text)
}

/// What an output directory says, else what those of its models say.
fn banks_below(directory: &Path) -> BTreeMap<String, PathBuf> {
    let own = banks(directory);
    if own.is_empty() { directories(directory).iter().flat_map(|model| banks(model)).collect() } else { own }
}

/// What an output directory says; nothing where it says nothing that can be read.
fn banks(directory: &Path) -> BTreeMap<String, PathBuf> {
    let path = directory.join(BANKS);
    // What is no plain file, such as a pipe, is not waited for.
    let text = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc() -> Soc {
        Soc::find("Ascend910B2").unwrap()
    }

    #[test]
    fn a_bank_is_found_by_itself_by_its_root_and_by_the_output_of_its_tuning() {
        let directory = tempfile::tempdir().unwrap();
        let [root, output] = ["root", "output"].map(|name| directory.path().join(name));
        let custom = root.join("Ascend910B2/unified_bank");
        std::fs::create_dir_all(custom.join(".aoe/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json.trials")).unwrap();
        // As a subgraph bank in the same root leaves it.
        std::fs::create_dir_all(root.join(".aoe")).unwrap();
        std::fs::create_dir(&output).unwrap();
        let expected = BankPaths { custom: custom.clone(), also_read: Vec::new() };
        remember(&output, &soc(), &expected);
        let models = directory.path().join("models");
        std::fs::create_dir_all(models.join("net")).unwrap();
        remember(&models.join("net"), &soc(), &expected);
        for path in [&custom, &root, &root.join("Ascend910B2"), &output, &models] {
            assert_eq!(bank(path, &soc()).unwrap().as_ref(), Some(&expected), "{}", path.display());
        }
        let other = Soc::find("Ascend910B1").unwrap();
        let nothing = directory.path().join("nothing");
        for (path, soc) in [(nothing.as_path(), soc()), (&root, other.clone()), (&output, other)] {
            let error = bank(path, &soc).unwrap_err().to_string();
            assert!(error.contains("base_result") && error.contains(path.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn a_damaged_note_is_none() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(BANKS), "{\"Ascend910B2\":").unwrap();
        bank(directory.path(), &soc()).unwrap_err();
        std::fs::write(directory.path().join("aoe_result_opat_1_pid1.json"), "[]").unwrap();
        assert_eq!(bank(directory.path(), &soc()).unwrap(), None);
    }
}
