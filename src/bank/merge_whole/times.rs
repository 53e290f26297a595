//! What side files say of the records of unified banks while these are merged.

use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::bank::side::{Side, Verdict};
use crate::bank::standing::Standing;
use crate::bank::unified::{Element, Operator};
use serde_json::Map;

/// The measurements of all banks that are merged, of each record the best.
#[derive(Debug, Default)]
pub struct Times {
    /// Whose bank it is; `None` where its name does not say it, and there is no side file.
    pub operator: Option<Operator>,
    /// What all side files say.
    pub side: Side,
    /// Digest of the part's description as it is today, where the part is known.
    pub soc_fields: Option<u64>,
}

impl Times {
    /// What an element says.
    pub fn knowledge(&self, element: Element<'_>) -> Knowledge {
        let text = element.knowledge().dumps();
        match self.operator {
            Some(operator) => Knowledge::Unified(operator, text),
            None => Knowledge::Opaque(Map::from_iter([("text".to_owned(), text.into())])),
        }
    }

    /// How an element that says this stands beside others.
    pub fn standing<'a>(&'a self, element: Element<'_>, knowledge: &'a Knowledge) -> Standing<'a> {
        let key = || Key::new(element.info_dict().dumps().into_bytes());
        let measurement = match (!self.side.is_empty()).then(|| self.side.verdict(&key(), knowledge)) {
            Some(Verdict::Vouched(measurement)) => Some(measurement),
            _ => None,
        };
        Standing { measurement, stated_us: element.cost_us(), knowledge, soc_fields: self.soc_fields }
    }
}
