//! One session: what the caller gave it, what it found, and who is inside.

use super::instance::Instance;
use super::turn::{Inside, Turn};
use crate::graph::{Graph, TensorDesc};
use crate::output_file::Patience;
use crate::status::{Error, Result};
use crate::tune::Progress;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Told about progress; answers whether to go on. Called on the tuning thread, under no lock.
pub type ProgressFn = dyn FnMut(&Progress) -> Flow + Send;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on tuning.
    Continue,
    /// Save what was found and return [`Error::Cancelled`].
    Cancel,
}

/// One session. All methods may be called from any thread; those that change what a tuning reads fail
/// with [`Error::Busy`] while one runs.
pub struct Session {
    /// What `AoeInitialize` fixed when the session was created.
    pub(super) instance: Arc<Instance>,
    turn: Turn,
    /// Of the running tuning with the locks of others.
    patience: Mutex<Patience>,
    given: Mutex<Given>,
    found: Mutex<Found>,
    last_error: Mutex<String>,
}

/// What the caller gave.
#[derive(Default)]
pub(super) struct Given {
    pub graph: Option<Arc<Graph>>,
    pub inputs: Vec<TensorDesc>,
    pub depend_graphs: Vec<Arc<Graph>>,
    pub depend_inputs: Vec<Vec<TensorDesc>>,
    pub progress: Option<Box<ProgressFn>>,
}

/// What the last tuning found.
#[derive(Default)]
pub(super) struct Found {
    pub report: Option<String>,
    pub result_file: Option<PathBuf>,
    pub graph: Option<Graph>,
}

impl Session {
    pub(super) fn new(handle: u64, instance: Arc<Instance>) -> Session {
        Session {
            instance,
            turn: Turn::new(handle),
            patience: Mutex::default(),
            given: Mutex::default(),
            found: Mutex::default(),
            last_error: Mutex::default(),
        }
    }

    /// How long the running tuning waits for what another process has locked: a cancel ends it, for all locks together.
    pub(super) fn patience(&self) -> Patience {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Enters the session for a tuning that nobody has cancelled yet. Fails as [`Turn::enter`] does.
    pub(super) fn begin_tuning(&self) -> Result<Inside<'_>> {
        let inside = self.turn.begin_tuning()?;
        let patience = Patience::until(Arc::clone(self.cancelled()));
        *self.patience.lock().unwrap_or_else(PoisonError::into_inner) = patience;
        Ok(inside)
    }

    /// Enters the session. Fails as [`Turn::enter`] does.
    pub(super) fn enter(&self) -> Result<Inside<'_>> {
        self.turn.enter()
    }

    /// Set once the running tuning is cancelled.
    pub(super) fn cancelled(&self) -> &Arc<AtomicBool> {
        self.turn.cancelled()
    }

    /// Sets the graph to tune; `None` takes it away.
    pub fn set_graph(&self, graph: Option<Graph>) -> Result<()> {
        self.change(|given| given.graph = graph.map(Arc::new))
    }

    /// Sets the descriptions of real inputs of the tuning graph, in the order of its inputs.
    pub fn set_graph_inputs(&self, inputs: Vec<TensorDesc>) -> Result<()> {
        self.change(|given| given.inputs = inputs)
    }

    /// Sets graphs that the tuning graph depends on. They are checked and kept; no backend runs them yet.
    pub fn set_depend_graphs(&self, graphs: Vec<Graph>) -> Result<()> {
        self.change(|given| given.depend_graphs = graphs.into_iter().map(Arc::new).collect())
    }

    /// Sets the inputs of the graphs depended on, kept and unused as those are. Fails with [`Error::Param`] when there are not as
    /// many lists as graphs.
    pub fn set_depend_inputs(&self, inputs: Vec<Vec<TensorDesc>>) -> Result<()> {
        let _inside = self.enter()?;
        let mut given = self.given();
        if inputs.len() != given.depend_graphs.len() {
            let reason = format!("{} given, but {} graphs were set", inputs.len(), given.depend_graphs.len());
            return Err(Error::param("graph_count", reason));
        }
        given.depend_inputs = inputs;
        Ok(())
    }

    /// Accepts that GE has a session of its own for this one. Nothing makes use of it, so it is not kept.
    pub fn set_ge_session(&self) -> Result<()> {
        self.change(|_| ())
    }

    /// Sets or takes away the progress function.
    pub fn set_progress(&self, progress: Option<Box<ProgressFn>>) -> Result<()> {
        self.change(|given| given.progress = progress)
    }

    /// Asks the running tuning to stop after the candidate at hand; without one it has no effect. Any
    /// thread may call it.
    pub fn cancel(&self) {
        self.turn.cancel();
    }

    /// The report of the last tuning, as JSON. While one runs: what is known so far.
    ///
    /// Fails with [`Error::NotFound`] before the first.
    pub fn report(&self) -> Result<String> {
        self.found()
            .report
            .clone()
            .ok_or_else(|| Error::NotFound { what: "the report of a session that has tuned nothing".into() })
    }

    /// Where the result file of the last tuning lies. Fails with [`Error::NotFound`] before the first.
    pub fn result_file(&self) -> Result<PathBuf> {
        let none = || Error::NotFound { what: "the result file of a session that has tuned nothing".into() };
        self.found().result_file.clone().ok_or_else(none)
    }

    /// The tuned graph. Fails with [`Error::NotFound`] before a tuning has ended well.
    pub fn tuned_graph(&self) -> Result<Graph> {
        let none = || Error::NotFound { what: "the tuned graph of a session that has tuned nothing".into() };
        self.found().graph.clone().ok_or_else(none)
    }

    /// Text of the last error of a call on this session, whichever thread made it; empty when there
    /// was none.
    pub fn last_error(&self) -> String {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a call's error text for [`Session::last_error`].
    pub fn note<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
        }
        result
    }

    pub(super) fn given(&self) -> std::sync::MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Given)) -> Result<()> {
        let _inside = self.enter()?;
        change(&mut self.given());
        Ok(())
    }
}
