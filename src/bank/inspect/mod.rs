//! Bank files looked at from outside, as `aoe bank` does: what a file is, what each record says, and whether
//! it is well. Files are written by `merge` and by the forms' own writers alone, and no file is ever in memory as a whole but those that are one JSON value.
//!
//! `source` reads lines, `record` takes one apart, `work` finds the workload
//! behind it, `part` the SoC, `gains` the times; `items` does so for every form, each an `item`. `verify` and `forms` judge, `diff`
//! compares `entries`, `merging` tells what a merge did, `convert` says a record in another form,
//! `export` and `import` whole files, `describe` finds short words.

mod convert;
mod describe;
mod diff;
mod entries;
mod export;
mod fields;
mod forms;
mod gains;
mod import;
mod item;
mod items;
mod judgement;
mod merging;
mod part;
mod record;
mod runs;
mod source;
mod verify;
mod work;

#[cfg(test)]
mod tests;

pub use crate::bank::kind::Kind;
pub use crate::bank::lines::trim;
pub use crate::bank::merge_outcome::{Fate, MergedRecord};
pub use convert::{Content, Converted, Target, convert};
pub use describe::{shapes, tiling};
pub use diff::{Change, Difference, diff};
pub use entries::{Entry, entries, label};
pub use export::{Export, Left};
pub use gains::{Gains, Times};
pub use import::{Import, import};
pub use item::Item;
pub use items::items;
pub use judgement::{Judgement, Remark, Status};
pub use merging::{Merged, merge_with_records};
pub use part::{Part, Socs};
pub use record::{COST_FIELD, Fault, PART_FIELD, Record, id_of};
pub(crate) use runs::written_here;
pub use runs::{Ours, broken_rule, is_kept_out, kept_out_element, kept_out_line, stopping_rule};
pub use source::{Line, MAX_LINE_BYTES, Source, files};
pub use verify::{Judge, verify};
pub use work::canonical as exact_workload;
