//! Which model files a command line asks to tune.

use crate::settings::Settings;
use aoe::frontend::{self, dumps};
use aoe::input_file;
use aoe::session;
use aoe::status::{Error, Result};
use std::ffi::OsStr;
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
    /// Those of `--model_path`: of a directory by name, and the other files that lie there; of a list as it has them.
    Directory {
        /// Never empty.
        models: Vec<PathBuf>,
        /// What is to be said of files there: why they are left, and of some why they are taken.
        remarks: Vec<(PathBuf, String)>,
        /// What is to be said of dumps that are damaged: a graph that a user dumped is not all there.
        doubts: Vec<(PathBuf, String)>,
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
                let path = Path::new(directory);
                if path.is_file() { read_list(path) } else { read_directory(path) }
            }
            (None, None, None) => {
                misused("no model: give --model=FILE, --model_path=DIR or --singleop=FILE, or a recording of gradients")
            }
            _ => misused("--model, --model_path and --singleop exclude each other"),
        }
    }
}

/// The results folder of one of several models below the one asked for: named after the model, with its suffix where
/// another would have the same, and behind the name of its folder where even that is the same.
pub fn folder(output: &str, model: &Path, models: &[PathBuf]) -> String {
    let alike = |part: fn(&Path) -> Option<&OsStr>| models.iter().filter(|other| part(other) == part(model)).count();
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let name = if alike(Path::file_stem) > 1 { text(model.file_name()) } else { text(model.file_stem()) };
    let above = model.parent().and_then(Path::file_name);
    let name = if alike(Path::file_name) > 1 { format!("{}_{name}", text(above)) } else { name };
    format!("{}/{name}/", output.trim_end_matches('/'))
}

/// Reads a text file with the path of a model on each line, taken from the folder of the file. Empty lines and those that
/// begin with `#` say nothing; a model that is named twice is tuned once.
fn read_list(list: &Path) -> Result<Models> {
    if frontend::is_model_file(list) {
        let reason = format!("{} is a model; give it with --model", list.display());
        return Err(Error::CommandLine { reason });
    }
    let text = input_file::read_text(list)?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut models: Vec<PathBuf> = Vec::new();
    for model in lines.map(|line| folder.join(line)) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    if models.is_empty() {
        return Err(Error::file("read", list, "no line of it names a model"));
    }
    Ok(Models::Directory { models, remarks: Vec::new(), doubts: Vec::new() })
}

fn read_directory(directory: &Path) -> Result<Models> {
    let (mut models, mut remarks, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    let mut sort = |path: PathBuf| {
        if frontend::is_model_file(&path) {
            models.push(path);
        } else if dumps::is_named_as_one(&path) {
            let is_empty = path.metadata().is_ok_and(|file| file.len() == 0);
            let what = if is_empty { "is empty" } else { "holds no graph" };
            doubts.push((path, format!("a dump by its name, {what}; dump it again, left out")));
        } else {
            let what = if frontend::is_om_file(&path) {
                "an om file, which holds a tuned graph or a compiled one; give it with --model to tune it again, left out"
            } else if dumps::is_readable_form(&path) {
                "a dump for people to read, which has not all of the graph; the ge_proto file of the same number has, left out"
            } else {
                "not a model by its suffix or content, left out"
            };
            remarks.push((path, what.to_owned()));
        }
    };
    for path in entries(directory)? {
        if !path.is_dir() {
            sort(path);
        } else if is_of_process(&path) {
            entries(&path)?.into_iter().filter(|below| !below.is_dir()).for_each(&mut sort);
        }
    }
    if models.is_empty() {
        return Err(Error::directory("tune", directory, "no file in it is a model, by its suffix or its content"));
    }
    let chosen = dumps::choose(models);
    remarks.extend(chosen.left.into_iter().map(|(path, why)| (path, format!("{why}, left out"))));
    remarks.extend(chosen.taken.iter().filter_map(|(path, said)| Some((path.clone(), said.clone()?))));
    remarks.sort();
    doubts.extend(chosen.cut);
    doubts.sort();
    Ok(Models::Directory { models: chosen.taken.into_iter().map(|(path, _)| path).collect(), remarks, doubts })
}

/// What lies in a directory and is not hidden.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Error::directory("read", directory, error);
    let paths = std::fs::read_dir(directory).map_err(failed)?.map(|entry| Ok(entry.map_err(failed)?.path()));
    let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    paths.filter(|path| !path.as_ref().is_ok_and(hidden)).collect()
}

