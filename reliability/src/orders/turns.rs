//! One session: who is inside, who cancels whom, and who comes too late.

use crate::campaign::Planted;
use aoe::session::turn::Turn;
use aoe::status::Error;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A session, and beside the world, where looking is no step, what its callers know.
struct Session {
    turn: Turn,
    inside: AtomicU32,
    is_destroyed: AtomicBool,
}

fn session() -> Arc<Session> {
    Arc::new(Session { turn: Turn::new(1), inside: AtomicU32::new(0), is_destroyed: AtomicBool::new(false) })
}

impl Session {
    fn call(&self) {
        let was_destroyed = self.is_destroyed.load(Ordering::Relaxed);
        let Ok(inside) = self.turn.enter() else { return };
        assert!(!was_destroyed, "a call is let into a session that was destroyed");
        assert_eq!(self.inside.fetch_add(1, Ordering::Relaxed), 0, "two calls are inside");
        thread::yield_now();
        self.inside.fetch_sub(1, Ordering::Relaxed);
        drop(inside);
    }

    fn destroy(&self) {
        let Ok(inside) = self.turn.enter() else { return };
        assert_eq!(self.inside.load(Ordering::Relaxed), 0, "a session is destroyed under a call");
        inside.close();
        self.is_destroyed.store(true, Ordering::Relaxed);
    }
}

/// A session is destroyed while another thread calls.
pub fn destroyed(_: Option<Planted>) {
    let session = session();
    let other = Arc::clone(&session);
    let caller = thread::spawn(move || {
        other.call();
        other.call();
    });
    session.destroy();
    caller.join().expect("a thread that panicked ends the world");
    if session.is_destroyed.load(Ordering::Relaxed) {
        assert!(matches!(session.turn.enter(), Err(Error::InvalidSession { .. })));
    } else {
        assert!(session.turn.enter().is_ok(), "a session that nobody is in lets nobody in");
    }
}

/// Of two tunings, one after the other, another thread cancels what it sees running.
pub fn cancelled(_: Option<Planted>) {
    let session = session();
    let other = Arc::clone(&session);
    // Tunings that have begun and ended, beside the world; whether one was cancelled is in the bit of its number.
    let (ended, was_cancelled) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (ended_there, cancelled_there) = (Arc::clone(&ended), Arc::clone(&was_cancelled));
    let tuner = thread::spawn(move || {
        for number in 0..2 {
            let Ok(inside) = other.turn.begin_tuning() else { continue };
            thread::yield_now();
            let is_cancelled = other.turn.cancelled().load(Ordering::Acquire);
            cancelled_there.fetch_or(u32::from(is_cancelled) << number, Ordering::Relaxed);
            ended_there.store(number + 1, Ordering::Relaxed);
            drop(inside);
        }
    });
    // Whoever is told that it is busy knows that it runs.
    let before = ended.load(Ordering::Relaxed);
    let is_busy = session.turn.enter().is_err();
    let seen = ended.load(Ordering::Relaxed);
    session.turn.cancel();
    let after = ended.load(Ordering::Relaxed);
    tuner.join().expect("a thread that panicked ends the world");
    let was_cancelled = was_cancelled.load(Ordering::Relaxed);
    if is_busy && before == seen && seen == after && after < 2 {
        assert!(was_cancelled & (1 << after) != 0, "a cancel of tuning {after}, which ran, is lost");
    }
    for number in 0..2 {
        let was_over = number < before;
        let is_cancelled = was_cancelled & (1 << number) != 0;
        assert!(!(was_over && is_cancelled), "tuning {number} is cancelled that had ended before");
    }
    assert!(was_cancelled.count_ones() <= 1, "one cancel ends two tunings");
    assert!(session.turn.enter().is_ok(), "nobody is inside any more, and yet nobody is let in");
}

/// Three threads call, one of which destroys.
pub fn three(_: Option<Planted>) {
    let session = session();
    let callers = [(); 2].map(|()| {
        let session = Arc::clone(&session);
        thread::spawn(move || {
            session.call();
            session.turn.cancel();
            session.call();
        })
    });
    session.destroy();
    for caller in callers {
        caller.join().expect("a thread that panicked ends the world");
    }
}
