//! The status codes of the C ABI and the one error type behind them.
//!
//! Codes -1, 0 to 12 and 100 are CANN's and keep its numbers; ours start at 1000 so that neither an
//! errno nor a later CANN code can be mistaken for one of them. A number is never reused.

use crate::spelling::with_short_names;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// Result of a call as C passes it; the numbers are those of [`Status`].
pub type AoeStatus = i32;

/// A text that ends in its only NUL; anything else fails to compile where this is evaluated.
const fn with_nul(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text does not end in its only NUL"),
    }
}

/// Declares the status table once: enum, number, C name, meaning.
macro_rules! status_table {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Result of a call across the C border (`AoeStatus` in C).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Status { $($(#[$doc])* $variant = $code,)* }

        impl Status {
            /// Every status, in numeric order as declared.
            pub const ALL: &'static [Status] = &[$(Status::$variant,)*];

            /// The C constant's name, for example `AOE_ERROR_BUSY`.
            pub const fn name(self) -> &'static str {
                match self { $(Status::$variant => $name,)* }
            }

            /// [`Status::name`] as C reads it.
            pub const fn c_name(self) -> &'static CStr {
                match self { $(Status::$variant => const { with_nul(concat!($name, "\0")) },)* }
            }

            /// The status with this number, if there is one.
            pub const fn from_code(code: i32) -> Option<Status> {
                match code { $($code => Some(Status::$variant),)* _ => None }
            }
        }
    };
}

