//! CANN's knowledge banks: formats, keys, paths, durable writes.
//!
//! `docs/banks.md` describes the files. From the bottom up: `hash` and `json` write what CANN's loader
//! expects; `names` spells file names; `layout` packs CANN's keys; `matmul` makes keys; `knowledge` is what a
//! record holds; `form` tells CANN's record form from ours; `record` is one with what is known of it; `lines` keeps a file line by line; `reader` says what a line means; `document` is an
//! operator's bank file, `index` many of them to be looked up in fast; `side` holds what a record cost (`measurement`);
//! `storage` is the seam to the file system and `disk` that; `transaction` replaces several files or none,
//! `whole` one; `file` puts them together; `neighbours` finds records of near workloads; `operator` is what a
//! tuner uses, and `trials` what earlier tunings measured; `merge` makes one bank of several, by what
//! `file_name` says of each file (`merge_places` which go where, `standing` which of two records stays), and `merge_whole` of those
//! that are one file each; `inspect` looks at files from outside. The banks of the older operator
//! generations (`unified`), what TBE's binary kernels would ask (`binary`), the banks of subgraphs and of gradients stand beside these.

mod binary;
mod conv2d;
mod conv3d;
mod disk;
mod document;
mod fields;
mod file;
mod file_name;
mod form;
pub mod gradient;
pub(crate) mod hash;
mod index;
pub mod inspect;
mod json;
mod key;
mod kind;
mod knowledge;
mod layout;
mod lines;
mod matmul;
mod measurement;
mod merge;
mod merge_outcome;
mod merge_places;
mod merge_whole;
mod names;
mod neighbours;
mod operator;
mod paths;
mod quant;
mod reader;
mod record;
mod record_reader;
pub mod repair;
mod side;
mod standing;
mod storage;
pub mod subgraph;
mod transaction;
mod trials;
pub mod unified;
mod whole;

#[cfg(test)]
mod tests;

pub use disk::{DISK, Disk};
pub use file_name::FileName;
pub(crate) use form::Form;
pub use form::Writable;
pub use index::{Found, Index, Part};
pub use key::{Key, Unusable};
pub use layout::{Field, FieldType, Layout};
pub use lines::Finding;
pub use merge::merge;
pub use merge_outcome::MergeOutcome;
pub use operator::{Entry, OperatorBank};
pub use paths::{BankEnvironment, BankPaths, Reader, Toolkit};
pub use record::Measured;
pub use record_reader::RecordReader;
pub use storage::{Guard, Identity, NewFile, Storage};
pub use transaction::clear_abandoned;
pub use trials::{KnownTrial, KnownTrials, TrialStore};
pub use whole::{Content, Updated, load, load_where_there, update};
