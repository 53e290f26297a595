//! The gradient job of a tuning call: a training graph or a recording, its bank, and what it leaves in the graph.

use super::idle;
use super::live::{Live, summary_file};
use super::profiling::Profiling;
use super::settings::{Recorded, Settings};
use super::state::{ProgressFn, Session};
use super::tuned_graph::{TunedGraph, set_segments};
use super::tuned_model;
use crate::backend::{Choice, Description, Opened};
use crate::bank::BankPaths;
use crate::bank::gradient::GradientBank;
use crate::frontend::{self, ModelOptions};
use crate::graph::infer::{self, LeftOut, Static};
use crate::graph::{Graph, NodeId};
use crate::lower::{self, Lowered};
use crate::output_file;
use crate::profile::{Form, Ranks, Scene, Timed};
use crate::report::{Context, Folder};
use crate::soc::Soc;
use crate::spelling;
use crate::status::{Error, Result};
use crate::tune::Tuned;
use crate::tune::gdat::{Backward, Case, GdatJob, GdatOutcome, Source, StepRun, gdat, recording};

#[cfg(test)]
mod tests;

/// The parts on which CANN tunes gradients, by the short name of their SoCs.
const TRAINING_PARTS: [&str; 2] = ["Ascend910", "Ascend910B"];

/// Options of the other jobs.
const IDLE: [&str; 10] = [
    "reload",
    "tune_ops_file",
    "tune_optimization_level",
    "Fdeeper_opat",
    "Fnonhomo_split",
    "seed",
    "algorithm",
    "search_algorithm",
    "max_tuning_count",
    "base_result",
];

/// Options of a graph, which a recording has not.
const OF_A_GRAPH: [&str; 9] = [
    "framework",
    "weight",
    "input_format",
    "input_shape",
    "dynamic_batch_size",
    "dynamic_image_size",
    "dynamic_dims",
    "out_nodes",
    "tuned_model",
];

/// Finds the splits. A job that fails leaves no result: there is none.
fn split(job: &GdatJob<'_>, live: &mut Live<'_>) -> Result<GdatOutcome> {
    let outcome = gdat(job, live);
    if outcome.is_err() {
        live.discard();
    }
    outcome
}

impl Session {
    /// Tunes the gradients of the session's graph, or of a recording.
    pub(super) fn tune_gradients(&self, settings: &Settings, progress: Option<&mut ProgressFn>) -> Result<()> {
        let of_a_graph = if settings.recorded.is_some() { &OF_A_GRAPH[..] } else { &[] };
        let idle = IDLE.iter().chain(of_a_graph).copied();
        let idle: Vec<&str> = idle.filter(|name| settings.given.get(*name).is_some_and(|v| !v.is_empty())).collect();
        if !idle.is_empty() {
            log::warn!("without effect on gradients that are tuned: {}", spelling::listed(&idle));
        }
        match &settings.recorded {
            // What the environment asks of every program is not meant for this one.
            Some(_)
                if settings.given.contains_key("profiling_mode")
                    && settings.profiling.as_ref().is_some_and(|wanted| wanted.is_asked) =>
            {
                let reason = "a recording has times of gradients and not of kernels, of which a profile consists; \
                              leave it out, or tune a training graph";
                Err(Error::option("profiling_mode", reason))
            }
            Some(recorded) => self.tune_recording(settings, recorded, progress),
            None => self.tune_training_graph(settings, progress),
        }
    }

