//! Knowledge banks: looked up in inside a compiler, and merged.

use super::convert::{TextOut, array, options, out, reference, reference_mut, text, texts};
use super::error::AoeStatus;
use super::guard::{guard, guard_destroy, guard_reader};
use super::option::{AoeOption, pairs};
use crate::session::banks::{self, Bank, Question};
use crate::session::options::gather;
use crate::status::{Error, Result};
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};

/// A bank in a caller's hands.
#[derive(Debug)]
pub struct AoeBank(Bank);

// `const AoeBank *` may be used by several threads at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<AoeBank>();
};

/// The key is the operator's structure as CANN packs it.
pub const AOE_BANK_KEY_PACKED: i32 = 0;
/// The key is the text of an `info_dict`.
pub const AOE_BANK_KEY_INFO_DICT: i32 = 1;
/// The key is the text of a case.
pub const AOE_BANK_KEY_CASE: i32 = 2;

/// What a merge did.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "include/aoe.h documents the fields")]
pub struct AoeBankMerged {
    pub struct_size: usize,
    pub added: u64,
    pub updated: u64,
    pub kept: u64,
    pub refused: u64,
    pub foreign: u64,
    pub files: u64,
    pub warnings: u64,
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeBankOpen(
    paths: *const *const c_char,
    path_count: usize,
    options: *const AoeOption,
    option_count: usize,
    bank: *mut *mut AoeBank,
) -> AoeStatus {
    guard("AoeBankOpen", || {
        // SAFETY: the header's contract.
        let (paths, options, bank) =
            unsafe { (texts(paths, path_count, "paths")?, self::options(options, option_count)?, out(bank, "bank")?) };
        let paths = paths.into_iter().map(PathBuf::from).collect();
        let opened = banks::open(paths, &gather(pairs(&options))?)?;
        bank.write(Box::into_raw(Box::new(AoeBank(opened))));
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeBankQuery(
    bank: *const AoeBank,
    op_type: *const c_char,
    kind: i32,
    key: *const c_void,
    key_size: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    guard_reader("AoeBankQuery", || {
        // SAFETY: the header's contract.
        let (bank, key, answer) = unsafe {
            (reference(bank, "bank")?, array(key.cast::<u8>(), key_size, "key")?, TextOut::new(buffer, size)?)
        };
        // SAFETY: the header's contract.
        let op_type = || unsafe { text(op_type, "op_type") };
        let question = match kind {
            AOE_BANK_KEY_PACKED => Question::Packed(op_type()?, key),
            AOE_BANK_KEY_INFO_DICT => Question::InfoDict(op_type()?, key),
            AOE_BANK_KEY_CASE => Question::Case(key),
            other => return Err(Error::param("kind", format!("{other} is no kind of key"))),
        };
        answer.write_bytes(bank.0.query(question)?)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeBankMerge(
    sources: *const *const c_char,
    source_count: usize,
    into: *const c_char,
    built_in: *const *const c_char,
    built_in_count: usize,
    merged: *mut AoeBankMerged,
) -> AoeStatus {
    guard("AoeBankMerge", || {
        // SAFETY: the header's contract.
        let (sources, into, built_in) = unsafe {
            (
                texts(sources, source_count, "sources")?,
                text(into, "into")?,
                texts(built_in, built_in_count, "built_in")?,
            )
        };
        // SAFETY: the header's contract.
        let merged = if merged.is_null() { None } else { Some(unsafe { reference_mut(merged, "merged") }?) };
        check_size(merged.as_deref())?;
        let paths = |texts: Vec<&str>| texts.into_iter().map(PathBuf::from).collect::<Vec<_>>();
        let outcome = crate::bank::merge(&paths(sources), Path::new(into), &paths(built_in))?;
        outcome.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        if let Some(merged) = merged {
            merged.added = outcome.added as u64;
            merged.updated = outcome.updated as u64;
            merged.kept = outcome.kept as u64;
            merged.refused = outcome.refused as u64;
            merged.foreign = outcome.foreign as u64;
            merged.files = outcome.changed.len() as u64;
            merged.warnings = outcome.warnings.len() as u64;
        }
        Ok(())
    })
}

/// A structure of a later version is longer; this one's fields come first in it.
fn check_size(merged: Option<&AoeBankMerged>) -> Result<()> {
    let needed = size_of::<AoeBankMerged>();
    match merged.map(|merged| merged.struct_size) {
        Some(given) if given < needed => {
            Err(Error::param("merged", format!("struct_size is {given}, not sizeof(AoeBankMerged), {needed}")))
        }
        _ => Ok(()),
    }
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeBankClose(bank: *mut AoeBank) {
    guard_destroy("AoeBankClose", || {
        if !bank.is_null() {
            // SAFETY: the header's contract: made by AoeBankOpen, and closed once.
            drop(unsafe { Box::from_raw(bank) });
        }
        Ok(())
    });
}
