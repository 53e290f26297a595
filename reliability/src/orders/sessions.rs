//! The tables of sessions and of searches, through the functions that the C interface calls.

use crate::campaign::Planted;
use aoe::search::Outcome;
use aoe::session::options::OptionMap;
use aoe::session::{create, destroy, finalize, initialize, searches, session, use_library};
use aoe::status::Error;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Nobody uses the library any more, so that a child of any process may.
fn check_unused() {
    assert!(matches!(finalize(), Err(Error::Uninitialized)), "the library is left initialised");
    let left = format!("{:?}", use_library().expect("nobody was forked"));
    assert!(left.contains(", 1)"), "uses are left when all are done: {left}");
}

/// The library is finalised while another thread calls a session.
pub fn finalised(_: Option<Planted>) {
    initialize([]).expect("nobody else initialises");
    let handle = create().expect("it is initialised");
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    let caller = thread::spawn(move || {
        let Ok(session) = session(handle) else { return };
        let was_over = seen.load(Ordering::Relaxed);
        let called = session.set_ge_session();
        assert!(!(was_over && called.is_ok()), "a call is let into a session after finalise");
    });
    let finalised = finalize();
    is_over.store(finalised.is_ok(), Ordering::Relaxed);
    caller.join().expect("a thread that panicked ends the world");
    match finalised {
        Ok(()) => assert!(matches!(session(handle), Err(Error::Uninitialized))),
        Err(Error::Busy { .. }) => finalize().expect("nobody is inside any more"),
        Err(other) => panic!("finalise fails with {other}"),
    }
    check_unused();
}

/// Two threads each live a whole life with the library.
pub fn lives(_: Option<Planted>) {
    let alive = Arc::new(AtomicU32::new(0));
    let threads = [(); 2].map(|()| {
        let alive = Arc::clone(&alive);
        thread::spawn(move || live(&alive))
    });
    for thread in threads {
        thread.join().expect("a thread that panicked ends the world");
    }
    check_unused();
}

/// `alive` counts who has initialised and not begun to finalise.
fn live(alive: &AtomicU32) {
    let is_mine = initialize([]).is_ok();
    if is_mine {
        assert_eq!(alive.fetch_add(1, Ordering::Relaxed), 0, "two threads have initialised one library");
    }
    match create() {
        Ok(handle) => {
            let known = session(handle).and_then(|session| session.set_ge_session());
            let gone = |error: &Error| {
                matches!(error, Error::InvalidSession { .. } | Error::Uninitialized | Error::Busy { .. })
            };
            assert!(known.as_ref().err().is_none_or(gone), "a session of one's own is {known:?}");
            let ended = destroy(handle);
            assert!(ended.as_ref().err().is_none_or(gone), "a session of one's own cannot be destroyed: {ended:?}");
        }
        Err(error) => assert!(!is_mine && matches!(error, Error::Uninitialized), "create fails with {error}"),
    }
    if is_mine {
        alive.fetch_sub(1, Ordering::Relaxed);
        loop {
            match finalize() {
                Ok(()) => return,
                // The other one's session is in a call.
                Err(Error::Busy { .. }) => thread::yield_now(),
                Err(other) => panic!("finalise fails with {other}"),
            }
        }
    }
}

/// A search is asked, told and destroyed by three threads.
pub fn searches(_: Option<Planted>) {
    let space = r#"{"parameters":[{"name":"a","values":[1,2,3]},{"name":"b","values":[1,2]}]}"#;
    let handle = searches::create(space, &OptionMap::default()).expect("a space");
    let asked = Arc::new(AtomicU32::new(0));
    let askers = [(); 2].map(|()| {
        let asked = Arc::clone(&asked);
        thread::spawn(move || {
            let trial = match searches::ask(handle, 2, |_, _| ()) {
                Ok(trial) => trial,
                Err(Error::InvalidSearch { .. }) => return,
                Err(other) => panic!("ask fails with {other}"),
            };
            let bit = 1 << trial;
            assert_eq!(asked.fetch_or(bit, Ordering::Relaxed) & bit, 0, "trial {trial} is handed out twice");
            let told = searches::tell(handle, trial, Outcome::Cost(1.0));
            assert!(matches!(told, Ok(()) | Err(Error::InvalidSearch { .. })), "tell: {told:?}");
        })
    });
    let first = searches::destroy(handle);
    assert!(first.is_ok(), "{first:?}");
    assert!(matches!(searches::report(handle), Err(Error::InvalidSearch { .. })), "a search outlives its end");
    for asker in askers {
        asker.join().expect("a thread that panicked ends the world");
    }
    assert_eq!(searches::in_use(), "Uses(None, 0)", "uses of the searches are left");
}
