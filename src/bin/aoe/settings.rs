//! The options that the user gave, from the command line and from a configuration file.

use crate::arguments;
use aoe::session::options::{self, Effect, OptionMap, OptionSpec};
use aoe::status::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;

/// Options by name. One that is absent, or empty, was not set.
#[derive(Debug, Default, PartialEq)]
pub struct Settings {
    values: OptionMap,
}

impl Settings {
    /// Those among these options that the command line gives.
    ///
    /// Fails as [`Settings::set`] does.
    pub fn given(matches: &ArgMatches, options: impl Iterator<Item = &'static OptionSpec>) -> Result<Settings> {
        let mut settings = Settings::default();
        for spec in options.filter(|spec| matches.value_source(spec.name) == Some(ValueSource::CommandLine)) {
            settings.set(spec.name, arguments::value_of(matches, spec))?;
        }
        Ok(settings)
    }

    /// Sets an option, in place of any earlier value.
    ///
    /// Fails with [`aoe::status::Error::Option`] when there is no such option or its value is malformed.
    pub fn set(&mut self, name: &str, value: String) -> Result<()> {
        options::check(name, &value)?;
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// The value of an option, unless it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every option that was given, empty ones too.
    pub fn options(&self) -> &OptionMap {
        &self.values
    }

    /// The options for the library, empty ones too: all that were given but the command line's own.
    pub fn for_library(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = |name: &str| options::find(name).is_some_and(|spec| spec.effect == Effect::CommandLine);
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).filter(move |(name, _)| !own(name))
    }
}
