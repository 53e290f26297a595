//! Where CANN's own banks lie, below an installed toolkit.

use super::form;
use crate::soc::Soc;
use std::path::PathBuf;

/// The two spellings of the folder of built-in graph banks.
const BUILT_IN: [&str; 2] = ["built-in", "build_in"];

/// Where CANN is installed. The caller reads the environment; what is not set is derived from the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolkit {
    /// `ASCEND_OPP_PATH`: the operator packages.
    pub opp: Option<PathBuf>,
    /// `ASCEND_HOME_PATH`, or `ASCEND_TOOLKIT_HOME`: the root.
    pub home: Option<PathBuf>,
}

impl Toolkit {
    fn opp(&self) -> Option<PathBuf> {
        self.opp.clone().or_else(|| Some(self.home.as_ref()?.join("opp")))
    }

    fn home(&self) -> Option<PathBuf> {
        self.home.clone().or_else(|| Some(self.opp.as_ref()?.parent()?.to_owned()))
    }

    /// Directories of the built-in operator bank of a SoC, in CANN's order: the packages of operators before
    /// the common folder.
    pub fn operator_banks(&self, soc: &Soc) -> Vec<PathBuf> {
        let Some(opp) = self.opp() else { return Vec::new() };
        let bank = |root: PathBuf| root.join("built-in/data/op").join(form::soc_name(soc)).join("unified_bank");
        [opp.join("ops_nn"), opp.join("ops_transformer"), opp].map(bank).to_vec()
    }

    /// Directories of the built-in tiling repositories of a SoC's family.
    pub fn tiling_repositories(&self, soc: &Soc) -> Vec<PathBuf> {
        let folder = form::file_safe(&soc.short_name, b"_-.");
        self.opp().map(|opp| opp.join("built-in/data/tiling").join(folder)).into_iter().collect()
    }

    /// Directories of the built-in subgraph and gradient banks, in both spellings.
    pub fn graph_banks(&self) -> Vec<PathBuf> {
        let Some(home) = self.home() else { return Vec::new() };
        let machine = home.join(format!("{}-linux", std::env::consts::ARCH));
        let roots = [machine, home].map(|root| root.join("data/fusion_strategy"));
        roots.iter().flat_map(|root| BUILT_IN.map(|folder| root.join(folder))).collect()
    }
}
