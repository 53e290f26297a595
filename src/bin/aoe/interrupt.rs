//! Ctrl-C, `kill` and a terminal that goes away: the first asks the work to stop and save, the second Ctrl-C or
//! `kill` ends the process at once.

use crate::console::Console;
use aoe::status::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Exit status after an interrupt, as shells expect it of SIGINT.
pub const EXIT_STATUS: u8 = 130;

/// The signals that ask for an end. SIGHUP is not listened to where it is ignored: `nohup` means that the work
/// goes on.
fn signals() -> std::io::Result<Signals> {
    let asked: &[i32] = if is_ignored(SIGHUP) { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] };
    Signals::new(asked)
}

/// Whether this process was started with a signal ignored; so taken where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether the user interrupted, and what is to stop then.
#[derive(Default)]
pub struct Interrupt {
    came: AtomicBool,
    /// What is at work.
    work: Mutex<Work>,
    /// What becomes of it, in words.
    means: &'static str,
}

#[derive(Default)]
struct Work {
    /// Stops it.
    stop: Option<Box<dyn Fn() + Send>>,
    /// Whether all is done: an interrupt finds nothing to stop then.
    over: bool,
}

impl Interrupt {
    /// What an interrupt of a tuning means.
    pub const SAVES: &'static str = "saving what was found";

    /// Begins to listen; the user is told in these words what an interrupt means. Fails when the system gives no thread or
    /// pipe for it.
    pub fn listen_to(means: &'static str, console: &Arc<Console>) -> Result<Arc<Interrupt>> {
        let interrupt = Arc::new(Interrupt { means, ..Interrupt::default() });
        let failed = |error: std::io::Error| Error::Tuning { reason: format!("cannot listen for signals: {error}") };
        let mut signals = signals().map_err(failed)?;
        let (listener, console) = (Arc::clone(&interrupt), Arc::clone(console));
        let listen = move || signals.forever().for_each(|signal| listener.arrived(signal, &console));
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
        Ok(interrupt)
    }

    /// [`Interrupt::listen_to`] with a flag that is set to have the work stop.
    pub fn flag(means: &'static str, console: &Arc<Console>) -> Result<(Arc<Interrupt>, Arc<AtomicBool>)> {
        let interrupt = Interrupt::listen_to(means, console)?;
        let cancel = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&cancel);
        interrupt.on_arrival(Some(Box::new(move || stop.store(true, Ordering::Release))));
        Ok((interrupt, cancel))
    }

    fn arrived(&self, signal: i32, console: &Console) {
        // Held until the user is told: after the end nobody is.
        let work = self.work();
        if work.over {
            return;
        }
        if self.came.swap(true, Ordering::AcqRel) {
            if signal == SIGHUP {
                // The shell and the system both send one when a terminal goes away.
                return;
            }
            std::process::exit(EXIT_STATUS.into());
        }
        if let Some(stop) = &work.stop {
            stop();
        }
        console.notice("WARNING", &format!("interrupted: {}; interrupt again to stop at once", self.means));
    }

    /// Whether the user interrupted.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Acquire)
    }

    /// Fails with [`Error::Cancelled`] when the user interrupted.
    pub fn check(&self) -> Result<()> {
        if self.came() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Says what an interrupt does, on a thread of its own, to stop the work; at once when one came already.
    pub fn on_arrival(&self, stop: Option<Box<dyn Fn() + Send>>) {
        let mut work = self.work();
        work.stop = stop;
        if let (Some(stop), true) = (&work.stop, self.came()) {
            stop();
        }
    }

    /// Ends the listening: what comes from now on changes nothing.
    pub fn over(&self) {
        self.work().over = true;
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The unfinished file that an interrupt takes away.
#[derive(Default)]
pub struct Unfinished {
    path: Mutex<Option<PathBuf>>,
}

impl Unfinished {
    /// Begins to listen: SIGINT, SIGTERM and SIGHUP then remove the file and end the process, which may be waiting
    /// for input. Fails when the system gives no thread or pipe for it.
    pub fn listen() -> Result<Arc<Unfinished>> {
        let unfinished = Arc::new(Unfinished::default());
        let failed = |error: std::io::Error| Error::Tuning { reason: format!("cannot listen for signals: {error}") };
        let mut signals = signals().map_err(failed)?;
        let listener = Arc::clone(&unfinished);
        let listen = move || {
            if signals.forever().next().is_some() {
                if let Some(path) = listener.path.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    // Nobody is left to be told of a failure.
                    let _ = std::fs::remove_file(path);
                }
                std::process::exit(EXIT_STATUS.into());
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
        Ok(unfinished)
    }

    /// Makes the file; no signal comes between its making and its being known.
    pub fn create<T>(&self, make: impl FnOnce(&mut Option<PathBuf>) -> Result<T>) -> Result<T> {
        make(&mut self.path.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_after_the_end_changes_nothing_and_one_before_is_known() {
        let late = Interrupt::default();
        late.over();
        late.arrived(SIGINT, &Console::default());
        assert!(!late.came() && late.check().is_ok());
        let early = Interrupt::default();
        early.arrived(SIGINT, &Console::default());
        assert!(matches!(early.check(), Err(Error::Cancelled)));
    }
}
