//! Status numbers, and the text of each thread's last error.

pub use crate::status::AoeStatus;
use crate::status::Status;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::c_char;

thread_local! {
    /// Why this thread's last call failed, NUL-terminated; empty after a success.
    static LAST_ERROR: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Forgets the calling thread's error. A thread that is being torn down has none.
pub(super) fn clear() {
    let _ = LAST_ERROR.try_with(|text| text.try_borrow_mut().map(|mut text| text.clear()));
}

/// Remembers why the calling thread's call failed.
pub(super) fn set(message: &str) {
    let _ = LAST_ERROR.try_with(|text| {
        if let Ok(mut text) = text.try_borrow_mut() {
            text.clear();
            text.extend_from_slice(without_nul(message).as_bytes());
            text.push(0);
        }
    });
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeGetLastError() -> *const c_char {
    let text = LAST_ERROR.try_with(|text| match text.try_borrow() {
        Ok(text) if !text.is_empty() => text.as_ptr().cast(),
        _ => c"".as_ptr(),
    });
    text.unwrap_or(c"".as_ptr())
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeGetStatusName(status: AoeStatus) -> *const c_char {
    Status::from_code(status).map_or(c"AOE_STATUS_UNKNOWN", Status::c_name).as_ptr()
}

/// A text that C reads to its end: names in model files may hold NUL characters.
pub(super) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}
