//! Calling a plug-in, and loading one. All of this module's `unsafe` code is here.

use super::fields::Fields;
use super::table::{AoeBackend, AoeBackendDescription, AoeCandidate};
use crate::backend::check_library;
use crate::status::{AoeStatus, Status};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CString, c_char};
use std::mem::ManuallyDrop;
use std::path::Path;

/// Name of the function by which a plug-in library hands over its table.
const ENTRY: &str = "AoeGetBackend";

/// Bytes of a plug-in's text that are read: more than the longest description of a part.
const MAX_TEXT: usize = 64 << 10;

type EntryFn = unsafe extern "C" fn() -> *const AoeBackend;

/// A plug-in's functions, all there.
#[derive(Debug, Clone, Copy)]
pub struct Functions(AoeBackend);

// SAFETY: the header obliges a plug-in to take its calls, with its context, on any thread.
unsafe impl Send for Functions {}
// SAFETY: as above; how many calls at a time is kept by `Plugin`.
unsafe impl Sync for Functions {}

/// What a plug-in answered to `describe`, as it said it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub name: String,
    pub detail: String,
    pub soc: String,
    pub noisy: bool,
    pub parallel: u32,
    pub measuring_us: f64,
}

/// Why there is no time.
#[derive(Debug)]
pub enum Unmeasured {
    /// The candidate failed; others may do better.
    Candidate(String),
    /// The plug-in can measure no more.
    Lost(String),
}

impl From<String> for Unmeasured {
    fn from(why: String) -> Unmeasured {
        Unmeasured::Candidate(why)
    }
}

impl Functions {
    /// Copies a table. Says what is wrong with one that cannot be used.
    ///
    /// # Safety
    /// `table` is NULL, misaligned, or points to as many bytes as its first field says; its functions have the
    /// header's prototypes and, with its context, stay valid for the life of the process.
    pub unsafe fn copy(table: *const AoeBackend) -> Result<Functions, String> {
        if table.is_null() {
            return Err("its table is NULL".to_owned());
        }
        if !table.is_aligned() {
            return Err(format!("its table at {table:p} is not aligned"));
        }
        // SAFETY: the first field is always there; see above.
        let size = unsafe { (&raw const (*table).struct_size).read() };
        if size < size_of::<AoeBackend>() {
            let least = size_of::<AoeBackend>();
            return Err(format!("the struct_size of its table is {size}, the smallest is {least} bytes"));
        }
        // SAFETY: it has at least the fields known here.
        let table = unsafe { table.read() };
        let there = [
            ("describe", table.describe.is_some()),
            ("measure", table.measure.is_some()),
            ("last_error", table.last_error.is_some()),
        ];
        match there.iter().find(|(_, there)| !there) {
            Some((name, _)) => Err(format!("the function `{name}` of its table is NULL")),
            None => Ok(Functions(table)),
        }
    }

    /// Loads a plug-in library and copies its table. The library stays loaded: its functions must stay valid.
    pub fn load(path: &Path) -> Result<Functions, String> {
        check_library(path)?;
        // SAFETY: loading runs the library's constructors: that is what naming a plug-in asks for.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map(ManuallyDrop::new).map_err(|error| {
            // The loader's own words are the source of libloading's error.
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })?;
        // SAFETY: the header gives the function of this name this prototype.
        let entry = unsafe { library.get::<EntryFn>(ENTRY) };
        let entry = entry.map_err(|_| format!("it has no function `{ENTRY}`, which every plug-in exports"))?;
        // SAFETY: as above; what it returns is the header's promise of a table, and the library stays.
        unsafe { Functions::copy(entry()) }
    }

    /// Asks the plug-in what it is; in words why it does not say.
    pub fn describe(&self) -> Result<Answer, String> {
        let Some(describe) = self.0.describe else { return Err("it has no function `describe`".to_owned()) };
        let mut description = AoeBackendDescription {
            struct_size: size_of::<AoeBackendDescription>(),
            name: std::ptr::null(),
            detail: std::ptr::null(),
            soc: std::ptr::null(),
            noisy: 0,
            parallel: 0,
            measuring_us: 0.0,
        };
        // SAFETY: the context is the plug-in's own and the description lives through the call.
        let status = unsafe { describe(self.0.context, &raw mut description) };
        if status != Status::Success as AoeStatus {
            return Err(self.failure("describe", status));
        }
        let text = |name: &str, pointer: *const c_char| {
            // SAFETY: NULL or a string that the plug-in keeps, as the header obliges it to.
            unsafe { text(pointer) }.ok_or_else(|| format!("`describe` gave no text as `{name}`"))
        };
        Ok(Answer {
            name: text("name", description.name)?,
            detail: text("detail", description.detail)?,
            soc: text("soc", description.soc)?,
            noisy: description.noisy != 0,
            parallel: description.parallel,
            measuring_us: description.measuring_us,
        })
    }

    /// Measures a candidate: microseconds, or what went wrong.
    pub fn measure(
        &self,
        op_type: &CString,
        workload: &Fields,
        schedule: &Fields,
        json: &CString,
    ) -> Result<f64, Unmeasured> {
        let Some(measure) = self.0.measure else {
            return Err(Unmeasured::Candidate("it has no function `measure`".to_owned()));
        };
        let (workload, schedule) = (workload.as_c(), schedule.as_c());
        let candidate = AoeCandidate {
            struct_size: size_of::<AoeCandidate>(),
            op_type: op_type.as_ptr(),
            workload: workload.as_ptr(),
            workload_count: workload.len(),
            schedule: schedule.as_ptr(),
            schedule_count: schedule.len(),
            json: json.as_ptr(),
        };
        let mut time_us = f64::NAN;
        // SAFETY: the context is the plug-in's own; candidate and time live through the call.
        let status = unsafe { measure(self.0.context, &raw const candidate, &raw mut time_us) };
        match Status::from_code(status) {
            Some(Status::Success) => Ok(time_us),
            Some(Status::BackendLost) => Err(Unmeasured::Lost(self.failure("measure", status))),
            _ => Err(Unmeasured::Candidate(self.failure("measure", status))),
        }
    }

    /// Why a call failed, in the plug-in's words where it has some.
    fn failure(&self, call: &str, status: AoeStatus) -> String {
        let name = Status::from_code(status).map_or_else(|| status.to_string(), |status| status.name().to_owned());
        // SAFETY: the context is the plug-in's own; what it returns stays until its next call on this thread.
        let why = self.0.last_error.and_then(|last_error| unsafe { text(last_error(self.0.context)) });
        match why.filter(|why| !why.is_empty()) {
            Some(why) => format!("`{call}` failed with {name}: {why}"),
            None => format!("`{call}` failed with {name}"),
        }
    }
}

/// A copy of a string, of its first [`MAX_TEXT`] bytes; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// The pointer is NULL or points to a NUL-terminated string.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence a string as the caller vouches: no byte behind its NUL is looked at.
    let length = (0..MAX_TEXT).take_while(|&at| unsafe { *pointer.add(at) } != 0).count();
    // SAFETY: that many bytes are there, as was seen.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) };
    Some(String::from_utf8_lossy(bytes).into_owned())
}
