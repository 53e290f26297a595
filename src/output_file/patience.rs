//! Waiting for a lock that another process holds: not for ever, and not past a cancel.

use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a lock is waited for. Writers hold one for milliseconds, for seconds where a bank has a million records.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Set when the caller wants to wait no longer, and when that was seen first: for all locks together.
    cancel: Option<(Arc<AtomicBool>, Arc<OnceLock<Instant>>)>,
    /// From then on, what was found may still be saved for so long.
    grace: Duration,
    /// At most in any case: the other process may be stopped, or hang.
    limit: Duration,
    /// Before a word is said.
    silent: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::WITHOUT_CANCEL
    }
}

impl Patience {
    /// For a caller that has no cancel flag.
    pub const WITHOUT_CANCEL: Patience = Patience {
        cancel: None,
        grace: Duration::from_secs(3),
        limit: Duration::from_secs(300),
        silent: Duration::from_secs(1),
    };

    /// For a caller that may be cancelled by this flag.
    pub fn until(cancel: Arc<AtomicBool>) -> Patience {
        Patience { cancel: Some((cancel, Arc::default())), ..Patience::WITHOUT_CANCEL }
    }

    /// For how long a cancel has been known.
    fn since_cancel(&self) -> Option<Duration> {
        let (cancel, seen) = self.cancel.as_ref()?;
        cancel.load(Ordering::Acquire).then(|| seen.get_or_init(Instant::now).elapsed())
    }

    /// Locks a file that is open; `path` names it in messages.
    ///
    /// Fails with [`ErrorKind::TimedOut`] where another process holds it for too long, and with
    /// [`ErrorKind::Unsupported`] where the file system has no locks.
    pub fn lock(&self, file: &File, path: &Path) -> io::Result<()> {
        let start = Instant::now();
        let mut is_told = false;
        // `flock` can be waited for without a limit only, or not at all.
        let mut pause = Duration::from_millis(1);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(unsupported(error)),
            }
            let waited = start.elapsed();
            if waited >= self.limit || self.since_cancel().is_some_and(|time| time >= self.grace) {
                let reason = "another process holds it, stopped or at work; what was to be saved there is not: run again \
                              when it is gone (`fuser` names it)";
                return Err(io::Error::new(ErrorKind::TimedOut, format!("waited for {waited:.1?}: {reason}")));
            }
            if waited >= self.silent && !is_told {
                is_told = true;
                log::warn!("waiting for the lock of {}, which another writer holds", path.display());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(16));
        }
    }
}

/// The ways in which file systems say that they have no locks: NFS without a lock daemon has none
/// "available", others do not know the call.
fn unsupported(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => io::Error::new(ErrorKind::Unsupported, error),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file, and the same one locked by somebody else.
    fn held() -> (tempfile::NamedTempFile, File) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = File::open(file.path()).unwrap();
        other.lock().unwrap();
        (file, other)
    }

    #[test]
    fn a_lock_that_is_let_go_is_had() {
        let (file, other) = held();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Patience::default().lock(file.as_file(), file.path()));
            drop(other);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn nobody_waits_past_the_limit_nor_long_past_a_cancel() {
        let (file, _other) = held();
        let cancel = Arc::new(AtomicBool::new(true));
        let now = Duration::ZERO;
        for patience in [
            Patience { limit: now, ..Patience::default() },
            Patience { grace: now, ..Patience::until(Arc::clone(&cancel)) },
        ] {
            let error = patience.lock(file.as_file(), file.path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("another process"), "{error}");
        }
        cancel.store(false, Ordering::Release);
        let patience = Patience { grace: now, ..Patience::until(Arc::clone(&cancel)) };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| patience.lock(file.as_file(), file.path()));
            cancel.store(true, Ordering::Release);
            assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
        });
    }

    #[test]
    fn file_systems_without_locks_are_known_by_each_of_their_errors() {
        for errno in [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP] {
            let error = unsupported(errno.into());
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        assert_eq!(unsupported(Errno::ACCESS.into()).kind(), ErrorKind::PermissionDenied);
    }
}
