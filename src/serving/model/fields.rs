//! The fields of a `config.json`, with what is wrong with them by name.

use crate::spelling::{self, beginning};
use serde_json::{Map, Value};

/// Largest number of anything that a model counts or measures; beyond it a number is taken for nonsense.
const MOST: u64 = 1 << 24;

/// The fields of a configuration. Every answer that fails is a sentence that names the field.
pub(super) struct Fields<'a>(pub &'a Map<String, Value>);

impl Fields<'_> {
    /// A field under whichever of its names is there; `null` counts as not there. Fails where two of them differ.
    fn find(&self, names: &[&'static str]) -> Result<Option<(&'static str, &Value)>, String> {
        let mut told =
            names.iter().filter_map(|&name| Some((name, self.0.get(name).filter(|value| !value.is_null())?)));
        let Some((name, value)) = told.next() else { return Ok(None) };
        match told.find(|(_, other)| *other != value) {
            Some((other, different)) => Err(contradiction(name, value, other, different)),
            None => Ok(Some((name, value))),
        }
    }

    /// A size from 1 on that may be missing.
    pub fn optional_size(&self, names: &[&'static str]) -> Result<Option<u64>, String> {
        match self.optional_count(names)? {
            Some(0) => Err(format!("`{}`: 0 is no size", self.find(names)?.map_or("", |found| found.0))),
            other => Ok(other),
        }
    }

    /// A number that may be missing or 0.
    pub fn optional_count(&self, names: &[&'static str]) -> Result<Option<u64>, String> {
        let Some((name, value)) = self.find(names)? else { return Ok(None) };
        match value.as_u64() {
            Some(count) if count <= MOST => Ok(Some(count)),
            Some(count) => Err(format!("`{name}`: {count} is more than {MOST}, too much for a model")),
            None => Err(format!("`{name}`: {} is no whole number from 0 on", beginning(&value.to_string()))),
        }
    }

    /// A size that has to be there; `what` says what it is.
    pub fn size(&self, names: &[&'static str], what: &str) -> Result<u64, String> {
        self.optional_size(names)?.ok_or_else(|| self.missing(names, what))
    }

    /// A size that has to be there where there is none by default.
    pub fn size_or(&self, names: &[&'static str], what: &str, default: Option<u64>) -> Result<u64, String> {
        match default {
            Some(default) => Ok(self.optional_size(names)?.unwrap_or(default)),
            None => self.size(names, what),
        }
    }

    pub fn missing(&self, names: &[&'static str], what: &str) -> String {
        if let Some(name) = names.iter().find(|name| self.0.contains_key(**name)) {
            return format!("`{name}` is null: {what}");
        }
        let keys = || self.0.keys().map(String::as_str);
        let near = names.iter().find_map(|name| spelling::nearest(name, keys()));
        let near = near.map(|name| format!("; it has `{}`", beginning(name))).unwrap_or_default();
        format!("`{}` is missing: {what}{near}", names.join("` or `"))
    }

    /// A part of a whole, above 0 and up to 1, that may be missing.
    pub fn share(&self, name: &'static str) -> Result<Option<f64>, String> {
        let Some((_, value)) = self.find(&[name])? else { return Ok(None) };
        match value.as_f64() {
            Some(share) if share > 0.0 && share <= 1.0 => Ok(Some(share)),
            _ => Err(format!("`{name}`: {} is no number above 0 and up to 1", beginning(&value.to_string()))),
        }
    }

    /// A flag that may be missing.
    pub fn flag(&self, name: &'static str) -> Result<Option<bool>, String> {
        self.any_flag(&[name])
    }

    /// A flag that has several names, and may be missing.
    pub fn any_flag(&self, names: &[&'static str]) -> Result<Option<bool>, String> {
        match self.find(names)? {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(*flag)),
            Some((name, other)) => {
                Err(format!("`{name}`: {} is neither true nor false", beginning(&other.to_string())))
            }
        }
    }

    /// A text that may be missing.
    pub fn text(&self, name: &'static str) -> Result<Option<&str>, String> {
        Ok(self.any_text(&[name])?.map(|(_, text)| text))
    }

    /// A text that has several names, with the one that it has, and may be missing.
    pub fn any_text(&self, names: &[&'static str]) -> Result<Option<(&'static str, &str)>, String> {
        match self.find(names)? {
            None => Ok(None),
            Some((name, Value::String(text))) => Ok(Some((name, text))),
            Some((name, other)) => Err(format!("`{name}`: {} is no text", beginning(&other.to_string()))),
        }
    }

    /// How many entries a list has; `None` where it is missing.
    pub fn entries(&self, name: &'static str) -> Result<Option<&[Value]>, String> {
        match self.find(&[name])? {
            None => Ok(None),
            Some((_, Value::Array(entries))) => Ok(Some(entries)),
            Some((_, other)) => Err(format!("`{name}`: {} is no list", beginning(&other.to_string()))),
        }
    }

    /// The fields of an object below; `None` where it is missing.
    pub fn below(&self, name: &'static str) -> Result<Option<Fields<'_>>, String> {
        match self.find(&[name])? {
            None => Ok(None),
            Some((_, Value::Object(fields))) => Ok(Some(Fields(fields))),
            Some((_, other)) => Err(format!("`{name}`: {} is no object", beginning(&other.to_string()))),
        }
    }

    /// A field that tells of more than one expert where none has their number under one of these names.
    pub fn other_experts(&self, names: &[&str]) -> Option<&str> {
        let is_told = names.iter().any(|name| self.0.contains_key(*name));
        let several = |value: &Value| value.as_f64().is_some_and(|count| count > 1.0) || value.is_array();
        let mut fields = self.0.iter().filter(|_| !is_told);
        fields.find(|(name, value)| name.contains("expert") && several(value)).map(|(name, _)| name.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }
}

/// Two fields that say different things of one quantity.
pub(super) fn contradiction(name: &str, value: &Value, other: &str, different: &Value) -> String {
    let [value, different] = [value, different].map(|value| beginning(&value.to_string()));
    format!("`{name}` is {value} and `{other}` {different}: they mean the same, so one of them is wrong")
}
