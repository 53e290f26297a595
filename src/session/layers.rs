//! The layers of options, of which the nearer wins.

use super::options::{self, Kind, OptionMap};

/// Options by layer, the nearest first.
pub(super) struct Layers<'a> {
    pub(super) layers: [&'a OptionMap; 2],
}

impl<'a> Layers<'a> {
    /// The value that counts. An empty one is not set, and hides none: clients send such for all that they leave open.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.layers.iter().filter_map(|layer| layer.get(key)).map(String::as_str).find(|value| !value.is_empty())
    }

    /// Whether an option asks for something: a flag may do so by being there.
    pub(super) fn is_set(&self, key: &str) -> bool {
        let is_flag = options::find(key).is_some_and(|spec| spec.kind == Kind::Flag);
        if is_flag { self.flag(key) } else { self.get(key).is_some() }
    }

    /// One map with the value that counts for each key.
    pub(super) fn merged(&self) -> OptionMap {
        let keys = self.layers.iter().flat_map(|layer| layer.keys());
        keys.filter_map(|key| Some((key.clone(), self.get(key)?.to_owned()))).collect()
    }

    /// A whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        // The form was checked when the option was given.
        self.get(key).and_then(|v| v.parse().ok())
    }

    /// A flag is set when its key is there and does not say no: CANN's flags take no value.
    pub(super) fn flag(&self, key: &str) -> bool {
        let value = self.layers.iter().find_map(|layer| layer.get(key));
        value.is_some_and(|v| options::flag(v).unwrap_or(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_leaves_open_is_as_it_was_initialised() {
        let map = |value: &str| OptionMap::from([("ge.aoe_config_file".to_owned(), value.to_owned())]);
        for (call, global, counts) in
            [("", "g", Some("g")), ("c", "g", Some("c")), ("c", "", Some("c")), ("", "", None)]
        {
            let (call, global) = (map(call), map(global));
            let layers = Layers { layers: [&call, &global] };
            assert_eq!(layers.get("ge.aoe_config_file"), counts);
            assert_eq!(layers.merged().get("ge.aoe_config_file").map(String::as_str), counts);
        }
    }
}
