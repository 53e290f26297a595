//! Banks that a caller looks up in: from paths, options and environment to an index in memory.

use super::environment::Environment;
use super::options::{OptionMap, restrict};
use crate::bank::{BankPaths, Index, Part};
use crate::simulate;
use crate::soc::Soc;
use crate::status::{Error, Result};
use std::path::PathBuf;

/// Names of the options that a bank knows.
pub const OPTIONS: [&str; 3] = ["soc_version", "aicore_num", "op_bank_path"];

/// Operator banks in memory, and the SoC that they are for.
#[derive(Debug)]
pub struct Bank {
    index: Index,
    soc: Option<Soc>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// An operator's key as CANN packs it.
    Packed(&'a str, &'a [u8]),
    /// An operator's `info_dict`, a JSON object.
    InfoDict(&'a str, &'a [u8]),
    /// A case as the simulator reads it, a JSON object.
    Case(&'a [u8]),
}

/// Opens banks, the first before the second; without any, those where tuning would record and look, CANN's
/// built-in ones last.
///
/// Fails as [`Index::open`] and, without paths, as [`BankPaths::operator`] do.
pub fn open(paths: Vec<PathBuf>, options: &OptionMap) -> Result<Bank> {
    restrict(options, &OPTIONS, "a bank")?;
    let get = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let soc = get("soc_version").map(Soc::named).transpose()?;
    // The form was checked when the options were gathered.
    let cores = get("aicore_num").and_then(|n| n.parse().ok());
    let layers = if paths.is_empty() { default_layers(soc.as_ref(), get("op_bank_path"))? } else { paths };
    let index = Index::open(&layers, &Part { soc: soc.as_ref().map(Part::soc_name), cores })?;
    index.warnings().iter().for_each(|warning| log::warn!("{warning}"));
    // A SoC that no table knows has no cases; keys it has.
    let soc = soc.or_else(|| Soc::find(index.soc()?).ok());
    Ok(Bank { index, soc })
}

fn default_layers(soc: Option<&Soc>, op_bank_path: Option<&str>) -> Result<Vec<PathBuf>> {
    let soc = soc.ok_or_else(|| Error::option("soc_version", "is needed to find the bank when no path is given"))?;
    let environment = Environment::read();
    let places = environment.bank_places(op_bank_path.map(PathBuf::from));
    let paths = BankPaths::operator(&places, soc)?.over(environment.toolkit().operator_banks(soc));
    // A bank that nothing was recorded in yet has no directory.
    Ok(std::iter::once(paths.custom).chain(paths.also_read).filter(|path| path.exists()).collect())
}

impl Bank {
    /// Looks up. Fails with [`Error::NotFound`] where nothing is recorded, and with [`Error::Param`] for what is no
    /// key or no case.
    #[inline]
    pub fn query(&self, question: Question<'_>) -> Result<&[u8]> {
        match question {
            Question::Packed(op_type, key) => self.index.find(op_type, key).ok_or_else(|| missing(op_type)),
            Question::InfoDict(op_type, text) => self.index.find_text(op_type, text)?.ok_or_else(|| missing(op_type)),
            Question::Case(text) => self.query_case(text),
        }
    }

    fn query_case(&self, text: &[u8]) -> Result<&[u8]> {
        let text = std::str::from_utf8(text).map_err(|e| Error::param("key", format!("is not UTF-8: {e}")))?;
        let soc = self.soc.as_ref().ok_or_else(|| {
            Error::option("soc_version", "is needed at AoeBankOpen to look up cases: no table knows the bank's SoC")
        })?;
        let workload = simulate::read(text, soc)?.workload;
        self.index.find_workload(&workload, soc)?.ok_or_else(|| missing(workload.op_type()))
    }
}

fn missing(op_type: &str) -> Error {
    Error::NotFound { what: format!("a record of {op_type} for this key") }
}
