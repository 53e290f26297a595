//! The options that the user gave, from the command line and from a configuration file.

use aoe::session::options::OptionSpec;
use aoe::status::Result;
use std::collections::BTreeMap;

/// Options by name. One that is absent, or empty, was not set.
#[derive(Debug, Default, PartialEq)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Sets an option, in place of any earlier value. Fails with [`aoe::status::Error::Option`] when the value is malformed.
    pub fn set(&mut self, spec: &OptionSpec, value: String) -> Result<()> {
        spec.check(&value)?;
        self.values.insert(spec.name, value);
        Ok(())
    }

    /// The value of an option, unless it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every option with its value, empty ones too, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(&name, value)| (name, value.as_str()))
    }
}
