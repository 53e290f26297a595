//! Where the tuned model goes, and writing it.

use super::environment::Environment;
use super::settings::Settings;
use crate::backend::RuntimeEnv;
use crate::backend::ascend::{self, CompileOptions, Search};
use crate::frontend::save_file;
use crate::graph::Graph;
use crate::output_file::{check, directory_of};
use crate::report::{OmWriter, TunedModel};
use crate::status::{Error, Result};
use std::path::{Path, PathBuf};

/// The two files of a tuned model.
#[derive(Debug)]
pub struct Files {
    /// GE's IR.
    pub air: PathBuf,
    /// What is loaded to run it.
    pub om: PathBuf,
}

/// The compiler that may be installed, and how it is to compile.
#[derive(Debug)]
pub struct Compilation {
    /// Where it may be.
    pub environment: RuntimeEnv,
    /// How it is to compile.
    pub options: CompileOptions,
}

impl Compilation {
    /// As the options say. What decides where banks are is in the environment of the compiler as well.
    pub fn of(settings: &Settings, environment: &Environment, soc: Option<&str>) -> Compilation {
        let given = |name: &str| settings.given.get(name).map(String::as_str);
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        let pair = |(key, value): (&str, Option<String>)| Some((key.to_owned(), value?));
        let initialize = [
            ("ge.socVersion", soc.map(str::to_owned)),
            ("ge.exec.precision_mode", given("precision_mode").map(str::to_owned)),
        ];
        let build =
            [("ge.op_bank_path", path(&settings.op_bank_path)), ("ge.mdl_bank_path", path(&settings.mdl_bank_path))];
        let with = |named: [_; 2], bypass| named.into_iter().filter_map(pair).chain(pairs(bypass)).collect();
        let options = CompileOptions {
            initialize: with(initialize, given("init_bypass").unwrap_or_default()),
            build: with(build, given("build_bypass").unwrap_or_default()),
        };
        Compilation { environment: environment.runtime(), options }
    }
}

/// Options in CANN's form, `key=value||key2=value2||key3`: a key may stand alone.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let entries = text.split("||").map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| {
        let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
        (key.trim().to_owned(), value.trim().to_owned())
    })
}

/// Longest part of a network's name in a file name, in bytes; names of files end at 255.
const MAX_NAME: usize = 128;

/// The files of a tuned model: those that option `output` names, else CANN's in the workspace.
/// `timestamp` is the result file's.
pub fn files(settings: &Settings, graph: &str, timestamp: &str) -> Files {
    let stem = settings.output.clone().unwrap_or_else(|| {
        let result = workspace(settings, graph, timestamp).join("tunespace/result");
        result.join(format!("{}_{timestamp}_tune", file_name(graph)))
    });
    let with = |suffix: &str| {
        let mut path = stem.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    };
    Files { air: with(".air"), om: with(".om") }
}

/// Whether the files that option `output` names can be written, asked before the tuning that is to end in them.
///
/// Fails with [`Error::File`].
pub fn check_writable(settings: &Settings) -> Result<()> {
    let files = settings.output.as_ref().map(|_| files(settings, "", ""));
    files.map_or(Ok(()), |Files { air, om }| [air, om].iter().try_for_each(|path| check(path)))
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

/// Writes a tuned graph in both forms: as IR, and compiled by GE. Where there is no GE, or it cannot compile the
/// graph, the om is a container of the same IR, and the answer says why.
///
/// Fails with [`Error::Directory`] or [`Error::File`], and with [`Error::Graph`] for a graph that is too
/// large for them.
pub fn write(graph: &Graph, files: Files, compilation: &Compilation) -> Result<TunedModel> {
    let Files { air, om } = files;
    for path in [&air, &om] {
        let directory = directory_of(path);
        std::fs::create_dir_all(directory).map_err(|e| Error::directory("create", directory, e))?;
    }
    save_file(graph, &air)?;
    let om_by = compiled(&air, &om, compilation);
    if let OmWriter::Libaoe(reason) = &om_by {
        if let Some(reason) = reason {
            log::warn!("{} holds no compiled kernels: {reason}", om.display());
        }
        save_file(graph, &om)?;
    }
    Ok(TunedModel { air, om, om_by })
}

/// Lets GE write the .om, if it can.
fn compiled(air: &Path, om: &Path, compilation: &Compilation) -> OmWriter {
    match ascend::compiler(&compilation.environment) {
        Search::Absent => OmWriter::Libaoe(None),
        Search::Unusable(reason) => OmWriter::Libaoe(Some(reason)),
        Search::Found(compiler) => match compiler.compile(air, om, &compilation.options) {
            Ok(()) => OmWriter::Ge(compiler.path().to_owned()),
            Err(reason) => OmWriter::Libaoe(Some(format!("{}: {reason}", compiler.path().display()))),
        },
    }
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
    use super::{file_name, pairs, stem};
    use std::path::Path;

    #[test]
    fn no_name_of_a_network_leaves_the_workspace() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("a\nb\0c"), "a_b_c");
        assert_eq!(file_name(""), "graph");
        assert!(file_name(&"ü".repeat(300)).len() <= 128);
    }

    #[test]
    fn options_for_the_compiler_come_in_canns_form() {
        let expected = [("a", "1"), ("b.c", "x=y"), ("d", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(pairs(" a=1||b.c = x=y||||d").collect::<Vec<_>>(), expected);
        assert_eq!(pairs("").next(), None);
    }

    #[test]
    fn the_suffix_of_a_model_is_not_doubled() {
        assert_eq!(stem(Path::new("out/net.om")), Path::new("out/net"));
        assert_eq!(stem(Path::new("out/net.v2")), Path::new("out/net.v2"));
    }
}
