//! `bank`: see the crate documentation.
