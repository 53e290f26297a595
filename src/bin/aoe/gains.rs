//! The lines that say where the gain of a tuning lies.

use crate::labels::{labelled, some_of};
use crate::table::middle_cut;
use aoe::report::{counted, time};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Columns of the name of an operator.
const NAME_COLUMNS: usize = 40;
/// Gains out of reach that are told one by one.
const LEFT: usize = 5;

/// What becomes of what was found, as the report has it.
#[derive(Debug, Deserialize)]
pub struct Gains {
    failed: Vec<Failed>,
    gears: Vec<Gear>,
    left: Vec<Left>,
    left_us: f64,
    not_sure: Sum,
    over_default: Over,
    over_estimated: Over,
    own_form: Sum,
    /// Operators that the search came to before the time limit, and all.
    reached: Option<[usize; 2]>,
    readers: BTreeMap<String, Reader>,
    with_your_bank_us: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Over {
    after_us: f64,
    before_us: f64,
    improvement: String,
    interval: Option<[String; 2]>,
}

#[derive(Debug, Deserialize)]
struct Sum {
    count: u64,
    saved_us: f64,
}

#[derive(Debug, Deserialize)]
struct Reader {
    added: u64,
    already_in_bank: u64,
    measured_by: Vec<String>,
    saved_us: f64,
}

#[derive(Debug, Deserialize)]
struct Gear {
    name: String,
    #[serde(flatten)]
    over: Over,
}

#[derive(Debug, Deserialize)]
struct Failed {
    counted_us: f64,
    op: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Left {
    count: usize,
    lever: Lever,
    op: String,
    op_type: String,
    saved_us: f64,
}

#[derive(Debug, Deserialize)]
struct Lever {
    kind: String,
    what: String,
}

impl Over {
    /// `5.12% (90 %: 1.20% to 9.80%)`, and the times.
    fn text(&self) -> String {
        let times = format!("{} to {}", time(self.before_us), time(self.after_us));
        match &self.interval {
            _ if self.improvement == "0.00%" => format!("0.00% ({})", time(self.before_us)),
            Some([least, most]) => format!("{} (90 %: {least} to {most}), {times}", self.improvement),
            None => format!("{} (its interval is not known), {times}", self.improvement),
        }
    }
}

impl Gains {
    /// The lines, the headline first.
    pub fn lines(&self, is_simulated: bool) -> Vec<String> {
        let by = if is_simulated { "predicted by the simulator" } else { "measured" };
        let mut lines = vec![labelled(
            "Gain",
            &format!("{} over CANN's own default, by what CANN reads; {by}", self.over_default.text()),
        )];
        lines.extend(self.gears.iter().map(|gear| labelled("", &format!("{}: {}", gear.name, gear.over.text()))));
        lines.extend(self.readers.iter().map(|(name, reader)| labelled("", &reader.text(name))));
        if self.over_estimated.before_us > self.over_estimated.after_us {
            lines.push(labelled(
                "Estimated",
                &format!("{} of it are over defaults that are estimated", saved(&self.over_estimated)),
            ));
        }
        lines.extend(
            self.with_your_bank_us.map(|us| labelled("Your bank", &format!("{} with what it had before", time(us)))),
        );
        lines.extend(
            self.own_form
                .told()
                .map(|told| labelled("Own form", &format!("{told} in records that CANN does not read"))),
        );
        lines.extend(
            self.not_sure.told().map(|told| labelled("Not sure", &format!("{told} may be none: nothing is recorded"))),
        );
        lines.extend(self.reached.map(|[reached, wanted]| {
            labelled("Time limit", &format!("{reached} of {wanted} operators were reached, the largest share first"))
        }));
        lines.extend(self.left());
        lines.extend(self.failed());
        lines
    }

    /// What would reach what CANN does not take, the most first.
    fn left(&self) -> Vec<String> {
        let line = |left: &Left| {
            let Left { count, lever, op, op_type, saved_us } = left;
            let name = middle_cut(op, NAME_COLUMNS);
            let launches = if *count > 1 { format!(" (x{count})") } else { String::new() };
            format!("{} {name}{launches}, {op_type}: {}: {}", time(*saved_us), lever.kind, lever.what)
        };
        let label = |index: usize| if index == 0 { "Left" } else { "" };
        let mut said: Vec<&str> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        for left in &self.left {
            // One way to reach several of them is told once, at the largest.
            if lines.len() < LEFT && !said.contains(&left.lever.what.as_str()) {
                said.push(&left.lever.what);
                lines.push(labelled(label(lines.len()), &line(left)));
            }
        }
        if self.left.len() > lines.len() {
            lines.push(labelled("", &format!("{} in all; the report has the others", time(self.left_us))));
        }
        lines
    }

    fn failed(&self) -> Option<String> {
        let names: Vec<_> = self.failed.iter().map(|one| format!("{} ({})", one.op, one.reason)).collect();
        let counted: f64 = self.failed.iter().map(|one| one.counted_us).sum();
        let what = format!("not measured, they count with CANN's default as the simulator has it, {}", time(counted));
        (!names.is_empty()).then(|| labelled("Failed", &format!("{}: {what}", some_of(&names))))
    }
}

fn saved(over: &Over) -> String {
    time(over.before_us - over.after_us)
}

impl Sum {
    fn told(&self) -> Option<String> {
        let Sum { count, saved_us } = self;
        (*count > 0)
            .then(|| format!("{} more, of {},", time(*saved_us), counted(*count, "kind of kernel", "kinds of kernels")))
    }
}

impl Reader {
    fn text(&self, name: &str) -> String {
        let Reader { added, already_in_bank, measured_by, saved_us } = self;
        let who = match name {
            "runtime_bank" => "CANN's operators, from the runtime bank",
            "unified_bank" => "TBE, from the unified bank",
            _ => "CANN's graph compiler, from the subgraph bank",
        };
        let already =
            if *already_in_bank > 0 { format!(", {already_in_bank} already in the bank") } else { String::new() };
        let added = counted(*added, "new record", "new records");
        format!("{} by {who}: {added}{already}; times by {}", time(*saved_us), measured_by.join(", "))
    }
}
