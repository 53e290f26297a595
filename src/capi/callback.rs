//! The host's functions that this library calls: progress and log.

use super::error::AoeStatus;
use super::error::without_nul;
use super::guard::{guard, guard_session};
use super::session_id::AoeSessionId;
use crate::session::{self, Flow, ProgressFn, logging};
use crate::tune::Progress;
use log::Level;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// How far a tuning is.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AoeProgress {
    /// Bytes of this structure.
    pub struct_size: usize,
    /// Distinct operators finished.
    pub done: u64,
    /// Distinct operators in all.
    pub total: u64,
    /// Name of the node whose operator was finished last.
    pub node: *const c_char,
    /// Time of the whole network so far.
    pub network_us: f64,
    /// Time of the whole network before tuning.
    pub baseline_us: f64,
    /// Seconds since the tuning began.
    pub elapsed_s: f64,
    /// Candidates measured for the operators that are finished.
    pub trials: u64,
    /// Seconds that this job will go on; below 0 where that is not known yet.
    pub remaining_s: f64,
    /// Measurements made for the operator that is being searched; 0 where the call is not from within a search.
    pub searching: u64,
}

/// Is told of progress; anything but 0 cancels.
pub type AoeProgressCallback = Option<unsafe extern "C" fn(progress: *const AoeProgress, payload: *mut c_void) -> i32>;

/// How serious a log message is; CANN's numbers.
pub type AoeLogLevel = i32;
/// For those who look for a fault.
pub const AOE_LOG_DEBUG: AoeLogLevel = 0;
/// What is going on.
pub const AOE_LOG_INFO: AoeLogLevel = 1;
/// Something that may be unwanted.
pub const AOE_LOG_WARNING: AoeLogLevel = 2;
/// Something failed.
pub const AOE_LOG_ERROR: AoeLogLevel = 3;

/// Receives log messages.
pub type AoeLogCallback =
    Option<unsafe extern "C" fn(level: AoeLogLevel, message: *const c_char, payload: *mut c_void)>;

/// A pointer that is only ever handed back to the host.
#[derive(Clone, Copy)]
struct Payload(*mut c_void);

// SAFETY: it is never followed here; the header tells the host which threads get it back.
unsafe impl Send for Payload {}
// SAFETY: as above.
unsafe impl Sync for Payload {}

impl Payload {
    /// Taken by method, so that a closure captures the whole and stays `Send`.
    fn pointer(self) -> *mut c_void {
        self.0
    }
}

fn c_string(text: &str) -> CString {
    CString::new(without_nul(text).as_bytes()).unwrap_or_default()
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeSetProgressCallback(
    session: AoeSessionId,
    callback: AoeProgressCallback,
    payload: *mut c_void,
) -> AoeStatus {
    let payload = Payload(payload);
    guard_session("AoeSetProgressCallback", session, || {
        let function = callback.map(|callback| -> Box<ProgressFn> {
            Box::new(move |progress| {
                let node = c_string(&progress.node);
                let told = c_progress(progress, &node);
                // SAFETY: the function and what its payload points to live until the host replaces them
                // or destroys the session, which it cannot do while the session tunes.
                let answer = unsafe { callback(&raw const told, payload.pointer()) };
                if answer == 0 { Flow::Continue } else { Flow::Cancel }
            })
        });
        session::session(session)?.set_progress(function)
    })
}

fn c_progress(progress: &Progress, node: &CString) -> AoeProgress {
    AoeProgress {
        struct_size: size_of::<AoeProgress>(),
        done: progress.done as u64,
        total: progress.total as u64,
        node: node.as_ptr(),
        network_us: progress.network_us,
        baseline_us: progress.baseline_us,
        elapsed_s: progress.elapsed_s,
        trials: progress.trials as u64,
        remaining_s: progress.remaining_s.unwrap_or(-1.0),
        searching: progress.searching as u64,
    }
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeSetLogCallback(callback: AoeLogCallback, payload: *mut c_void) -> AoeStatus {
    let payload = Payload(payload);
    guard("AoeSetLogCallback", || {
        logging::set_sink(callback.map(|callback| -> Arc<logging::Sink> {
            Arc::new(move |level, message| {
                let message = c_string(&message.replace(['\n', '\r'], " "));
                // SAFETY: the host keeps function and payload alive until calls under way have returned.
                unsafe { callback(level_number(level), message.as_ptr(), payload.pointer()) };
            })
        }));
        Ok(())
    })
}

const fn level_number(level: Level) -> AoeLogLevel {
    match level {
        Level::Error => AOE_LOG_ERROR,
        Level::Warn => AOE_LOG_WARNING,
        Level::Info => AOE_LOG_INFO,
        Level::Debug | Level::Trace => AOE_LOG_DEBUG,
    }
}
