//! Which call is inside a session: one at a time, and none once it is destroyed.

use crate::status::{Error, Result};
use crate::sync::Shared;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The turn of one session.
#[derive(Debug)]
pub struct Turn {
    handle: u64,
    now: Shared<Now>,
    /// Set to stop the running tuning. It changes with `now`, so that a cancel is that of one tuning.
    cancel: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Free,
    Taken,
    Tuning,
    /// Destroyed. A caller that still has the handle comes too late.
    Gone,
}

/// Proof that the caller is the only one inside a session; leaves when dropped.
#[derive(Debug)]
pub struct Inside<'a>(&'a Turn);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.now.change(|now| {
            if *now != Now::Gone {
                *now = Now::Free;
            }
        });
    }
}

impl Inside<'_> {
    /// Leaves for good: nobody enters any more.
    pub fn close(self) {
        self.0.now.change(|now| *now = Now::Gone);
    }
}

impl Turn {
    /// That of a session with this handle.
    pub fn new(handle: u64) -> Turn {
        Turn { handle, now: Shared::new(Now::Free), cancel: Arc::default() }
    }

    /// Enters.
    ///
    /// Fails with [`Error::Busy`], and with [`Error::InvalidSession`] where the session was destroyed.
    pub fn enter(&self) -> Result<Inside<'_>> {
        self.take(Now::Taken)
    }

    /// Enters for a tuning, which nobody has cancelled yet. Fails as [`Turn::enter`] does.
    pub fn begin_tuning(&self) -> Result<Inside<'_>> {
        self.take(Now::Tuning)
    }

    fn take(&self, as_what: Now) -> Result<Inside<'_>> {
        self.now.change(|now| match *now {
            Now::Free => {
                *now = as_what;
                // Whoever sees that it is taken may cancel it.
                self.cancel.store(false, Ordering::Release);
                Ok(())
            }
            Now::Taken | Now::Tuning => Err(Error::Busy { object: format!("session {:#x}", self.handle) }),
            Now::Gone => Err(Error::InvalidSession { handle: self.handle }),
        })?;
        Ok(Inside(self))
    }

    /// Cancels the running tuning; without one it has no effect.
    pub fn cancel(&self) {
        self.now.change(|now| {
            if *now == Now::Tuning {
                self.cancel.store(true, Ordering::Release);
            }
        });
    }

    /// Set once the running tuning is cancelled.
    pub fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_is_that_of_the_tuning_that_runs() {
        let turn = Turn::new(1);
        let is_cancelled = || turn.cancelled().load(Ordering::Acquire);
        turn.cancel();
        assert!(!is_cancelled());
        let inside = turn.begin_tuning().unwrap();
        turn.cancel();
        assert!(is_cancelled());
        drop(inside);
        let _inside = turn.begin_tuning().unwrap();
        assert!(!is_cancelled());
    }

    #[test]
    fn who_comes_after_it_was_destroyed_is_turned_away() {
        let turn = Turn::new(1);
        let inside = turn.enter().unwrap();
        assert!(matches!(turn.begin_tuning(), Err(Error::Busy { .. })));
        inside.close();
        assert!(matches!(turn.enter(), Err(Error::InvalidSession { handle: 1 })));
        turn.cancel();
        assert!(!turn.cancelled().load(Ordering::Acquire));
    }
}
