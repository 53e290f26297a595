//! One tuning call: from what the session was given to what it found.

use super::base;
use super::live::Live;
use super::logging;
use super::options::{OptionMap, gather};
use super::profiling::Profiling;
use super::settings::{JobType, Settings};
use super::state::{Found, ProgressFn, Session};
use super::subgraphs::lowering;
use super::tuned_graph::{self, TunedGraph};
use super::tuned_model;
use crate::backend::simulator::Simulator;
use crate::backend::{self, Backend, Choice, Opened, Request};
use crate::bank::{BankPaths, OperatorBank};
use crate::frontend::air::tuned;
use crate::frontend::{self, Gear, ModelOptions};
use crate::graph::Graph;
use crate::graph::infer::{self, Static};
use crate::lower::{graph_fusion, lower};
use crate::report::{Context, Folder, ProcessFiles};
use crate::soc::Soc;
use crate::spelling;
use crate::status::{Error, Result};
use crate::tune::{OpatJob, SkippedKernel, Variant, opat};
use crate::workload::Workload;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Tunes the session's graph with this call's options.
    ///
    /// Results are in the bank and the result file when it returns; [`Session::report`] has them too.
    /// Fails with [`Error::Busy`] when another thread is inside the session, [`Error::NothingToTune`]
    /// without a graph or a tunable operator, [`Error::Cancelled`] after a cancel (what was found is
    /// saved), [`Error::Tuning`] where no operator could be measured, and with whatever stopped it.
    pub fn tune<'a>(&self, options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let call = gather(options)?;
        let _inside = self.enter()?;
        self.cancel.store(false, Ordering::Release);
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
        let mut settings = Settings::resolve(&self.instance.options, call, environment)?;
        if let Some(level) = &settings.log {
            logging::set_level(Some(level));
        }
        if settings.job == JobType::Gdat {
            return self.tune_gradients(&settings, progress);
        }
        let graph = self.stated_graph(&settings)?;
        let inputs = self.input_options(&settings, &graph)?;
        let Opened { backend, note } = self.open_backend(&settings)?;
        // Who did not ask for the simulator hears that it stands in for a device.
        let stands_in = settings.backend == Choice::Auto && backend.describe().name == Simulator::NAME;
        log::log!(if stands_in { log::Level::Warn } else { log::Level::Info }, "{note}");
        if backend.measuring_time().is_none() {
            settings.opat.max_trials = settings.dear_trials;
        }
        let (mut variants, stated, dynamic) = variants(&graph, &inputs, &settings, backend.soc())?;
        let mut profiling = Profiling::reserve(&settings, &variants)?;
        let soc = backend.soc().clone();
        let tuned = TunedGraph::new(stated, &soc);
        let [subgraphs, operators] = settings.job.parts();
        let paths = if operators { self.bank_paths(&settings, &soc)? } else { self.subgraph_paths(&settings, &soc)? };
        tuned_model::check_writable(&settings)?;
        let mut context = Context {
            soc: Some(soc.clone()),
            options: settings.given.clone(),
            folder: settings.has_output.then(|| Folder::at(&settings.work_path)).transpose()?,
            dynamic,
            gear: variants
                .first()
                .map(|first| first.label.trim_start_matches('@'))
                .filter(|gear| !gear.is_empty())
                .map(str::to_owned),
            ..Context::new(&settings.work_path, note, &paths)
        };
        let files = self.result_files(&settings);
        if !subgraphs {
            let mut live = Live::new(self, context, "opat", files, progress)?;
            return self.tune_operators(&settings, &*backend, &paths, (variants, tuned), profiling, &mut live);
        }
        if operators {
            OperatorBank::open(paths.clone(), &soc).check_writable(workloads(&variants))?;
        }
        let subgraph_paths = self.subgraph_paths(&settings, &soc)?;
        context.subgraph_bank = Some(subgraph_paths.custom.clone());
        let mut live = Live::new(self, context, "sgat", files, progress)?;
        let before = profiling.as_mut();
        let found = self.tune_subgraphs(&settings, &soc, &subgraph_paths, &mut variants, before, &mut live);
        let (found, state) = match found {
            // Operators may be tunable all the same.
            Err(Error::NothingToTune { .. }) if operators => (None, None),
            found => found.map(|(outcome, state)| (Some(outcome), Some(state)))?,
        };
        match found {
            Some(outcome) if !(operators && outcome.finished) => {
                let profiled = profiling.filter(|_| outcome.finished);
                let profiled = profiled.map_or(Ok(()), |p| live.write_profiles(p, &settings, &variants, None));
                let publish = |live: &mut Live<'_>| live.finish_subgraphs(&outcome);
                let ended = if outcome.finished { Ok(()) } else { Err(Error::Cancelled) };
                self.conclude((tuned.with(&variants), profiled), ended, &settings, &mut live, publish)?;
            }
            found => {
                live.go_on(found, "opat")?;
                self.tune_operators(&settings, &*backend, &paths, (variants, tuned), profiling, &mut live)?;
            }
        }
        // Whatever ends a tuning before this, it can go on from its state.
        state.map_or(Ok(()), |state| state.clear())
    }

    /// The graph that was given, cut off where the options say so.
    pub(super) fn stated_graph(&self, settings: &Settings) -> Result<Arc<Graph>> {
        let mut graph = self.given().graph.clone().ok_or_else(|| Error::NothingToTune {
            reason: "no tuning graph was set; call AoeSetTuningGraph first".into(),
        })?;
        if !settings.model.out_nodes.is_empty() {
            frontend::cut(Arc::make_mut(&mut graph), &settings.model.out_nodes)?;
        }
        Ok(graph)
    }

    /// Tunes the operators of the variants.
    fn tune_operators(
        &self,
        settings: &Settings,
        backend: &dyn Backend,
        paths: &BankPaths,
        (mut variants, tuned): (Vec<Variant>, TunedGraph),
        profiling: Option<Profiling>,
        live: &mut Live<'_>,
    ) -> Result<()> {
        let soc = backend.soc();
        let mut bank = OperatorBank::open(paths.clone(), soc);
        bank.check_writable(workloads(&variants))?;
        let base = settings.base_result.as_deref().map(|path| base::bank(path, soc)).transpose()?.flatten();
        let base = base.map(|paths| OperatorBank::open(paths, soc));
        if settings.has_output {
            base::remember(&settings.work_path, soc, paths);
        }
        let mut job = OpatJob {
            name: variants.first().map_or("", |first| &first.graph.name),
            variants: &variants,
            backend,
            bank: &mut bank,
            base: base.as_ref(),
            settings: &settings.opat,
            cancel: &self.cancel,
        };
        let outcome = opat(&mut job, live)?;
        if let Some(first) = variants.first_mut() {
            tuned_graph::set_tilings(&mut first.graph, &outcome);
        }
        let ended = outcome.ended();
        let profiled = profiling.filter(|_| ended.is_ok());
        let profiled = profiled.map_or(Ok(()), |p| live.write_profiles(p, settings, &variants, Some(&outcome)));
        self.conclude((tuned.with(&variants), profiled), ended, settings, live, |live| live.finish_operators(&outcome))
    }

    /// The files that all tunings of the process share, where results go there.
    pub(super) fn result_files(&self, settings: &Settings) -> Option<&ProcessFiles> {
        settings.one_result_file.then_some(&self.instance.results)
    }

    /// Leaves the tuned graph behind, and its files where the tuning came to a good end: one that was cancelled or
    /// failed leaves the bank and the report; a model would look tuned. Profiles that could not be written are told
    /// of last: what was found is worth more.
    pub(super) fn conclude(
        &self,
        (tuned, profiled): (Graph, Result<()>),
        ended: Result<()>,
        settings: &Settings,
        live: &mut Live<'_>,
        publish: impl FnOnce(&mut Live<'_>) -> Result<()>,
    ) -> Result<()> {
        let written = if ended.is_ok() && settings.tuned_model {
            live.write_model(&tuned, settings, &self.instance.environment)
        } else {
            Ok(())
        };
        publish(live)?;
        self.found().graph = Some(tuned);
        written.and(profiled)?;
        ended
    }

    /// The caller's shapes: by option, and by the real inputs the client gave, which must fit the graph.
    pub(super) fn input_options(&self, settings: &Settings, graph: &Graph) -> Result<ModelOptions> {
        let mut options = settings.model.clone();
        let given = self.given();
        let names: Vec<_> = graph.inputs().map(|(_, node)| node.name.clone()).collect();
        if given.inputs.len() > names.len() {
            let reason = format!("{} tensors given, the graph has {} inputs", given.inputs.len(), names.len());
            return Err(Error::param("input_count", reason));
        }
        for (index, ((_, node), desc)) in graph.inputs().zip(&given.inputs).enumerate() {
            let stated = node.outputs.first().map(|o| &o.shape);
            if let Some(stated) = stated.filter(|stated| !stated.accepts(&desc.shape)) {
                let reason = format!(
                    "tensor {index} has shape {}, but input `{}` of the graph has {stated}",
                    desc.shape, node.name
                );
                return Err(Error::param("inputs", reason));
            }
        }
        for (name, desc) in names.into_iter().zip(&given.inputs) {
            let known = options.shapes.iter().any(|(n, _)| *n == name);
            if let Some(dims) = desc.shape.dims().filter(|_| !known) {
                options.shapes.push((name, dims.to_vec()));
            }
        }
        Ok(options)
    }

    /// CANN's order: `TUNE_BANK_PATH`, then the option, then the cache path, then the default; below them the
    /// bank of an installed CANN.
    fn bank_paths(&self, settings: &Settings, soc: &Soc) -> Result<BankPaths> {
        let environment = &self.instance.environment;
        let places = environment.bank_places(settings.op_bank_path.clone());
        let paths = BankPaths::operator(&places, soc)?.over(environment.toolkit().operator_banks(soc));
        places.hindrances(&paths).iter().for_each(|text| log::warn!("{text}"));
        Ok(paths)
    }

    pub(super) fn open_backend(&self, settings: &Settings) -> Result<Opened> {
        let environment = &self.instance.environment;
        let request = Request {
            choice: settings.backend.clone(),
            soc_version: settings.soc.as_deref(),
            soc_set: &settings.soc_set,
            aicore_num: settings.aicore_num,
            devices: &settings.devices,
            measuring: settings.measuring.clone(),
            toolkit: environment.toolkit(),
            cancel: Arc::clone(&self.cancel),
        };
        backend::open(&request, &environment.runtime())
    }
}

