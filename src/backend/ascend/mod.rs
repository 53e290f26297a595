//! The Ascend runtime.
