//! The main job: initialise the library, tune each model in a session of its own, say what came out.

use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::labels::labelled;
use crate::models::{self, Models};
use crate::progress::Meter;
use crate::settings::Settings;
use crate::shard;
use crate::summary::Summary;
use crate::table::table;
use aoe::frontend::{self, Framework};
use aoe::graph::Graph;
use aoe::output_file::directory_of;
use aoe::report::time;
use aoe::session::inputs::model_options;
use aoe::session::options::{NEWEST, NEWEST_IF_ANY};
use aoe::session::{self, Flow, Session};
use aoe::spelling;
use aoe::status::{Error, Result};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Tunes what the options ask for.
///
/// Fails with [`Error::Cancelled`] where an interrupt ended it early, and with whatever stopped the tuning. Of several models
/// each is tried; those that fail are named at once, and the error counts them.
pub fn run(settings: &Settings, console: &Arc<Console>) -> Result<()> {
    if settings.get("profile").is_some() {
        return crate::llm::profile::run(settings, console);
    }
    shard::check(settings)?;
    let models = Models::of(settings)?;
    let interrupt = Interrupt::listen_to(Interrupt::SAVES, console)?;
    session::logging::set_sink(Some(console::log_sink(console)));
    // CANN's command line wants a job type; without one there is no reason to leave a job out.
    let default = if models == Models::Recording { "4" } else { "1,2" };
    let is_open = settings.get("job_type").is_none() && std::env::var_os("AOE_MODE").is_none_or(|mode| mode.is_empty());
    let default = is_open.then_some(("job_type", default));
    session::initialize(settings.for_library().chain(default))?;
    let job = Job { settings, console, interrupt: Arc::clone(&interrupt) };
    let outcome = match &models {
        Models::One(model) => job.report(job.tune(model, None, None)?),
        Models::SingleOps(file) => job.report(job.tune(file, Some(Framework::SingleOp), None)?),
        Models::Recording => job.report(job.tune_graph(None, None)?),
        Models::Directory { models, remarks, doubts } => {
            job.say("INFO", remarks);
            job.say("WARNING", doubts);
            shard::of(settings, models, console).and_then(|mine| job.tune_all(&mine, models))
        }
    };
    let ended = outcome.and(session::finalize());
    interrupt.over();
    ended
}

struct Job<'a> {
    settings: &'a Settings,
    console: &'a Arc<Console>,
    interrupt: Arc<Interrupt>,
}

/// What a tuning left behind.
struct Tuned {
    summary: Summary,
    /// None where nothing was to stay.
    result_file: Option<PathBuf>,
    /// How it ended: well, interrupted on the way, or without a single measurement.
    ended: Result<()>,
}

