//! `capi`: see the crate documentation.
