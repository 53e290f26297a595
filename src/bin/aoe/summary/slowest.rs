//! The table of the slowest operators.

use super::Summary;
use crate::table::{middle_cut, table};
use aoe::bank::RecordReader;
use aoe::report::gain;
use aoe::report::model::{Kernel, Status};

/// Operators listed: the slowest before and the slowest after, so many of each.
const SLOWEST: usize = 8;
/// Columns of an operator's name; longer names lose their middle.
const NAME_COLUMNS: usize = 44;

impl Summary {
    /// The slowest operators, before or after, the slowest before first.
    pub(super) fn operators(&self) -> Vec<String> {
        let row = |kernel: &Kernel<'_>| {
            let [before, after] = kernel.total_us();
            // Of one launch, as the result file has it.
            let gain = match kernel.status {
                Status::NotSure | Status::ToMeasure => "not sure".to_owned(),
                _ if kernel.is_missed() => "not reached".to_owned(),
                Status::NotTuned => "not tuned".to_owned(),
                // CANN runs its default all the same.
                _ if kernel.after_us < kernel.before_us && !kernel.read_by.is_some_and(RecordReader::is_cann) => {
                    format!("own form {}", gain(kernel.before_us, kernel.after_us))
                }
                _ => gain(kernel.before_us, kernel.after_us),
            };
            [label(kernel), kernel.op_type.to_string(), format!("{before:.2}"), format!("{after:.2}"), gain]
        };
        // What could not be timed has a line of its own.
        let timed = self.slowest().into_iter().filter(|kernel| kernel.before_us > 0.0);
        let rows: Vec<_> = timed.map(row).collect();
        table(["Slowest operators", "type", "before us", "after us", "gain"], "llrrr", &rows)
    }

    pub(super) fn slowest(&self) -> Vec<&Kernel<'static>> {
        let rank = |moment: usize| {
            let us = |index: usize| self.kernels[index].total_us()[moment];
            let mut order: Vec<usize> = (0..self.kernels.len()).collect();
            order.sort_by(|&a, &b| us(b).total_cmp(&us(a)));
            order
        };
        let (before, mut after) = (rank(0), rank(1));
        after.truncate(SLOWEST);
        let listed = before.iter().enumerate().filter(|(place, index)| *place < SLOWEST || after.contains(index));
        listed.map(|(_, &index)| &self.kernels[index]).collect()
    }
}

/// The first node's name, shortened, and how many nodes run the operator.
pub(super) fn label(kernel: &Kernel<'_>) -> String {
    let name = middle_cut(kernel.name(), NAME_COLUMNS);
    if kernel.count > 1 { format!("{name} (x{})", kernel.count) } else { name }
}
