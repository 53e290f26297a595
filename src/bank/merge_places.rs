//! Which directories of the sources of a merge go into which of the target.
//!
//! A bank root, as `TUNE_BANK_PATH` names one, has a directory for each SoC and form; each goes into the directory of the
//! same name below the target.

use super::inspect::{Kind, Source, files};
use crate::status::Result;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is merged into one file or directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// Files, and directories of whose files none lies deeper.
    pub sources: Vec<PathBuf>,
    /// The file or directory.
    pub into: PathBuf,
    /// Built-in banks that lie where this does, or were named as they are.
    pub built_in: Vec<PathBuf>,
}

/// The places of a merge, that of the target itself first; where the target is one file, that one.
///
/// Fails where a source or something in it cannot be read.
pub fn places(sources: &[PathBuf], into: &Path, built_in: &[PathBuf]) -> Result<Vec<Place>> {
    let mut by_place: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let single = is_one_file(into);
    for source in sources {
        for below in directories(source)? {
            let found = if below.as_os_str().is_empty() { source.clone() } else { source.join(&below) };
            by_place.entry(if single { PathBuf::new() } else { below }).or_default().push(found);
        }
    }
    let place = |(below, sources): (PathBuf, Vec<PathBuf>)| {
        let joined = |path: &Path| if below.as_os_str().is_empty() { path.to_owned() } else { path.join(&below) };
        let same = |path: &PathBuf| Some(joined(path)).filter(|there| there.is_dir()).unwrap_or_else(|| path.clone());
        Place { sources, into: joined(into), built_in: built_in.iter().map(same).collect() }
    };
    Ok(by_place.into_iter().map(place).collect())
}

/// Whether all sources are merged into one file.
pub fn is_one_file(into: &Path) -> bool {
    into.is_file() || (!into.is_dir() && into.extension().is_some_and(|e| e == "json"))
}

/// Whether two paths lead to one file, be it over links; one that is not there is no other's.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    identity(a).is_some_and(|a| Some(a) == identity(b))
}

/// The directories of a source that hold banks, from the source on; its own, empty, where none does.
fn directories(source: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if source.is_dir() {
        for file in files(source)? {
            let below = file.parent().and_then(|parent| parent.strip_prefix(source).ok()).unwrap_or(Path::new(""));
            if !found.iter().any(|known| known == below) && is_bank(&file)? {
                found.push(below.to_owned());
            }
        }
    }
    if found.is_empty() {
        found.push(PathBuf::new());
    }
    Ok(found)
}

fn is_bank(path: &Path) -> Result<bool> {
    Ok(!matches!(Source::open(path)?.kind(), Kind::Unknown | Kind::Empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_of_a_root_goes_into_that_of_its_name_and_files_into_the_target() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let record = r#"{"bank_type":"op_bank","id":1,"info_dict":{},"knowledge":{}}"#;
        for bank in ["a/Ascend910B2/unified_bank/x.json", "a/Ascend310P3/unified_bank/x.json", "b/x.json"] {
            std::fs::create_dir_all(at(bank).parent().unwrap()).unwrap();
            std::fs::write(at(bank), format!("{record}\n")).unwrap();
        }
        std::fs::write(at("a/notes.json"), "[1]").unwrap();
        let into = at("into");
        let places = places(&[at("a"), at("b"), at("b/x.json")], &into, &[]).unwrap();
        let told: Vec<_> = places.iter().map(|place| (place.into.clone(), place.sources.clone())).collect();
        let soc = |soc: &str| (into.join(soc).join("unified_bank"), vec![at("a").join(soc).join("unified_bank")]);
        let own = (into.clone(), vec![at("b"), at("b/x.json")]);
        assert_eq!(told, [own, soc("Ascend310P3"), soc("Ascend910B2")]);
    }

    #[test]
    fn one_file_is_one_that_is_there_or_is_named_as_one() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::write(at("bank"), "").unwrap();
        std::fs::create_dir(at("directory.json")).unwrap();
        let told = ["bank", "directory.json", "new.json", "new", "new.jsonl"].map(|name| is_one_file(&at(name)));
        assert_eq!(told, [true, false, true, false, false]);
        assert!(is_same(&at("bank"), &at("./bank")) && !is_same(&at("bank"), &at("directory.json")));
        assert!(!is_same(&at("none"), &at("none")), "one that is not there is no other's");
    }

    #[test]
    fn a_built_in_bank_is_taken_where_the_target_lies_or_as_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let record = r#"{"bank_type":"op_bank","id":1,"info_dict":{},"knowledge":{}}"#;
        for bank in ["a/Ascend910B2/x.json", "a/x.json", "shipped/Ascend910B2/x.json", "other/x.json"] {
            std::fs::create_dir_all(at(bank).parent().unwrap()).unwrap();
            std::fs::write(at(bank), format!("{record}\n")).unwrap();
        }
        let built_in = [at("shipped"), at("other")];
        let found = places(&[at("a")], &at("into"), &built_in).unwrap();
        let told: Vec<_> = found.iter().map(|place| (place.into.clone(), place.built_in.clone())).collect();
        let below = vec![at("shipped/Ascend910B2"), at("other")];
        assert_eq!(told, [(at("into"), built_in.to_vec()), (at("into/Ascend910B2"), below)]);
        // All goes into one file.
        let found = places(&[at("a")], &at("into.json"), &[]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((&found[0].into, found[0].sources.len()), (&at("into.json"), 2));
    }
}
