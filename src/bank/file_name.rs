//! What the name of an operator's bank file says.

use super::form::Form;
use super::names::LONGEST_OP_TYPE;
use super::unified::Operator;
use crate::status::{Error, Result};
use std::path::{Path, PathBuf};

/// A name taken apart: `<SoC>_<cores>_AiCore_<operator>_<form>.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The SoC as the name spells it.
    pub soc: String,
    /// AI Cores that were tuned for.
    pub cores: u32,
    /// The operator type; `None` where the name holds only its beginning, see [`Form::file_name`].
    pub op_type: Option<String>,
    /// Whose form the records have.
    pub form: Form,
}

impl FileName {
    /// What the name of a file says; [`Error::Bank`] where that is nothing.
    pub fn of(path: &Path) -> Result<FileName> {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
        let expected = "<SoC>_<cores>_AiCore_<operator>_runtime_kb.json, or _aoe_kb.json, is expected";
        name.ok_or_else(|| refused(path, format!("the name does not say what it holds: {expected}")))
    }

    /// Takes a file name apart; `None` for one that is built otherwise.
    pub fn parse(name: &str) -> Option<FileName> {
        let (front, back) = name.split_once("_AiCore_")?;
        let (soc, cores) = front.rsplit_once('_')?;
        let (op, is_ours) = match (back.strip_suffix("_runtime_kb.json"), back.strip_suffix("_aoe_kb.json")) {
            (Some(op), _) => (op, false),
            (None, Some(op)) => (op, true),
            (None, None) => return None,
        };
        if soc.is_empty() || op.is_empty() {
            return None;
        }
        let (cores, op_type) = (cores.parse().ok()?, operator_type(op));
        let form = if is_ours { Form::Canonical } else { Form::runtime(op_type.as_deref().unwrap_or_default()) };
        Some(FileName { soc: soc.to_owned(), cores, op_type, form })
    }
}

impl FileName {
    /// Takes the name of a unified bank apart, `<SoC>_<cores>_AiCore_<operator>.json`, for an operator that asks it;
    /// `None` for any other.
    pub fn of_unified(path: &Path) -> Option<FileName> {
        let (front, back) = path.file_name()?.to_str()?.split_once("_AiCore_")?;
        let (soc, cores) = front.rsplit_once('_')?;
        let operator = Operator::find(back.strip_suffix(".json")?)?;
        let op_type = Some(operator.op_type().to_owned());
        (!soc.is_empty()).then_some(())?;
        Some(FileName { soc: soc.to_owned(), cores: cores.parse().ok()?, op_type, form: Form::Unified(operator) })
    }
}

/// The unified banks in a directory, in order of the names; none for a path that is no directory.
pub fn unified_files(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |e| Error::directory("read", directory, e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if FileName::of_unified(&path).is_some() && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The bank files that paths name: themselves, or what lies in a directory, in order of the names. Fails for a path
/// that does not exist.
pub fn bank_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        let data = std::fs::metadata(path).map_err(|e| Error::file("read", path, e))?;
        if !data.is_dir() {
            found.push(path.clone());
            continue;
        }
        let failed = |e| Error::directory("read", path, e);
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if FileName::of(&path).is_ok() && path.is_file() {
                inside.push(path);
            }
        }
        inside.sort();
        found.extend(inside);
    }
    Ok(found)
}

/// The error for a bank file that cannot be used.
pub fn refused(path: &Path, reason: String) -> Error {
    Error::Bank { path: path.to_owned(), line: None, reason }
}

/// Undoes what [`Form::file_name`] does to characters that a name should not hold. `None` for a name that was
/// cut, which ends in a digest.
fn operator_type(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'-' {
            bytes.push(byte);
            continue;
        }
        let mut nibble = || char::from(rest.next()?).to_digit(16);
        let code = nibble()? * 16 + nibble()?;
        bytes.push(u8::try_from(code).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|_| name.len() <= LONGEST_OP_TYPE)
}

#[cfg(test)]
mod tests {
    use super::{FileName, Form};
    use crate::soc::Soc;
    use proptest::prelude::*;

    #[test]
    fn cann_names_are_read() {
        let name = FileName::parse("Ascend910_9392_20_AiCore_MatMulV3_runtime_kb.json").unwrap();
        let op_type = Some("MatMulV3".to_owned());
        assert_eq!(
            name,
            FileName { soc: "Ascend910_9392".into(), cores: 20, op_type, form: Form::runtime("MatMulV3") }
        );
        for other in ["mine.json", "_20_AiCore_A_runtime_kb.json", "A_x_AiCore_B_runtime_kb.json", "A_1_AiCore_B.json"]
        {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_written_name_says_what_it_was_written_for(op in "[ -~]{1,30}|\\PC{1,40}") {
            let soc = Soc::find("Ascend910B2").unwrap();
            let name = FileName::parse(&Form::Canonical.file_name(&op, &soc)).unwrap();
            prop_assert_eq!(&name.soc, "Ascend910B2");
            prop_assert_eq!(name.cores, 24);
            prop_assert!(name.op_type.is_none_or(|found| found == op));
        }
    }
}
