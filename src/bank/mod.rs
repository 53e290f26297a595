//! CANN's knowledge banks: formats, keys, paths, durable writes.
//!
//! `docs/banks.md` describes the files. From the bottom up:
//!
//! | module | holds |
//! |---|---|
//! | `hash`, `json` | what CANN's loader expects of both |
//! | `names`, `file_name`, `paths` | names of files; what they say; where banks lie |
//! | `layout`, `key` | CANN's key structures, packed |
//! | `matmul`, `quant`, `conv2d`, `conv3d` | keys of workloads of one operator |
//! | `form`, `knowledge` | CANN's forms of records and ours; what a record holds |
//! | `fields`, `record`, `measurement`, `record_reader` | a record's five fields; a record with what is known of it; what it cost; its reader |
//! | `lines`, `reader`, `document` | a file line by line; what a line means; an operator's file |
//! | `index`, `neighbours` | many records, looked up fast; those of near workloads |
//! | `side`, `trials` | what records cost; what earlier tunings measured |
//! | `storage`, `disk` | the seam to the file system, and the real one |
//! | `transaction`, `whole`, `file` | several files replaced or none; one; a bank file with its side file |
//! | `operator` | the bank that a tuner uses |
//! | `merge`, `merge_places`, `merge_outcome`, `standing` | one bank of several: which file goes where, which of two records stays |
//! | `merge_whole` | the same for banks that are one file each |
//! | `repair` | records that would compute wrongly or stop TBE, taken out |
//! | `inspect`, `kind` | files looked at from outside, of every form |
//! | `unified`, `binary` | banks of TBE's operators; keys of its binary kernels |
//! | `subgraph`, `gradient` | banks of the other two jobs |

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
pub use index::{Index, Part};
pub use key::{Key, Unusable};
pub use layout::{Field, FieldType, Layout};
pub use lines::Finding;
pub use merge::{merge, merge_on};
pub use merge_outcome::MergeOutcome;
pub use operator::{Entry, OperatorBank};
pub use paths::{BankEnvironment, BankPaths, Reader, Toolkit};
pub use record::Measured;
pub use record_reader::RecordReader;
pub use storage::{Guard, Identity, NewFile, Storage};
pub use transaction::clear_abandoned;
pub use trials::{KnownTrial, KnownTrials, TrialStore};
pub use whole::{Content, Updated, load, load_where_there, update};
