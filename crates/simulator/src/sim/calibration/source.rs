//! Where a calibration comes from: a file that somebody named, or one that lies beside the bank.

use super::Calibration;
use crate::soc::Soc;
use aoe_base::status::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the calibration of a part that lies beside its bank, in the folder that holds `unified_bank`.
pub const BESIDE_BANK: &str = "calibration.json";

/// Where the calibration of a part would lie.
type Place = dyn Fn(&Soc) -> Option<PathBuf> + Send + Sync;

/// What corrects predicted times.
#[derive(Clone, Default)]
pub enum Source {
    /// Nothing.
    #[default]
    None,
    /// A calibration that somebody named, read from the file; another part than its own is an error.
    Named(PathBuf, Arc<Calibration>),
    /// The file of this path for a part, where it is there. One of another part is said and not used.
    Beside(Arc<Place>),
}

impl Source {
    /// A calibration by name. Fails as [`Calibration::read`] does.
    pub fn named(file: PathBuf) -> Result<Source> {
        let calibration = Calibration::read(&file)?;
        Ok(Source::Named(file, Arc::new(calibration)))
    }

    /// Has predictions for this part corrected.
    ///
    /// Fails as [`Calibration::check`] does for one that was named, and as [`Calibration::read`] does for one that lies
    /// beside the bank.
    pub fn correct(&self, soc: &mut Soc) -> Result<()> {
        let corrections = match self {
            Source::None => return Ok(()),
            Source::Named(file, calibration) => calibration.corrections(file.clone(), soc)?,
            Source::Beside(path) => {
                let Some(file) = path(soc).filter(|file| file.exists()) else { return Ok(()) };
                match Calibration::read(&file)?.corrections(file.clone(), soc) {
                    Ok(corrections) => corrections,
                    Err(other) => {
                        log::warn!("{} is not used: {other}", file.display());
                        return Ok(());
                    }
                }
            }
        };
        soc.corrections = Some(corrections);
        Ok(())
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::None => f.write_str("None"),
            Source::Named(file, _) => f.debug_tuple("Named").field(file).finish(),
            Source::Beside(_) => f.write_str("Beside(..)"),
        }
    }
}
