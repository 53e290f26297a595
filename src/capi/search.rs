//! Searches that a caller drives: bring your own space and your own measurement.

use super::convert::{TextOut, options, out, text};
use super::error::AoeStatus;
use super::guard::{guard, guard_destroy};
use super::option::{AoeOption, pairs};
use crate::search::Outcome;
use crate::session::options::gather;
use crate::session::searches;
use crate::status::{Error, Result};
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// A search in a caller's hands. The pointer is a handle that looks like one: a number of the table of
/// searches, which nothing ever follows, so that a wrong one is an error and no more.
#[derive(Debug)]
pub struct AoeSearch(());

/// The trial was measured, and its cost counts.
pub const AOE_TRIAL_MEASURED: i32 = 0;
/// The trial could not be measured.
pub const AOE_TRIAL_FAILED: i32 = 1;

const _: () = assert!(size_of::<usize>() >= size_of::<u64>(), "a handle fits into a pointer");

fn handle(search: *const AoeSearch) -> u64 {
    search.addr() as u64
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSearchCreate(
    space_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    search: *mut *mut AoeSearch,
) -> AoeStatus {
    guard("AoeSearchCreate", || {
        // SAFETY: the header's contract.
        let (space, options, search) =
            unsafe { (text(space_json, "space_json")?, self::options(options, option_count)?, out(search, "search")?) };
        let handle = searches::create(space, &gather(pairs(&options))?)?;
        search.write(std::ptr::without_provenance_mut(handle as usize));
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSearchAsk(
    search: *mut AoeSearch,
    value_indices: *mut u32,
    parameter_count: usize,
    trial: *mut u64,
) -> AoeStatus {
    guard("AoeSearchAsk", || {
        // SAFETY: the header's contract.
        let (first, trial) = unsafe { (out(value_indices, "value_indices")?, out(trial, "trial")?) };
        let first: *mut MaybeUninit<u32> = first;
        let asked = searches::ask(handle(search), parameter_count, |i, index| {
            // SAFETY: `i` is below the number of parameters, which was found to be `parameter_count`; the
            // array has so many elements, by the header's contract.
            unsafe { first.cast::<u32>().add(i).write(index) };
        })?;
        trial.write(asked);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeSearchTell(search: *mut AoeSearch, trial: u64, outcome: i32, cost: f64) -> AoeStatus {
    guard("AoeSearchTell", || searches::tell(handle(search), trial, outcome_of(outcome, cost)?))
}

fn outcome_of(outcome: i32, cost: f64) -> Result<Outcome> {
    match outcome {
        AOE_TRIAL_MEASURED => Ok(Outcome::Cost(cost)),
        AOE_TRIAL_FAILED => Ok(Outcome::Failed),
        other => Err(Error::param("outcome", format!("{other} is neither 0 (measured) nor 1 (failed)"))),
    }
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSearchBest(
    search: *const AoeSearch,
    value_indices: *mut u32,
    parameter_count: usize,
    cost: *mut f64,
) -> AoeStatus {
    guard("AoeSearchBest", || {
        // SAFETY: the header's contract.
        let (first, cost) = unsafe { (out(value_indices, "value_indices")?, out(cost, "cost")?) };
        let first: *mut MaybeUninit<u32> = first;
        let best = searches::best(handle(search), parameter_count, |i, index| {
            // SAFETY: as in AoeSearchAsk.
            unsafe { first.cast::<u32>().add(i).write(index) };
        })?;
        cost.write(best);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSearchGetReport(
    search: *const AoeSearch,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    guard("AoeSearchGetReport", || {
        // SAFETY: the header's contract.
        let text = unsafe { TextOut::new(buffer, size) }?;
        text.write(&searches::report(handle(search))?)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeSearchDestroy(search: *mut AoeSearch) {
    guard_destroy("AoeSearchDestroy", || if search.is_null() { Ok(()) } else { searches::destroy(handle(search)) });
}
