//! The gradient bank: how long each gradient of a network takes, and how large it is, from which CANN cuts
//! the exchange of gradients into segments. `docs/banks/gradient.md` describes the file.

mod file;
mod hash;
mod store;

#[cfg(test)]
mod tests;

pub use file::{Bank, Gradients, PLACEHOLDER};
pub use hash::{model_hash, string_hash};
pub use store::GradientBank;

use crate::bank::names;
use crate::soc::Soc;

/// Name of the bank file of a SoC.
pub fn file_name(soc: &Soc) -> String {
    format!("{}_gradient_fusion.json", names::soc_name(soc))
}
