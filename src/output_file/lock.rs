//! Locks of the operating system, which die with their holder.

use super::patience::Patience;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A held lock; dropping it (or the death of the process) releases it.
pub struct Guard(Held);

enum Held {
    /// By the operating system, through an open file.
    File(File),
    /// By what keeps locks of its own.
    Other(Option<Release>),
}

/// Releases a lock that is not the operating system's.
type Release = Box<dyn FnOnce() + Send + Sync>;

impl Guard {
    /// A lock on this open file.
    pub const fn of(file: File) -> Guard {
        Guard(Held::File(file))
    }

    /// A lock that is no lock of the operating system's, and what releases it.
    pub fn with(release: impl FnOnce() + Send + Sync + 'static) -> Guard {
        Guard(Held::Other(Some(Box::new(release))))
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Held::File(file) => f.debug_tuple("Guard").field(file).finish(),
            Held::Other(_) => f.write_str("Guard(..)"),
        }
    }
}

impl Drop for Guard {
    /// Closing alone would not do: a child that the process forked meanwhile has the file open too, and
    /// would hold the lock for as long as it lives.
    fn drop(&mut self) {
        match &mut self.0 {
            Held::File(file) => {
                if let Err(e) = file.unlock() {
                    log::warn!("a lock is released only when its file is closed everywhere: {e}");
                }
            }
            Held::Other(release) => release.take().into_iter().for_each(|release| release()),
        }
    }
}

/// Waits for the lock of a directory, on its own descriptor: nothing is put into it. `None`, which is said once, where
/// it cannot be locked.
///
/// Fails with [`ErrorKind::TimedOut`] where another process holds it for too long.
pub(super) fn directory(path: &Path, patience: &Patience) -> io::Result<Option<Guard>> {
    match File::open(path).and_then(|file| patience.lock(&file, path).map(|()| file)) {
        Ok(file) => Ok(Some(Guard::of(file))),
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(error),
        // What is to happen there fails by itself.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            tell(path, &error);
            Ok(None)
        }
    }
}

/// Says, once in a process, that what is written here is written without locks.
pub(super) fn tell(path: &Path, error: &io::Error) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        log::warn!(
            "{} cannot be locked ({error}): two tunings that write there at once may leave files of both, and what a \
             killed one leaves unfinished is not removed",
            path.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_without_a_file_in_it() {
        let place = tempfile::tempdir().unwrap();
        let held = directory(place.path(), &Patience::default()).unwrap().unwrap();
        let again = || File::open(place.path()).unwrap().try_lock();
        assert!(again().is_err());
        drop(held);
        again().unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(directory(&place.path().join("none"), &Patience::default()).unwrap().is_none());
    }
}
