//! The program that measures: `aoe`, which every installation has beside the library.

use super::library;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Its name.
const NAME: &str = "aoe";
/// Its sub-command.
pub const COMMAND: &str = "measure-candidate";

/// The program that a caller names, or else this process's own where that is it, or else the one that lies
/// where installations have it. Fails with every place looked into.
pub fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        let reason = || format!("measure_program: {} is no program", path.display());
        return if executable(path) { Ok(path.to_owned()) } else { Err(reason()) };
    }
    let library = library::own_path();
    // A host program may have any name, this one too: ours is the one that this library is linked into.
    let own = std::env::current_exe().ok().filter(|path| path.file_name().is_some_and(|name| name == NAME));
    let own = own.filter(|path| path.canonicalize().ok() == library);
    let beside = library.as_deref().and_then(Path::parent).map(places).unwrap_or_default();
    let places: Vec<PathBuf> = own.into_iter().chain(beside).collect();
    places.iter().find(|path| executable(path)).cloned().ok_or_else(|| {
        let tried: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        format!(
            "the program `{NAME}`, which measures candidates, was not found: tried {}; name it with option \
             measure_program",
            tried.join(", ")
        )
    })
}

/// Where an installation has the program, from the folder of its library on.
fn places(folder: &Path) -> [PathBuf; 3] {
    // lib/, or lib/<architecture>/.
    [folder.join(NAME), folder.join("../bin").join(NAME), folder.join("../../bin").join(NAME)]
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_none_is_named() {
        for path in ["/nowhere/aoe", "/etc/passwd", "/"] {
            let reason = find(Some(Path::new(path))).unwrap_err();
            assert!(reason.contains(path) && reason.contains("measure_program"), "{reason}");
        }
        assert_eq!(find(Some(Path::new("/bin/sh"))), Ok("/bin/sh".into()));
    }

    #[test]
    fn without_one_every_place_is_told_with_the_remedy() {
        // The test program lies in `deps`, beside no `aoe`.
        let reason = find(None).unwrap_err();
        let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        for place in places(&folder) {
            assert!(reason.contains(&*place.to_string_lossy()), "{} in {reason}", place.display());
        }
        assert!(reason.contains("option measure_program"), "{reason}");
    }
}