status_table! {
    /// Generic failure.
    Failure = -1, "AOE_FAILURE";
    /// The call did what it says.
    Success = 0, "AOE_SUCCESS";
    /// An allocation failed.
    MemoryAlloc = 1, "AOE_ERROR_MEMORY_ALLOC";
    /// An argument is invalid.
    InvalidParam = 2, "AOE_ERROR_INVALID_PARAM";
    /// `AoeInitialize` has not been called.
    Uninitialized = 3, "AOE_ERROR_UNINITIALIZED";
    /// `AoeInitialize` was called a second time.
    RepeatInitialize = 4, "AOE_ERROR_REPEAT_INITIALIZE";
    /// The session or search handle is unknown, stale or foreign.
    InvalidSession = 5, "AOE_ERROR_INVALID_SESSION";
    /// Another thread is inside a call on the same object.
    Busy = 6, "AOE_ERROR_BUSY";
    /// The graph is malformed.
    InvalidGraph = 7, "AOE_ERROR_INVALID_GRAPH";
    /// There is no graph, or nothing in it can be tuned.
    NonOptimizeGraph = 8, "AOE_ERROR_NON_OPTIMIZE_GRAPH";
    /// A shape in the graph is not known.
    DynamicGraph = 9, "AOE_ERROR_DYNAMIC_GRAPH";
    /// A dynamic shape range cannot be tuned.
    DynamicShapeRange = 10, "AOE_ERROR_DYNAMIC_SHAPE_RANGE";
    /// An option is unknown or its value malformed.
    InvalidOptionAttr = 11, "AOE_ERROR_INVALID_OPTION_ATTR";
    /// No tunable object (older CANN generation; not returned by this library's C ABI).
    NonOptimizableObject = 12, "AOE_ERROR_NON_OPTIMIZABLE_OBJECT";
    /// Any other error while tuning.
    TuningError = 100, "AOE_ERROR_TUNING_ERROR";
    /// A bug in this library was caught at the border.
    Internal = 1000, "AOE_ERROR_INTERNAL";
    /// The parent of this process was using the library when it forked.
    Forked = 1001, "AOE_ERROR_FORKED";
    /// The tuning was cancelled; what was found so far is saved.
    Cancelled = 1002, "AOE_ERROR_CANCELLED";
    /// The buffer is too small; the size needed was written to `*size`.
    BufferTooSmall = 1003, "AOE_ERROR_BUFFER_TOO_SMALL";
    /// A file or directory could not be read or written.
    Io = 1004, "AOE_ERROR_IO";
    /// What was asked for is not built (yet) in this version.
    Unsupported = 1005, "AOE_ERROR_UNSUPPORTED";
    /// The requested backend cannot be used.
    Backend = 1006, "AOE_ERROR_BACKEND";
    /// The search space has no further configuration.
    Exhausted = 1007, "AOE_ERROR_EXHAUSTED";
    /// The schedule is illegal for the workload on this SoC.
    IllegalSchedule = 1008, "AOE_ERROR_ILLEGAL_SCHEDULE";
    /// A knowledge bank is damaged or locked.
    Bank = 1009, "AOE_ERROR_BANK";
    /// The key or record asked for does not exist.
    NotFound = 1010, "AOE_ERROR_NOT_FOUND";
    /// The backend can measure no more; what was found so far is saved.
    BackendLost = 1011, "AOE_ERROR_BACKEND_LOST";
    /// No graph was set to be tuned.
    NoGraph = 1012, "AOE_ERROR_NO_GRAPH";
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, each with its place and what to do about it.
///
/// [`Error::status`] gives the number that crosses the C border, [`Error::id`] CANN's error id.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A function argument is unusable.
    #[error("argument `{name}`: {reason}")]
    Param {
        /// Name of the parameter as the header spells it.
        name: &'static str,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// The library is not initialised.
    #[error("the library is not initialised: call AoeInitialize first")]
    Uninitialized,
    /// The library is initialised already.
    #[error("the library is already initialised: call AoeFinalize before initialising again")]
    RepeatInitialize,
    /// A handle names nothing that lives.
    #[error("session {handle:#x} does not exist: it was destroyed, finalised or never created here")]
    InvalidSession {
        /// The handle as passed in.
        handle: u64,
    },
    /// A search handle names nothing that lives.
    #[error("search {handle:#x} does not exist: it was destroyed or never created here")]
    InvalidSearch {
        /// The handle as passed in.
        handle: u64,
    },
    /// The object is in use by another thread.
    #[error("{object} is in use by another call; wait for that call to return")]
    Busy {
        /// What is in use, for example `session 0x100000001`.
        object: String,
    },
    /// The graph is malformed at a named place.
    #[error("graph: {location}: {reason}")]
    Graph {
        /// File, node or tensor at fault.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A shape is not known.
    #[error("tensor `{tensor}` has no static shape ({reason}); {advice}")]
    Dynamic {
        /// The first tensor whose shape is unknown.
        tensor: String,
        /// Its shape as far as known, or why it cannot be inferred.
        reason: String,
        /// What a caller can do about it.
        advice: String,
    },
    /// Nothing to tune.
    #[error("nothing to tune: {reason}")]
    NothingToTune {
        /// Why not.
        reason: String,
    },
    /// An option of the API or of the command line.
    #[error("option `{option}`: {reason}")]
    Option {
        /// The key.
        option: String,
        /// What is wrong with the key or its value.
        reason: String,
    },
    /// The command line itself.
    #[error("{reason}; see `aoe -h`")]
    CommandLine {
        /// What is wrong.
        reason: String,
    },
    /// A configuration file (`aoe.ini`, `tune_ops_file`, SoC description, ...).
    #[error("{}{}: {reason}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
    Config {
        /// The file.
        path: PathBuf,
        /// Line counted from 1, where it can be told.
        line: Option<usize>,
        /// What is wrong there.
        reason: String,
    },
    /// An environment variable.
    #[error("environment variable {name}: {reason}")]
    Environment {
        /// The variable.
        name: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// A directory cannot be used.
    #[error("cannot {action} directory {}: {reason}", path.display())]
    Directory {
        /// `create`, `read`, `write to`, ...
        action: &'static str,
        /// The directory.
        path: PathBuf,
        /// The system's reason or ours.
        reason: String,
    },
    /// A file cannot be used.
    #[error("cannot {action} file {}: {reason}", path.display())]
    File {
        /// `open`, `read`, `write`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason or ours.
        reason: String,
    },
    /// A shared library or plug-in cannot be loaded.
    #[error("backend `{backend}` is not available: {reason}")]
    Backend {
        /// Backend as asked for.
        backend: String,
        /// Every path tried and every symbol missing.
        reason: String,
    },
    /// A session that was never given a graph is to tune one.
    #[error("no tuning graph was set; call AoeSetTuningGraph first")]
    NoGraph,
    /// A backend that measured can measure no more: its device is gone, its plug-in gave up.
    #[error("backend `{backend}` can measure no more: {reason}; what was found so far is saved")]
    BackendLost {
        /// Its name.
        backend: String,
        /// Why, in its own words.
        reason: String,
    },
    /// A SoC name that no table knows.
    #[error("unknown SoC `{name}`; {known}")]
    UnknownSoc {
        /// As given.
        name: String,
        /// The names near it, or all, in a sentence.
        known: String,
    },
    /// A search space that cannot be searched as described.
    #[error("space: {place}: {reason}")]
    Space {
        /// Parameter, constraint with its column, or row at fault.
        place: String,
        /// What is wrong there and what is expected.
        reason: String,
    },
    /// A case for the simulator that is not one.
    #[error("case: {reason}")]
    Case {
        /// Field at fault, and what is wrong with it.
        reason: String,
    },
    /// A schedule breaks a hardware rule.
    #[error("illegal schedule: {rule}")]
    IllegalSchedule {
        /// The rule with the numbers that break it.
        rule: String,
    },
    /// A workload that cannot be simulated or tuned as described.
    #[error("workload {}: {reason}", crate::spelling::shortened(workload))]
    Workload {
        /// The workload in short form.
        workload: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A knowledge bank file.
    #[error("bank {}{}: {reason}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
    Bank {
        /// The bank file.
        path: PathBuf,
        /// Line counted from 1, where it can be told.
        line: Option<usize>,
        /// What is wrong there.
        reason: String,
    },
    /// Not built in this version.
    #[error("{what} is not supported by this version: {reason}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to use instead, or since which version.
        reason: String,
    },
    /// An option, or a value of one, that CANN knows and this version does not act on.
    #[error("option `{option}` is not supported by this version: {reason}")]
    UnsupportedOption {
        /// The key, with its value where another would do.
        option: String,
        /// What to use instead.
        reason: String,
    },
    /// The caller cancelled.
    #[error("cancelled; what was found so far is saved")]
    Cancelled,
    /// The caller's buffer is too small.
    #[error("the buffer holds {given} bytes, {needed} are needed")]
    BufferTooSmall {
        /// Capacity given.
        given: usize,
        /// Bytes needed, terminating NUL included.
        needed: usize,
    },
    /// A search has no further configuration to measure.
    #[error("the search is over: {reason}")]
    Exhausted {
        /// Why.
        reason: &'static str,
    },
    /// Used in a child that was forked while its parent used the library.
    #[error(
        "process {parent} was using the library when this one was forked from it; initialise after forking, or exec"
    )]
    Forked {
        /// Process id of the parent.
        parent: u32,
    },
    /// An allocation of a caller-controlled size failed.
    #[error("out of memory: {what}")]
    Memory {
        /// What was to be allocated.
        what: String,
    },
    /// Tuning failed for another reason.
    #[error("tuning failed: {reason}")]
    Tuning {
        /// Why.
        reason: String,
    },
    /// What went wrong with a model file.
    #[error("{}: {error}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: Box<Error>,
    },
    /// Something that was asked for by key or name does not exist.
    #[error("{what} not found")]
    NotFound {
        /// What was asked for.
        what: String,
    },
    /// A bug of ours, caught at the border.
    #[error("internal error in {place}: {message}; this is a bug in libaoe, please report it")]
    Internal {
        /// The exported function or worker.
        place: String,
        /// The panic message.
        message: String,
    },
}

