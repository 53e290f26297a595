//! Where a runtime may be, in the order in which it is looked for.

use super::report::Origin;
use crate::backend::RuntimeEnv;
use std::path::{Path, PathBuf};

/// Packages that bring a runtime, below a default install root: CANN from 8.5 on, the toolkit, the
/// training engine, the inference runtime.
const PACKAGES: [&str; 4] = ["cann", "ascend-toolkit/latest", "nnae/latest", "nnrt/latest"];

/// A folder to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Why it is looked into.
    pub origin: Origin,
    /// The folder; `None` for the system's loader, which is asked by plain name.
    pub folder: Option<PathBuf>,
}

/// Every place, each folder once.
pub fn places(env: &RuntimeEnv) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut add = |origin, folder: Option<PathBuf>| {
        if !places.iter().any(|place| place.folder == folder) {
            places.push(Place { origin, folder });
        }
    };
    let variables =
        [(Origin::AscendHomePath, &env.ascend_home_path), (Origin::AscendToolkitHome, &env.ascend_toolkit_home)];
    for (origin, root) in variables {
        for folder in root.iter().flat_map(|root| library_folders(root)) {
            add(origin, Some(folder));
        }
    }
    for folder in &env.library_path {
        add(Origin::LibraryPath, Some(folder.clone()));
    }
    if env.system_loader {
        add(Origin::SystemLoader, None);
    }
    for root in &env.install_roots {
        for folder in PACKAGES.iter().flat_map(|package| library_folders(&root.join(package))) {
            add(Origin::InstallRoot, Some(folder));
        }
    }
    places
}

/// Where the Python packages of an installed CANN keep the libraries that GE is reached through.
pub fn python_folders(env: &RuntimeEnv) -> Vec<Place> {
    let variables =
        [(Origin::AscendHomePath, &env.ascend_home_path), (Origin::AscendToolkitHome, &env.ascend_toolkit_home)];
    let named = variables.into_iter().filter_map(|(origin, root)| root.clone().map(|root| (origin, root)));
    let packages = env.install_roots.iter().flat_map(|root| PACKAGES.iter().map(|package| root.join(package)));
    let installed = packages.map(|root| (Origin::InstallRoot, root));
    let folder =
        |(origin, root): (Origin, PathBuf)| Place { origin, folder: Some(root.join("python/site-packages/ge/_capi")) };
    named.chain(installed).map(folder).collect()
}

/// A program of the installed CANN, which lies in one of these places from its root on.
pub fn program(env: &RuntimeEnv, places: &[&str]) -> Option<PathBuf> {
    let roots = env.ascend_home_path.iter().chain(&env.ascend_toolkit_home).chain(&env.install_roots);
    roots.flat_map(|root| places.iter().map(|place| root.join(place))).find(|path| path.is_file())
}

/// The library folders of a package: the common one, and the one of this machine's architecture.
fn library_folders(root: &Path) -> [PathBuf; 2] {
    [root.join("lib64"), root.join(format!("{}-linux", std::env::consts::ARCH)).join("lib64")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_before_the_loader_and_the_loader_before_the_install_roots() {
        let env = RuntimeEnv {
            ascend_home_path: Some("/home".into()),
            ascend_toolkit_home: Some("/toolkit".into()),
            library_path: vec!["/path".into()],
            system_loader: true,
            install_roots: vec!["/usr/local/Ascend".into()],
            ..RuntimeEnv::default()
        };
        let origins: Vec<Origin> = places(&env).iter().map(|place| place.origin).collect();
        let expected = [
            [Origin::AscendHomePath; 2].as_slice(),
            &[Origin::AscendToolkitHome; 2],
            &[Origin::LibraryPath, Origin::SystemLoader],
            &[Origin::InstallRoot; 8],
        ];
        assert_eq!(origins, expected.concat());
    }

    #[test]
    fn one_folder_named_twice_is_looked_into_once() {
        let root = Some(PathBuf::from("/opt/cann"));
        let env = RuntimeEnv { ascend_home_path: root.clone(), ascend_toolkit_home: root, ..RuntimeEnv::default() };
        assert_eq!(places(&env).len(), 2);
    }
}
