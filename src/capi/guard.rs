//! The one guard between C and the rest of the library.

use super::error::{self, AoeStatus};
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
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // The text is made inside the guard as well: it runs our code too.
        crate::session::check_process().and_then(|()| body()).map_err(|e| (e.status(), e.to_string()))
    }));
    let (status, message) = match outcome {
        Ok(Ok(())) => {
            error::clear();
            return Status::Success as AoeStatus;
        }
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let bug = Error::Internal { place: function.to_owned(), message: panic_message(payload) };
            (bug.status(), bug.to_string())
        }
    };
    error::set(&message);
    status as AoeStatus
}

/// Runs the body of a destructor, which has no status to return and may run in a forked child.
pub(super) fn guard_destroy(function: &str, body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        let bug = Error::Internal { place: function.to_owned(), message: panic_message(payload) };
        error::set(&bug.to_string());
    }
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
