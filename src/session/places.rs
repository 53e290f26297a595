//! Where a tuning leaves its files.

use super::config::AoeIni;
use super::environment::Environment;
use super::layers::Layers;
use std::path::{Path, PathBuf};

/// Whether a value of option `output` names a directory, for the tuned model and the reports, rather than
/// the tuned model's file.
pub fn is_directory(output: &str, path: &Path) -> bool {
    output.ends_with('/') || path.is_dir()
}

/// The path that option `output` names without the suffix of a model, which both files get.
pub fn stem(output: &Path) -> PathBuf {
    match output.extension() {
        Some(suffix) if suffix == "air" || suffix == "om" => output.with_extension(""),
        _ => output.to_owned(),
    }
}

/// Where result files go, and the tuned model's files without their suffix, where `output` names them.
///
/// A directory that `output` names takes both; else the reports go where CANN puts them.
pub(super) fn places(layers: &Layers<'_>, ini: &AoeIni, environment: &Environment) -> (PathBuf, Option<PathBuf>) {
    // Without the steps on the spot of `./out`, which would stand in every path that is told.
    let absolute = |path: &Path| environment.current_dir.join(path).components().collect::<PathBuf>();
    let output = layers.get("output").map(|output| (output, absolute(Path::new(output))));
    let stem = match output {
        Some((output, path)) if is_directory(output, &path) => return (path, None),
        other => other.map(|(_, path)| stem(&path)),
    };
    let chosen =
        environment.path("ASCEND_WORK_PATH").or_else(|| layers.get("work_path").map(|p| absolute(Path::new(p))));
    let chosen = chosen.or_else(|| ini.work_path.as_deref().map(absolute));
    (chosen.unwrap_or_else(|| environment.current_dir.clone()), stem)
}

/// Where a work path has the bank for records that their own bank does not take, which `TUNE_BANK_PATH` may name.
pub fn rescue_root(work_path: &Path) -> PathBuf {
    work_path.join("aoe_bank_unsaved")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_of_a_model_is_not_doubled() {
        assert_eq!(stem(Path::new("out/net.om")), Path::new("out/net"));
        assert_eq!(stem(Path::new("out/net.v2")), Path::new("out/net.v2"));
    }
}
