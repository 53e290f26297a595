//! A configuration of a tile program, by the names that autotuners' users give its parameters.

use crate::spelling::beginning;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Largest value of a parameter.
const MOST: u64 = 1 << 31;

/// Names that mean the same here, in small letters without lines below, and what they mean.
const NAMES: &[(&str, &[&str])] = &[
    ("m", &["blocksizem", "blockm", "tilem", "bm"]),
    ("n", &["blocksizen", "blockn", "tilen", "bn"]),
    ("k", &["blocksizek", "blockk", "tilek", "bk"]),
    ("block", &["blocksize", "block", "xblock", "bs"]),
    ("columns", &["rblock", "r0block"]),
    ("sub", &["blocksizesub", "blocksub", "xblocksub", "subblock", "tilesize"]),
    ("buffers", &["numstages", "stages", "buffers", "numbuffers"]),
    ("multibuffer", &["multibuffer"]),
];

/// Its parameters: whole numbers, by their own names and by what is meant.
#[derive(Debug, Clone, Default)]
pub(super) struct Configuration {
    named: BTreeMap<String, u64>,
    meant: BTreeMap<&'static str, u64>,
}

impl Configuration {
    /// Reads one; `kwargs` of a `triton.Config` count as if they stood beside the rest. What is no number is of no
    /// concern here.
    pub fn read(written: &Map<String, Value>) -> Result<Configuration, String> {
        let mut configuration = Configuration::default();
        let inner = written.get("kwargs").and_then(Value::as_object);
        for (name, value) in written.iter().chain(inner.into_iter().flatten()) {
            let value = match value {
                Value::Bool(flag) => u64::from(*flag),
                other => match other.as_u64() {
                    Some(number) if number <= MOST => number,
                    _ if other.is_number() => {
                        return Err(format!(
                            "{} = {other} is no size: take a whole number up to {MOST}",
                            beginning(name)
                        ));
                    }
                    _ => continue,
                },
            };
            let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
            if let Some((meant, _)) = NAMES.iter().find(|(_, names)| names.contains(&plain.as_str())) {
                configuration.meant.insert(meant, value);
            }
            configuration.named.insert(name.clone(), value);
        }
        Ok(configuration)
    }

    /// A parameter by its own name.
    pub fn named(&self, name: &str) -> Option<u64> {
        self.named.get(name).copied()
    }

    /// One by what it means, which has to be there.
    pub fn size(&self, meant: &'static str) -> Result<u64, String> {
        let names = NAMES.iter().find(|(name, _)| *name == meant).map_or(&[][..], |(_, names)| names);
        match self.meant.get(meant) {
            Some(0) => Err(format!("{} = 0 is no size: take one from 1 on", names.first().unwrap_or(&meant))),
            Some(&size) => Ok(size),
            None => Err(format!(
                "none of its parameters is called {} (lines and letter case do not count)",
                names.join(", ")
            )),
        }
    }

    /// One that may be missing.
    pub fn optional(&self, meant: &'static str) -> Option<u64> {
        self.meant.get(meant).copied()
    }

    /// Buffers of what is loaded: as many as it says; two where it does not, which is Triton-Ascend's default.
    pub fn buffers(&self) -> Result<u64, String> {
        match (self.optional("multibuffer"), self.optional("buffers")) {
            (Some(0), _) => Ok(1),
            (_, None) => Ok(2),
            (_, Some(count @ 1..=8)) => Ok(count),
            (_, Some(count)) => Err(format!("{count} buffers of what is loaded (num_stages) are not from 1 to 8")),
        }
    }
}
