//! INI text with line numbers: `aoe.ini` and the toolkit's `platform_config` files.

use crate::status::{Error, Result};
use std::path::Path;

/// One `key=value` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Section as written between brackets; empty before the first.
    pub section: String,
    /// Key, blanks trimmed.
    pub key: String,
    /// Value, blanks trimmed; a comment after it is not removed.
    pub value: String,
    /// Line counted from 1.
    pub line: usize,
}

/// Reads INI text; `path` is for messages. Lines that start with `#` or `;` are comments.
///
/// Fails with [`Error::Config`] at a line that is neither a section, nor a comment, nor `key=value`.
pub fn parse(text: &str, path: &Path) -> Result<Vec<Entry>> {
    let mut section = String::new();
    let mut entries = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            let reason = format!("`{line}` is neither [section] nor key=value");
            return Err(Error::Config { path: path.to_owned(), line: Some(number + 1), reason });
        };
        entries.push(Entry {
            section: section.clone(),
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
            line: number + 1,
        });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::Path;

    #[test]
    fn sections_comments_and_line_endings_are_read() {
        let entries =
            parse("\u{feff}# c\r\n[COMMON]\r\nWORK_PATH = ./a b\r\n;x\n[ S ]\nk==v\n", Path::new("f")).unwrap();
        let flat: Vec<_> = entries.iter().map(|e| (&*e.section, &*e.key, &*e.value, e.line)).collect();
        assert_eq!(flat, [("COMMON", "WORK_PATH", "./a b", 3), ("S", "k", "=v", 6)]);
    }

    #[test]
    fn a_stray_line_is_an_error_with_file_and_line() {
        assert!(parse("[a]\nfoo\n", Path::new("aoe.ini")).unwrap_err().to_string().contains("aoe.ini:2"));
    }
}
