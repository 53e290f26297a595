//! `session`: see the crate documentation.
