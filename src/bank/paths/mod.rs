//! Where the banks lie: the environment's answers and the options', in the order of whoever asks.
//!
//! `docs/banks.md` has the orders as a table. `toolkit` knows where CANN's own banks lie, which are only read.

mod toolkit;

#[cfg(test)]
mod tests;

pub use toolkit::Toolkit;

use super::names;
use super::storage::not_opened;
use super::transaction::OWN_DIRECTORY;
use super::trials::TRIALS;
use crate::soc::Soc;
use crate::status::{Error, Result};
use rustix::fs::Access;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// The environment variables that place a bank. The caller reads them; an empty value counts as unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BankEnvironment {
    /// `TUNE_BANK_PATH`: a directory that exists and may be read, written and searched.
    pub tune_bank_path: Option<PathBuf>,
    /// Option `ge.op_bank_path`: a directory, created when needed.
    pub op_bank_path: Option<PathBuf>,
    /// `ASCEND_CACHE_PATH`: a directory, created when needed.
    pub ascend_cache_path: Option<PathBuf>,
    /// `HOME`: the default bank lies below it.
    pub home: Option<PathBuf>,
    /// The CANN that is installed: one up to 8.3 has its default bank elsewhere ([`Toolkit::is_older`]).
    pub toolkit: Toolkit,
}

/// Who asks where a bank lies; the orders differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reader {
    /// AOE itself, which reads and writes.
    Tuner,
    /// The graph compiler, which reads. As documented it does not look at `ASCEND_CACHE_PATH`.
    Compiler,
}

/// Directories of one bank of one SoC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankPaths {
    /// Where records are read first and written.
    pub custom: PathBuf,
    /// Where records are looked for next, in order; never written.
    pub also_read: Vec<PathBuf>,
}

/// Where the default banks lie below `HOME`: of this year's CANN, and of those up to 8.3.
const DEFAULTS: [&str; 2] = ["Ascend/cann/data/aoe/custom", "Ascend/latest/data/aoe/custom"];

impl BankPaths {
    /// The operator bank that AOE reads and writes: `TUNE_BANK_PATH`, else `ge.op_bank_path`, else
    /// `aoe_data` in `ASCEND_CACHE_PATH`, else the default below `HOME`; in each of them `<soc>/unified_bank`. The first
    /// that is set decides. The default is that of the CANN that is installed; that of the other is read as well.
    ///
    /// Fails with [`Error::Environment`] when `TUNE_BANK_PATH` is not usable, as AOE does, or when
    /// nothing is set.
    pub fn operator(environment: &BankEnvironment, soc: &Soc) -> Result<BankPaths> {
        Self::operator_for(Reader::Tuner, environment, soc)
    }

    /// [`BankPaths::operator`], or what the graph compiler reads in its place.
    pub fn operator_for(reader: Reader, environment: &BankEnvironment, soc: &Soc) -> Result<BankPaths> {
        let soc = names::soc_name(soc);
        let below = |root: &Path| root.join(&soc).join("unified_bank");
        if let Some(root) = environment.tune_bank_path()? {
            return Ok(BankPaths::only(below(&root)));
        }
        if let Some(root) = set(environment.op_bank_path.as_deref()) {
            return Ok(BankPaths::only(below(&absolute(root)?)));
        }
        if let Some(root) = environment.cache_path(reader)? {
            let earlier = below(&root);
            let paths = BankPaths { custom: below(&root.join("aoe_data")), also_read: vec![earlier.clone()] };
            // Where an earlier libaoe wrote; CANN never looks there.
            if is_bank(&earlier) {
                let (place, here) = (earlier.display(), paths.custom.display());
                log::warn!(
                    "{place} holds records of an earlier libaoe: searches begin with them, but CANN looks in {here} \
                     only; `aoe bank merge` brings them there"
                );
            }
            return Ok(paths);
        }
        let [this, older] = environment.defaults("op")?;
        let mut places = vec![below(&this), below(&older), older.join(&soc)];
        if environment.toolkit.is_older() {
            places.reverse();
        }
        Ok(BankPaths { custom: places.remove(0), also_read: places })
    }

