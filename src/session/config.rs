//! Configuration files: `aoe.ini`, `tune_ops_file`, `aoe_config_file`.

use super::environment::Environment;
use super::options;
use crate::ini;
use crate::input_file::read_text;
use crate::json_text::without_comments;
use crate::status::{Error, Result};
use crate::tune::OpFilter;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What `aoe.ini` may set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AoeIni {
    /// `WORK_PATH`
    pub work_path: Option<PathBuf>,
    /// `TUNING_PARALLEL_NUM`, 1 to 64.
    pub tuning_parallel_num: Option<usize>,
    /// `RUN_LOOP`, 1 to 2048: runs averaged for one measurement on a device.
    pub run_loop: Option<u32>,
}

/// Finds and reads `aoe.ini`: the file named by the option, else the installed toolkit's
/// (`tools/aoe/conf` up to CANN 8.3, `conf` later). No file is no error, unless the option names it.
pub fn aoe_ini(option: Option<&Path>, environment: &Environment) -> Result<AoeIni> {
    if let Some(path) = option {
        return parse_ini(&read_text(path)?, path);
    }
    let homes = ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"].into_iter().filter_map(|v| environment.path(v));
    for home in homes {
        for place in ["tools/aoe/conf/aoe.ini", "conf/aoe.ini"] {
            let path = home.join(place);
            if path.is_file() {
                return parse_ini(&read_text(&path)?, &path);
            }
        }
    }
    Ok(AoeIni::default())
}

fn parse_ini(text: &str, path: &Path) -> Result<AoeIni> {
    let mut ini = AoeIni::default();
    for entry in ini::parse(text, path)?.into_iter().filter(|e| e.section.eq_ignore_ascii_case("COMMON")) {
        let value = entry.value.as_str();
        let number = |low: u64, high: u64| match value.parse::<u64>() {
            Ok(v) if (low..=high).contains(&v) => Ok(v),
            _ => Err(Error::Config {
                path: path.to_owned(),
                line: Some(entry.line),
                reason: format!("{} = `{value}` is not a whole number from {low} to {high}", entry.key),
            }),
        };
        match entry.key.as_str() {
            "WORK_PATH" if !value.is_empty() => ini.work_path = Some(value.into()),
            "TUNING_PARALLEL_NUM" => ini.tuning_parallel_num = Some(number(1, 64)? as usize),
            "RUN_LOOP" => ini.run_loop = Some(number(1, 2048)? as u32),
            // CANN's reader ignores other keys too; a later toolkit may add some.
            _ => {}
        }
    }
    Ok(ini)
}

/// `tune_ops_file` and `aoe_config_file`: which operators to tune and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the fields are those of CANN's file")]
pub struct TuneOps {
    /// Node names.
    #[serde(default)]
    pub tune_ops_name: Vec<String>,
    /// Operator types.
    #[serde(default)]
    pub tune_ops_type: Vec<String>,
    /// `O1` or `O2`; `aoe_config_file` only.
    #[serde(default)]
    pub tune_optimization_level: Option<String>,
    /// `deeper_opat`, `nonhomo_split`; `aoe_config_file` only.
    #[serde(default)]
    pub feature: Vec<String>,
}

impl TuneOps {
    /// Reads the JSON file. Fails with [`Error::Config`] naming file and line.
    pub fn read(path: &Path) -> Result<TuneOps> {
        let bad = |line, reason| Error::Config { path: path.to_owned(), line, reason };
        let text = without_comments(&read_text(path)?);
        let ops: TuneOps =
            serde_json::from_str(&text).map_err(|e| bad(Some(e.line()).filter(|&l| l > 0), e.to_string()))?;
        if let Some(level) = &ops.tune_optimization_level {
            let spec = options::find("tune_optimization_level");
            spec.map_or(Ok(()), |s| s.check(level)).map_err(|e| bad(None, e.to_string()))?;
        }
        if let Some(feature) = ops.feature.iter().find(|f| !matches!(f.as_str(), "deeper_opat" | "nonhomo_split")) {
            return Err(bad(None, format!("feature `{feature}` is neither deeper_opat nor nonhomo_split")));
        }
        Ok(ops)
    }

    /// The operators it selects.
    pub fn filter(&self) -> OpFilter {
        OpFilter { names: self.tune_ops_name.clone(), types: self.tune_ops_type.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aoe_ini_is_read_and_bad_numbers_name_their_line() {
        let text = "[COMMON]\nWORK_PATH=./w\nTUNING_PARALLEL_NUM=8\nRUN_LOOP=10\nLATER=1\n";
        let ini = parse_ini(text, Path::new("aoe.ini")).unwrap();
        assert_eq!(ini, AoeIni { work_path: Some("./w".into()), tuning_parallel_num: Some(8), run_loop: Some(10) });
        let error = parse_ini("[COMMON]\nRUN_LOOP=0\n", Path::new("aoe.ini")).unwrap_err().to_string();
        assert!(error.contains("aoe.ini:2") && error.contains("RUN_LOOP"), "{error}");
    }

    #[test]
    fn tune_ops_files_are_read_and_unknown_keys_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ops.json");
        std::fs::write(&path, r#"{"tune_ops_name":["a"],"tune_ops_type":["MatMul"]}"#).unwrap();
        assert!(TuneOps::read(&path).unwrap().filter().selects("x", &["MatMul"]));
        std::fs::write(&path, "// of the guide\n{\n# types\n\"tune_ops_type\":[\"MatMul\"], \"tune_ops_name\": 3}")
            .unwrap();
        let error = TuneOps::read(&path).unwrap_err().to_string();
        assert!(error.contains("ops.json:4"), "comments keep the numbers of lines: {error}");
        std::fs::write(&path, r#"{"tune_ops_names":["a"]}"#).unwrap();
        assert!(TuneOps::read(&path).unwrap_err().to_string().contains("tune_ops_names"));
        for path in [dir.path(), Path::new("/dev/zero")] {
            assert!(matches!(TuneOps::read(path), Err(Error::File { .. })), "{}", path.display());
        }
    }
}
