//! One tuning call: from what the session was given to what it found.

use super::logging;
use super::options::{OptionMap, gather};
use super::settings::{JobType, Settings};
use super::state::{Flow, Found, ProgressFn, Session};
use crate::backend::{self, Opened, Request, RuntimeEnv};
use crate::bank::{BankEnvironment, BankPaths, OperatorBank};
use crate::frontend::{self, InputOptions};
use crate::graph::{Attr, Graph, infer};
use crate::lower::{self, lower};
use crate::report::{Context, ResultFile, full_report};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::{Observer, OpatJob, OpatOutcome, Progress, Variant, opat};
use std::sync::atomic::Ordering;

/// Attribute of a tuned node in the tuned graph: its tiling as JSON, in the form of
/// [`crate::workload::Schedule`].
pub const TILING: &str = "_aoe_tiling";

impl Session {
    /// Tunes the session's graph with this call's options.
    ///
    /// Results are in the bank and the result file when it returns; [`Session::report`] has them too.
    /// Fails with [`Error::Busy`] when another thread is inside the session, [`Error::NothingToTune`]
    /// without a graph or a tunable operator, [`Error::Cancelled`] after a cancel (what was found is
    /// saved), and with whatever stopped it.
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
        let settings = Settings::resolve(&self.instance.options, call, environment)?;
        if let Some(level) = &settings.log {
            logging::set_level(Some(level));
        }
        if settings.job != JobType::Opat {
            let option = format!("job_type={:?}", settings.job).to_lowercase();
            return Err(Error::UnsupportedOption {
                option,
                reason: "operator tuning (job type 2) is what it can do".into(),
            });
        }
        let graph = self.given().graph.clone().ok_or_else(|| Error::NothingToTune {
            reason: "no tuning graph was set; call AoeSetTuningGraph first".into(),
        })?;
        let inputs = self.input_options(&settings, &graph)?;
        let Opened { backend, note } = self.open_backend(&settings)?;
        log::info!("{note}");
        let variants = variants(&graph, &inputs, &settings, backend.soc())?;
        let soc = backend.soc().clone();
        let paths = self.bank_paths(&settings, &soc)?;
        let mut bank = OperatorBank::open(paths.clone(), &soc);
        bank.check_writable()?;
        let context = Context {
            soc: Some(soc),
            options: settings.given.clone(),
            ..Context::new(&settings.work_path, note, &paths)
        };
        let file = ResultFile::create(&context)?;
        let mut live = Live { session: self, file, context, progress, failure: None };
        let mut job = OpatJob {
            name: &graph.name,
            variants: &variants,
            backend: &*backend,
            bank: &mut bank,
            settings: &settings.opat,
            cancel: &self.cancel,
        };
        let outcome = opat(&mut job, &mut live)?;
        live.finish(&outcome)?;
        self.found().graph = variants.into_iter().next().map(|first| annotated(first.graph, &outcome));
        if outcome.finished { Ok(()) } else { Err(Error::Cancelled) }
    }

    /// The caller's shapes: by option, and by the real inputs the client gave, which must fit the graph.
    fn input_options(&self, settings: &Settings, graph: &Graph) -> Result<InputOptions> {
        let mut options = settings.inputs.clone();
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

    /// CANN's order: `TUNE_BANK_PATH`, then the option, then the cache path, then the default.
    fn bank_paths(&self, settings: &Settings, soc: &Soc) -> Result<BankPaths> {
        let environment = &self.instance.environment;
        BankPaths::operator(
            &BankEnvironment {
                tune_bank_path: environment.path("TUNE_BANK_PATH"),
                op_bank_path: settings.op_bank_path.clone(),
                ascend_cache_path: environment.path("ASCEND_CACHE_PATH"),
                home: environment.path("HOME"),
            },
            soc,
        )
    }

    fn open_backend(&self, settings: &Settings) -> Result<Opened> {
        let environment = &self.instance.environment;
        let runtime = RuntimeEnv::read(|name| environment.get(name).map(ToOwned::to_owned));
        let request = Request {
            choice: settings.backend.clone(),
            soc_version: settings.soc.as_deref(),
            soc_set: &settings.soc_set,
            aicore_num: settings.aicore_num,
            device: settings.device,
            measuring: settings.measuring,
        };
        backend::open(&request, &runtime)
    }
}

/// The graph with every input bound, once for every batch size asked for.
fn variants(graph: &Graph, inputs: &InputOptions, settings: &Settings, soc: &Soc) -> Result<Vec<Variant>> {
    let batches: Vec<Option<i64>> = match settings.batches.as_slice() {
        [] => vec![None],
        list => list.iter().copied().map(Some).collect(),
    };
    let one = |&batch: &Option<i64>| {
        let mut graph = graph.clone();
        frontend::bind_inputs(&mut graph, &InputOptions { batch, ..inputs.clone() })?;
        infer::infer(&mut graph)?;
        infer::require_static(&graph)?;
        let lowered =
            lower(&graph, soc, &lower::Settings { precision: settings.precision, ..lower::Settings::default() })?;
        let label = batch.filter(|_| batches.len() > 1).map(|b| format!("@batch={b}")).unwrap_or_default();
        Ok(Variant { label, graph, lowered })
    };
    batches.iter().map(one).collect()
}

/// The first variant's graph with the tilings of the tuned operators as attributes of their nodes.
fn annotated(mut graph: Graph, outcome: &OpatOutcome) -> Graph {
    for case in outcome.cases.iter().filter(|case| case.status.is_tuned()) {
        let Ok(tiling) = serde_json::to_string(&case.after) else { continue };
        for node in case.nodes.iter().filter(|node| node.variant == 0) {
            graph.node_mut(node.id).attrs.set(TILING, Attr::Str(tiling.clone()));
        }
    }
    graph
}

/// Keeps the result file and the session's report up to date while a tuning runs, and asks the caller
/// whether to go on.
struct Live<'a> {
    session: &'a Session,
    file: ResultFile,
    context: Context,
    progress: Option<&'a mut ProgressFn>,
    failure: Option<Error>,
}

impl Observer for Live<'_> {
    fn progress(&mut self, progress: &Progress, outcome: &OpatOutcome) {
        // The first failure is the one to report; a tuning whose results cannot be written is stopped.
        if let Err(error) = self.publish(outcome) {
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

impl Live<'_> {
    fn publish(&mut self, outcome: &OpatOutcome) -> Result<()> {
        if self.file.update(outcome)? {
            self.tell(outcome)?;
        }
        Ok(())
    }

    /// Publishes the last state, finished or not.
    fn finish(mut self, outcome: &OpatOutcome) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.file.finish(outcome)?;
        self.tell(outcome)
    }

    /// Gives the session what the file now says, and more.
    fn tell(&self, outcome: &OpatOutcome) -> Result<()> {
        let report = full_report(outcome, &self.context)?;
        let mut found = self.session.found();
        found.report = Some(report);
        found.result_file = Some(self.file.path().to_owned());
        Ok(())
    }
}
