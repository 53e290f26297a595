//! Where the operator bank lies: the environment's three answers, in AOE's order.

use super::form;
use crate::soc::Soc;
use crate::status::{Error, Result};
use rustix::fs::Access;
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
}

/// Directories of the operator bank of one SoC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankPaths {
    /// Where records are read first and written.
    pub custom: PathBuf,
    /// Where records are looked for next, in order; never written.
    pub also_read: Vec<PathBuf>,
}

impl BankPaths {
    /// The operator bank that AOE reads and writes: `TUNE_BANK_PATH`, else `ge.op_bank_path`, else
    /// `ASCEND_CACHE_PATH`, else the default below `HOME`; in each of them `<soc>/unified_bank`. The first that is set decides.
    ///
    /// Fails with [`Error::Environment`] when `TUNE_BANK_PATH` is not usable, as AOE does, or when
    /// nothing is set.
    pub fn operator(environment: &BankEnvironment, soc: &Soc) -> Result<BankPaths> {
        let below = |root: &Path| root.join(form::soc_name(soc)).join("unified_bank");
        if let Some(root) = set(environment.tune_bank_path.as_ref()) {
            check_bank_path(root)?;
            return Ok(BankPaths { custom: below(&absolute(root)?), also_read: Vec::new() });
        }
        if let Some(root) = set(environment.op_bank_path.as_ref()) {
            return Ok(BankPaths { custom: below(&absolute(root)?), also_read: Vec::new() });
        }
        if let Some(root) = set(environment.ascend_cache_path.as_ref()) {
            let root = absolute(root)?;
            // CANN's bank reader looks beside `aoe_data`, CANN's documents name the directory itself.
            return Ok(BankPaths { custom: below(&root), also_read: vec![below(&root.join("aoe_data"))] });
        }
        let home = set(environment.home.as_ref()).ok_or_else(|| Error::Environment {
            name: "HOME".into(),
            reason: "is not set, so there is no default bank; set TUNE_BANK_PATH to an existing directory".into(),
        })?;
        let root = absolute(home)?.join("Ascend/cann/data/aoe/custom/op");
        Ok(BankPaths { custom: below(&root), also_read: Vec::new() })
    }
}

fn set(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path).filter(|p| !p.as_os_str().is_empty())
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
