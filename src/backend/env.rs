//! What a backend needs to know of the process's surroundings, handed in by the session layer.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where temporary files go when the environment does not say.
const TEMPORARY: &str = "/tmp";

/// Environment that finding a runtime depends on.
///
/// The default knows of nothing and searches nowhere; [`RuntimeEnv::read`] fills it from variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeEnv {
    /// `ASCEND_HOME_PATH`: root of the installed CANN.
    #[serde(with = "crate::backend::any_path")]
    pub ascend_home_path: Option<PathBuf>,
    /// `ASCEND_TOOLKIT_HOME`: root of the installed toolkit.
    #[serde(with = "crate::backend::any_path")]
    pub ascend_toolkit_home: Option<PathBuf>,
    /// Folders of `LD_LIBRARY_PATH`.
    #[serde(with = "crate::backend::any_path")]
    pub library_path: Vec<PathBuf>,
    /// Whether to use a runtime that the process has already loaded, and to ask the system's loader
    /// for one by plain name.
    pub system_loader: bool,
    /// Default install roots, searched last.
    #[serde(with = "crate::backend::any_path")]
    pub install_roots: Vec<PathBuf>,
    /// `ASCEND_DEVICE_ID` as given; checked by [`super::open`].
    pub device_id: Option<OsString>,
    /// `TMPDIR`: the folder for temporary files; `/tmp` where it is not set.
    #[serde(with = "crate::backend::any_path")]
    pub temporary: Option<PathBuf>,
}

impl RuntimeEnv {
    /// The folder for temporary files.
    pub fn temporary(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(Path::new(TEMPORARY))
    }

    /// Reads the variables through `lookup`, which gives the value of one variable. Empty means unset.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>) -> RuntimeEnv {
        let value = |name| lookup(name).filter(|v| !v.is_empty());
        let path = |name| value(name).map(PathBuf::from);
        RuntimeEnv {
            ascend_home_path: path("ASCEND_HOME_PATH"),
            ascend_toolkit_home: path("ASCEND_TOOLKIT_HOME"),
            // Relative folders mean what the current folder makes of them: left to the system's loader.
            library_path: value("LD_LIBRARY_PATH")
                .map(|v| std::env::split_paths(&v).filter(|folder| folder.is_absolute()).collect())
                .unwrap_or_default(),
            system_loader: true,
            install_roots: [Some(PathBuf::from("/usr/local/Ascend")), path("HOME").map(|home| home.join("Ascend"))]
                .into_iter()
                .flatten()
                .collect(),
            device_id: value("ASCEND_DEVICE_ID"),
            temporary: path("TMPDIR"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RuntimeEnv;
    use std::path::PathBuf;

    #[test]
    fn empty_variables_count_as_unset() {
        let env = RuntimeEnv::read(|_| Some("".into()));
        assert_eq!(env.ascend_home_path, None);
        assert_eq!(env.device_id, None);
        assert_eq!(env.install_roots, [PathBuf::from("/usr/local/Ascend")]);
    }

    #[test]
    fn library_path_keeps_absolute_folders_in_order() {
        let env = RuntimeEnv::read(|name| (name == "LD_LIBRARY_PATH").then(|| "/b::relative:/a b".into()));
        assert_eq!(env.library_path, [PathBuf::from("/b"), PathBuf::from("/a b")]);
    }
}