/// Whether a folder is where a process has its graphs dumped: `pid_4711_deviceid_0`.
fn is_of_process(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let parts = name.and_then(|name| name.strip_prefix("pid_")?.split_once("_deviceid_"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    parts.is_some_and(|(pid, device)| is_number(pid) && is_number(device))
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
        let Models::Directory { models, remarks, doubts } = models else { panic!("{models:?}") };
        assert_eq!(doubts, []);
        let expected: Vec<PathBuf> = under(&["a b.ONNX", "b.onnx", "c.pb"]);
        assert_eq!(models, expected);
        let [(path, why)] = &remarks[..] else { panic!("{remarks:?}") };
        assert!(path.ends_with("weights.bin") && why.contains("not a model"), "{why}");
    }

    #[test]
    fn dumps_are_sought_in_the_folders_of_processes_and_one_stage_of_each_graph_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let text = "graph { name: 'g' op { name: 'x' type: 'Data' } }";
        let files = [
            "pid_7_deviceid_0/ge_proto_00000000_graph_0_PreRunBegin.txt",
            "pid_7_deviceid_0/ge_proto_00000009_graph_0_Build.txt",
            "pid_8_deviceid_1/ge_proto_00000000_graph_0_PreRunBegin.txt",
            "pid_8_deviceid_1/notes.txt",
            "pid_8_deviceid_1/ge_readable_00000000_graph_0_PreRunBegin.txt",
            "other/ge_proto_00000_Add.txt",
            "ge_proto_00000_Add.txt",
        ];
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, if file.contains("ge_proto") { text } else { "notes" }).unwrap();
        }
        let models = Models::of(&settings(&[("model_path", dir.path().to_str().unwrap())])).unwrap();
        let Models::Directory { models, remarks, doubts } = models else { panic!("{models:?}") };
        assert_eq!(doubts, []);
        assert_eq!(models, [files[6], files[0], files[2]].map(|file| dir.path().join(file)));
        let why = |file: &str| &remarks.iter().find(|(path, _)| *path == dir.path().join(file)).unwrap().1;
        assert!(why(files[0]).contains("PreRunBegin of graph 0") && why(files[1]).contains("left out"));
        assert!(why(files[3]).contains("not a model") && why(files[4]).contains("for people"));
        let folders: Vec<_> = models.iter().map(|model| folder("out/", model, &models)).collect();
        let named = |pid| format!("out/{pid}_ge_proto_00000000_graph_0_PreRunBegin.txt/");
        assert_eq!(folders[1..], [named("pid_7_deviceid_0"), named("pid_8_deviceid_1")]);
    }

    #[test]
    fn a_dump_that_is_empty_or_cut_off_is_a_warning_that_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let whole = "graph {\n  name: 'g'\n  op {\n    name: 'x'\n    type: 'Data'\n  }\n}\n";
        let files = [
            ("ge_proto_00000000_graph_0_PreRunBegin.txt", &whole[..40]),
            ("ge_proto_00000004_graph_0_AfterPreprocess.txt", whole),
            ("ge_proto_00000009_graph_1_PreRunBegin.txt", ""),
            ("ge_proto_00000011_graph_2_PreRunBegin.txt", "killed"),
            ("ge_proto_00000012_graph_3_PreRunBegin.txt", whole),
        ];
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let models = Models::of(&settings(&[("model_path", dir.path().to_str().unwrap())])).unwrap();
        let Models::Directory { models, doubts, .. } = models else { panic!("{models:?}") };
        assert_eq!(models, [files[0].0, files[4].0].map(|file| dir.path().join(file)));
        let said: Vec<(String, &str)> = doubts
            .iter()
            .map(|(path, why)| (path.file_name().unwrap().to_str().unwrap().to_owned(), why.as_str()))
            .collect();
        assert_eq!(said.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [0, 2, 3].map(|at| files[at].0));
        assert!(said[0].1.contains("dump it again") && said[0].1.contains(files[1].0), "{}", said[0].1);
        assert!(said[1].1.contains("is empty; dump it again"), "{}", said[1].1);
        assert!(said[2].1.contains("holds no graph"), "{}", said[2].1);
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
