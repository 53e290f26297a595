//! An export that panics, so that the C harness can show where panics end. Built with the feature
//! `test-hooks` only.

use super::error::AoeStatus;
use super::guard::guard;
use crate::status::Error;

/// A payload that panics once more when dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// Panics inside the guard in a way that `kind` chooses: 0 a fixed text, 1 a composed text, 2 an index
/// out of bounds, 3 with a payload that panics again when it is dropped; else succeeds.
///
/// # Panics
///
/// Never for the caller: what is thrown inside is caught by the guard.
#[unsafe(no_mangle)]
pub extern "C" fn AoeTestPanic(kind: i32) -> AoeStatus {
    guard("AoeTestPanic", || match kind {
        0 => panic!("a fixed text"),
        1 => panic!("a composed text: {kind}"),
        2 => {
            let none: Vec<i32> = Vec::with_capacity(kind as usize);
            Err(Error::param("kind", none[kind as usize].to_string()))
        }
        3 => std::panic::panic_any(Grenade),
        _ => Ok(()),
    })
}
