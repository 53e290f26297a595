//! As the library has them.

use std::sync::{LazyLock, PoisonError};

pub use std::sync::atomic::AtomicU64;
pub use std::sync::{Mutex, MutexGuard, RwLock};

/// What a process has one of, made when it is first asked for.
pub struct Global<T: 'static>(LazyLock<T>);

impl<T: Send + Sync> Global<T> {
    /// To be made by this.
    pub const fn new(make: fn() -> T) -> Global<T> {
        Global(LazyLock::new(make))
    }

    /// It.
    pub fn get(&'static self) -> &'static T {
        &self.0
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
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
