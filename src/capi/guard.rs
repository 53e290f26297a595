//! The one guard between C and the rest of the library.

use super::error::{self, AoeStatus};
use super::session_id::AoeSessionId;
use crate::status::{Error, Result, Status};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an export.
///
/// A forked child is turned away, an error becomes its status and the thread's last-error text, and a
/// panic becomes [`Status::Internal`]. `function` is the export's name.
///
/// `AssertUnwindSafe` holds because a body shares state with other calls only through locks and
/// tables that the lower floors keep valid at every step; a caller's own graph may be half changed,
/// which no function mistakes for memory it may not touch.
pub(super) fn guard(function: &str, body: impl FnOnce() -> Result<()>) -> AoeStatus {
    guard_reader(function, || {
        let _use = crate::session::use_library()?;
        body()
    })
}

/// Runs the body of an export that only reads what its arguments point to, takes no lock and starts no thread:
/// a forked child may do that, and the system call that would tell it apart costs more than such a body.
pub(super) fn guard_reader(function: &str, body: impl FnOnce() -> Result<()>) -> AoeStatus {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // The text is made inside the guard as well: it runs our code too.
        body().map_err(|e| (e.status(), e.to_string()))
    }));
    let (status, message) = match outcome {
        Ok(Ok(())) => {
            error::clear();
            return Status::Success as AoeStatus;
        }
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let bug = bug(function, payload);
            (bug.status(), bug.to_string())
        }
    };
    error::set(&message);
    status as AoeStatus
}

/// Runs the body of an export that names a session: a [`guard`] that keeps each failure at the session as
/// well, whatever failed, for whoever asks later.
///
/// A session that is gone, or never was, has no place for it.
pub(super) fn guard_session(function: &str, session: AoeSessionId, body: impl FnOnce() -> Result<()>) -> AoeStatus {
    guard(function, || {
        let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(bug(function, payload)));
        if outcome.is_ok() {
            return outcome;
        }
        match crate::session::session(session) {
            Ok(session) => session.note(outcome),
            Err(_) => outcome,
        }
    })
}

/// Runs the body of a destructor, which has no status to return and may run in a forked child.
pub(super) fn guard_destroy(function: &str, body: impl FnOnce() -> Result<()>) {
    let outcome = catch_unwind(AssertUnwindSafe(|| body().map_err(|error| error.to_string())));
    match outcome {
        Ok(Ok(())) => error::clear(),
        Ok(Err(message)) => error::set(&message),
        Err(payload) => error::set(&bug(function, payload).to_string()),
    }
}

/// The error that a panic becomes.
fn bug(function: &str, payload: Box<dyn Any + Send>) -> Error {
    Error::Internal { place: function.to_owned(), message: panic_message(payload) }
}

/// The text of a panic. A payload of a type unknown here is leaked: dropping it might panic again.
fn panic_message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => {
                std::mem::forget(payload);
                "a panic without a message".to_owned()
            }
        },
    }
}
