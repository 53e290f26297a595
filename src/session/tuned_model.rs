//! Where the tuned model goes, and writing it.

use super::environment::Environment;
use super::inputs::gears;
use super::options::OptionMap;
use super::settings::Settings;
use super::workspace::{MODELS, file_name, jobs, workspace};
use crate::backend::RuntimeEnv;
use crate::backend::ascend::{self, CompileOptions, Search};
use crate::frontend::check::hindrance;
use crate::frontend::{Gear, file_content};
use crate::graph::Graph;
use crate::output_file::{Patience, Publication, check, check_directory, directory_of};
use crate::report::{OmWriter, TunedModel};
use crate::status::{Error, Result};
use std::path::{Path, PathBuf};

/// The two files of a tuned model.
#[derive(Debug)]
pub struct Files {
    /// GE's IR.
    air: PathBuf,
    /// What is loaded to run it.
    om: PathBuf,
    /// Which of several gears they hold.
    gear: Option<String>,
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

/// Longest part of a gear's values in a file name, in bytes.
const MAX_GEAR: usize = 64;

/// The files of a tuned model: those that option `output` names, else CANN's in the workspace. `timestamp` is the result
/// file's.
pub fn files(settings: &Settings, graph: &str, timestamp: &str) -> Vec<Files> {
    let stem = settings.output.clone().unwrap_or_else(|| {
        let result = workspace(settings, graph, timestamp).join(MODELS);
        result.join(format!("{}_{timestamp}_tune", file_name(graph)))
    });
    with_stem(&stem, &settings.gears)
}

/// Where the tuned model goes that these options describe and `output` names: each of its files.
///
/// Fails with [`Error::Option`] for gears that are none.
pub fn named(output: &Path, options: &OptionMap) -> Result<Vec<PathBuf>> {
    let files = with_stem(&super::stem(output), &gears(options)?);
    Ok(files.into_iter().flat_map(|Files { air, om, .. }| [air, om]).collect())
}

/// The files of this stem: two, or of several gears each two of its own, under its name.
fn with_stem(stem: &Path, gears: &[Gear]) -> Vec<Files> {
    let with = |gear: &str, suffix: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(gear);
        path.push(suffix);
        PathBuf::from(path)
    };
    let of = |name: &str, gear: Option<String>| Files { air: with(name, ".air"), om: with(name, ".om"), gear };
    match gears {
        [] | [_] => vec![of("", None)],
        gears => {
            let named = |(at, gear): (usize, &Gear)| {
                let suffix = gear.file_suffix();
                // The values of many dimensions are too long for the name of a file.
                let suffix = if suffix.len() > MAX_GEAR { format!("_gear_{}", at + 1) } else { suffix };
                of(&suffix, Some(gear.to_string().trim_start_matches('@').to_owned()))
            };
            gears.iter().enumerate().map(named).collect()
        }
    }
}

/// Whether the tuned model can be written, asked before the tuning that is to end in it.
///
/// Fails with [`Error::File`] or [`Error::Directory`].
pub fn check_writable(settings: &Settings) -> Result<()> {
    if settings.output.is_some() {
        let files = files(settings, "", "");
        return files.iter().flat_map(|Files { air, om, .. }| [air, om]).try_for_each(|path| check(path));
    }
    let (jobs, _) = jobs(settings, "");
    let is_written = settings.tuned_model && settings.recorded.is_none();
    let checked = if is_written { check_directory(&jobs) } else { Ok(()) };
    checked.map_err(|e| Error::directory("write to", &jobs, e))
}

/// Writes tuned graphs, one for each gear, in both forms, which appear together: as IR, and compiled by GE. Where there is
/// no GE, or it cannot compile a graph, the om is a container of the same IR, and the answer says why.
///
/// Fails with [`Error::Directory`] or [`Error::File`], and with [`Error::Graph`] for a graph that is too
/// large for them.
pub fn write(
    graphs: &[Graph],
    files: Vec<Files>,
    compilation: &Compilation,
    patience: &Patience,
) -> Result<Vec<TunedModel>> {
    let mut publication = Publication::new();
    let prepared = graphs.iter().zip(files).map(|(graph, files)| prepare(&mut publication, graph, files, compilation));
    let models: Vec<TunedModel> = prepared.collect::<Result<_>>()?;
    if let Some(first) = models.first() {
        // Of two tunings that end here at once all files are one's.
        publication.lock(directory_of(&first.air), patience)?;
    }
    publication.commit()?;
    Ok(models)
}

/// Prepares both forms of a graph.
fn prepare(
    publication: &mut Publication,
    graph: &Graph,
    Files { air, mut om, gear }: Files,
    compilation: &Compilation,
) -> Result<TunedModel> {
    let unfinished = write_file(publication, graph, &air)?;
    let mut om_by = match compiled(&unfinished, &publication.place(&om)?, compilation) {
        Ok((library, written)) => {
            om = publication.renamed(&om, written);
            OmWriter::Ge(library)
        }
        Err(reason) => OmWriter::Libaoe(reason),
    };
    if let OmWriter::Libaoe(reason) = &mut om_by {
        if let Some(reason) = reason {
            log::warn!("{} holds no compiled kernels: {reason}", om.display());
        }
        // Nobody could compile it, which the results tell without a warning: it was not asked for.
        if let Some(missing) = hindrance(graph) {
            *reason = Some(reason.take().map_or(missing.clone(), |reason| format!("{reason}; {missing}")));
        }
        write_file(publication, graph, &om)?;
    }
    Ok(TunedModel { air, om, om_by, gear })
}

/// Prepares one form of the graph; answers where it lies until it is put in place.
fn write_file(publication: &mut Publication, graph: &Graph, target: &Path) -> Result<PathBuf> {
    let content = file_content(graph, target)?;
    publication.file_with(target, |file| content.write_to(file))
}

/// Lets GE write the .om, if it can: the library of GE, and the file that it wrote; else why it did not, where one is
/// installed.
fn compiled(
    air: &Path,
    om: &Path,
    compilation: &Compilation,
) -> std::result::Result<(PathBuf, PathBuf), Option<String>> {
    match ascend::compiler(&compilation.environment) {
        Search::Absent => Err(None),
        Search::Unusable(reason) => Err(Some(reason)),
        Search::Found(compiler) => match compiler.compile(air, om, &compilation.options) {
            Ok(written) => Ok((compiler.path().to_owned(), written)),
            Err(reason) => Err(Some(format!("{}: {reason}", compiler.path().display()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn options_for_the_compiler_come_in_canns_form() {
        let expected = [("a", "1"), ("b.c", "x=y"), ("d", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(pairs(" a=1||b.c = x=y||||d").collect::<Vec<_>>(), expected);
        assert_eq!(pairs("").next(), None);
    }
}
