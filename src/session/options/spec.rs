//! What is known of one option, and whether a value has its form.

use super::values::{devices, flag, integer_lists, integers, out_nodes};
use crate::session::shapes;
use crate::spelling;
use crate::status::{Error, Result};
use Kind::{Assignments, Devices, Flag, Integer, IntegerList, IntegerLists, OneOf, OutNodes, Shapes};

/// What an option's value looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in this range.
    Integer(u64, u64),
    /// Present or absent on the command line; `1`, `true`, `on` or empty through the API.
    Flag,
    /// A file.
    File,
    /// A directory or file path.
    Path,
    /// A job's directory; on the command line its name alone means [`NEWEST`].
    Job,
    /// `name:1,3,224,224;name2:...`
    Shapes,
    /// `1,2,4`
    IntegerList,
    /// `0,1`: logical devices.
    Devices,
    /// `1,128;8,128`
    IntegerLists,
    /// `node:0;node2:1`
    OutNodes,
    /// `key=value`, may be given several times; through the API separated by `;`.
    Assignments,
    /// CANN's `profiling_options`: a JSON object.
    Profiling,
    /// Any text.
    Text,
}

/// The job that was begun last.
pub const NEWEST: &str = "newest";
/// The same where there is one, else a new tuning: for several models, of which not all were begun.
pub const NEWEST_IF_ANY: &str = "newest-if-any";

/// Who acts on an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// This library, whatever the backend.
    Tuning,
    /// The compiler of a device backend; the simulator compiles nothing, so it has no effect there.
    Compiler,
    /// The command line only.
    CommandLine,
    /// Documented by CANN or sent by its clients; accepted for compatibility, without effect here.
    Accepted,
    /// Known, but what it asks for is not built in this version: a value is an error, because the
    /// result would not be what was asked for.
    NotBuilt,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Name, without dashes.
    pub name: &'static str,
    /// One-letter form on the command line.
    pub short: Option<char>,
    /// Form of the value.
    pub kind: Kind,
    /// Who acts on it.
    pub effect: Effect,
    /// Default as a user would write it; empty where there is none.
    pub default: &'static str,
    /// One or two sentences for `--help`.
    pub help: &'static str,
    /// Whether CANN's AOE does not know the option.
    pub ours: bool,
}

impl OptionSpec {
    /// Checks a value's form. An empty value is "not set" and passes.
    pub fn check(&self, value: &str) -> Result<()> {
        let bad = |reason: String| Err(Error::option(self.name, reason));
        if value.is_empty() {
            return Ok(());
        }
        match self.kind {
            OneOf(words) if !words.contains(&value) => {
                let meant = spelling::meant(value, words.iter().copied());
                bad(format!("`{value}` is not one of {}{meant}", words.join(", ")))
            }
            Integer(low, high) => match value.parse::<u64>() {
                Ok(v) if (low..=high).contains(&v) => Ok(()),
                _ => bad(format!("`{value}` is not a whole number from {low} to {high}")),
            },
            Flag if flag(value).is_none() => bad(format!("`{value}` is neither true nor false")),
            IntegerList => integers(value).map(|_| ()).or_else(|item| {
                bad(format!("`{item}` in `{value}` is not a positive whole number; write for example 1,2,4"))
            }),
            Devices => {
                devices(value).map(|_| ()).or_else(|reason| bad(format!("`{value}`: {reason}; write for example 0,1")))
            }
            IntegerLists => integer_lists(value).map(|_| ()).or_else(|item| {
                bad(format!("`{item}` in `{value}` is not a positive whole number; write for example 1,128;8,128"))
            }),
            OutNodes => out_nodes(value).map(|_| ()),
            Kind::Profiling => crate::profile::Options::parse(value).map(|_| ()),
            Shapes => shapes::parse(self.name, value).map(|_| ()),
            Assignments => match value.split(';').find(|a| a.split_once('=').is_none_or(|(k, _)| k.is_empty())) {
                Some(item) => bad(format!("`{item}` is not of the form key=value")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
