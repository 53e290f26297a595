//! Who measures configurations: workers that run a program, or a table that knows the answers.

use super::command::Program;
use super::measured::Measured;
use aoe::search::Trial;
use aoe::search::space::{Recorded, Space};
use aoe::status::{Error, Result};
use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

/// What measures.
pub struct Measurer<'a> {
    space: &'a Space,
    source: Source<'a>,
    stopper: Stopper,
    /// Has no message ever, but ends when the user stops the search.
    stopped: Receiver<()>,
}

enum Source<'a> {
    Table(&'a Recorded),
    Program(Program),
}

/// Stops all measurements, from any thread.
#[derive(Clone)]
pub struct Stopper(Arc<Mutex<Option<Sender<()>>>>);

impl Stopper {
    /// Ends what is under way; nothing new begins.
    pub fn stop(&self) {
        // Every receiver learns that the last sender is gone.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl<'a> Measurer<'a> {
    /// Replays a table.
    pub fn table(recorded: &'a Recorded) -> Measurer<'a> {
        Measurer::new(recorded.space(), Source::Table(recorded))
    }

    /// Runs a program for each configuration, and ends it when it takes longer than `timeout`.
    ///
    /// Fails with [`Error::CommandLine`] where the program could not be told the configuration; `warn` is told
    /// what the program may leave behind.
    pub fn program(space: &'a Space, command: &str, timeout: Duration, warn: impl Fn(&str)) -> Result<Measurer<'a>> {
        Ok(Measurer::new(space, Source::Program(Program::new(space, command, timeout, warn)?)))
    }

    fn new(space: &'a Space, source: Source<'a>) -> Measurer<'a> {
        let (sender, stopped) = bounded(0);
        Measurer { space, source, stopper: Stopper(Arc::new(Mutex::new(Some(sender)))), stopped }
    }

    /// What is measured.
    pub fn space(&self) -> &'a Space {
        self.space
    }

    /// Stops the measurements.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Whether the user stopped the search.
    pub fn stopped(&self) -> bool {
        self.stopper.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Workers that measure so many configurations at a time; they end when the pool is dropped.
    pub fn pool<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, size: usize) -> Result<WorkerPool> {
        let (jobs, inbox) = unbounded::<(u64, Vec<u32>)>();
        let (outbox, results) = unbounded();
        // One worker keeps a table's answers in the order of the questions.
        let workers = if matches!(self.source, Source::Table(_)) { 1 } else { size };
        for _ in 0..workers {
            let (inbox, outbox) = (inbox.clone(), outbox.clone());
            let work = move || {
                for (id, configuration) in inbox {
                    if outbox.send((id, self.measure(&configuration))).is_err() {
                        break;
                    }
                }
            };
            let failed = |error| Error::Tuning { reason: format!("cannot start a thread to measure: {error}") };
            std::thread::Builder::new().name("measure".to_owned()).spawn_scoped(scope, work).map_err(failed)?;
        }
        Ok(WorkerPool { jobs, results })
    }

    fn measure(&self, configuration: &[u32]) -> Measured {
        if self.stopped() {
            return Measured::Interrupted;
        }
        match &self.source {
            Source::Table(recorded) => match recorded.outcome(configuration) {
                Some(Ok(time)) => Measured::Time(time),
                Some(Err(status)) => Measured::Failed(status.to_owned()),
                None => Measured::Failed("the table has no such row".to_owned()),
            },
            Source::Program(program) => program.measure(self.space.named(configuration), &self.stopped),
        }
    }
}

/// Workers at their work.
pub struct WorkerPool {
    jobs: Sender<(u64, Vec<u32>)>,
    results: Receiver<(u64, Measured)>,
}

impl WorkerPool {
    /// Hands out a trial.
    pub fn measure(&self, trial: &Trial) {
        // The workers wait for jobs as long as the pool is there.
        let _ = self.jobs.send((trial.id, trial.configuration.clone()));
    }

    /// Waits for the next result; there must be a trial handed out.
    pub fn next(&self) -> (u64, Measured) {
        self.results.recv().expect("a worker ends only when its pool is gone")
    }
}

/// A stop that never comes, for tests.
#[cfg(test)]
pub fn no_stop() -> Receiver<()> {
    crossbeam::channel::never()
}