impl Job<'_> {
    /// `--model`, `--singleop` and recordings: CANN's two lines, then the summary.
    fn report(&self, tuned: Tuned) -> Result<()> {
        let Tuned { summary, result_file, ended } = tuned;
        if ended.is_ok() {
            let (task, gain) = (&summary.graph, summary.improvement());
            self.console.line(&format!("{task} process finished. Performance improved by {gain}"));
            self.console.line("Aoe process finished");
        }
        self.print(summary.lines());
        let output = self.settings.get("output").filter(|output| session::is_directory(output, Path::new(output)));
        // What could not be written may be the page.
        let output = output.filter(|_| !matches!(ended, Err(Error::File { .. } | Error::Directory { .. })));
        if let Some(file) = result_file {
            let page = output.map(|_| labelled("Report", &file.with_file_name("report.html").display().to_string()));
            self.print([labelled("Result", &file.display().to_string())].into_iter().chain(page));
        }
        ended
    }

    /// Says something of files of `--model_path`.
    fn say(&self, level: &str, remarks: &[(PathBuf, String)]) {
        for (path, remark) in remarks {
            self.console.notice(level, &format!("{}: {remark}", path.display()));
        }
    }

    /// `--model_path`: a line for each model of this machine's part, then all of them at a glance.
    fn tune_all(&self, mine: &[PathBuf], models: &[PathBuf]) -> Result<()> {
        let started = Instant::now();
        let mut tuned = Vec::new();
        let (mut failed, mut interrupted) = (0, false);
        for model in mine {
            // Each model has a results folder of its own, or the next would replace what the one before has left.
            let folder = self.settings.get("output").map(|output| models::folder(output, model, models));
            match self.tune(model, None, folder.as_deref()) {
                Ok(one) => {
                    match &one.ended {
                        Ok(()) => self.console.line(&format!("[Aoe]{} Tuning process finished.", one.summary.graph)),
                        Err(Error::Cancelled) => interrupted = true,
                        Err(error) => {
                            failed += 1;
                            self.console.error(error);
                        }
                    }
                    tuned.push(one);
                }
                // Also of one that comes after an interrupt.
                Err(Error::Cancelled) => interrupted = true,
                Err(error @ Error::NothingToTune { .. }) => {
                    self.console.notice("WARNING", &format!("{}: {error}", model.display()));
                }
                Err(error) => {
                    failed += 1;
                    self.console.error(&error.in_model(model));
                }
            }
            if interrupted {
                break;
            }
        }
        if failed == 0 && !interrupted {
            let seconds = started.elapsed().as_secs();
            self.console.line(&format!("[Aoe]Aoe process finished,cost time {seconds}s."));
        }
        self.print(overview(&tuned));
        match failed {
            _ if interrupted => Err(Error::Cancelled),
            0 => Ok(()),
            _ => Err(Error::Tuning { reason: format!("{failed} of {} models, see above", mine.len()) }),
        }
    }

    /// Loads and tunes one model, of this framework or the one that the options tell; its results go to a folder
    /// of its own, or where the options say.
    fn tune(&self, model: &Path, framework: Option<Framework>, folder: Option<&str>) -> Result<Tuned> {
        self.interrupt.check()?;
        let named = |error: Error| {
            let is_about_model = error.is_about_model() || matches!(error, Error::Tuning { .. });
            if is_about_model { error.in_model(model) } else { error }
        };
        let tuned = self.tune_file(model, framework, folder).map_err(named)?;
        Ok(Tuned { ended: tuned.ended.map_err(named), ..tuned })
    }

    fn tune_file(&self, model: &Path, framework: Option<Framework>, folder: Option<&str>) -> Result<Tuned> {
        let (stated, inputs) = model_options(self.settings.options())?;
        self.keep_model(model)?;
        if let Some(error) = missing(model) {
            return Err(error);
        }
        let mut graph = frontend::load_file(model, framework.or(stated), &inputs)?;
        // Exporters call every graph the same; the file's name tells a user which one it is.
        if let Some(stem) = model.file_stem() {
            graph.name = stem.to_string_lossy().into_owned();
        }
        self.tune_graph(Some(graph), folder)
    }

    /// Fails where the tuned model would take the place of the model itself.
    fn keep_model(&self, model: &Path) -> Result<()> {
        let Some(output) = self.settings.get("output").map(Path::new).filter(|output| !output.is_dir()) else {
            return Ok(());
        };
        let same = |path: PathBuf| {
            let found = path.canonicalize().is_ok_and(|path| model.canonicalize().is_ok_and(|m| m == path));
            // Folders that are not there yet will be made.
            found || plain(&path).is_some_and(|path| plain(model) == Some(path))
        };
        if session::model_files(output, self.settings.options())?.into_iter().any(same) {
            let reason = format!("the tuned model would take the place of {}: name another", model.display());
            return Err(Error::option("output", reason));
        }
        Ok(())
    }

    /// Tunes a graph, or what the options name in place of one, in a session of its own.
    fn tune_graph(&self, graph: Option<Graph>, folder: Option<&str>) -> Result<Tuned> {
        self.interrupt.check()?;
        let handle = session::create()?;
        let session = session::session(handle)?;
        let stopped = Arc::clone(&session);
        self.interrupt.on_arrival(Some(Box::new(move || stopped.cancel())));
        let outcome = self.tune_in(&session, graph, folder);
        self.interrupt.on_arrival(None);
        session::destroy(handle)?;
        outcome
    }

    fn tune_in(&self, session: &Session, graph: Option<Graph>, folder: Option<&str>) -> Result<Tuned> {
        let name = graph.as_ref().map_or("gradients", |graph| &graph.name);
        let mut meter = Meter::new(self.console, self.settings, name);
        let interrupt = Arc::clone(&self.interrupt);
        session.set_progress(Some(Box::new(move |progress| {
            meter.update(progress);
            // An interrupt before the tuning began could not cancel it.
            if interrupt.came() { Flow::Cancel } else { Flow::Continue }
        })))?;
        session.set_graph(graph)?;
        // Of several models some had ended, and some had not begun.
        let is_directory = self.settings.get("model_path").is_some();
        let reload = self.settings.get("reload").filter(|&job| is_directory && job == NEWEST).map(|_| NEWEST_IF_ANY);
        let ended =
            session.tune(folder.map(|folder| ("output", folder)).into_iter().chain(reload.map(|job| ("reload", job))));
        session.set_progress(None)?;
        let left = session.report().and_then(|report| Ok((Summary::of(&report)?, session.result_file().ok())));
        match (ended, left) {
            // What failed as a whole may have left a result all the same, which says what failed.
            (ended @ (Ok(()) | Err(Error::Cancelled | Error::Tuning { .. })), Ok((summary, result_file))) => {
                Ok(Tuned { summary, result_file, ended })
            }
            // All was tuned, and something could not be written.
            (Err(error), Ok((summary, result_file))) if summary.finished && summary.before_us > 0.0 => {
                Ok(Tuned { summary, result_file, ended: Err(error) })
            }
            // Also what was interrupted before it had anything to leave.
            (Err(error), _) | (Ok(()), Err(error)) => Err(error),
        }
    }

    fn print(&self, lines: impl IntoIterator<Item = String>) {
        lines.into_iter().for_each(|line| self.console.line(&line));
    }
}

