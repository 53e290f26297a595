//! The part (SoC and number of cores) that a bank's records are for.

use crate::soc::Soc;
use crate::status::Result;
use std::collections::BTreeMap;

/// A part as bank files name it: `Ascend910B2_24`. The number counts the AI Cores that were tuned for, which
/// may be others than the SoC has by its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// CANN's `soc_version`.
    pub soc: String,
    /// AI Cores.
    pub cores: u32,
}

impl Part {
    /// Reads `Ascend910B2_24`.
    pub fn parse(text: &str) -> Option<Part> {
        let (soc, cores) = text.rsplit_once('_')?;
        let cores = cores.parse().ok().filter(|&cores| cores > 0)?;
        (!soc.is_empty()).then(|| Part { soc: soc.to_owned(), cores })
    }

    /// The SoC with so many cores. Fails with [`crate::status::Error::UnknownSoc`].
    pub fn soc(&self) -> Result<Soc> {
        let mut soc = Soc::find(&self.soc)?;
        if self.cores <= soc.ai_core_cnt {
            soc.limit_cores(self.cores)?;
        } else {
            soc.vector_core_cnt = soc.vector_core_cnt / soc.ai_core_cnt * self.cores;
            soc.ai_core_cnt = self.cores;
        }
        Ok(soc)
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.soc, self.cores)
    }
}

/// The SoC for each record: the one that was asked for, else the record's own.
#[derive(Debug, Default)]
pub struct Socs {
    fixed: Option<Soc>,
    by_part: BTreeMap<Part, Result<Soc, String>>,
}

impl Socs {
    /// One SoC for every record, where one is given.
    pub fn new(fixed: Option<Soc>) -> Socs {
        Socs { fixed, by_part: BTreeMap::new() }
    }

    /// The SoC of a record; or why there is none.
    pub fn of(&mut self, part: Option<&Part>) -> Result<&Soc, &str> {
        if let Some(soc) = &self.fixed {
            return Ok(soc);
        }
        let part = part.ok_or("neither an option nor the file's name says which SoC it is for")?;
        if !self.by_part.contains_key(part) {
            self.by_part.insert(part.clone(), part.soc().map_err(|e| e.to_string()));
        }
        self.by_part[part].as_ref().map_err(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_soc_and_a_number_of_cores() {
        let part = Part::parse("Ascend910_9392_24").unwrap();
        assert_eq!(
            (part.soc.as_str(), part.cores, part.to_string().as_str()),
            ("Ascend910_9392", 24, "Ascend910_9392_24")
        );
        for text in ["Ascend910B2", "_24", "A_0", "A_x", ""] {
            assert_eq!(Part::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_part_may_have_fewer_or_more_cores_than_its_soc() {
        for cores in [20, 24, 25] {
            let soc = Part { soc: "ascend910b2".into(), cores }.soc().unwrap();
            assert_eq!((soc.ai_core_cnt, soc.vector_core_cnt), (cores, 2 * cores));
        }
        let error = Part { soc: "Ascend910B9".into(), cores: 24 }.soc().unwrap_err();
        assert!(error.to_string().contains("Ascend910B4"), "{error}");
    }

    #[test]
    fn the_soc_that_was_asked_for_wins() {
        let part = Part { soc: "Ascend310P3".into(), cores: 8 };
        let mut own = Socs::new(None);
        assert_eq!(own.of(Some(&part)).unwrap().name, "Ascend310P3");
        assert!(own.of(None).is_err());
        let mut fixed = Socs::new(Some(Soc::find("Ascend910B4").unwrap()));
        assert_eq!(fixed.of(Some(&part)).unwrap().name, "Ascend910B4");
    }
}
