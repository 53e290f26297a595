//! Where CANN's own banks lie, below an installed toolkit.

use crate::bank::names;
use crate::input_file::read_text;
use crate::soc::Soc;
use std::path::{Path, PathBuf};

/// The two spellings of the folder of built-in graph banks.
const BUILT_IN: [&str; 2] = ["built-in", "build_in"];

/// The last version whose default banks lie below `Ascend/latest`.
const LAST_OLDER: (u32, u32) = (8, 3);
/// Names of directories that installers up to it made.
const OLDER_NAMES: [&str; 3] = ["ascend-toolkit", "nnae", "latest"];
/// What says the version, below the root: a line `version=8.1.RC1`, with `Version=` in some.
const VERSION_FILES: [&str; 4] =
    ["ascend_toolkit_install.info", "ascend_nnae_install.info", "version.cfg", "opp/version.info"];

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

    /// Whether it is a CANN up to 8.3: what its own files say, else the name of its directory, which was
    /// `ascend-toolkit/latest` or `nnae/latest` and is `cann` or `cann-<version>` since. `false` where nothing tells.
    pub fn is_older(&self) -> bool {
        let Some(home) = self.home() else { return false };
        if let Some(version) = version_of(&home) {
            return version <= LAST_OLDER;
        }
        let names =
            |path: &Path| path.components().any(|part| OLDER_NAMES.iter().any(|name| part.as_os_str() == *name));
        let real = std::fs::canonicalize(&home).unwrap_or_default();
        !is_newer_name(&home) && !is_newer_name(&real) && (names(&home) || names(&real))
    }

    /// Directories of the built-in operator bank of a SoC, in CANN's order: the packages of operators before
    /// the common folder.
    pub fn operator_banks(&self, soc: &Soc) -> Vec<PathBuf> {
        let Some(opp) = self.opp() else { return Vec::new() };
        let bank = |root: PathBuf| root.join("built-in/data/op").join(names::soc_name(soc)).join("unified_bank");
        [opp.join("ops_nn"), opp.join("ops_transformer"), opp].map(bank).to_vec()
    }

    /// Directories of the built-in subgraph and gradient banks, in both spellings.
    pub fn graph_banks(&self) -> Vec<PathBuf> {
        let Some(home) = self.home() else { return Vec::new() };
        let machine = home.join(format!("{}-linux", std::env::consts::ARCH));
        let roots = [machine, home].map(|root| root.join("data/fusion_strategy"));
        roots.iter().flat_map(|root| BUILT_IN.map(|folder| root.join(folder))).collect()
    }
}

/// Major and minor version of the CANN whose root this is, where a file there says it.
fn version_of(home: &Path) -> Option<(u32, u32)> {
    let machine = home.join(format!("{}-linux", std::env::consts::ARCH));
    let files = [home.to_owned(), machine].into_iter().flat_map(|root| VERSION_FILES.map(|file| root.join(file)));
    files.filter(|file| file.is_file()).find_map(|file| version_in(&read_text(&file).ok()?))
}

/// The version that such a file says.
fn version_in(text: &str) -> Option<(u32, u32)> {
    let of_line = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let is_version = key.trim().eq_ignore_ascii_case("version") || key.trim().ends_with("_running_version");
        // `version.cfg` has `runtime_running_version=[7.6.0.1:8.1.RC1]`.
        let value = value.trim().trim_matches(['[', ']']).rsplit(':').next()?;
        let mut numbers = value.split('.').map(|part| part.trim().parse().ok());
        is_version.then_some((numbers.next()??, numbers.next()??))
    };
    text.lines().find_map(of_line)
}

fn is_newer_name(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name == "cann" || name.starts_with("cann-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_an_installed_cann_is_read_else_its_directory_tells() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str, file: &str, text: &str| {
            let home = root.path().join(name);
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), text).unwrap();
            Toolkit { opp: None, home: Some(home) }.is_older()
        };
        assert!(at("a", "ascend_toolkit_install.info", "package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n"));
        assert!(at("b", "version.cfg", "# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.3.RC1]\n"));
        assert!(!at("latest", "ascend_toolkit_install.info", "version=8.5.0\n"), "what a file says counts");
        assert!(at("ascend-toolkit", "latest/x", ""));
        assert!(!at("cann-8.5.0", "x", ""));
        assert!(!Toolkit::default().is_older());
    }
}