/// What the kernels of the variants do.
fn workloads(variants: &[Variant]) -> impl Iterator<Item = &Workload> {
    variants.iter().flat_map(|variant| &variant.lowered.kernels).map(|kernel| &kernel.workload)
}

/// The graph with every input bound and then fused, as far as its sizes are known, once for every gear asked for; as
/// it was before it was fused, for the first; and the nodes that are left out because their sizes are not known.
fn variants(
    graph: &Graph,
    inputs: &ModelOptions,
    settings: &Settings,
    soc: &Soc,
) -> Result<(Vec<Variant>, Graph, Vec<SkippedKernel>)> {
    let gears: Vec<Option<Gear>> = match settings.gears.as_slice() {
        [] => vec![None],
        list => list.iter().cloned().map(Some).collect(),
    };
    let mut first = None;
    let mut variants = Vec::with_capacity(gears.len());
    let mut left_out = Vec::new();
    for gear in &gears {
        let mut graph = graph.clone();
        // What an earlier tuning found would stand between what this one finds.
        tuned::clear(&mut graph);
        let label = gear.as_ref().filter(|_| gears.len() > 1).map(Gear::to_string).unwrap_or_default();
        frontend::bind_inputs(&mut graph, &ModelOptions { gear: gear.clone(), ..inputs.clone() })?;
        let Static { graph: known, dynamic } = infer::split_static(graph.clone())?;
        let mut fused = graph_fusion(known)?;
        let lowered = lower(&fused, soc, &lowering(settings))?;
        if first.is_none() {
            tuned_graph::set_formats(&mut fused, &lowered, soc, lowering(settings));
        }
        if lowered.kernels.is_empty() && !dynamic.is_empty() {
            infer::require_static(&graph)?;
        }
        first.get_or_insert(graph);
        let named = |(name, origin_type)| SkippedKernel { name: format!("{name}{label}"), origin_type };
        left_out.extend(dynamic.into_iter().map(named));
        variants.push(Variant { label, graph: fused, lowered });
    }
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|node| node.name.as_str()).collect();
        log::warn!("left out, because only a run tells their sizes: {}", spelling::listed(&names));
    }
    Ok((variants, first.unwrap_or_default(), left_out))
}