    /// The subgraph bank: option `ge.mdl_bank_path`, else `TUNE_BANK_PATH`, else `ASCEND_CACHE_PATH`, else the
    /// default below `HOME`. For subgraphs the option beats the variable. Fails as [`BankPaths::operator`] does.
    pub fn subgraph(
        reader: Reader,
        environment: &BankEnvironment,
        mdl_bank_path: Option<&Path>,
        soc: &Soc,
    ) -> Result<BankPaths> {
        if let Some(root) = set(mdl_bank_path) {
            return Ok(BankPaths::only(absolute(root)?));
        }
        if let Some(root) = environment.tune_bank_path()? {
            return Ok(BankPaths::only(root));
        }
        if let Some(root) = environment.cache_path(reader)? {
            return Ok(BankPaths { custom: root.join("aoe_data"), also_read: vec![root] });
        }
        environment.default_graph_bank(soc)
    }

    /// The gradient bank: `TUNE_BANK_PATH`, else the default below `HOME`. Fails as [`BankPaths::operator`] does.
    pub fn gradient(environment: &BankEnvironment, soc: &Soc) -> Result<BankPaths> {
        match environment.tune_bank_path()? {
            Some(root) => Ok(BankPaths::only(root)),
            None => environment.default_graph_bank(soc),
        }
    }

    /// The operator bank below a directory that `TUNE_BANK_PATH` may name.
    pub fn operator_below(root: &Path, soc: &Soc) -> BankPaths {
        BankPaths::only(root.join(names::soc_name(soc)).join("unified_bank"))
    }

    /// The bank of subgraphs or of gradients in a directory that `TUNE_BANK_PATH` may name.
    pub fn graphs_in(root: &Path) -> BankPaths {
        BankPaths::only(root.to_owned())
    }

    /// Whether CANN's operators read a file of this bank too. They do not look where an earlier libaoe wrote below
    /// `ASCEND_CACHE_PATH`.
    pub fn is_read_by_cann(&self, file: &Path) -> bool {
        let cache = self.custom.parent().and_then(Path::parent).filter(|root| root.ends_with("aoe_data"));
        let below = self.custom.parent().and_then(Path::file_name).zip(self.custom.file_name());
        let earlier = cache.and_then(Path::parent).zip(below).map(|(root, (soc, bank))| root.join(soc).join(bank));
        earlier.is_none_or(|earlier| file.parent() != Some(&earlier))
    }

    /// These directories, and below them those of another bank, which are only read.
    #[must_use]
    pub fn before(mut self, other: BankPaths) -> BankPaths {
        let others = std::iter::once(other.custom).chain(other.also_read);
        self.also_read.extend(others);
        self
    }

    /// These directories, and below them those of CANN's own bank which exist.
    #[must_use]
    pub fn over(mut self, built_in: impl IntoIterator<Item = PathBuf>) -> BankPaths {
        self.also_read.extend(built_in.into_iter().filter(|directory| directory.is_dir()));
        self
    }

    /// Whether records are written where CANN looks by itself, for a user of the same `HOME`.
    pub fn is_default(&self) -> bool {
        DEFAULTS.iter().any(|below| self.custom.ancestors().any(|directory| directory.ends_with(below)))
    }

    fn only(custom: PathBuf) -> BankPaths {
        BankPaths { custom, also_read: Vec::new() }
    }
}

impl BankEnvironment {
    fn tune_bank_path(&self) -> Result<Option<PathBuf>> {
        let Some(root) = set(self.tune_bank_path.as_deref()) else { return Ok(None) };
        check_bank_path(root)?;
        absolute(root).map(Some)
    }

    fn cache_path(&self, reader: Reader) -> Result<Option<PathBuf>> {
        set(self.ascend_cache_path.as_deref()).filter(|_| reader == Reader::Tuner).map(absolute).transpose()
    }

