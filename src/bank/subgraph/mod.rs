//! The subgraph bank: how the nodes of a network are fused and cut so that their data stays near the cores.
//! `docs/banks/subgraph.md` describes the file.
//!
//! `record` holds the structures of a record and says when they fit each other; `file` is the bank, `store` the banks that a tuner looks into.

mod file;
mod record;
mod store;

#[cfg(test)]
mod tests;

pub use file::{Bank, Kind};
pub use record::{Feature, Group, Node, Part, Record, Strategy};
pub use store::SubgraphBank;

use crate::bank::names;
use crate::soc::Soc;

/// Name of the bank file of a SoC. CANN's holds records under CANN's ids, and CANN reads it; ours holds
/// records under our own ids, and CANN never opens it.
pub fn file_name(kind: Kind, soc: &Soc) -> String {
    let soc = names::soc_name(soc).to_lowercase();
    match kind {
        Kind::Cann => format!("{soc}_l2cache.json"),
        Kind::Ours => format!("{soc}_l2cache_aoe.json"),
    }
}
