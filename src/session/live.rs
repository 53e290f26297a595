//! What is told while a tuning runs: the result file, the session's report, the caller's progress function.

use super::environment::Environment;
use super::profiling::{Profiles, Profiling};
use super::settings::Settings;
use super::state::{Flow, Found, ProgressFn, Session};
use super::tuned_model::{self, Compilation};
use super::workspace::{self, Workspace};
use crate::graph::Graph;
use crate::lower::Lowered;
use crate::output_file::{self, Publication};
use crate::profile::Timed;
use crate::report::{Context, Folder, ProcessFiles, ResultFile, Runs, full_report, gdat_timeline, result};
use crate::status::{Error, Result};
use crate::tune::gdat::recording::summary_in;
use crate::tune::gdat::{Found as Splits, GdatOutcome};
use crate::tune::sgat::SgatOutcome;
use crate::tune::{Observer, Progress, Tuned};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Keeps the result file of the job at hand and the session's report up to date, and asks the caller whether
/// to go on.
pub struct Live<'a> {
    session: &'a Session,
    /// What the reports tell besides the outcomes.
    pub context: Context,
    file: ResultFile,
    /// The files of the process, where results go there.
    files: Option<&'a ProcessFiles>,
    progress: Option<&'a mut ProgressFn>,
    failure: Option<Error>,
    /// The directory of the job at hand, once something is to be put into it.
    workspace: Option<Workspace>,
    /// What subgraph tuning found, once operators are tuned.
    subgraphs: Option<SgatOutcome>,
    /// The kernels of each variant before subgraph tuning; empty where that was not run.
    earlier: Vec<Lowered>,
}

/// CANN's summary of the gradients of a graph.
pub fn summary_file(work_path: &Path) -> PathBuf {
    work_path.join("gradient_summary.csv")
}

