//! The devices that a profile has kernels of.

use crate::spelling;
use crate::status::{Error, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Most devices that are told apart: more than one is what matters.
const MOST: usize = 16;

/// The devices that rows name.
#[derive(Debug, Default)]
pub(super) struct Devices(BTreeSet<String>);

impl Devices {
    /// Notes the device of a row; nothing where it names none.
    pub fn note(&mut self, device: &str) {
        let is_named = !["", "N/A"].contains(&device);
        if is_named && self.0.len() < MOST && !self.0.contains(device) {
            self.0.insert(device.to_owned());
        }
    }

    /// Fails with [`Error::File`], which names them, where there are several: their times are not those of one network.
    pub fn check(&self, path: &Path) -> Result<()> {
        if self.0.len() < 2 {
            return Ok(());
        }
        let devices: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let (count, names) = (devices.len(), spelling::listed(&devices));
        let more = if count == MOST { " or more" } else { "" };
        let reason = format!("it has kernels of {count}{more} devices ({names}); give those of one");
        Err(Error::file("read", path, reason))
    }
}