impl Error {
    /// The number that crosses the C border.
    pub fn status(&self) -> Status {
        match self {
            Error::Param { .. } | Error::Space { .. } | Error::Case { .. } => Status::InvalidParam,
            Error::Uninitialized => Status::Uninitialized,
            Error::RepeatInitialize => Status::RepeatInitialize,
            Error::InvalidSession { .. } | Error::InvalidSearch { .. } => Status::InvalidSession,
            Error::Busy { .. } => Status::Busy,
            Error::Graph { .. } | Error::Workload { .. } => Status::InvalidGraph,
            Error::Dynamic { .. } => Status::DynamicGraph,
            Error::NothingToTune { .. } => Status::NonOptimizeGraph,
            Error::NoGraph => Status::NoGraph,
            Error::Option { .. }
            | Error::CommandLine { .. }
            | Error::Config { .. }
            | Error::Environment { .. }
            | Error::UnknownSoc { .. } => Status::InvalidOptionAttr,
            Error::Directory { .. } | Error::File { .. } => Status::Io,
            Error::Backend { .. } => Status::Backend,
            Error::BackendLost { .. } => Status::BackendLost,
            Error::IllegalSchedule { .. } => Status::IllegalSchedule,
            Error::Bank { .. } => Status::Bank,
            Error::Unsupported { .. } | Error::UnsupportedOption { .. } => Status::Unsupported,
            Error::Cancelled => Status::Cancelled,
            Error::BufferTooSmall { .. } => Status::BufferTooSmall,
            Error::Exhausted { .. } => Status::Exhausted,
            Error::Forked { .. } => Status::Forked,
            Error::Memory { .. } => Status::MemoryAlloc,
            Error::Tuning { .. } => Status::TuningError,
            Error::NotFound { .. } => Status::NotFound,
            Error::Model { error, .. } => error.status(),
            Error::Internal { .. } => Status::Internal,
        }
    }

