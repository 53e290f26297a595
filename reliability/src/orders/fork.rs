//! The word that tells a forked child from its parent: a child comes in only where nobody was inside when it was forked,
//! for it has copies of their locks.

use crate::campaign::Planted;
use aoe::session::process::Uses;
use shuttle::sync::Mutex;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PARENT: u32 = 7;
const CHILD: u32 = 9;

/// Of the orders, each has one of its own: it has to outlive them.
fn unused() -> &'static Uses {
    Box::leak(Box::new(Uses::new()))
}

fn check_unused(uses: &Uses) {
    let left = format!("{uses:?}");
    assert_eq!(left, "Uses(None, 0)", "uses are left when all are done");
}

/// A thread uses something that has a lock; a child is forked at any moment.
pub fn child_of_one(planted: Option<Planted>) {
    child_of::<1>(planted);
}

/// Two threads do.
pub fn child_of_two(planted: Option<Planted>) {
    child_of::<2>(planted);
}

fn child_of<const THREADS: usize>(planted: Option<Planted>) {
    let uses = unused();
    let lock = Arc::new(Mutex::new(()));
    // Beside the world: looking at it is no step.
    let is_held = Arc::new(AtomicBool::new(false));
    let users = [(); THREADS].map(|()| {
        let (lock, is_held) = (Arc::clone(&lock), Arc::clone(&is_held));
        thread::spawn(move || {
            let used = uses.begin_in(PARENT).expect("the process itself is let in");
            let guard = lock.lock().expect("nobody panics");
            is_held.store(true, Ordering::Relaxed);
            // What is planted: it is given up before the lock.
            let kept = planted.is_none().then_some(used);
            thread::yield_now();
            is_held.store(false, Ordering::Relaxed);
            drop(guard);
            drop(kept);
        })
    });
    thread::yield_now();
    let before = is_held.load(Ordering::Relaxed);
    let copy: &'static Uses = Box::leak(Box::new(uses.forked()));
    let is_stuck = before && is_held.load(Ordering::Relaxed);
    let entered = copy.begin_in(CHILD);
    assert!(!(is_stuck && entered.is_ok()), "a child is let in that was forked while a lock was held");
    drop(entered);
    for user in users {
        user.join().expect("a thread that panicked ends the world");
    }
    check_unused(uses);
    assert!(uses.begin_in(CHILD).is_ok(), "a child that was forked between uses is turned away");
}

/// Two threads of a child take over what its parent had and has no more.
pub fn threads_of_a_child(_: Option<Planted>) {
    let uses = unused();
    drop(uses.begin_in(PARENT));
    let inside = Arc::new(AtomicBool::new(false));
    let users = [(); 2].map(|()| {
        let inside = Arc::clone(&inside);
        thread::spawn(move || {
            let _use = uses.begin_in(CHILD).expect("the child has it for itself");
            inside.store(true, Ordering::Relaxed);
            assert!(uses.begin_in(PARENT).is_err(), "another process is let in while it is used");
        })
    });
    for user in users {
        user.join().expect("a thread that panicked ends the world");
    }
    assert!(inside.load(Ordering::Relaxed));
    check_unused(uses);
}
