//! Which process uses the library. A child that is forked meanwhile has copies of locks that nobody in it will ever
//! release, so it is turned away before any lock is taken.

use crate::status::{Error, Result};
use crate::sync::{AtomicU64, Global};
use std::sync::atomic::Ordering;

/// The library in use: by every call for its length, and from initialise to finalise.
static LIBRARY: Global<Uses> = Global::new(Uses::new);

/// Bits of the number of uses, below the process.
const COUNT: u32 = 32;

/// How often a process uses something that a forked child must leave alone: the process's id in the upper half, the
/// number of uses in the lower. One word, so that no fork comes between the two.
pub struct Uses(AtomicU64);

impl Uses {
    /// Used by nobody.
    pub const fn new() -> Uses {
        Uses(AtomicU64::new(0))
    }

    /// Uses it until the answer is dropped. To be called before a lock is taken, and dropped after it is released.
    ///
    /// Fails with [`Error::Forked`] in a process that was forked while its parent used it.
    pub fn begin(&'static self) -> Result<Use> {
        self.begin_in(std::process::id())
    }

    /// The same, in a process with this id.
    pub fn begin_in(&'static self, process: u32) -> Result<Use> {
        self.enter(process)?;
        Ok(Use { of: self })
    }

    /// What a child has of it that is forked now.
    #[cfg(aoe_interleavings)]
    pub fn forked(&self) -> Uses {
        Uses(AtomicU64::new(self.0.load(Ordering::Acquire)))
    }

    fn enter(&self, process: u32) -> Result<()> {
        let own = u64::from(process) << COUNT;
        let one_more = |now: u64| match owner(now) {
            None => Some(own + 1),
            Some(owner) => (owner == process).then(|| now + 1),
        };
        let entered = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        entered.map(drop).map_err(|now| Error::Forked { parent: owner(now).unwrap_or_default() })
    }
}

/// The process that uses it; `None` where nobody does, whoever was the last.
fn owner(now: u64) -> Option<u32> {
    (now as u32 != 0).then_some((now >> COUNT) as u32)
}

/// One use, which ends when it is dropped.
#[derive(Debug)]
pub struct Use {
    of: &'static Uses,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.of.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Uses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let now = self.0.load(Ordering::Relaxed);
        write!(f, "Uses({:?}, {})", owner(now), now as u32)
    }
}

/// Uses the library until the answer is dropped.
///
/// Fails with [`Error::Forked`] in a child that was forked between initialise and finalise, or during a call.
pub fn use_library() -> Result<Use> {
    LIBRARY.get().begin()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: u32 = u32::MAX;
    const CHILD: u32 = 1;

    #[test]
    fn who_was_forked_during_a_use_is_turned_away_and_leaves_no_trace() {
        let uses = Uses::new();
        uses.enter(PARENT).unwrap();
        uses.enter(PARENT).unwrap();
        for _ in 0..2 {
            let error = uses.enter(CHILD).unwrap_err();
            assert!(matches!(error, Error::Forked { parent: PARENT }), "{error}");
        }
        assert_eq!(format!("{uses:?}"), format!("Uses(Some({PARENT}), 2)"));
    }

    #[test]
    fn who_was_forked_between_uses_has_it_for_itself() {
        static USES: Uses = Uses::new();
        USES.enter(PARENT).unwrap();
        USES.0.fetch_sub(1, Ordering::AcqRel);
        let own = USES.begin().unwrap();
        assert_eq!(owner(USES.0.load(Ordering::Relaxed)), Some(std::process::id()));
        drop(own);
        assert_eq!(owner(USES.0.load(Ordering::Relaxed)), None);
        USES.enter(CHILD).unwrap();
    }
}