    /// CANN's error id, where it has one for this kind of error. Its ids cover options, configuration, files and
    /// devices; a graph, a dynamic shape or nothing to tune has none.
    pub fn id(&self) -> Option<&'static str> {
        Some(match self {
            Error::CommandLine { .. } => "EG0000",
            Error::Config { .. } => "EG0001",
            Error::Environment { .. } => "EG0002",
            Error::Option { .. } | Error::UnsupportedOption { .. } | Error::UnknownSoc { .. } => "EG0003",
            Error::Directory { .. } => "EG0010",
            Error::File { .. } | Error::Bank { .. } => "EG0011",
            Error::Backend { .. } => "EG0012",
            Error::BackendLost { .. } => "EG0013",
            Error::Model { error, .. } => return error.id(),
            _ => return None,
        })
    }

    /// Whether a model is at fault, and no option, environment or interrupt.
    pub fn is_about_model(&self) -> bool {
        matches!(
            self,
            Error::Graph { .. }
                | Error::Dynamic { .. }
                | Error::Unsupported { .. }
                | Error::Workload { .. }
                | Error::IllegalSchedule { .. }
                | Error::Internal { .. }
        )
    }

    /// The same error, which names the model file that brought it where it does not yet.
    #[must_use]
    pub fn in_model(self, path: &Path) -> Self {
        if self.to_string().contains(&*path.to_string_lossy()) {
            return self;
        }
        Error::Model { path: path.to_owned(), error: Box::new(self) }
    }

    /// A malformed argument named as in the header.
    pub fn param(name: &'static str, reason: impl Into<String>) -> Self {
        Error::Param { name, reason: reason.into() }
    }

    /// A malformed search space at a parameter, constraint or row.
    pub fn space(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Space { place: place.into(), reason: reason.into() }
    }

    /// A malformed graph at a file, node or tensor.
    pub fn graph(location: impl Into<String>, reason: impl Into<String>) -> Self {
        let [location, reason] = [location.into(), reason.into()].map(with_short_names);
        Error::Graph { location, reason }
    }

    /// An unknown option or a malformed value.
    pub fn option(option: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Option { option: option.into(), reason: with_short_names(reason.into()) }
    }

    /// A failed operation on a file, with the system's reason.
    pub fn file(action: &'static str, path: &Path, reason: impl std::fmt::Display) -> Self {
        Error::File { action, path: path.to_owned(), reason: reason.to_string() }
    }

    /// A failed operation on a directory, with the system's reason.
    pub fn directory(action: &'static str, path: &Path, reason: impl std::fmt::Display) -> Self {
        Error::Directory { action, path: path.to_owned(), reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn every_status_survives_number_to_name_to_number() {
        for &status in Status::ALL {
            assert_eq!(Status::from_code(status as i32), Some(status));
            assert!(status.name().starts_with("AOE_"));
            assert_eq!(status.c_name().to_str(), Ok(status.name()));
        }
        let mut names: Vec<_> = Status::ALL.iter().map(|s| s.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Status::ALL.len(), "two statuses share a C name");
    }

    #[test]
    fn cann_numbers_are_kept() {
        assert_eq!(Status::Failure as i32, -1);
        assert_eq!(Status::NonOptimizeGraph as i32, 8);
        assert_eq!(Status::NonOptimizableObject as i32, 12);
        assert_eq!(Status::TuningError as i32, 100);
    }
}
