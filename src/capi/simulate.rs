//! The simulator, CANN's default tilings, and candidates: what answers cases.

use super::convert::{TextOut, options, text};
use super::error::AoeStatus;
use super::guard::guard;
use super::option::{AoeOption, pairs};
use crate::cases::Parts;
use crate::session::environment::Environment;
use crate::session::options::{OptionMap, gather};
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
    guard("AoeSimulate", || unsafe {
        let parts = |options: &_| simulation::pricing(options, &Environment::read());
        answer(case_json, options, (buffer, size), parts, crate::simulate::price)
    })
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
    guard("AoeTiling", || unsafe {
        answer(case_json, options, (buffer, size), simulation::parts, crate::defaults::tiling)
    })
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
    parts: impl FnOnce(&OptionMap) -> Result<Parts>,
    ask: impl FnOnce(&str, &mut Parts) -> Result<String>,
) -> Result<()> {
    // SAFETY: the contract of this function.
    let (case, options, answer) =
        unsafe { (text(case_json, "case_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?) };
    let mut parts = parts(&gather(pairs(&options))?)?;
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
