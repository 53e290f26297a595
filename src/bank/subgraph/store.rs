//! The subgraph banks of a SoC as a tuner uses them: looked up in several, written to one.

use super::file_name;
use super::{Bank, Feature, Kind, Record, Strategy};
use crate::bank::transaction::check_writable;
use crate::bank::{BankPaths, DISK, Disk, load_where_there, update};
use crate::output_file::{Patience, directory_of};
use crate::soc::Soc;
use crate::status::Result;
use std::path::{Path, PathBuf};

/// The subgraph banks of one SoC.
#[derive(Debug)]
pub struct SubgraphBank {
    file: PathBuf,
    /// The nearest first; CANN's records behind ours of the same directory.
    banks: Vec<Bank>,
    new: Vec<Record>,
    disk: Disk,
}

impl SubgraphBank {
    /// Reads the banks of these directories. Never fails: what cannot be used is a warning in the log.
    pub fn open(paths: &BankPaths, soc: &Soc) -> SubgraphBank {
        let directories = std::iter::once(&paths.custom).chain(&paths.also_read);
        let files = directories.flat_map(|d| [Kind::Ours, Kind::Cann].map(|kind| (kind, d.join(file_name(kind, soc)))));
        let banks = files.filter_map(|(kind, file)| read(kind, &file)).collect();
        SubgraphBank {
            file: paths.custom.join(file_name(Kind::Ours, soc)),
            banks,
            new: Vec::new(),
            disk: Disk::default(),
        }
    }

    /// The bank of one file of ours, which may not exist.
    pub fn of_file(file: &Path) -> SubgraphBank {
        let banks = read(Kind::Ours, file).into_iter().collect();
        SubgraphBank { file: file.to_owned(), banks, new: Vec::new(), disk: Disk::default() }
    }

    /// The same, which waits for the locks of others only so long as this allows.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> SubgraphBank {
        self.disk.patience = patience;
        self
    }

    /// Where records are written.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The records that were read.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.banks.iter().flat_map(Bank::records)
    }

    /// Fails with [`crate::status::Error::Directory`] or [`crate::status::Error::Bank`] where records could not be written.
    pub fn check_writable(&self) -> Result<()> {
        check_writable(&DISK, directory_of(&self.file), [self.file.clone()])
    }

    /// What is recorded for a network, and whose record it is. Records of CANN's have nothing but operators and shapes in their
    /// features, which is all that is compared then; whether such a strategy fits is for the caller to see.
    /// What was recorded since the bank was opened is not looked at.
    pub fn lookup(&self, feature: &Feature) -> Result<Option<(&Strategy, Kind)>> {
        let (id, bare) = (feature.graph_id()?, feature.bare());
        Ok(self.banks.iter().find_map(|bank| match bank.kind() {
            Kind::Ours => bank.get(id, feature).map(|strategy| (strategy, Kind::Ours)),
            Kind::Cann => bank.find(&bare).map(|record| (&record.strategy, Kind::Cann)),
        }))
    }

    /// Takes in a record, to be written by [`SubgraphBank::save`].
    pub fn record(&mut self, record: Record) {
        self.new.push(record);
    }

    /// Writes what was recorded durably, into the file as it is at this moment.
    pub fn save(&mut self) -> Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let updated = update(
            &self.disk,
            &self.file,
            |content| Bank::parse(Kind::Ours, content),
            |bank| self.new.iter().try_for_each(|record| bank.put(record.clone())),
        )?;
        updated.warnings.iter().for_each(|text| log::warn!("{text}"));
        self.new.clear();
        Ok(())
    }

    /// What is recorded and not saved, put into a bank of another directory instead, for where this one cannot be written.
    /// Fails as [`SubgraphBank::save`] does.
    pub fn save_elsewhere(&mut self, directory: &Path) -> Result<()> {
        let place = directory.join(self.file.file_name().unwrap_or_default());
        let own = std::mem::replace(&mut self.file, place);
        let saved = self.save();
        self.file = own;
        saved
    }
}

fn read(kind: Kind, file: &Path) -> Option<Bank> {
    load_where_there(&DISK, file, |content| Bank::parse(kind, content))
}