impl<'a> Live<'a> {
    /// Begins the results of the first job: a file, or an entry in one of `files`.
    pub fn new(
        session: &'a Session,
        context: Context,
        job: &str,
        files: Option<&'a ProcessFiles>,
        progress: Option<&'a mut ProgressFn>,
    ) -> Result<Live<'a>> {
        let file = ResultFile::create(&context, job, files)?;
        let context = Context { began: file.timestamp().to_owned(), ..context };
        let (failure, workspace, subgraphs, earlier) = (None, None, None, Vec::new());
        Ok(Live { session, context, file, files, progress, failure, workspace, subgraphs, earlier })
    }

    /// Ends subgraph tuning and begins the result file of the next job.
    pub fn go_on(&mut self, subgraphs: Option<SgatOutcome>, job: &str) -> Result<()> {
        if let Some(outcome) = subgraphs {
            self.end(Tuned::Subgraphs(&outcome))?;
            self.subgraphs = Some(outcome);
        }
        self.file = ResultFile::create(&self.context, job, self.files)?;
        self.workspace = None;
        Ok(())
    }

    /// The directory of the job at hand, made when it is first asked for.
    pub fn workspace(&mut self, settings: &Settings, graph: &str) -> Result<&Workspace> {
        let claimed = match self.workspace.take() {
            Some(workspace) => workspace,
            None => Workspace::claim(workspace::jobs(settings, graph), self.file.timestamp())?,
        };
        Ok(self.workspace.insert(claimed))
    }

    /// Writes the tuned model, for each gear by itself; the reports then tell of it.
    pub fn write_models(&mut self, graphs: &[Graph], settings: &Settings, environment: &Environment) -> Result<()> {
        let Some(first) = graphs.first() else { return Ok(()) };
        let timestamp = match &settings.output {
            Some(_) => String::new(),
            None => self.workspace(settings, &first.name)?.timestamp().to_owned(),
        };
        let files = tuned_model::files(settings, &first.name, &timestamp);
        let soc = self.context.soc.as_ref().map(|soc| soc.name.as_str());
        let compilation = Compilation::of(settings, environment, soc);
        let written = tuned_model::write(graphs, files, &compilation, &self.session.patience())?;
        self.context.tuned_models = written;
        Ok(())
    }

    /// Notes how the variants ran before their subgraphs were tuned.
    pub fn note_before(&mut self, earlier: Vec<Lowered>) {
        self.earlier = earlier;
    }

    /// How the variants ran before their subgraphs were tuned, for once.
    pub fn earlier(&mut self) -> Vec<Lowered> {
        std::mem::take(&mut self.earlier)
    }

    /// Has the reports tell of the runs before and after; answers the profiles that are wanted of them.
    pub fn tell_runs<'b>(
        &mut self,
        runs: Result<[Timed<'b>; 2]>,
        profiling: Option<Profiling>,
    ) -> Result<Option<Profiles<'b>>> {
        let runs = runs?;
        self.context.runs = Some(Runs::of(&runs));
        Ok(profiling.and_then(|profiling| profiling.begin(runs)))
    }

    /// Whether subgraphs were tuned before.
    pub fn has_subgraphs(&self) -> bool {
        self.subgraphs.is_some()
    }

    /// Publishes the last state of a job that another one follows.
    fn end(&mut self, tuned: Tuned<'_>) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.file.finish(|| result(tuned))?;
        self.tell(tuned)
    }

    /// Publishes the last state of the last job, finished or not: the timeline of gradients, the result file, then the
    /// reports and profiles. What cannot be written holds back nothing else; the first failure is the one to report.
    pub fn finish(&mut self, tuned: Tuned<'_>, profiles: Option<Profiles<'_>>) -> Result<()> {
        let drawn = tuned.gradients().map_or(Ok(()), |outcome| self.write_timeline(outcome));
        let earlier = self.failure.take().map_or(Ok(()), Err);
        let subgraphs = self.subgraphs.take();
        let tuned = tuned.behind(subgraphs.as_ref());
        let filed = self.file.finish(|| result(tuned));
        let published = self.publish(tuned, profiles);
        drawn.and(earlier).and(filed).and(published)
    }

    /// Puts reports and profiles in place, all at once, and gives the session the report. Of a disk that is nearly full
    /// the reports get the room.
    fn publish(&mut self, tuned: Tuned<'_>, wanted: Option<Profiles<'_>>) -> Result<()> {
        let mut publication = Publication::new();
        self.context.earlier = self.context.folder.as_ref().map(Folder::earlier).unwrap_or_default();
        self.context.profiles = wanted.as_ref().map(Profiles::paths);
        let mut report = full_report(tuned, &self.context)?;
        let mut reported = self.prepare(&mut publication, tuned, &report);
        let mut failed = Ok(());
        // Beside reports that have no room only profiles that were asked for are tried.
        let tried = wanted.filter(|profiles| reported.is_ok() || profiles.is_asked);
        let prepared = tried.as_ref().map(|profiles| profiles.prepare(&mut publication, self.session.cancelled()));
        if !matches!(prepared, Some(Ok(()))) && self.context.profiles.take().is_some() {
            report = full_report(tuned, &self.context)?;
            reported = reported.and_then(|()| self.prepare(&mut publication, tuned, &report));
        }
        match (prepared, tried) {
            (Some(Err(error)), Some(of)) if of.is_asked && !matches!(error, Error::Cancelled) => failed = Err(error),
            (Some(Err(error)), _) => log::warn!("there are no profiles of this tuning: {error}"),
            _ => {}
        }
        let committed = match &self.context.folder {
            Some(folder) => folder.publish(publication, &self.session.patience()),
            None => publication.commit(),
        };
        if committed.is_err() && self.context.profiles.take().is_some() {
            report = full_report(tuned, &self.context)?;
        }
        self.give(report);
        reported.and(committed).and(failed)
    }

    fn prepare(&self, publication: &mut Publication, tuned: Tuned<'_>, report: &str) -> Result<()> {
        let folder = self.context.folder.as_ref();
        folder.map_or(Ok(()), |folder| folder.prepare(publication, tuned, report, &self.context))
    }

    /// Takes the results of the job at hand away again: it found nothing.
    pub fn discard(&mut self) {
        self.file.discard();
        *self.session.found() = Found::default();
    }

    /// Writes CANN's summary of the gradients of a graph; that of others stays.
    pub fn write_gradient_summary(&mut self, found: &Splits, graph: &str) -> Result<()> {
        let path = summary_file(&self.context.work_path);
        output_file::replace(&path, summary_in(&path, &found.training.gradients, graph)?.as_bytes())?;
        self.context.gradient_summary = Some(path);
        Ok(())
    }

    fn write_timeline(&mut self, outcome: &GdatOutcome) -> Result<()> {
        let Some(found) = &outcome.found else { return Ok(()) };
        let path = self.file.sibling("aoe_timeline", "gdat");
        output_file::replace(&path, gdat_timeline(found, outcome.contention)?.as_bytes())?;
        self.context.timeline = Some(path);
        Ok(())
    }

    /// Gives the session what the file now says, and more.
    fn tell(&self, tuned: Tuned<'_>) -> Result<()> {
        self.give(full_report(tuned, &self.context)?);
        Ok(())
    }

    fn give(&self, report: String) {
        let mut found = self.session.found();
        found.report = Some(report);
        found.result_file = Some(self.file.path().to_owned());
    }

    /// What follows each step.
    fn follow(&mut self, published: Result<()>, progress: &Progress) {
        // The first failure is the one to report; a tuning whose results cannot be written is stopped.
        if let Err(error) = published {
            self.failure.get_or_insert(error);
            self.session.cancel();
        }
        if let Some(function) = self.progress.as_deref_mut()
            && function(progress) == Flow::Cancel
        {
            self.session.cancel();
        }
    }
}

impl Observer for Live<'_> {
    fn progress(&mut self, progress: &Progress, tuned: Tuned<'_>) {
        let tuned = tuned.behind(self.subgraphs.as_ref());
        // Nothing is finished within a search.
        let written = if progress.searching > 0 { Ok(false) } else { self.file.update(|| result(tuned)) };
        let published = match written {
            Ok(true) => {
                let begun = Instant::now();
                let told = self.tell(tuned);
                // The report of thousands of operators takes longer than the file.
                self.file.count(begun.elapsed());
                told
            }
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.follow(published, progress);
    }
}
