//! What threads share: locks, words, and what a process has one of.
//!
//! In the library they are those of the standard library. In the campaign of all orders (`--cfg aoe_interleavings`,
//! docs/reliability.md) they are shuttle's, which decides at each of them whose step comes next.

#[cfg(aoe_interleavings)]
mod orders;
#[cfg(not(aoe_interleavings))]
mod standard;

#[cfg(aoe_interleavings)]
pub use orders::{AtomicU64, Global, Mutex, MutexGuard, RwLock, Shared, tear};
#[cfg(not(aoe_interleavings))]
pub use standard::{AtomicU64, Global, Mutex, MutexGuard, RwLock, Shared};
