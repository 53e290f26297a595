//! Whether the library takes an option.

use super::convert::text;
use super::error::AoeStatus;
use super::guard::guard;
use crate::session::options;
use std::ffi::c_char;

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeCheckOption(key: *const c_char, value: *const c_char) -> AoeStatus {
    guard("AoeCheckOption", || {
        // SAFETY: the header's contract.
        let key = unsafe { text(key, "key") }?;
        let value = if value.is_null() {
            None
        } else {
            // SAFETY: the header's contract.
            Some(unsafe { text(value, "value") }?)
        };
        options::judge(key, value)
    })
}
