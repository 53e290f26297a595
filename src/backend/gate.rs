//! As many at a time as there is room for.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

/// A counter of free places.
#[derive(Debug)]
pub struct Gate {
    /// `None`: any number may enter.
    free: Option<Mutex<usize>>,
    left: Condvar,
}

impl Gate {
    /// A gate with so many places.
    pub fn new(places: Option<NonZeroUsize>) -> Gate {
        Gate { free: places.map(|places| Mutex::new(places.get())), left: Condvar::new() }
    }

    /// Waits for a place, which is held until the answer is dropped.
    pub fn enter(&self) -> Turn<'_> {
        if let Some(free) = &self.free {
            let free = free.lock().unwrap_or_else(PoisonError::into_inner);
            let mut free = self.left.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
            *free -= 1;
        }
        Turn(self)
    }
}

/// A place that is held.
pub struct Turn<'a>(&'a Gate);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(free) = &self.0.free {
            *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            self.0.left.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_are_inside_than_there_are_places() {
        let gate = Gate::new(NonZeroUsize::new(2));
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _turn = gate.enter();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
    }
}
