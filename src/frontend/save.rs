//! Graphs to files.

use super::content::Content;
use super::{air, ends, om};
use crate::graph::Graph;
use crate::output_file;
use crate::status::{Error, Result};
use std::path::Path;

/// Writes a graph to a file: `.air` is GE's IR, `.om` the container of a tuned graph. The file is
/// replaced whole; the same graph gives the same bytes.
///
/// Fails with [`Error::File`] for another suffix or where the file cannot be written, and with
/// [`Error::Graph`] for a graph that is none or too large.
pub fn save_file(graph: &Graph, path: &Path) -> Result<()> {
    let content = file_content(graph, path)?;
    output_file::replace_by(path, |file| content.write_to(file))
}

/// What [`save_file`] writes to a file of this name.
///
/// Fails with [`Error::File`] and [`Error::Graph`] as that does.
pub fn file_content(graph: &Graph, path: &Path) -> Result<Content> {
    ends::check(graph)?;
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
    match suffix.as_deref() {
        Some("air") => air::content(graph),
        Some("om") => om::content(graph),
        _ => Err(Error::file("write", path, "a graph is written as .air or .om; end the name in one of them")),
    }
}