    fn tune_training_graph(&self, settings: &Settings, progress: Option<&mut ProgressFn>) -> Result<()> {
        let graph = self.stated_graph(settings)?;
        let gear = match settings.gears.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            _ => {
                let reason = "gradients are tuned for one shape of the graph; name one gear, or none";
                return Err(Error::option("dynamic_batch_size", reason));
            }
        };
        let Opened { backend, note } = self.open_backend(settings)?;
        if backend.describe().is_simulated {
            idle::warn_of_simulator(settings);
        }
        let inputs = self.input_options(settings, &graph)?;
        let mut graph = (*graph).clone();
        frontend::bind_inputs(&mut graph, &ModelOptions { gear, ..inputs })?;
        let (lowered, left_out) = known_kernels(&graph, backend.soc(), &settings.lowering())?;
        let backward = Backward::of(&graph, &lowered);
        let backward = backward.map_err(|error| match error {
            Error::Dynamic { .. } => infer::nothing_left(&graph, &left_out).unwrap_or(error),
            other => other,
        })?;
        let step = backward.of_step();
        for words in infer::in_words(&left_out) {
            log::warn!("{words}");
        }
        let form = Form { label: "", graph: &graph, lowered: &lowered };
        let profiling = Profiling::of(settings, &[Form { lowered: &step, ..form }])?;
        let (context, bank) = self.gradient_context(settings, backend.soc(), note, &backend.describe())?;
        let context = Context { left_out, ..context };
        let source = Source::Graph { graph: &graph, lowered: &lowered, backend: &*backend };
        let job = self.job(settings, &graph.name, source, backend.soc(), &bank);
        let mut live = Live::new(self, context, "gdat", self.result_files(settings), progress)?;
        let outcome = split(&job, &mut live)?;
        let mut tuned = TunedGraph::new(graph.clone(), backend.soc()).bare();
        let mut summarized = Ok(());
        if let Some(found) = &outcome.found {
            set_segments(&mut tuned, found);
            summarized = live.write_gradient_summary(found, &graph.name);
        }
        let scene = Scene { network: &graph.name, soc: backend.soc(), precision: settings.precision };
        let steps = steps(form, &outcome);
        let profiles = match &steps {
            Some(steps) => live.tell_runs(timed(form, &outcome, steps, scene), profiling),
            None => Ok(None),
        };
        let ended = outcome.tuning.ended();
        let told = profiles.and_then(|profiles| summarized.map(|()| profiles));
        self.conclude((vec![tuned], told), ended, settings, &mut live, Tuned::Gradients(&outcome))
    }

    fn tune_recording(
        &self,
        settings: &Settings,
        recorded: &Recorded,
        progress: Option<&mut ProgressFn>,
    ) -> Result<()> {
        let (model, training) = recording::read(&recorded.summary, &recorded.profile)?;
        // Nothing is measured: no device is needed to know the SoC.
        let simulated = Settings { backend: Choice::Simulator, ..settings.clone() };
        let Opened { backend, .. } = self.open_backend(&simulated)?;
        let soc = backend.soc();
        let detail = format!("{}, {}", recorded.summary.display(), recorded.profile.display());
        let description = Description { name: "recording".to_owned(), detail, noisy: true, is_simulated: false };
        let note = format!("a recording, SoC {}", soc.name);
        let (context, bank) = self.gradient_context(settings, soc, note, &description)?;
        let job = self.job(settings, &model, Source::Recording(training, description), soc, &bank);
        let mut live = Live::new(self, context, "gdat", self.result_files(settings), progress)?;
        let outcome = split(&job, &mut live)?;
        live.finish(Tuned::Gradients(&outcome), None)?;
        outcome.tuning.ended()
    }

    fn job<'a>(
        &'a self,
        settings: &'a Settings,
        name: &'a str,
        source: Source<'a>,
        soc: &'a Soc,
        bank: &'a GradientBank,
    ) -> GdatJob<'a> {
        GdatJob { name, source, soc, bank, settings: &settings.gdat, cancel: self.cancelled() }
    }

    /// The gradient bank, which can be written, and what reports tell besides the outcome.
    fn gradient_context(
        &self,
        settings: &Settings,
        soc: &Soc,
        note: String,
        measured_by: &Description,
    ) -> Result<(Context, GradientBank)> {
        if !TRAINING_PARTS.contains(&soc.short_name.as_str()) {
            let parts = TRAINING_PARTS.join(" and ");
            log::warn!(
                "CANN tunes gradients on {parts} only: whether it reads a gradient bank of {} is not known",
                soc.name
            );
        }
        let environment = &self.instance.environment;
        let aoe = BankPaths::gradient(&environment.bank_places(None), soc)
            .map(|paths| paths.over(environment.toolkit().graph_banks()));
        let destination = settings.destination(measured_by, None);
        let paths = destination.paths(environment, aoe, BankPaths::graphs_in)?;
        let bank = GradientBank::open(&paths, soc).with_patience(self.patience());
        bank.check_writable()?;
        tuned_model::check_writable(settings)?;
        if settings.recorded.is_none() {
            let summary = summary_file(&settings.work_path);
            output_file::check(&summary)?;
            recording::summary_in(&summary, &[], "")?;
        }
        let options = settings.given.clone();
        let folder = settings.has_output.then(|| Folder::at(&settings.work_path)).transpose()?;
        let context = Context {
            soc: Some(soc.clone()),
            options,
            folder,
            bank_root: destination.root(environment),
            dry_run: settings.leaves_no_records(&paths),
            ..Context::new(&settings.work_path, note, &paths)
        };
        Ok((context, bank))
    }
}

/// The kernels whose sizes are known, as nodes of the graph, and the nodes that are left out. The graph stays whole:
/// whether a kernel is of the backward pass, and the network's name in the bank, depend on all of it.
fn known_kernels(graph: &Graph, soc: &Soc, settings: &lower::Settings) -> Result<(Lowered, Vec<LeftOut>)> {
    let Static { graph: known, left_out } = infer::split_static(graph.clone())?;
    let mut lowered = lower::lower(&known, soc, settings)?;
    lower::as_stored(&known, &mut lowered, soc, settings);
    if left_out.is_empty() {
        return Ok((lowered, left_out));
    }
    // Nodes keep their names when others are taken out.
    let place = |id: &mut NodeId| *id = graph.find(&known.node(*id).name).unwrap_or(*id);
    for kernel in &mut lowered.kernels {
        place(&mut kernel.node);
        kernel.fused.iter_mut().for_each(place);
    }
    lowered.unmapped.iter_mut().for_each(place);
    Ok((lowered, left_out))
}

/// The step with hccl's default split and as CANN runs it with the bank; `None` of a tuning that was cancelled.
fn steps(form: Form<'_>, outcome: &GdatOutcome) -> Option<[StepRun; 2]> {
    let found = outcome.found.as_ref()?;
    let step = |case| StepRun::new(form.graph, form.lowered, found, outcome.contention, case);
    Some([step(&found.before)?, step(found.taken())?])
}

/// How these run.
fn timed<'a>(
    form: Form<'a>,
    outcome: &'a GdatOutcome,
    steps: &'a [StepRun; 2],
    scene: Scene<'a>,
) -> Result<[Timed<'a>; 2]> {
    let timed = |step, case: &Case| {
        let algorithm = case.algorithms.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(", ");
        let ranks = Ranks { devices: outcome.cluster.devices(), algorithm };
        Timed::of_gradients(form, step, ranks, scene)
    };
    let found = outcome.found.as_ref().ok_or_else(|| Error::NotFound { what: "the splits of a step".into() })?;
    Ok([timed(&steps[0], &found.before)?, timed(&steps[1], found.taken())?])
}
