//! The nodes that are not tuned as what they are, by reason.

use super::Summary;
use crate::labels::{labelled, some_of};
use aoe::graph::infer::{self, Cause};
use aoe::report::model::{Kernel, Unmapped, Unsized};
use aoe::report::time;
use std::collections::BTreeSet;

impl Summary {
    /// Nodes for which no time is counted.
    pub(super) fn untimed(&self) -> usize {
        self.unmapped.iter().filter(|node| !node.is_timed()).count()
    }

    /// What is neither tuned nor counted, by reason.
    pub(super) fn left_out(&self) -> Vec<String> {
        let line = |label: &str, of: &[&Unsized<'_>], why: &str| {
            let nodes = of.iter().map(|node| (&*node.name, &*node.origin_type));
            skipped(label, nodes, &format!("{why}, neither tuned nor counted"))
        };
        let mut lines = Vec::new();
        for reason in Cause::ALL {
            let of: Vec<&Unsized<'_>> = self.dynamic.iter().filter(|node| node.reason == Some(reason)).collect();
            let why_not = |n: &Unsized<'_>| n.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let mut sources: Vec<_> =
                of.iter().map(|n| format!("{} ({}{})", n.source, n.source_type, why_not(n))).collect();
            sources.dedup();
            let sources = some_of(&sources);
            match reason {
                Cause::UnknownOperator => {
                    let why = format!("their sizes follow from operators and inputs that are not known, {sources}");
                    lines.push(line("Left out", &of, &why));
                }
                Cause::Undescribed => {
                    let wanted = of.first().map_or("", |node| infer::shape_wanted(&node.source_type));
                    let why = format!("their sizes follow from {sources}, which has no shape: {wanted}");
                    lines.push(line("Left out", &of, &why));
                }
                Cause::Run => lines.push(line("Dynamic", &of, "only a run tells their sizes")),
                Cause::Flow => {
                    let mut whys: Vec<&str> = of.iter().filter_map(|node| node.why.as_deref()).collect();
                    whys.sort_unstable();
                    whys.dedup();
                    for why in whys {
                        let of_it = of.iter().copied().filter(|node| node.why.as_deref() == Some(why));
                        lines.push(line("Dynamic", &of_it.collect::<Vec<_>>(), why));
                    }
                }
            }
        }
        lines.into_iter().flatten().collect()
    }

    /// The lines that name nodes of which it is not known how they work: why, and what is counted for them.
    pub(super) fn unknown(&self) -> Vec<String> {
        let (moved, untimed): (Vec<&Unmapped<'_>>, Vec<&Unmapped<'_>>) =
            self.unmapped.iter().partition(|node| node.is_timed());
        let mut reasons: Vec<Option<&str>> = untimed.iter().map(|node| node.reason.as_deref()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let line = |reason: Option<&str>| {
            let nodes = untimed.iter().copied().filter(|node| node.reason.as_deref() == reason).map(named);
            let why = reason.unwrap_or("it is not known how they work");
            skipped("Unknown", nodes, &format!("{why}, so no time is counted for them"))
        };
        let mut lines: Vec<String> = reasons.into_iter().filter_map(line).collect();
        let why = format!("their own work is not modelled; the movement of their data is counted, {}", self.moved());
        lines.extend(skipped("Moved", moved.into_iter().map(named), &why));
        lines
    }

    /// The time of kernels of which only the movement of data counts.
    pub(super) fn moved(&self) -> String {
        let moved: BTreeSet<&str> =
            self.unmapped.iter().filter(|node| node.is_timed()).map(|node| &*node.name).collect();
        let share = |kernel: &Kernel<'_>| {
            let nodes = kernel.nodes.iter().filter(|node| moved.contains(&*node.name)).count();
            kernel.before_us * nodes as f64
        };
        format!("{} of the time before", time(self.kernels.iter().map(share).sum()))
    }
}

/// A node by its name and its type in the framework.
fn named<'a>(node: &'a Unmapped<'_>) -> (&'a str, &'a str) {
    (&node.name, &node.origin_type)
}

/// The line that names nodes which are not tuned as what they are, and says why.
pub(super) fn skipped<'a>(
    label: &str,
    nodes: impl IntoIterator<Item = (&'a str, &'a str)>,
    why: &str,
) -> Option<String> {
    let names: Vec<_> = nodes.into_iter().map(|(name, origin)| format!("{name} ({origin})")).collect();
    (!names.is_empty()).then(|| labelled(label, &format!("{}: {why}", some_of(&names))))
}
