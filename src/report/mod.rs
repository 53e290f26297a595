//! `report`: see the crate documentation.
