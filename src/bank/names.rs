//! How parts and operator types are spelled in the names of files and folders.

use crate::soc::Soc;

/// Longest operator type that is spelled out in a file name; a name may have 255 bytes.
pub const LONGEST_OP_TYPE: usize = 100;

/// Name of a part as it stands in paths; the names in users' descriptions may hold anything.
pub fn soc_name(soc: &Soc) -> String {
    file_safe(&soc.name, b"_-.")
}

fn hexadecimal(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Letters, digits and `plain` stay; any other byte becomes `-` and its hexadecimal code.
pub fn file_safe(text: &str, plain: &[u8]) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            name.push(byte.into());
        } else {
            name.extend(['-', hexadecimal(byte >> 4), hexadecimal(byte & 15)]);
        }
    }
    if name.starts_with('.') {
        name.replace_range(..1, "-2E");
    }
    name
}
