//! The text after gradient tuning: the splits beside each other, the list for hccl, and how it scales.

use crate::labels::labelled;
use crate::table::table;
use aoe::report::model::{Gradients, ScaleUs, SetSplit, SplitUs, Status};

/// The lists for hccl's interface, which takes one for each group. Two types in one group have no list of their own
/// there: the tuned model has.
fn lists(split: &SplitUs<'_>) -> Vec<String> {
    let call = |way: &str, list: &str| format!("set_split_strategy_by_{way}({list})");
    if split.sets.is_empty() {
        let lists = [call("idx", &format!("{:?}", split.by_idx)), call("size", &format!("{:?}", split.by_size))];
        return vec![labelled("By index", &lists[0]), labelled("By size", &lists[1])];
    }
    let mut lines = Vec::new();
    for set in &split.sets {
        let SetSplit { by_idx, by_size, data_type, gradient_num, group } = set;
        lines.push(labelled("Group", &format!("{group}, {data_type}, {gradient_num} gradients")));
        if split.sets.iter().filter(|other| other.group == *group).count() > 1 {
            lines.push(labelled("By index", &format!("{by_idx:?}; by the tuned model only, of its type in the group")));
        } else {
            lines.push(labelled("By index", &call("idx", &format!("{by_idx:?}, group={group:?}"))));
            lines.push(labelled("By size", &call("size", &format!("{by_size:?}, group={group:?}"))));
        }
    }
    lines
}

/// The lines to print.
pub fn lines(gradients: &Gradients<'_>) -> Vec<String> {
    let megabytes = gradients.tensors.iter().map(|tensor| tensor.bytes as f64).sum::<f64>() / 1e6;
    let (devices_per_node, nodes) = (gradients.cluster.devices_per_node, gradients.cluster.nodes);
    let on = format!("{} devices ({nodes} x {devices_per_node})", devices_per_node * nodes);
    let mut lines = vec![labelled("Gradients", &format!("{}, {megabytes:.1} MB, on {on}", gradients.tensors.len()))];
    if let Some(before) = &gradients.split_before {
        let taken = gradients.split_from_bank.as_ref().unwrap_or(before);
        let [before, after] = [before, taken].map(|split| ms(split.trailing_us));
        lines.insert(
            0,
            labelled("Trailing", &format!("{before} ms before, {after} ms after the last backward operator")),
        );
    }
    if let Some(one) = gradients.unmeasured.first() {
        let count = gradients.unmeasured.len();
        let first = format!("{} ({})", one.workload, one.reason);
        lines.push(labelled("", &format!("{count} kernels priced by the simulator, the first {first}")));
    }
    if let Some(after) = &gradients.split_after {
        lines.push(String::new());
        lines.extend(splits(gradients));
        lines.push(String::new());
        lines.push(labelled(
            "Best split",
            "CANN takes it from no bank: give it to hccl's interface, or train the tuned model",
        ));
        lines.extend(lists(after));
        if gradients.is_optimum == Some(false) {
            lines.push(labelled("", "the best that was found; with so many sets not every split was looked at"));
        }
        lines.push(String::new());
        lines.extend(scales(gradients));
        lines.push(String::new());
    }
    if let Some(status) = gradients.status {
        let told = match status {
            Status::Reserved if gradients.is_of_others => {
                "the bank keeps other gradients of this number and type (REPEAT_TUNE=True replaces them)"
            }
            Status::Unsatisfied => {
                "not recorded: of these times and sizes CANN's rule makes a step that ends later than by hccl's default"
            }
            Status::Reserved => "times and sizes stay as the bank has them (REPEAT_TUNE=True replaces them)",
            _ => "times and sizes recorded",
        };
        lines.push(labelled("", told));
    }
    let files = [("Summary", &gradients.gradient_summary), ("Timeline", &gradients.timeline)];
    let files = files.into_iter().filter_map(|(label, path)| Some((label, path.as_ref()?)));
    lines.extend(files.map(|(label, path)| labelled(label, path)));
    lines
}

/// What each split comes to.
fn splits(gradients: &Gradients<'_>) -> Vec<String> {
    let row = |name: &str, segments: usize, end_us: f64, trailing_us: f64| {
        [name.to_owned(), segments.to_string(), ms(trailing_us), ms(end_us)]
    };
    let named = [
        ("hccl's default", &gradients.split_before),
        ("CANN's from the bank", &gradients.split_from_bank),
        ("the best", &gradients.split_after),
    ];
    let known = named.iter().filter_map(|(name, split)| Some((name, split.as_ref()?)));
    let mut rows: Vec<_> =
        known.map(|(name, split)| row(name, split.by_idx.len(), split.end_us, split.trailing_us)).collect();
    let best = gradients.equal.iter().min_by(|a, b| a.end_us.total_cmp(&b.end_us));
    if let Some(equal) = best {
        let place = rows.len().saturating_sub(1);
        rows.insert(place, row("best of equal ones", equal.segments, equal.end_us, equal.trailing_us));
    }
    table(["Split", "segments", "trailing ms", "step ms"], "lrrr", &rows)
}

/// The same gradients on other numbers of devices.
fn scales(gradients: &Gradients<'_>) -> Vec<String> {
    let row = |scale: &ScaleUs| {
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
    table(
        ["Devices", "nodes", "segments", "trailing before", "after", "step before", "after ms"],
        "rrrrrrr",
        &gradients.scaling.iter().map(row).collect::<Vec<_>>(),
    )
}

fn ms(us: f64) -> String {
    format!("{:.3}", us / 1e3)
}
