//! The text after gradient tuning: the splits beside each other, the list for hccl, and how it scales.

use crate::labels::labelled;
use crate::table::{Align, table};
use serde::Deserialize;
use std::path::PathBuf;

/// What became of the gradients, as the session's report has it.
#[derive(Debug, Default, Deserialize)]
pub struct Gradients {
    cluster: Cluster,
    #[serde(default)]
    equal: Vec<Equal>,
    gradient_summary: Option<PathBuf>,
    #[serde(default)]
    is_of_others: bool,
    is_optimum: Option<bool>,
    #[serde(default)]
    scaling: Vec<Scale>,
    split_after: Option<Split>,
    split_before: Option<Split>,
    split_from_bank: Option<Split>,
    status: Option<String>,
    #[serde(default)]
    tensors: Vec<Tensor>,
    timeline: Option<PathBuf>,
    #[serde(default)]
    unmeasured: Vec<Unmeasured>,
}

#[derive(Debug, Default, Deserialize)]
struct Cluster {
    devices_per_node: u64,
    nodes: u64,
}

#[derive(Debug, Deserialize)]
struct Equal {
    end_us: f64,
    segments: usize,
    trailing_us: f64,
}

#[derive(Debug, Deserialize)]
struct Scale {
    after_us: f64,
    before_us: f64,
    by_idx: Vec<usize>,
    devices: u64,
    nodes: u64,
    trailing_after_us: f64,
    trailing_before_us: f64,
}

#[derive(Debug, Deserialize)]
struct Split {
    by_idx: Vec<usize>,
    by_size: Vec<f64>,
    end_us: f64,
    /// The split of each set, where gradients are of several.
    #[serde(default)]
    sets: Vec<SetSplit>,
    trailing_us: f64,
}

#[derive(Debug, Deserialize)]
struct SetSplit {
    by_idx: Vec<usize>,
    by_size: Vec<f64>,
    data_type: String,
    gradient_num: usize,
    group: String,
}

impl Split {
    /// The lists for hccl's interface, which takes one for each group. Two types in one group have no list of their own
    /// there: the tuned model has.
    fn lists(&self) -> Vec<String> {
        let call = |way: &str, list: &str| format!("set_split_strategy_by_{way}({list})");
        if self.sets.is_empty() {
            let lists = [call("idx", &format!("{:?}", self.by_idx)), call("size", &format!("{:?}", self.by_size))];
            return vec![labelled("By index", &lists[0]), labelled("By size", &lists[1])];
        }
        let mut lines = Vec::new();
        for set in &self.sets {
            let SetSplit { by_idx, by_size, data_type, gradient_num, group } = set;
            lines.push(labelled("Group", &format!("{group}, {data_type}, {gradient_num} gradients")));
            if self.sets.iter().filter(|other| other.group == *group).count() > 1 {
                lines.push(labelled(
                    "By index",
                    &format!("{by_idx:?}; by the tuned model only, of its type in the group"),
                ));
            } else {
                lines.push(labelled("By index", &call("idx", &format!("{by_idx:?}, group={group:?}"))));
                lines.push(labelled("By size", &call("size", &format!("{by_size:?}, group={group:?}"))));
            }
        }
        lines
    }
}

#[derive(Debug, Deserialize)]
struct Tensor {
    bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Unmeasured {
    workload: String,
    reason: String,
}

impl Gradients {
    /// The lines to print.
    pub fn lines(&self) -> Vec<String> {
        let megabytes = self.tensors.iter().map(|tensor| tensor.bytes as f64).sum::<f64>() / 1e6;
        let Cluster { devices_per_node, nodes } = self.cluster;
        let on = format!("{} devices ({nodes} x {devices_per_node})", devices_per_node * nodes);
        let mut lines = vec![labelled("Gradients", &format!("{}, {megabytes:.1} MB, on {on}", self.tensors.len()))];
        if let (Some(before), Some(after)) = (&self.split_before, &self.split_after) {
            let [before, after] = [before, after].map(|split| ms(split.trailing_us));
            lines.insert(
                0,
                labelled("Trailing", &format!("{before} ms before, {after} ms after the last backward operator")),
            );
        }
        if let Some(one) = self.unmeasured.first() {
            let count = self.unmeasured.len();
            let first = format!("{} ({})", one.workload, one.reason);
            lines.push(labelled("", &format!("{count} kernels priced by the simulator, the first {first}")));
        }
        if let Some(after) = &self.split_after {
            lines.push(String::new());
            lines.extend(self.splits());
            lines.push(String::new());
            lines.extend(after.lists());
            if self.is_optimum == Some(false) {
                lines.push(labelled("", "the best that was found; with so many sets not every split was looked at"));
            }
            lines.push(String::new());
            lines.extend(self.scales());
            lines.push(String::new());
        }
        if let Some(status) = &self.status {
            let told = match status.as_str() {
                "reserved" if self.is_of_others => {
                    "the bank keeps other gradients of this number and type (REPEAT_TUNE=True replaces them)"
                }
                "reserved" => "times and sizes stay as the bank has them (REPEAT_TUNE=True replaces them)",
                _ => "times and sizes recorded",
            };
            lines.push(labelled("", told));
        }
        let files = [("Summary", &self.gradient_summary), ("Timeline", &self.timeline)];
        let files = files.into_iter().filter_map(|(label, path)| Some((label, path.as_ref()?)));
        lines.extend(files.map(|(label, path)| labelled(label, &path.display().to_string())));
        lines
    }

    /// What each split comes to.
    fn splits(&self) -> Vec<String> {
        let row = |name: &str, segments: usize, end_us: f64, trailing_us: f64| {
            [name.to_owned(), segments.to_string(), ms(trailing_us), ms(end_us)]
        };
        let named = [
            ("hccl's default", &self.split_before),
            ("CANN's from the bank", &self.split_from_bank),
            ("the best", &self.split_after),
        ];
        let known = named.iter().filter_map(|(name, split)| Some((name, split.as_ref()?)));
        let mut rows: Vec<_> =
            known.map(|(name, split)| row(name, split.by_idx.len(), split.end_us, split.trailing_us)).collect();
        let best = self.equal.iter().min_by(|a, b| a.end_us.total_cmp(&b.end_us));
        if let Some(equal) = best {
            let place = rows.len().saturating_sub(1);
            rows.insert(place, row("best of equal ones", equal.segments, equal.end_us, equal.trailing_us));
        }
        let columns = [
            ("Split", Align::Left),
            ("segments", Align::Right),
            ("trailing ms", Align::Right),
            ("step ms", Align::Right),
        ];
        table(columns, &rows)
    }

    /// The same gradients on other numbers of devices.
    fn scales(&self) -> Vec<String> {
        let row = |scale: &Scale| {
            [
                scale.devices.to_string(),
                scale.nodes.to_string(),
                scale.by_idx.len().to_string(),
                ms(scale.trailing_before_us),
                ms(scale.trailing_after_us),
                ms(scale.before_us),
                ms(scale.after_us),
            ]
        };
        let columns = [
            ("Devices", Align::Right),
            ("nodes", Align::Right),
            ("segments", Align::Right),
            ("trailing before", Align::Right),
            ("after", Align::Right),
            ("step before", Align::Right),
            ("after ms", Align::Right),
        ];
        table(columns, &self.scaling.iter().map(row).collect::<Vec<_>>())
    }
}

fn ms(us: f64) -> String {
    format!("{:.3}", us / 1e3)
}
