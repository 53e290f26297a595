//! JSON as Python keeps and writes it: the order of keys, whole numbers of any size, floats as `repr` shows
//! them, everything outside ASCII escaped. The keys of the unified bank are sums over such text.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

#[cfg(test)]
mod tests;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// A value as Python's `json.loads` gives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without point and exponent: its decimal digits, with a sign when negative.
    Integer(String),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Dict(Dict),
}

/// An object, its keys in order. A key that comes twice has the last value in the first place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dict(Vec<(String, Value)>);

impl Dict {
    /// An object without fields.
    pub const EMPTY: Dict = Dict(Vec::new());

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Sets the value of a key, in its place or at the end.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// The text that `json.dumps` writes for it.
    pub fn dumps(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        separated(out, ['{', '}'], &self.0, |(key, value), out| {
            quote(key, out);
            out.push_str(": ");
            value.write(out);
        });
    }

    /// As [`Value::sorted`].
    #[must_use]
    pub fn sorted(&self) -> Dict {
        let mut fields: Vec<_> = self.0.iter().map(|(key, value)| (key.clone(), value.sorted())).collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Dict(fields)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }
}

impl<'a> FromIterator<(&'a str, Value)> for Dict {
    fn from_iter<I: IntoIterator<Item = (&'a str, Value)>>(entries: I) -> Dict {
        let mut dict = Dict::default();
        entries.into_iter().for_each(|(key, value)| dict.set(key, value));
        dict
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Integer(number.to_string())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl Value {
    /// Reads a text. An error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Value, String> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Value::of_raw(raw, 0)
    }

    /// The value of a raw text that is known to be JSON.
    pub(super) fn of_raw(raw: &RawValue, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let text = raw.get();
        let wrong = |e: serde_json::Error| e.to_string();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(text).map_err(wrong)?;
                let mut dict = Dict::default();
                for (key, raw) in fields {
                    dict.set(&key, Value::of_raw(raw, depth + 1)?);
                }
                Value::Dict(dict)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
                Value::List(items.into_iter().map(|raw| Value::of_raw(raw, depth + 1)).collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::Text(serde_json::from_str(text).map_err(wrong)?),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ if text.contains(['.', 'e', 'E']) => Value::Float(text.parse().map_err(|e| format!("{text}: {e}"))?),
            // The whole number -0 is 0.
            _ => Value::Integer(if text == "-0" { "0".into() } else { text.to_owned() }),
        })
    }

    /// The text that `json.dumps` writes for it.
    pub fn dumps(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// The same with the fields of every object in the order of their names: two that are equal but for their order
    /// become one. Recurses as [`Value::write`] does.
    #[must_use]
    pub fn sorted(&self) -> Value {
        match self {
            Value::List(items) => Value::List(items.iter().map(Value::sorted).collect()),
            Value::Dict(dict) => Value::Dict(dict.sorted()),
            other => other.clone(),
        }
    }

    /// Recurses no deeper than the value, which is at most [`MAX_DEPTH`] levels when it was read.
    fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Integer(digits) => out.push_str(digits),
            Value::Float(f) => out.push_str(&repr(*f)),
            Value::Text(text) => quote(text, out),
            Value::List(items) => separated(out, ['[', ']'], items, Value::write),
            Value::Dict(dict) => dict.write(out),
        }
    }

    /// The whole number, where it is one that fits; `128.0` is none in Python.
    pub fn as_u64(&self) -> Option<u64> {
        if let Value::Integer(digits) = self { digits.parse().ok() } else { None }
    }

    /// The number, whole or not.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(digits) => digits.parse().ok(),
            Value::Float(f) => Some(*f),
            _ => None,
        }
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// The object.
    pub fn as_dict(&self) -> Option<&Dict> {
        if let Value::Dict(dict) = self { Some(dict) } else { None }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.dumps())
    }
}

fn separated<T>(out: &mut String, brackets: [char; 2], items: &[T], write: impl Fn(&T, &mut String)) {
    out.push(brackets[0]);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(item, out);
    }
    out.push(brackets[1]);
}

/// A text in quotes, everything but the printable ASCII characters escaped.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{c}' => out.push_str("\\f"),
            '\u{8}' => out.push_str("\\b"),
            ' '..='~' => out.push(c),
            _ => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
        }
    }
    out.push('"');
}

/// A float as Python's `repr` shows it: the shortest digits that read back as the same number, with an
/// exponent below 1e-4 and from 1e16 on.
fn repr(f: f64) -> String {
    if !f.is_finite() {
        // What json.dumps writes where JSON has no word.
        return if f.is_nan() {
            "NaN"
        } else if f > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .into();
    }
    if f != 0.0 && !(1e-4..1e16).contains(&f.abs()) {
        let text = format!("{f:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    // Rust's Debug form of a number in this range is plain and has a point.
    let text = format!("{f}");
    if text.contains('.') { text } else { text + ".0" }
}

/// The fields of an object as raw texts, every one of them, in order.
pub(super) struct Fields<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllFields;
        impl<'de> Visitor<'de> for AllFields {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    fields.push((key, map.next_value::<&'de RawValue>().map_err(A::Error::custom)?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(AllFields)
    }
}
