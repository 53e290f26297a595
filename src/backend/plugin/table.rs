//! What crosses the border to a plug-in, as C sees it. `include/aoe.h` says what each field means.

use crate::status::AoeStatus;
use std::ffi::{c_char, c_void};

/// One value of a workload or a schedule, by name.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AoeField {
    /// Where it stands in the JSON form: `m`, `l0.k_a`, `inputs.0.0.1`.
    pub name: *const c_char,
    /// The text; NULL for a number.
    pub text: *const c_char,
    /// The number; truth values are 0 and 1.
    pub number: f64,
}

/// A kernel to be measured under one schedule.
#[repr(C)]
#[derive(Debug)]
pub struct AoeCandidate {
    /// Bytes of this structure.
    pub struct_size: usize,
    /// Operator type.
    pub op_type: *const c_char,
    /// What has to be done.
    pub workload: *const AoeField,
    /// Their number.
    pub workload_count: usize,
    /// How it is to be done.
    pub schedule: *const AoeField,
    /// Their number.
    pub schedule_count: usize,
    /// Both as one JSON object.
    pub json: *const c_char,
}

/// What a plug-in says of itself.
#[repr(C)]
#[derive(Debug)]
pub struct AoeBackendDescription {
    /// Bytes of this structure as the library knows it.
    pub struct_size: usize,
    /// Its name in reports and for the option `backend`.
    pub name: *const c_char,
    /// Version, device, and the like.
    pub detail: *const c_char,
    /// The part that is measured: a name of `aoe soc`, or a description in JSON.
    pub soc: *const c_char,
    /// Not 0: repeated measurements differ.
    pub noisy: i32,
    /// Calls of `measure` at a time; 0 for any number.
    pub parallel: u32,
    /// About how long one measurement takes, in microseconds; 0 where that is not known.
    pub measuring_us: f64,
}

/// The functions of a plug-in.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AoeBackend {
    /// Bytes of this structure as the plug-in knows it.
    pub struct_size: usize,
    /// Handed back with each call.
    pub context: *mut c_void,
    /// Says what the backend is.
    pub describe:
        Option<unsafe extern "C" fn(context: *mut c_void, description: *mut AoeBackendDescription) -> AoeStatus>,
    /// Measures one candidate.
    pub measure: Option<
        unsafe extern "C" fn(context: *mut c_void, candidate: *const AoeCandidate, time_us: *mut f64) -> AoeStatus,
    >,
    /// Why this thread's last call of the other two failed.
    pub last_error: Option<unsafe extern "C" fn(context: *mut c_void) -> *const c_char>,
}
