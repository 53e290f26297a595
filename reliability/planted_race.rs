//! A race of two threads, which ThreadSanitizer has to find: scripts/threads asks it before it trusts its silence.

use std::cell::UnsafeCell;

struct Shared(UnsafeCell<u64>);

// SAFETY: none; that is the fault.
unsafe impl Sync for Shared {}

fn main() {
    static SHARED: Shared = Shared(UnsafeCell::new(0));
    // SAFETY: none, as above.
    let add = || (0..1000).for_each(|_| unsafe { *SHARED.0.get() += 1 });
    std::thread::scope(|s| drop([s.spawn(add), s.spawn(add)]));
}
