//! Where the tuned model goes, and writing it.

use super::environment::Environment;
use super::inputs::gears;
use super::options::OptionMap;
use super::settings::Settings;
use crate::backend::RuntimeEnv;
use crate::backend::ascend::{self, CompileOptions, Search};
use crate::frontend::check::hindrance;
use crate::frontend::{Gear, file_content};
use crate::graph::Graph;
use crate::output_file::{Patience, Publication, check, check_directory, directory_of, sweep};
use crate::report::{OmWriter, TunedModel};
use crate::spelling::is_shown;
use crate::status::{Error, Result};
use crate::tune::sgat::State;
use std::io::ErrorKind;
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

/// Where the tuned model lies in the directory of its tuning.
const MODELS: &str = "tunespace/result";
/// Longest part of a network's name in a file name, in bytes; names of files end at 255.
const MAX_NAME: usize = 128;
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

/// The directory of one tuning, which no other has. It goes with this where nothing was put into it.
#[derive(Debug)]
pub struct Workspace {
    directory: PathBuf,
    timestamp: String,
}

impl Workspace {
    /// Makes, among those that [`jobs`] tells, the directory of a tuning that began at a moment. Where a tuning of a
    /// network of the same name began at the same one, the next millisecond that is free gives the name. What killed
    /// tunings left unfinished in theirs goes.
    ///
    /// Fails with [`Error::Directory`].
    pub fn claim((jobs, prefix): (PathBuf, String), timestamp: &str) -> Result<Workspace> {
        make(&jobs)?;
        for job in std::fs::read_dir(&jobs).into_iter().flatten().flatten() {
            sweep(&job.path().join(MODELS));
            State::sweep(&job.path());
        }
        let mut timestamp = timestamp.to_owned();
        loop {
            let directory = jobs.join(format!("{prefix}{timestamp}"));
            match (std::fs::create_dir(&directory), next_millisecond(&timestamp)) {
                (Ok(()), _) => return Ok(Workspace { directory, timestamp }),
                (Err(e), Some(next)) if e.kind() == ErrorKind::AlreadyExists => timestamp = next,
                // Another tuning has just left it empty, and taken it away.
                (Err(e), _) if e.kind() == ErrorKind::NotFound => make(&jobs)?,
                (Err(e), _) => return Err(Error::directory("create", &directory, e)),
            }
        }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The moment in its name.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // One that holds something stays.
        let _ = std::fs::remove_dir(&self.directory);
        if let Some(jobs) = self.directory.parent() {
            leave(jobs);
        }
    }
}

/// Makes the directory of all tunings, of which another may take it away at any moment.
fn make(jobs: &Path) -> Result<()> {
    // What is in the way must be a directory that went again, or is back: looked at once, for between two looks it may
    // do either.
    let is_passing =
        || jobs.symlink_metadata().map_or(true, |data| data.is_dir() || (data.is_symlink() && jobs.is_dir()));
    let is_free = || jobs.parent().is_some_and(Path::is_dir) && is_passing();
    loop {
        match std::fs::create_dir_all(jobs) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && is_free() => {}
            made => return made.map_err(|e| Error::directory("create", jobs, e)),
        }
    }
}

/// Takes away the directory of all tunings where none left anything in it.
pub fn leave(jobs: &Path) {
    // One that holds something stays.
    let _ = std::fs::remove_dir(jobs);
}

/// The moment after `YYYYMMDD_HHMMSSmmm`.
fn next_millisecond(timestamp: &str) -> Option<String> {
    const SECOND: &str = "%Y%m%d_%H%M%S";
    let (second, millis) = timestamp.split_at_checked("YYYYMMDD_HHMMSS".len())?;
    let millis = jiff::SignedDuration::from_millis(1 + i64::from(millis.parse::<u16>().ok()?));
    let next = jiff::civil::DateTime::strptime(SECOND, second).ok()?.checked_add(millis).ok()?;
    Some(format!("{}{:03}", next.strftime(SECOND), next.millisecond()))
}

/// The directory of one tuning of a network.
fn workspace(settings: &Settings, graph: &str, timestamp: &str) -> PathBuf {
    let (workspace, prefix) = jobs(settings, graph);
    workspace.join(format!("{prefix}{timestamp}"))
}

/// Where the directories of all tunings lie, and how the names of those of a network begin.
pub fn jobs(settings: &Settings, graph: &str) -> (PathBuf, String) {
    (settings.work_path.join("aoe_workspace"), format!("{}_", file_name(graph)))
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

/// A network's name as part of a file name.
fn file_name(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c == '/' || !is_shown(c) { '_' } else { c }).collect();
    let end = (0..=MAX_NAME.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.truncate(end);
    if text.is_empty() { "graph".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Workspace, file_name, next_millisecond, pairs};
    use std::ffi::OsString;

    #[test]
    fn no_name_of_a_network_leaves_the_workspace() {
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("a\nb\0c\u{202e}d"), "a_b_c_d");
        assert_eq!(file_name(""), "graph");
        assert!(file_name(&"ü".repeat(300)).len() <= 128);
    }

    #[test]
    fn the_millisecond_after_the_last_of_a_year_is_the_first_of_the_next() {
        assert_eq!(next_millisecond("20261122_095450974").as_deref(), Some("20261122_095450975"));
        assert_eq!(next_millisecond("20261231_235959999").as_deref(), Some("20270101_000000000"));
        assert_eq!(next_millisecond("2026"), None);
    }

    #[test]
    fn tunings_of_one_name_that_begin_at_one_moment_have_directories_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let claim = || Workspace::claim((place.path().join("jobs"), "net_".into()), "20261122_095450999").unwrap();
        let begun: Vec<Workspace> =
            std::thread::scope(|s| [0; 8].map(|_| s.spawn(claim)).map(|thread| thread.join().unwrap()).into());
        let mut names: Vec<_> = begun.iter().map(|w| w.directory().file_name().unwrap().to_owned()).collect();
        names.sort();
        let expected = [450_999, 451_000, 451_001, 451_002, 451_003, 451_004, 451_005, 451_006];
        assert_eq!(names, expected.map(|end| OsString::from(format!("net_20261122_095{end}"))));
        std::fs::write(begun[0].directory().join("kept"), "").unwrap();
        drop(begun);
        assert_eq!(std::fs::read_dir(place.path().join("jobs")).unwrap().count(), 1, "empty ones go");
    }

    #[test]
    fn tunings_that_leave_nothing_leave_no_directory_and_take_none_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        let jobs = place.path().join("jobs");
        let claim = || drop(Workspace::claim((jobs.clone(), "net_".into()), "20261122_095450999").unwrap());
        std::thread::scope(|s| drop([0; 4].map(|_| s.spawn(|| (0..500).for_each(|_| claim())))));
        assert!(!jobs.exists());
    }

    #[test]
    fn options_for_the_compiler_come_in_canns_form() {
        let expected = [("a", "1"), ("b.c", "x=y"), ("d", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(pairs(" a=1||b.c = x=y||||d").collect::<Vec<_>>(), expected);
        assert_eq!(pairs("").next(), None);
    }
}
