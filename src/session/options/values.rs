//! The values of options, as text and as what it says.

use crate::frontend::OutNode;
use crate::status::{Error, Result};

/// Reads a truth value: `1`, `true`, `on`, `True`, ... ; `None` when it is none.
pub fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// Reads `1,2,4`; the error is the item at fault.
pub fn integers(value: &str) -> Result<Vec<i64>, String> {
    let number = |item: &str| item.trim().parse().ok().filter(|&v: &i64| v > 0).ok_or_else(|| item.trim().to_owned());
    value.split(',').map(number).collect()
}

/// The largest number of a logical device.
const LAST_DEVICE: u32 = 1023;

/// Reads `0,1`, each device once; the error is what is wrong.
pub fn devices(value: &str) -> Result<Vec<u32>, String> {
    let mut found: Vec<u32> = Vec::new();
    for item in value.split(',').map(str::trim) {
        let device = item.parse().ok().filter(|device| *device <= LAST_DEVICE);
        let device = device.ok_or_else(|| format!("`{item}` is no device from 0 to {LAST_DEVICE}"))?;
        if found.contains(&device) {
            return Err(format!("device {device} is named twice"));
        }
        found.push(device);
    }
    Ok(found)
}

/// Reads `1,128;8,128`, behind which another `;` may stand; the error is the item at fault.
pub fn integer_lists(value: &str) -> Result<Vec<Vec<i64>>, String> {
    let value = value.trim();
    value.strip_suffix(';').unwrap_or(value).split(';').map(integers).collect()
}

/// Reads `node:0;node2:1;tensor`. A name may hold colons; a number behind the last one is the node's output.
pub fn out_nodes(value: &str) -> Result<Vec<OutNode>> {
    let one = |part: &str| {
        let indexed = part.rsplit_once(':').and_then(|(name, output)| Some((name.trim(), output.trim().parse().ok()?)));
        let (name, output) = indexed.map_or((part, None), |(name, output)| (name, Some(output)));
        let named = !name.trim_matches(':').is_empty();
        let bad = || Error::option("out_nodes", format!("`{part}` is not of the form node:0"));
        named.then(|| OutNode { name: name.to_owned(), output }).ok_or_else(bad)
    };
    let nodes: Vec<_> =
        value.split(';').map(str::trim).filter(|part| !part.is_empty()).map(one).collect::<Result<_>>()?;
    if nodes.is_empty() {
        return Err(Error::option("out_nodes", format!("`{value}` names no output; write for example node:0")));
    }
    Ok(nodes)
}
