//! Which SoC each case is for.

use crate::sim::calibration::Source;
use crate::soc::Soc;
use crate::status::Result;
use std::collections::BTreeMap;

/// SoC of a case that names none, where no option does either.
const DEFAULT_SOC: &str = "Ascend910B2";

/// The SoC of the options, or else of each case.
///
/// An option `soc_version` decides for every case, whatever the cases say: asking how kernels of one part
/// would run on another is what it is for.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    fixed: Option<Soc>,
    changes: Vec<(String, String)>,
    cores: Option<u32>,
    /// Those that cases named, by the name as written; at most one for each built-in SoC and spelling kept.
    named: BTreeMap<String, Soc>,
    calibration: Source,
}

impl Parts {
    /// Most spellings kept; a file with more is read at the price of looking each up again.
    const KEPT: usize = 256;

    /// The parts for options `soc_version`, `soc_set` and `aicore_num`.
    ///
    /// Fails as [`Soc::named`], [`Soc::set`] and [`Soc::limit_cores`] do. Changes are tried on the default
    /// SoC where no other is fixed, so that a wrong one fails here and not once for each case.
    pub fn new(version: Option<&str>, changes: Vec<(String, String)>, cores: Option<u32>) -> Result<Parts> {
        let parts = Parts { fixed: None, changes, cores, named: BTreeMap::new(), calibration: Source::None };
        let fixed = version.map(Soc::named).transpose()?.map(|soc| parts.changed(soc)).transpose()?;
        if fixed.is_none() {
            let mut soc = Soc::find(DEFAULT_SOC)?;
            parts.changes.iter().try_for_each(|(field, value)| soc.set(field, value))?;
        }
        Ok(Parts { fixed, ..parts })
    }

    /// One SoC for every case, as it is.
    pub fn only(soc: Soc) -> Parts {
        Parts { fixed: Some(soc), ..Parts::default() }
    }

    /// The same with times corrected by this calibration. Fails as [`Source::correct`] does, where one part is fixed.
    pub fn calibrated(mut self, calibration: Source) -> Result<Parts> {
        self.fixed.as_mut().map_or(Ok(()), |soc| calibration.correct(soc))?;
        self.calibration = calibration;
        Ok(self)
    }

    /// The SoC for every case, where an option fixes one.
    pub fn fixed(&self) -> Option<&Soc> {
        self.fixed.as_ref()
    }

    /// The SoC of a case that names `own`, and what an answer has to say of it.
    pub(crate) fn of(&mut self, own: Option<&str>) -> Result<(&Soc, Option<&'static str>)> {
        if self.fixed.is_none() {
            let name = own.unwrap_or(DEFAULT_SOC);
            if !self.named.contains_key(name) {
                let mut soc = self.changed(Soc::find(name)?)?;
                self.calibration.correct(&mut soc)?;
                if self.named.len() >= Parts::KEPT {
                    self.named.clear();
                }
                self.named.insert(name.to_owned(), soc);
            }
        }
        let soc = self.fixed.as_ref().unwrap_or_else(|| &self.named[own.unwrap_or(DEFAULT_SOC)]);
        let note = match (&self.fixed, own) {
            (None, None) => Some("neither soc_version nor the case names a SoC: Ascend910B2 is taken"),
            (Some(_), Some(own)) if Soc::find(own).is_err() => {
                Some("the case's `soc` is none that is known; soc_version decides")
            }
            _ => None,
        };
        Ok((soc, note))
    }

    fn changed(&self, mut soc: Soc) -> Result<Soc> {
        self.changes.iter().try_for_each(|(field, value)| soc.set(field, value))?;
        self.cores.map_or(Ok(()), |cores| soc.limit_cores(cores))?;
        Ok(soc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_decides_then_the_case_then_the_default_which_is_said() {
        let mut open = Parts::new(None, vec![("l2_rate".into(), "50".into())], Some(10)).unwrap();
        let (soc, note) = open.of(Some("ascend910b4")).unwrap();
        assert_eq!((soc.name.as_str(), soc.ai_core_cnt, note), ("Ascend910B4", 10, None));
        assert!((soc.l2_rate - 50.0).abs() < 1e-12);
        let (soc, note) = open.of(None).unwrap();
        assert!(soc.name == DEFAULT_SOC && note.unwrap().contains(DEFAULT_SOC));
        let mut fixed = Parts::new(Some("Ascend310P3"), vec![], None).unwrap();
        let (soc, note) = fixed.of(Some("no such part")).unwrap();
        assert!(soc.name == "Ascend310P3" && note.unwrap().contains("none that is known"));
        assert_eq!(fixed.of(Some("Ascend910B4")).unwrap().1, None);
    }

    #[test]
    fn what_options_cannot_be_fails_before_any_case() {
        for (version, change) in [(Some("Ascend910B9"), None), (None, Some(("cube_freq", "1"))), (Some("x.json"), None)]
        {
            let changes = change.map(|(k, v): (&str, &str)| (k.to_owned(), v.to_owned())).into_iter().collect();
            assert!(Parts::new(version, changes, None).is_err(), "{version:?} {change:?}");
        }
        assert!(Parts::new(Some("Ascend910B2"), vec![], Some(25)).is_err());
    }
}
