//! JSON that users write: with comments, and with no key twice.

use aoe_base::json::Unique;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// A JSON object that has no key twice, nor has one inside of it: which of two values counts, readers do not agree on.
///
/// Reading one fails with the key that is given twice.
#[derive(Debug, Default)]
pub struct UniqueKeys(pub Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueKeys, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = UniqueKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<UniqueKeys, A::Error> {
                let mut keys = Map::new();
                while let Some((key, Unique(value))) = pairs.next_entry::<String, Unique>()? {
                    if keys.contains_key(&key) {
                        return Err(A::Error::custom(format!("`{key}` is given twice")));
                    }
                    keys.insert(key, value);
                }
                Ok(UniqueKeys(keys))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A text with spaces in place of its comments, which go from `//` or `#` to the end of a line, so that what is left keeps
/// its lines and columns.
#[must_use]
pub fn without_comments(text: &str) -> String {
    let (mut in_string, mut in_comment, mut escaped) = (false, false, false);
    let mut letters = text.chars().peekable();
    let mut bare = String::with_capacity(text.len());
    while let Some(c) = letters.next() {
        in_comment = match c {
            '\n' => false,
            '#' if !in_string => true,
            '/' if !in_string => in_comment || letters.peek() == Some(&'/'),
            _ => in_comment,
        };
        if !in_comment {
            in_string ^= c == '"' && !escaped;
            escaped = in_string && c == '\\' && !escaped;
        }
        bare.push(if in_comment { ' ' } else { c });
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::UniqueKeys;

    #[test]
    fn a_key_that_is_there_twice_is_named_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"b":[{"a":1,"a":2}]}"#] {
            let error = serde_json::from_str::<UniqueKeys>(text).unwrap_err().to_string();
            assert!(error.contains("`a` is given twice"), "{error}");
        }
    }
}
