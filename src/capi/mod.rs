//! The C ABI: one file per C object, and one guard that every export goes through.
//!
//! `include/aoe.h` documents each function; it is written by hand, and `tests/abi/main.rs` fails when
//! an export and its declaration differ. An export converts its arguments ([`convert`]), calls a safe
//! function of a lower floor and converts the result back, inside [`guard::guard`]. Exports are plain
//! functions, not made by a macro: cbindgen must be able to read them.
//!
//! No panic hook is installed: the hook belongs to the process. A panic, which is always a bug, thus
//! prints through the hook in force before the guard stops it.

// Rust callers have the modules below this floor; the contract of these functions is the header's.
#![expect(clippy::missing_safety_doc, reason = "include/aoe.h documents every export and its pointers")]

pub mod api;
pub mod attributes;
pub mod backend;
pub mod bank;
pub mod callback;
pub mod check_option;
mod convert;
pub mod error;
pub mod graph;
mod guard;
pub mod option;
pub mod search;
pub mod session;
pub mod session_id;
pub mod simulate;
pub mod tensor;
#[cfg(feature = "test-hooks")]
pub mod test_hooks;
pub mod version;

#[cfg(test)]
mod tests;
