//! Which calibration corrects predicted times: that of the option, of the environment, or one that lies beside the bank.

use super::environment::Environment;
use crate::bank::BankPaths;
use crate::sim::calibration::{BESIDE_BANK, Source};
use crate::status::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// The variable that names a calibration where no option does.
const VARIABLE: &str = "AOE_CALIBRATION";

/// The calibration that option `calibration` or the environment names, else the one beside the bank of the part, where
/// that is there; `op_bank_path` is the option that may say where the bank lies.
///
/// Fails as [`Source::named`] does.
pub fn source(option: Option<&str>, environment: &Environment, op_bank_path: Option<PathBuf>) -> Result<Source> {
    let option = option.filter(|file| !file.is_empty()).map(|file| environment.current_dir.join(file));
    if let Some(file) = option.or_else(|| environment.path(VARIABLE)) {
        return Source::named(file);
    }
    let places = environment.bank_places(op_bank_path);
    Ok(Source::Beside(Arc::new(move |soc| {
        // Where no bank can lie, none has a calibration beside it.
        let bank = BankPaths::operator(&places, soc).ok()?.custom;
        Some(bank.parent()?.join(BESIDE_BANK))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::calibration::{Calibration, Correction, Group, Learned, VERSION};
    use crate::soc::Soc;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// A calibration of the default part by which cube kernels take twice their time.
    fn write(path: &Path) {
        let correction = Some(Correction { factor: 2.0, constant_us: 0.0, weight: 1.0, from_us: 0.0 });
        let learned = Learned {
            problems: 9,
            rows: 9,
            error_before: 0.5,
            error_after: Some(0.1),
            model_us: [1.0, 2.0],
            correction,
            refused: None,
        };
        let calibration = Calibration {
            version: VERSION,
            date: "2026-01-02".into(),
            part: "Ascend910B2".into(),
            cores: 24,
            cann_version: None,
            profiles: vec!["own.csv".into()],
            rows: [9, 0],
            good_for: "cube kernels".into(),
            error_before: 0.5,
            error_after: 0.1,
            doubts: Vec::new(),
            classes: BTreeMap::from([(Group::Cube, learned)]),
            known: None,
            types: None,
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, serde_json::to_string(&calibration).unwrap()).unwrap();
    }

    fn corrected(source: &Source, soc: &str) -> Result<Option<PathBuf>> {
        let mut soc = Soc::find(soc).unwrap();
        source.correct(&mut soc)?;
        Ok(soc.corrections.map(|corrections| corrections.file.clone()))
    }

    #[test]
    fn a_calibration_beside_the_bank_counts_for_its_part_where_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let environment = Environment::from_variables(&[("TUNE_BANK_PATH", root)], root);
        let beside = folder.path().join("Ascend910B2/calibration.json");
        assert_eq!(corrected(&source(None, &environment, None).unwrap(), "Ascend910B2").unwrap(), None);
        write(&beside);
        write(&folder.path().join("Ascend310P3/calibration.json"));
        let found = source(None, &environment, None).unwrap();
        assert_eq!(corrected(&found, "Ascend910B2").unwrap(), Some(beside.clone()));
        assert_eq!(corrected(&found, "Ascend310P3").unwrap(), None, "it is of another part");
        write(&folder.path().join("own.json"));
        let named = source(Some("own.json"), &environment, None).unwrap();
        assert_eq!(corrected(&named, "Ascend910B2").unwrap(), Some(folder.path().join("own.json")));
        assert!(corrected(&named, "Ascend310P3").unwrap_err().to_string().contains("Ascend310P3"));
        std::fs::write(&beside, "{").unwrap();
        assert!(corrected(&found, "Ascend910B2").unwrap_err().to_string().contains("calibration.json"));
    }
}
