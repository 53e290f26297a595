//! What the commands write as JSON.

use aoe::status::{Error, Result};
use serde::Serialize;

/// A value on one line, without a line feed.
pub fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unwritten(&error))
}

/// The same with one.
pub fn line(value: &impl Serialize) -> Result<String> {
    Ok(text(value)? + "\n")
}

/// A value as people read it, with a line feed at its end.
pub fn indented(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| unwritten(&error))
}

fn unwritten(error: &serde_json::Error) -> Error {
    Error::Internal { place: "JSON of the command line".to_owned(), message: error.to_string() }
}
