//! As the campaign of all orders has them.

use shuttle::lazy_static::Lazy;
use shuttle::sync::atomic as tried;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

pub use shuttle::sync::{Mutex, MutexGuard, RwLock};

/// Whether changes that are one step are two, which the campaign has to find out.
static TORN: AtomicBool = AtomicBool::new(false);

/// From now on, what reads and writes in one step lets others come between.
pub fn tear() {
    TORN.store(true, Ordering::Relaxed);
}

fn is_torn() -> bool {
    TORN.load(Ordering::Relaxed)
}

/// What each of the orders has one of.
pub struct Global<T: Sync + 'static>(Lazy<T>);

impl<T: Send + Sync> Global<T> {
    /// To be made by this.
    pub const fn new(make: fn() -> T) -> Global<T> {
        Global(Lazy::new(make))
    }

    /// It.
    pub fn get(&'static self) -> &'static T {
        self.0.get()
    }
}

/// A word that changes in one step.
#[derive(Debug)]
pub struct AtomicU64(tried::AtomicU64);

impl AtomicU64 {
    /// That begins as this.
    pub const fn new(value: u64) -> AtomicU64 {
        AtomicU64(tried::AtomicU64::new(value))
    }

    /// What it is.
    pub fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// As that of the standard library.
    pub fn fetch_update(
        &self,
        stored: Ordering,
        loaded: Ordering,
        mut change: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64> {
        if !is_torn() {
            return self.0.fetch_update(stored, loaded, change);
        }
        let now = self.0.load(loaded);
        self.0.store(change(now).ok_or(now)?, stored);
        Ok(now)
    }

    /// As that of the standard library.
    pub fn fetch_sub(&self, less: u64, order: Ordering) -> u64 {
        self.0.fetch_sub(less, order)
    }
}

/// A value that changes in one step.
#[derive(Debug)]
pub struct Shared<T>(Mutex<T>);

impl<T: Clone> Shared<T> {
    /// That begins as this.
    pub const fn new(value: T) -> Shared<T> {
        Shared(Mutex::new(value))
    }

    /// Changes it; nobody sees it half changed.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        if !is_torn() {
            return change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let mut value = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let result = change(&mut value);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
        result
    }
}
