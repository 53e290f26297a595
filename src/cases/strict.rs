//! JSON in which no object names a field twice: of two values one would be ignored in silence.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// What Python's `json` writes for numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// One line of JSON without repeated fields. `NaN` and infinities as Python writes them are read as their names, so
/// that attributes may have them and a field that has to be a number says what it got.
pub fn json(line: &str) -> serde_json::Result<Value> {
    let read = |text: &str| serde_json::from_str(text).map(|Strict(value)| value);
    read(line).or_else(|error| {
        let names = NO_NUMBERS.iter().any(|name| line.contains(name));
        if names { read(&named(line)).map_err(|_| error) } else { Err(error) }
    })
}

/// The text with those words in quotes where they stand outside of strings.
fn named(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    let mut rest = line;
    let mut in_string = false;
    while let Some(letter) = rest.chars().next() {
        let word = NO_NUMBERS.iter().find(|word| !in_string && rest.starts_with(**word));
        let taken = match word {
            Some(word) => {
                text.extend(["\"", word, "\""]);
                word.len()
            }
            // An escaped letter inside of a string ends nothing.
            None if in_string && letter == '\\' => {
                let pair = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                text.push_str(&rest[..pair]);
                pair
            }
            None => {
                in_string ^= letter == '"';
                text.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    text
}

/// Any JSON value without repeated fields.
pub(super) struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Strict)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let Strict(value) = entries.next_value()?;
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("field `{name}` is there twice")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::{Strict, json};
    use serde_json::Value;

    #[test]
    fn numbers_that_json_lacks_are_read_as_their_names() {
        let value = json(r#"{"a":[NaN,-Infinity,Infinity,1],"NaN":"NaN \\","b":"\"NaN"}"#).unwrap();
        let text = r#"{"NaN":"NaN \\","a":["NaN","-Infinity","Infinity",1],"b":"\"NaN"}"#;
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        for text in ["NaN NaN", "{\"a\":NaN", "[1,,NaN]"] {
            assert!(json(text).is_err(), "{text}");
        }
        assert!(json(r#"{"a":NaN,"a":1}"#).is_err());
    }

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        let text = r#"{"a":[1,-2,2.5,null,true,"x"],"b":{"a":{}}}"#;
        let Strict(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_repeated_field_is_an_error_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"a":2}}]"#] {
            let error = serde_json::from_str::<Strict>(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("`a` is there twice"), "{error}");
        }
    }
}
