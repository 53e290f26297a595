//! Keys of a unified bank whose fields stand in another order than the one asked for.

use crate::bank::unified::Value;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The keys of an operator's layers, to be found by their fields. Few ask so: what that takes is made when the first one
/// does, and opening a bank costs nothing for it.
#[derive(Debug, Default)]
pub struct ByFields {
    /// The text of each key, the first layer's before the others'.
    keys: Vec<String>,
    /// Of each text with its fields sorted, where in `keys` the first is that has these fields.
    sorted: OnceLock<FxHashMap<String, usize>>,
}

impl ByFields {
    /// What holds these keys.
    pub fn new(keys: Vec<String>) -> ByFields {
        ByFields { keys, sorted: OnceLock::new() }
    }

    /// Adds the keys of the next layer.
    pub fn add(&mut self, below: ByFields) {
        self.keys.extend(below.keys);
        self.sorted = OnceLock::new();
    }

    /// The first key with these fields, given as their text in sorted order.
    pub fn get(&self, sorted: &str) -> Option<&str> {
        let place = self.sorted.get_or_init(|| sort(&self.keys)).get(sorted)?;
        self.keys.get(*place).map(String::as_str)
    }

    /// Bytes of the texts.
    pub fn memory(&self) -> usize {
        let sorted = self.sorted.get().into_iter().flatten();
        self.keys.iter().chain(sorted.map(|(text, _)| text)).map(String::len).sum()
    }
}

fn sort(keys: &[String]) -> FxHashMap<String, usize> {
    let mut places = FxHashMap::default();
    for (place, key) in keys.iter().enumerate() {
        // Of a number beyond all bounds Python writes what is no JSON: such a key is found as it stands only.
        if let Ok(info) = Value::parse(key) {
            places.entry(info.sorted().dumps()).or_insert(place);
        }
    }
    places
}
