//! Where the tuned model goes, and writing it.

use super::settings::Settings;
use crate::frontend::save_file;
use crate::graph::Graph;
use crate::output_file::directory_of;
use crate::report::TunedModel;
use crate::status::{Error, Result};
use std::path::{Path, PathBuf};

/// Longest part of a network's name in a file name, in bytes; names of files end at 255.
const MAX_NAME: usize = 128;

/// The files of a tuned model: those that option `output` names, else CANN's in the workspace.
/// `timestamp` is the result file's.
pub fn files(settings: &Settings, graph: &str, timestamp: &str) -> TunedModel {
    let stem = settings.output.clone().unwrap_or_else(|| {
        let result = workspace(settings, graph, timestamp).join("tunespace/result");
        result.join(format!("{}_{timestamp}_tune", file_name(graph)))
    });
    let with = |suffix: &str| {
        let mut path = stem.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    };
    TunedModel { air: with(".air"), om: with(".om") }
}

/// The directory of one tuning of a network.
pub fn workspace(settings: &Settings, graph: &str, timestamp: &str) -> PathBuf {
    let (workspace, prefix) = jobs(settings, graph);
    workspace.join(format!("{prefix}{timestamp}"))
}

/// Where the directories of all tunings lie, and how the names of those of a network begin.
pub fn jobs(settings: &Settings, graph: &str) -> (PathBuf, String) {
    (settings.work_path.join("aoe_workspace"), format!("{}_", file_name(graph)))
}

/// Writes a tuned graph in both forms.
///
/// Fails with [`Error::Directory`] or [`Error::File`], and with [`Error::Graph`] for a graph that is too
/// large for them.
pub fn write(graph: &Graph, files: &TunedModel) -> Result<()> {
    for path in [&files.air, &files.om] {
        let directory = directory_of(path);
        std::fs::create_dir_all(directory).map_err(|e| Error::directory("create", directory, e))?;
        save_file(graph, path)?;
    }
    Ok(())
}

/// The path that option `output` names without the suffix of a model, which both files get.
pub fn stem(output: &Path) -> PathBuf {
    match output.extension() {
        Some(suffix) if suffix == "air" || suffix == "om" => output.with_extension(""),
        _ => output.to_owned(),
    }
}

/// A network's name as part of a file name.
fn file_name(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    let end = (0..=MAX_NAME.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.truncate(end);
    if text.is_empty() { "graph".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{file_name, stem};
    use std::path::Path;

    #[test]
    fn no_name_of_a_network_leaves_the_workspace() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("a\nb\0c"), "a_b_c");
        assert_eq!(file_name(""), "graph");
        assert!(file_name(&"ü".repeat(300)).len() <= 128);
    }

    #[test]
    fn the_suffix_of_a_model_is_not_doubled() {
        assert_eq!(stem(Path::new("out/net.om")), Path::new("out/net"));
        assert_eq!(stem(Path::new("out/net.v2")), Path::new("out/net.v2"));
    }
}
