//! `op_statistic` and `communication_statistic`: the tasks of each operator type together.

use super::run::{Engine, Run};
use super::table::{DEVICE, Table, us};
use std::collections::BTreeMap;

/// Tasks of one type on one kind of core.
#[derive(Debug, Clone, Copy)]
struct Sum {
    count: u64,
    total: f64,
    min: f64,
    max: f64,
}

impl Sum {
    fn add(&mut self, us: f64) {
        *self = Sum { count: self.count + 1, total: self.total + us, min: self.min.min(us), max: self.max.max(us) };
    }

    /// Count, total, minimum, mean, maximum, and the share of all in percent.
    fn cells(&self, all: f64) -> [String; 6] {
        let mean = self.total / self.count as f64;
        let ratio = if all > 0.0 { self.total / all * 100.0 } else { 0.0 };
        [self.count.to_string(), us(self.total), us(self.min), us(mean), us(self.max), us(ratio)]
    }
}

/// An operator type, and what runs it.
type Kind<'a> = (&'a str, Engine);

/// Sums over measured tasks, the longest first, and their total.
fn sums(run: &Run, wanted: impl Fn(Engine) -> bool) -> (Vec<(Kind<'_>, Sum)>, f64) {
    let mut sums: BTreeMap<Kind<'_>, Sum> = BTreeMap::new();
    for task in &run.tasks {
        let kernel = run.kernel(task);
        if let Some(us) = kernel.duration_us.filter(|_| wanted(kernel.engine)) {
            let none = Sum { count: 0, total: 0.0, min: f64::INFINITY, max: 0.0 };
            sums.entry((&kernel.op_type, kernel.engine)).or_insert(none).add(us);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total.total_cmp(&a.1.total));
    let all = sums.iter().map(|(_, sum)| sum.total).sum();
    (sums, all)
}

/// `op_statistic`: every type, exchanges among them.
pub fn table(run: &Run) -> Table {
    let mut table = Table::with_header(
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
    );
    let (sums, all) = sums(run, |_| true);
    for ((op_type, engine), sum) in sums {
        let head = [DEVICE, op_type, engine.task_type()].map(str::to_owned);
        table.push(head.into_iter().chain(sum.cells(all)).collect());
    }
    table
}

/// `communication_statistic`; `None` where nothing is exchanged.
pub fn communication(run: &Run) -> Option<Table> {
    let mut table =
        Table::with_header("Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)");
    let (sums, all) = sums(run, |engine| !engine.computes());
    for ((op_type, _), sum) in &sums {
        let head = [DEVICE, op_type].map(str::to_owned);
        table.push(head.into_iter().chain(sum.cells(all)).collect());
    }
    (!sums.is_empty()).then_some(table)
}
