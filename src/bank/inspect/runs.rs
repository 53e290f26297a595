//! Whether CANN's kernels compute the result with a record.

use super::items::rule;
use super::record::Record;
use crate::soc::Soc;

/// The rule that a record's line breaks, in one sentence, where CANN would take the tiling and its kernel not compute
/// the result with it; `None` for a record that runs and for a line that cannot be judged.
pub fn broken_rule(line: &[u8], soc: &Soc) -> Option<String> {
    let record = Record::parse(line).ok()?;
    let (knowledge, workload) = (record.tiling().ok()?, record.workload().ok()?);
    knowledge.check_computes(&workload, soc).err().map(rule)
}
