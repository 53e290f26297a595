//! JSON in which no object names a field twice: of two values one would be ignored in silence, and which one readers do not
//! agree on.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Any JSON value in which no object, at any depth, has a field twice. Reading another one fails with the field's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Unique(pub Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Unique)
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
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let Unique(value) = entries.next_value()?;
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::Unique;
    use serde_json::Value;

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        let text = r#"{"a":[1,-2,2.5,null,true,"x"],"b":{"a":{}}}"#;
        let Unique(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_repeated_field_is_an_error_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"a":2}}]"#] {
            let error = serde_json::from_str::<Unique>(text).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("`a` is given twice"), "{error}");
        }
    }
}
