//! The simulator, CANN's default tilings, and candidates: what answers cases.

use super::convert::{TextOut, options, text};
use super::error::AoeStatus;
use super::guard::guard;
use super::option::{AoeOption, pairs};
use crate::session::options::gather;
use crate::session::simulation;
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
    guard("AoeSimulate", || {
        // SAFETY: the header's contract.
        let (case, options, answer) = unsafe {
            (text(case_json, "case_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?)
        };
        let mut parts = simulation::parts(&gather(pairs(&options))?)?;
        answer.write(&crate::simulate::price(case, &mut parts)?)
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
    guard("AoeTiling", || {
        // SAFETY: the header's contract.
        let (case, options, answer) = unsafe {
            (text(case_json, "case_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?)
        };
        let mut parts = simulation::parts(&gather(pairs(&options))?)?;
        answer.write(&crate::defaults::tiling(case, &mut parts)?)
    })
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
