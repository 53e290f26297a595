//! Which model files a command line asks to tune.

use crate::settings::Settings;
use aoe::frontend;
use aoe::session;
use aoe::status::{Error, Result};
use std::path::{Path, PathBuf};

/// The models to tune.
#[derive(Debug, PartialEq)]
pub enum Models {
    /// The one of `--model`.
    One(PathBuf),
    /// The operators of `--singleop`.
    SingleOps(PathBuf),
    /// None: the gradients that were recorded, `--gradient_summary` and `--gradient_profile`.
    Recording,
    /// Those of `--model_path`, by name, and the other files that lie there.
    Directory {
        /// Never empty.
        models: Vec<PathBuf>,
        /// Files that neither suffix nor content makes a model.
        others: Vec<PathBuf>,
    },
}

impl Models {
    /// The models that the options name.
    ///
    /// Fails with [`Error::CommandLine`] when they name none or several forms, or one file for the results of a
    /// directory, and with [`Error::Directory`] when
    /// the directory cannot be read or holds no model.
    pub fn of(settings: &Settings) -> Result<Models> {
        if settings.get("om").is_some() {
            let reason = "give a model with --model=FILE".to_owned();
            return Err(Error::UnsupportedOption { option: "om".to_owned(), reason });
        }
        let misused = |reason: &str| Err(Error::CommandLine { reason: reason.to_owned() });
        if settings.get("weight").is_some() && settings.get("model").is_none() {
            return misused("--weight belongs to the Caffe net of --model");
        }
        let is_recording = ["gradient_summary", "gradient_profile"].iter().any(|key| settings.get(key).is_some());
        if is_recording {
            return match ["model", "model_path", "singleop"].iter().find(|key| settings.get(key).is_some()) {
                Some(key) => misused(&format!("a recording of gradients and --{key} exclude each other")),
                None => Ok(Models::Recording),
            };
        }
        match (settings.get("model"), settings.get("model_path"), settings.get("singleop")) {
            (Some(model), None, None) => Ok(Models::One(model.into())),
            (None, None, Some(file)) => Ok(Models::SingleOps(file.into())),
            (None, Some(directory), None) => {
                // Each model would overwrite the one before.
                let one_file = |output: &str| !session::is_directory(output, Path::new(output));
                if settings.get("output").is_some_and(one_file) {
                    return misused("with --model_path, --output must be a directory; end it in /");
                }
                read_directory(Path::new(directory))
            }
            (None, None, None) => {
                misused("no model: give --model=FILE, --model_path=DIR or --singleop=FILE, or a recording of gradients")
            }
            _ => misused("--model, --model_path and --singleop exclude each other"),
        }
    }
}

/// The results folder of one of several models below the one asked for: named after the model, with its suffix where
/// another would have the same.
pub fn folder(output: &str, model: &Path, models: &[PathBuf]) -> String {
    let alike = models.iter().filter(|other| other.file_stem() == model.file_stem()).count();
    let name = if alike > 1 { model.file_name() } else { model.file_stem() };
    format!("{}/{}/", output.trim_end_matches('/'), name.unwrap_or_default().to_string_lossy())
}

fn read_directory(directory: &Path) -> Result<Models> {
    let failed = |error| Error::directory("read", directory, error);
    let (mut models, mut others) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || path.is_dir() {
            continue;
        }
        if frontend::is_model_file(&path) { &mut models } else { &mut others }.push(path);
    }
    if models.is_empty() {
        return Err(Error::directory("tune", directory, "no file in it is a model, by its suffix or its content"));
    }
    models.sort();
    others.sort();
    Ok(Models::Directory { models, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for &(name, value) in options {
            settings.set(name, value.to_owned()).unwrap();
        }
        settings
    }

    #[test]
    fn a_directory_gives_its_models_by_name_and_names_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.onnx", "a b.ONNX", ".hidden.onnx", "weights.bin", "c.pb"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("sub.onnx")).unwrap();
        let models = Models::of(&settings(&[("model_path", dir.path().to_str().unwrap())])).unwrap();
        let under = |names: &[&str]| names.iter().map(|name| dir.path().join(name)).collect();
        let expected =
            Models::Directory { models: under(&["a b.ONNX", "b.onnx", "c.pb"]), others: under(&["weights.bin"]) };
        assert_eq!(models, expected);
    }

    #[test]
    fn no_model_both_forms_and_an_empty_directory_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        assert_eq!(Models::of(&settings(&[])).unwrap_err().id(), Some("EG0000"));
        assert_eq!(Models::of(&settings(&[("model", "x"), ("model_path", path)])).unwrap_err().id(), Some("EG0000"));
        assert_eq!(Models::of(&settings(&[("model_path", path)])).unwrap_err().id(), Some("EG0010"));
        let missing = dir.path().join("none");
        let error = Models::of(&settings(&[("model_path", missing.to_str().unwrap())])).unwrap_err();
        assert!(error.id() == Some("EG0010") && error.to_string().contains("none"), "{error}");
    }
}
