//! A configuration by the names of its parameters.

use super::Space;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A configuration of a space, for a JSON object of names and values in the order of the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a>(pub &'a Space, pub &'a [u32]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (name, value) in self.0.named(self.1) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
