//! The options of `aoe llm` that it shares with tuning: the part, and where records go.

use super::destination::Destination;
use super::environment::Environment;
use super::leaves::Leaves;
use super::options::{OptionMap, OptionSpec, restrict};
use super::simulation;
use crate::bank::{BankPaths, OperatorBank};
use crate::report::quoted;
use crate::serving::Banks;
use crate::soc::Soc;
use crate::status::Result;
use std::path::{Path, PathBuf};

/// The options that count, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    simulation::pricing_options()
}

/// The part that these options name.
///
/// Fails with [`crate::status::Error::Option`] for an option of tuning, which would have no effect, and as
/// [`simulation::pricing`] does.
pub fn part(options: &OptionMap) -> Result<Soc> {
    restrict(options, &simulation::PRICING, "aoe llm")?;
    simulation::priced_part(options, &Environment::read())
}

/// A bank for predicted records, and what `TUNE_BANK_PATH` has to name for CANN to read it where it lies in the results.
pub struct Bank {
    /// The bank.
    pub bank: OperatorBank,
    /// Its root in the results.
    pub root: Option<PathBuf>,
    /// Takes what a measurement is to decide about.
    to_measure: OperatorBank,
    /// Its root.
    to_measure_root: PathBuf,
    /// The directory of a run that leaves nothing.
    _leaves: Leaves,
}

/// The bank that predictions for this part go to: as for a tuning on the simulator, whose results lie in `output`, else in
/// the work path.
///
/// Fails as [`BankPaths::operator`] does, and with [`crate::status::Error::Directory`] where a dry run finds no place for its own.
pub fn bank(soc: &Soc, output: Option<&Path>, install: bool, dry_run: bool) -> Result<Bank> {
    let environment = Environment::read();
    let places = environment.bank_places(None);
    let aoe = BankPaths::operator(&places, soc).map(|paths| paths.over(environment.toolkit().operator_banks(soc)));
    let leaves = Leaves::of(dry_run, None, false)?;
    let work_path = environment.path("ASCEND_WORK_PATH").unwrap_or_default();
    let work_path = leaves.scratch().or(output).unwrap_or(&work_path);
    let keeps = leaves.keeps();
    let destination = Destination { work_path, named: None, install, keeps, is_simulated: true };
    let paths = destination.paths(&environment, aoe, |root| BankPaths::operator_below(root, soc))?;
    let root = destination.root(&environment).filter(|_| !dry_run);
    let to_measure_root = destination.root_to_measure(&environment);
    let to_measure = OperatorBank::open(BankPaths::operator_below(&to_measure_root, soc), soc);
    Ok(Bank { bank: OperatorBank::open(paths, soc), root, to_measure, to_measure_root, _leaves: leaves })
}

impl Bank {
    /// The banks to write to.
    pub fn banks(&mut self) -> Banks<'_> {
        Banks { bank: &mut self.bank, to_measure: &mut self.to_measure }
    }

    /// Takes the files out of what is told, where none stays.
    pub fn keep_written(&self, files: [&mut Vec<PathBuf>; 2], dry_run: bool) {
        if dry_run {
            files.into_iter().for_each(Vec::clear);
        }
    }

    /// What has CANN read the records that were written to the bank and to that of what is to be measured, a line each; none
    /// where it does by itself, or none were.
    pub fn lines(&self, [files, to_measure]: [&[PathBuf]; 2]) -> String {
        let export = |root: &PathBuf| format!("export TUNE_BANK_PATH={}", quoted(&root.display().to_string()));
        let root = self.root.as_ref().filter(|_| !files.is_empty());
        let known = root.map(|root| format!("CANN reads the records with: {}\n", export(root)));
        let line = || {
            let with = export(&self.to_measure_root);
            format!(
                "CANN reads those to measure with: {with}\n  `aoe compare` of a profile with them and one without decides; \
                 `aoe bank merge` brings them over\n"
            )
        };
        known.into_iter().chain((!to_measure.is_empty()).then(line)).collect()
    }
}