/// All models at a glance.
fn overview(tuned: &[Tuned]) -> Vec<String> {
    let row = |one: &Tuned| {
        let summary = &one.summary;
        let state = match &one.ended {
            Ok(()) => "",
            Err(Error::Cancelled) => " (interrupted)",
            Err(_) => " (failed)",
        };
        let name = one.result_file.as_deref().and_then(Path::file_name).unwrap_or_default();
        let told = |text: String| if summary.is_empty() { "-".to_owned() } else { text };
        [
            summary.graph.to_string(),
            told(time(summary.before_us)),
            told(time(summary.after_us)),
            told(summary.improvement()),
            format!("{}{state}", name.to_string_lossy()),
        ]
    };
    let mut lines =
        table(["model", "before", "after", "gain", "result"], "lrrrl", &tuned.iter().map(row).collect::<Vec<_>>());
    // One environment gives all of them one place.
    if let Some(one) = tuned.first() {
        lines.push(String::new());
        lines.extend(one.summary.bank_lines());
        let results = one.result_file.as_deref().and_then(Path::parent);
        lines.extend(results.map(|results| labelled("Results", &results.display().to_string())));
    }
    lines
}

/// What is wrong with a path where nothing is, and the name beside it that may be meant.
fn missing(model: &Path) -> Option<Error> {
    let error = std::fs::metadata(model).err().filter(|error| error.kind() == ErrorKind::NotFound)?;
    let beside = std::fs::read_dir(directory_of(model)).into_iter().flatten().flatten();
    let names: Vec<String> = beside.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let name = model.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let near = spelling::nearest(&name, names.iter().map(String::as_str));
    let meant = near.map(|near| format!("; did you mean `{}`?", model.with_file_name(near).display()));
    Some(Error::file("open", model, format!("{error}{}", meant.unwrap_or_default())))
}

/// A path from the root on, without steps back.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    Some(plain)
}
