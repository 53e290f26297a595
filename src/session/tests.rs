//! The life cycle. The library is one per process, so each test runs through [`alone`].

use super::*;
use crate::graph::Graph;
use crate::status::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// Runs a test with the library to itself, finalised before and after.
fn alone(test: impl FnOnce()) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = finalize();
    test();
    let _ = finalize();
}

fn start() {
    initialize([("job_type", "2")]).unwrap();
}

fn is_invalid(result: &Result<()>) -> bool {
    matches!(result, Err(Error::InvalidSession { .. }))
}

#[test]
fn initialising_twice_and_finalising_twice_are_errors() {
    alone(|| {
        assert!(matches!(finalize(), Err(Error::Uninitialized)));
        start();
        assert!(matches!(initialize([]), Err(Error::RepeatInitialize)));
        finalize().unwrap();
        assert!(matches!(finalize(), Err(Error::Uninitialized)));
    });
}

#[test]
fn nothing_works_before_initialise_or_after_finalise() {
    alone(|| {
        assert!(matches!(create(), Err(Error::Uninitialized)));
        start();
        let handle = create().unwrap();
        finalize().unwrap();
        assert!(matches!(session(handle).err(), Some(Error::Uninitialized)));
    });
}

#[test]
fn a_handle_of_an_earlier_life_names_nothing_in_a_later_one() {
    alone(|| {
        start();
        let old: Vec<_> = (0..3).map(|_| create().unwrap()).collect();
        finalize().unwrap();
        start();
        let new: Vec<_> = (0..3).map(|_| create().unwrap()).collect();
        for handle in old {
            assert!(!new.contains(&handle) && is_invalid(&destroy(handle)));
        }
    });
}

#[test]
fn zero_foreign_and_stale_handles_are_invalid() {
    alone(|| {
        start();
        let handle = create().unwrap();
        assert_ne!(handle, 0);
        for foreign in [0, 1, u64::MAX, handle ^ (1 << 32), handle + 1, handle >> 32] {
            assert!(is_invalid(&destroy(foreign)), "{foreign:#x}");
        }
        destroy(handle).unwrap();
        assert!(is_invalid(&destroy(handle)));
    });
}

#[test]
fn a_session_that_is_inside_a_call_is_busy_for_every_other() {
    alone(|| {
        start();
        let handle = create().unwrap();
        let held = session(handle).unwrap();
        let inside = held.enter().unwrap();
        assert!(matches!(destroy(handle), Err(Error::Busy { .. })));
        assert!(matches!(held.set_graph(Some(Graph::new("g"))), Err(Error::Busy { .. })));
        assert!(matches!(finalize(), Err(Error::Busy { .. })));
        drop(inside);
        destroy(handle).unwrap();
    });
}

#[test]
fn a_failed_initialise_leaves_the_library_uninitialised() {
    alone(|| {
        assert!(matches!(initialize([("job_type", "banana")]), Err(Error::Option { .. })));
        assert!(matches!(create(), Err(Error::Uninitialized)));
        start();
    });
}

#[test]
fn an_error_is_kept_on_its_session_for_other_threads() {
    alone(|| {
        start();
        let held = session(create().unwrap()).unwrap();
        let result: Result<()> = held.note(Err(Error::Exhausted { reason: "tested" }));
        assert!(result.is_err());
        let text = std::thread::scope(|s| s.spawn(|| held.last_error()).join().unwrap());
        assert_eq!(text, Error::Exhausted { reason: "tested" }.to_string());
    });
}