    fn defaults(&self, kind: &str) -> Result<[PathBuf; 2]> {
        let home = set(self.home.as_deref()).ok_or_else(|| Error::Environment {
            name: "HOME".into(),
            reason: "is not set, so there is no default bank; set TUNE_BANK_PATH to an existing directory".into(),
        })?;
        let home = absolute(home)?;
        Ok(DEFAULTS.map(|below| home.join(below).join(kind)))
    }

    /// Graphs have their default bank where it was up to 8.3: no newer place is documented.
    fn default_graph_bank(&self, soc: &Soc) -> Result<BankPaths> {
        let [newer, known] = self.defaults("graph")?.map(|root| root.join(names::soc_name(soc)));
        Ok(BankPaths { custom: known, also_read: vec![newer] })
    }

    /// What keeps CANN's operators from using the bank files that lie in `paths`: they open each for reading
    /// and writing, though they only read. The texts name the file and hold CANN's error id.
    pub fn hindrances(&self, paths: &BankPaths) -> Vec<String> {
        let is_set = |path: &Option<PathBuf>| set(path.as_deref()).is_some();
        let what_then = if is_set(&self.tune_bank_path) || is_set(&self.ascend_cache_path) {
            "CANN then uses no bank at all for this operator, not even its own"
        } else {
            "CANN then ignores the file"
        };
        let mut files: Vec<_> = std::fs::read_dir(&paths.custom)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().ends_with("_runtime_kb.json"))
            .collect();
        files.sort_unstable();
        let text = |path: PathBuf| {
            let error = OpenOptions::new().read(true).write(true).open(&path).err()?;
            Some(format!("bank {}: {}; {what_then}", path.display(), not_opened(&error)))
        };
        files.into_iter().filter_map(text).collect()
    }
}

impl BankPaths {
    /// The bank of operators of a SoC that a directory holds or is: `unified_bank`, `<soc>/unified_bank` or
    /// `aoe_data/<soc>/unified_bank` in it, else the directory itself. `None` where there are neither bank files nor trials.
    pub fn found_in(directory: &Path, soc: &Soc) -> Option<BankPaths> {
        let of_soc = Path::new(&names::soc_name(soc)).join("unified_bank");
        let inside = ["unified_bank".into(), of_soc.clone(), Path::new("aoe_data").join(of_soc)];
        let inside = inside.map(|place: PathBuf| directory.join(place));
        let places = inside.into_iter().chain([directory.to_owned()]);
        let custom = places.into_iter().find(|place| is_bank(place))?;
        Some(BankPaths { custom, also_read: Vec::new() })
    }
}

/// Whether a directory holds banks of operators, or trials of theirs. Other banks leave files of ours beside them, too.
fn is_bank(directory: &Path) -> bool {
    let has = |directory: &Path, is_one: &dyn Fn(&str) -> bool| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| is_one(&entry.file_name().to_string_lossy()))
    };
    let is_json = |name: &str| Path::new(name).extension().is_some_and(|extension| extension == "json");
    has(directory, &|name| name.ends_with("_kb.json") || name.contains("_AiCore_") && is_json(name))
        || has(&directory.join(OWN_DIRECTORY), &|name| name.ends_with(TRIALS))
}

fn set(path: Option<&Path>) -> Option<&Path> {
    path.filter(|p| !p.as_os_str().is_empty())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::directory("resolve", path, e))
}

/// `TUNE_BANK_PATH` must be a directory with all three permissions for this user.
fn check_bank_path(path: &Path) -> Result<()> {
    let wrong = |reason: String| Error::Environment {
        name: "TUNE_BANK_PATH".into(),
        reason: format!("`{}` {reason}", path.display()),
    };
    match std::fs::metadata(path) {
        Err(e) => return Err(wrong(format!("cannot be used: {e}"))),
        Ok(data) if !data.is_dir() => return Err(wrong("is not a directory".into())),
        Ok(_) => {}
    }
    for (access, name) in [(Access::READ_OK, "read"), (Access::WRITE_OK, "write"), (Access::EXEC_OK, "search")] {
        rustix::fs::access(path, access).map_err(|e| wrong(format!("gives no {name} permission: {e}")))?;
    }
    Ok(())
}
