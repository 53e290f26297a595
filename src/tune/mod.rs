//! `tune`: see the crate documentation.
