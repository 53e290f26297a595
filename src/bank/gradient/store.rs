//! The gradient banks of a SoC as a tuner uses them: looked up in several, written to one.

use super::{Bank, Gradients, file_name};
use crate::bank::transaction::check_writable;
use crate::bank::{BankPaths, DISK, Disk, load_where_there, update};
use crate::output_file::{Patience, directory_of};
use crate::soc::Soc;
use crate::status::Result;
use std::path::{Path, PathBuf};

/// The gradient banks of one SoC.
#[derive(Debug)]
pub struct GradientBank {
    file: PathBuf,
    /// The nearest first.
    banks: Vec<Bank>,
    disk: Disk,
}

impl GradientBank {
    /// Reads the banks of these directories. Never fails: what cannot be used is a warning in the log.
    pub fn open(paths: &BankPaths, soc: &Soc) -> GradientBank {
        let name = file_name(soc);
        let files = std::iter::once(&paths.custom).chain(&paths.also_read).map(|directory| directory.join(&name));
        GradientBank {
            file: paths.custom.join(&name),
            banks: files.filter_map(|file| load_where_there(&DISK, &file, Bank::parse)).collect(),
            disk: Disk::default(),
        }
    }

    /// The same, which waits for the locks of others only so long as this allows.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> GradientBank {
        self.disk.patience = patience;
        self
    }

    /// Where entries are written.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Fails with [`crate::status::Error::Directory`] or [`crate::status::Error::Bank`] where entries could not be written.
    pub fn check_writable(&self) -> Result<()> {
        check_writable(&DISK, directory_of(&self.file), [self.file.clone()])
    }

    /// What is known of a network that has been profiled. What was recorded since the bank was opened is not looked at.
    pub fn get(&self, hash: u64) -> Option<&Gradients> {
        self.banks.iter().find_map(|bank| bank.get(hash))
    }

    /// Records the gradients of a network durably, in the file as it is at this moment. With `fills`, what waits to be
    /// profiled gets them, as CANN's tuner does, and the network itself only where nothing waits.
    pub fn record(&self, hash: u64, gradients: &Gradients, fills: bool) -> Result<()> {
        let edit = |bank: &mut Bank| {
            if !fills || bank.fill(gradients) == 0 {
                bank.put(hash, gradients.clone());
            }
            Ok(())
        };
        let updated = update(&self.disk, &self.file, Bank::parse, edit)?;
        updated.warnings.iter().for_each(|text| log::warn!("{text}"));
        Ok(())
    }

    /// A bank of another directory, for what this one does not take; nothing is looked up there.
    #[must_use]
    pub fn elsewhere(&self, directory: &Path) -> GradientBank {
        let file = directory.join(self.file.file_name().unwrap_or_default());
        GradientBank { file, banks: Vec::new(), disk: self.disk.clone() }
    }
}
