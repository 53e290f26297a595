//! What a program says to keep in the buffers of a core.

use super::configuration::Configuration;
use crate::graph::DataType;
use crate::soc::Soc;
use crate::spelling::beginning;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes in which UB is laid out.
const BLOCK: u64 = 32;

/// A tensor that the program holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Buffer {
    space: Space,
    shape: Vec<Extent>,
    dtype: String,
    /// How many of it there are.
    #[serde(default = "one")]
    count: u64,
}

fn one() -> u64 {
    1
}

/// A size, or the parameter that gives it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "neither a size nor the name of a parameter")]
enum Extent {
    Size(u64),
    Parameter(String),
}

/// The buffers of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum Space {
    /// Of the vector unit.
    #[serde(rename = "UB", alias = "ub")]
    Ub,
    /// Before the cube unit.
    #[serde(rename = "L1", alias = "l1")]
    L1,
    /// Its left operand.
    #[serde(rename = "L0A", alias = "l0a")]
    L0a,
    /// Its right operand.
    #[serde(rename = "L0B", alias = "l0b")]
    L0b,
    /// Its sums.
    #[serde(rename = "L0C", alias = "l0c")]
    L0c,
}

impl Space {
    const fn size(self, soc: &Soc) -> (&'static str, u64) {
        match self {
            Space::Ub => ("UB", soc.ub_size),
            Space::L1 => ("L1", soc.l1_size),
            Space::L0a => ("L0A", soc.l0_a_size),
            Space::L0b => ("L0B", soc.l0_b_size),
            Space::L0c => ("L0C", soc.l0_c_size),
        }
    }
}

/// Whether the buffers fit; else the first rule that is broken.
pub(super) fn check(buffers: &[Buffer], configuration: &Configuration, soc: &Soc) -> Result<(), String> {
    let mut sums: BTreeMap<Space, u64> = BTreeMap::new();
    for (at, buffer) in buffers.iter().enumerate() {
        let dtype = DataType::from_name(&buffer.dtype)
            .ok_or_else(|| format!("buffers[{at}].dtype: there is no data type `{}`", beginning(&buffer.dtype)))?;
        let mut bytes = u64::from(dtype.bits());
        for extent in &buffer.shape {
            let size = match extent {
                Extent::Size(size) => *size,
                Extent::Parameter(name) => configuration
                    .named(name)
                    .ok_or_else(|| format!("buffers[{at}].shape: the configuration has no `{}`", beginning(name)))?,
            };
            bytes = bytes.saturating_mul(size);
        }
        bytes = bytes.div_ceil(8);
        if bytes == 0 || !bytes.is_multiple_of(BLOCK) {
            return Err(format!(
                "buffers[{at}] has {bytes} bytes, no positive multiple of {BLOCK}: round its shape up"
            ));
        }
        let sum = sums.entry(buffer.space).or_default();
        *sum = sum.saturating_add(bytes.saturating_mul(buffer.count));
    }
    for (space, needed) in sums {
        let (name, size) = space.size(soc);
        if needed > size {
            return Err(format!(
                "{name} needs {needed} bytes, {} has {size}: take smaller buffers, or fewer",
                soc.name
            ));
        }
    }
    Ok(())
}
