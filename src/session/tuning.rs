//! One tuning call: from what the session was given to what it found.

use super::live::Live;
use super::logging;
use super::material::{Material, workloads};
use super::options::{OptionMap, gather};
use super::places::rescue_root;
use super::profiling::{Profiles, Profiling};
use super::runs::{forms, runs, scene};
use super::settings::{JobType, Settings};
use super::state::{Found, ProgressFn, Session};
use super::subgraphs::{fuse_by_default, ub_fusion};
use super::tuned_graph::{self, TunedGraph, tuned_graphs};
use super::tuned_model;
use super::work::Work;
use super::{base, idle, workspace};
use crate::backend::{self, Backend, Choice, Opened, Request};
use crate::bank::{BankPaths, OperatorBank};
use crate::graph::Graph;
use crate::report::{Context, Folder, Fusions, ProcessFiles};
use crate::status::{Error, Result};
use crate::tune::sgat::{SgatOutcome, State};
use crate::tune::{OpatJob, ToMeasure, Tuned, Unsaved, opat};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
mod tests;

impl Session {
    /// Tunes the session's graph with this call's options.
    ///
    /// Results are in the bank and the result file when it returns; [`Session::report`] has them too.
    /// Fails with [`Error::Busy`] when another thread is inside the session, [`Error::NoGraph`] without a graph,
    /// [`Error::NothingToTune`] without a tunable operator or one that the backend can measure, [`Error::Cancelled`] after a cancel (what was found is
    /// saved), [`Error::Tuning`] where no operator could be measured, and with whatever stopped it.
    pub fn tune<'a>(&self, options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let call = gather(options)?;
        let _inside = self.begin_tuning()?;
        // What an earlier tuning found is not this one's, whatever becomes of it.
        *self.found() = Found::default();
        // The host's function runs under no lock: it may call back into this session.
        let mut progress = self.given().progress.take();
        let result = self.tune_inside(&call, progress.as_deref_mut());
        self.given().progress = progress;
        result
    }

    fn tune_inside(&self, call: &OptionMap, progress: Option<&mut ProgressFn>) -> Result<()> {
        let environment = &self.instance.environment;
        let settings = Settings::resolve(&self.instance.options, call, environment)?;
        idle::check_named(&settings, &environment.current_dir)?;
        if let Some(level) = &settings.log {
            logging::set_level(Some(level));
        }
        idle::warn(&settings);
        let leaves = settings.leaves.clone();
        let ended = match settings.job {
            JobType::Gdat => self.tune_gradients(&settings, progress),
            JobType::Sgat | JobType::Opat | JobType::SgatOpat => self.tune_kernels(settings, progress),
        };
        if !leaves.results() {
            // It goes with the directory of the run.
            self.found().result_file = None;
        }
        ended.map_err(|error| leaves.explain(error))
    }

    /// Tunes subgraphs, operators, or both, in this order.
    fn tune_kernels(&self, settings: Settings, progress: Option<&mut ProgressFn>) -> Result<()> {
        let (mut work, mut context) = self.begin(settings)?;
        let files = self.result_files(&work.settings);
        let [subgraphs, operators] = work.settings.job.parts();
        let (mut state, mut unsaved) = (None, None);
        let (jobs, _) = workspace::jobs(&work.settings, "");
        let clear = |state: State| {
            state.clear()?;
            workspace::leave(&jobs);
            Ok(())
        };
        let mut live = if subgraphs {
            let paths = self.subgraph_paths(&work.settings, &*work.backend)?;
            context.subgraph_bank = Some(paths.custom.clone());
            let mut live = Live::new(self, context, "sgat", files, progress)?;
            match self.tune_subgraphs(&mut work, &paths, &mut live) {
                Ok((outcome, kept)) if operators && outcome.tuning.finished => {
                    // Where the bank did not take them, the state keeps them, too: another tuning goes on from it.
                    unsaved = outcome.tuning.unsaved.as_ref().map(Unsaved::error);
                    live.go_on(Some(outcome), "opat")?;
                    state = Some(kept);
                }
                Ok((outcome, kept)) => {
                    self.conclude_subgraphs(work, &outcome, &mut live)?;
                    return clear(kept);
                }
                // Operators may be tunable all the same.
                Err(Error::NothingToTune { .. }) if operators => {
                    let Work { variants, settings, backend, .. } = &mut work;
                    fuse_by_default(variants, settings, backend.soc())?;
                    live.go_on(None, "opat")?;
                }
                Err(error) => return Err(error),
            }
            live
        } else {
            Live::new(self, context, "opat", files, progress)?
        };
        self.tune_operators(work, &mut live)?;
        unsaved.map_or(Ok(()), Err)?;
        // Whatever ends a tuning before this, it can go on from its state.
        state.map_or(Ok(()), clear)
    }

    /// Opens the backend and makes sure of all that can fail before anything is tuned: the graph is bound and lowered,
    /// and every place that the tuning will write to can be written.
    fn begin(&self, mut settings: Settings) -> Result<(Work, Context)> {
        let graph = self.stated_graph(&settings)?;
        let inputs = self.input_options(&settings, &graph)?;
        let Opened { backend, note } = self.open_backend(&settings)?;
        // Who did not ask for the simulator hears that it stands in for a device.
        let is_simulated = backend.describe().is_simulated;
        let stands_in = settings.backend == Choice::Auto && is_simulated;
        log::log!(if stands_in { log::Level::Warn } else { log::Level::Info }, "{note}");
        if is_simulated {
            idle::warn_of_simulator(&settings);
        }
        if backend.measuring_time().is_none() {
            settings.opat.max_trials = settings.dear_trials;
        }
        let soc = backend.soc();
        let Material { mut variants, stated, left_out, fused } = Material::of(&graph, &inputs, &settings, soc)?;
        if !settings.job.parts()[0] {
            fuse_by_default(&mut variants, &settings, soc)?;
        }
        let profiling = Profiling::of(&settings, &forms(&variants, &[]))?;
        let bank = if settings.job.parts()[1] {
            let paths = self.bank_paths(&settings, &*backend)?;
            OperatorBank::open(paths.clone(), soc)
                .with_binary(settings.binary_bank)
                .check_writable(workloads(&variants))?;
            paths
        } else {
            self.subgraph_paths(&settings, &*backend)?
        };
        tuned_model::check_writable(&settings)?;
        let context = Context {
            soc: Some(soc.clone()),
            options: settings.given.clone(),
            folder: settings.has_output.then(|| Folder::at(&settings.work_path)).transpose()?,
            left_out,
            bank_root: settings.operator_destination(&*backend).root(&self.instance.environment),
            dry_run: settings.leaves_no_records(&bank),
            fusions: Some(Fusions { graph: fused, ub: ub_fusion(&variants) }),
            ..Context::new(&settings.work_path, note, &bank)
        };
        let tuned = stated.into_iter().map(|graph| TunedGraph::new(graph, soc)).collect();
        Ok((Work { settings, backend, variants, tuned, profiling, bank }, context))
    }

    /// Leaves behind what subgraph tuning found, where no other job follows.
    fn conclude_subgraphs(&self, work: Work, outcome: &SgatOutcome, live: &mut Live<'_>) -> Result<()> {
        let Work { settings, backend, variants, tuned, profiling, .. } = work;
        let earlier = live.earlier();
        // One that was interrupted knows no run that compares with the one before.
        let profiles = if outcome.tuning.finished {
            live.tell_runs(runs(&variants, &earlier, None, scene(&variants, backend.soc(), &settings)), profiling)
        } else {
            Ok(None)
        };
        let ended = outcome.tuning.ended();
        let tuned = tuned_graphs(tuned, &variants);
        self.conclude((tuned, profiles), ended, &settings, live, Tuned::Subgraphs(outcome))
    }

    /// Tunes the operators of the variants.
    fn tune_operators(&self, work: Work, live: &mut Live<'_>) -> Result<()> {
        let Work { settings, backend, mut variants, tuned, profiling, bank: paths } = work;
        let soc = backend.soc();
        let bank = OperatorBank::open(paths.clone(), soc).with_patience(self.patience());
        let mut bank = bank.with_binary(settings.binary_bank);
        let base = settings.base_result.as_deref().map(|path| base::bank(path, soc)).transpose()?.flatten();
        let base = base.map(|paths| OperatorBank::open(paths, soc));
        if settings.has_output {
            base::remember(&settings.work_path, soc, &paths);
        }
        let root = settings.operator_destination(&*backend).root_to_measure(&self.instance.environment);
        let apart = OperatorBank::open(BankPaths::operator_below(&root, soc), soc).with_patience(self.patience());
        let mut apart = apart.with_binary(settings.binary_bank);
        let to_measure = ToMeasure { bank: &mut apart, root: settings.leaves.results().then_some(root) };
        let mut job = OpatJob {
            name: variants.first().map_or("", |first| &first.graph.name),
            variants: &variants,
            backend: &*backend,
            bank: &mut bank,
            base: base.as_ref(),
            rescue: settings.leaves.results().then(|| rescue(&settings.work_path, &paths)),
            to_measure: Some(to_measure),
            settings: &settings.opat,
            cancel: self.cancelled(),
        };
        let outcome = opat(&mut job, live)?;
        if settings.has_output
            && let Err(error) = base::keep_copy(&job, soc, &settings.work_path)
        {
            log::warn!("{} has no copy of its records: {error}", settings.work_path.display());
        }
        tuned_graph::set_tilings(&mut variants, &outcome);
        let ended = match outcome.ended() {
            Err(error @ Error::NothingToTune { .. }) => {
                // To most clients this status is success: it must not be all that their users get.
                log::warn!("operators were not tuned: {error}");
                if live.has_subgraphs() { Ok(()) } else { Err(error) }
            }
            ended => ended,
        };
        let earlier = live.earlier();
        let runs = runs(&variants, &earlier, Some(&outcome), scene(&variants, soc, &settings));
        let profiles = live.tell_runs(runs, profiling.filter(|_| ended.is_ok()));
        let tuned = tuned_graphs(tuned, &variants);
        self.conclude((tuned, profiles), ended, &settings, live, Tuned::Operators(None, &outcome))
    }

    /// The files that all tunings of the process share, where results go there.
    pub(super) fn result_files(&self, settings: &Settings) -> Option<&ProcessFiles> {
        settings.one_result_file.then_some(&self.instance.results)
    }

    /// Leaves the tuned graph behind, of several gears the first, and the files of all where the tuning came to a good end: one that was cancelled or
    /// failed leaves the bank and the report; a model would look tuned. What cannot be written holds back nothing else,
    /// and is told of before how the tuning ended.
    pub(super) fn conclude(
        &self,
        (tuned, profiles): (Vec<Graph>, Result<Option<Profiles<'_>>>),
        ended: Result<()>,
        settings: &Settings,
        live: &mut Live<'_>,
        outcome: Tuned<'_>,
    ) -> Result<()> {
        let written = if ended.is_ok() && settings.tuned_model {
            live.write_models(&tuned, settings, &self.instance.environment)
        } else {
            Ok(())
        };
        let (profiles, known) = match profiles {
            Ok(profiles) => (profiles, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let published = live.finish(outcome, profiles);
        self.found().graph = tuned.into_iter().next();
        the_one_to_tell(ended, published.and(written).and(known))
    }

    /// CANN's order: `TUNE_BANK_PATH`, then the option, then the cache path, then the default; below them the
    /// bank of an installed CANN. What the simulator finds and nobody named a bank for goes to the work path.
    fn bank_paths(&self, settings: &Settings, backend: &dyn Backend) -> Result<BankPaths> {
        let (environment, soc) = (&self.instance.environment, backend.soc());
        let places = environment.bank_places(settings.op_bank_path.clone());
        let aoe = BankPaths::operator(&places, soc).map(|paths| paths.over(environment.toolkit().operator_banks(soc)));
        if let Ok(paths) = &aoe {
            places.hindrances(paths).iter().for_each(|text| log::warn!("{text}"));
        }
        let destination = settings.operator_destination(backend);
        destination.paths(environment, aoe, |root| BankPaths::operator_below(root, soc))
    }

    pub(super) fn open_backend(&self, settings: &Settings) -> Result<Opened> {
        let environment = &self.instance.environment;
        let request = Request {
            choice: settings.backend.clone(),
            soc_version: settings.soc.as_deref(),
            soc_set: &settings.soc_set,
            aicore_num: settings.aicore_num,
            calibration: settings.calibration.clone(),
            devices: &settings.devices,
            measuring: settings.measuring.clone(),
            answer: Arc::clone(&self.instance.runtime),
            toolkit: environment.toolkit(),
            cancel: Arc::clone(self.cancelled()),
        };
        backend::open(&request, &environment.runtime())
    }
}

/// Of how a tuning ended and what else could not be written, the error to return; the other is said. That records are
/// lost, and where they are, must not be hidden by a result file that is lost too.
fn the_one_to_tell(ended: Result<()>, written: Result<()>) -> Result<()> {
    match (ended, written) {
        (Err(unsaved @ Error::Directory { .. }), Err(other)) => {
            log::error!("{other}");
            Err(unsaved)
        }
        (ended, written) => written.and(ended),
    }
}

/// Where records of operators go that the bank does not take: as deep in the bank of its own as in theirs.
fn rescue(work_path: &Path, bank: &BankPaths) -> PathBuf {
    let soc = bank.custom.parent().and_then(Path::file_name).unwrap_or_default();
    rescue_root(work_path).join(soc).join(bank.custom.file_name().unwrap_or_default())
}
