//! The simulator, CANN's default tilings, and candidates: what answers cases.

use super::convert::{TextOut, options, text};
use super::error::AoeStatus;
use super::guard::guard;
use super::option::{AoeOption, pairs};
use crate::cases::Parts;
use crate::session::options::gather;
use crate::session::simulation;
use crate::status::Result;
use std::ffi::c_char;

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSimulate(
    case_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    let options = (options, option_count);
    // SAFETY: the header's contract.
    guard("AoeSimulate", || unsafe { answer(case_json, options, (buffer, size), crate::simulate::price) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeTiling(
    case_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    let options = (options, option_count);
    // SAFETY: the header's contract.
    guard("AoeTiling", || unsafe { answer(case_json, options, (buffer, size), crate::defaults::tiling) })
}

/// Writes what `ask` says of a case with these options into the caller's buffer.
///
/// # Safety
///
/// The pointers are those of one of the functions above, by the header's contract.
unsafe fn answer(
    case_json: *const c_char,
    (options, option_count): (*const AoeOption, usize),
    (buffer, size): (*mut c_char, *mut usize),
    ask: impl FnOnce(&str, &mut Parts) -> Result<String>,
) -> Result<()> {
    // SAFETY: the contract of this function.
    let (case, options, answer) =
        unsafe { (text(case_json, "case_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?) };
    let mut parts = simulation::parts(&gather(pairs(&options))?)?;
    answer.write(&ask(case, &mut parts)?)
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeCandidates(
    question_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    guard("AoeCandidates", || {
        // SAFETY: the header's contract.
        let (question, options, answer) = unsafe {
            (text(question_json, "question_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?)
        };
        let mut parts = simulation::parts(&gather(pairs(&options))?)?;
        answer.write(&crate::candidates::candidates(question, &mut parts)?)
    })
}
