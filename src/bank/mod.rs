//! CANN's knowledge banks: formats, keys, paths, durable writes.
//!
//! `docs/banks.md` describes the files. From the bottom up: `hash` and `json` write what CANN's loader
//! expects; `matmul` and `workload_key` make keys; `form` tells CANN's record form from ours; `document`
//! is a bank file as lines; `side` holds what a record cost; `storage` is the seam to the file system;
//! `transaction` replaces several files or none; `file` puts them together; `neighbours` finds records of
//! near workloads; `operator` is what a tuner uses.

mod document;
mod file;
mod form;
mod hash;
mod json;
mod key;
mod matmul;
mod neighbours;
mod operator;
mod paths;
mod side;
mod storage;
mod transaction;
mod workload_key;

#[cfg(test)]
mod tests;

pub use operator::{Entry, Measured, OperatorBank};
pub use paths::{BankEnvironment, BankPaths};
pub use storage::{Disk, Guard, Storage};
