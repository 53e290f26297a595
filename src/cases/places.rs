//! Where a case says that each of its operands lies: a list in `cache`, or `a_cache` and `b_cache` of a product.

use super::{Case, cache, wrong};
use crate::sim::{Cache, Places};
use crate::status::Result;

impl Case {
    /// Where the inputs lie; `None` where the case does not say it of each.
    pub(crate) fn places(&self) -> Result<Option<Places>> {
        let one = |field: &str, text: &Option<String>| text.as_deref().map(|text| cache::word(field, text)).transpose();
        let (a, b) = (one("a_cache", &self.a_cache)?, one("b_cache", &self.b_cache)?);
        let each = a.is_some() || b.is_some();
        if self.missed_bytes.is_some() && (self.cache.is_some() || each) {
            return Err(wrong("`cache` and `missed_bytes` both say where operands lie; give one of them"));
        }
        match &self.cache {
            Some(_) if each => {
                Err(wrong("`cache` and `a_cache` or `b_cache` both say where operands lie; give one of them"))
            }
            Some(words) => words.each(),
            None => Ok(each.then(|| Places::new(vec![a.unwrap_or(Cache::Warm), b.unwrap_or(Cache::Warm)]))),
        }
    }
}
