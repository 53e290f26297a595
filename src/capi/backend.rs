//! Backends that a program brings.

use super::error::AoeStatus;
use super::guard::guard;
use crate::backend::plugin::{self, Functions};
use crate::status::Error;

pub use crate::backend::plugin::table::{AoeBackend, AoeBackendDescription, AoeCandidate, AoeField};

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeRegisterBackend(backend: *const AoeBackend) -> AoeStatus {
    guard("AoeRegisterBackend", || {
        // SAFETY: the header's contract.
        let functions = unsafe { Functions::copy(backend) }.map_err(|reason| Error::param("backend", reason))?;
        plugin::register(functions)
    })
}
