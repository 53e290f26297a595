//! Before and after, operator by operator, or subgraph by subgraph where only these were tuned.

use super::bars::{Row, table, top};
use super::data::{Kernel, LeftOut, Report, Subgraph};
use crate::report::figures::{gain, microseconds, time, truncated_improvement};
use maud::{Markup, html};

/// Rows of their own.
const TOP: usize = 24;
/// Nodes that are left out and named.
const LEFT_OUT: usize = 12;
/// Characters of a name.
const NAME: usize = 44;

/// The section.
pub fn operators(report: &Report) -> Markup {
    let subgraphs = report.subgraphs.iter().flat_map(|subgraphs| &subgraphs.distinct);
    html! {
        section #operators {
            h2 { "Operators before and after" }
            @if !report.kernels.is_empty() {
                p { "Time of all launches of each operator in one run of the network, the slowest first. Nodes that do the same work are one operator." }
                (table(["operator", "type"], &top(report.kernels.iter().map(kernel).collect(), TOP, "operators")))
                @if report.gains.is_some() {
                    p .note { "Before is what CANN runs by itself: a public default follows its published rules, an estimated one stands for rules that are closed. Each row says which when pointed at." }
                }
                @if report.subgraphs.is_some() {
                    p .note { "Before: the operators that subgraph tuning left. What it gained itself is in the network's times, not in these." }
                }
            } @else if report.subgraphs.is_some() {
                p { "Only subgraphs were tuned: the time of each at all of its places in one run of the network, the slowest first." }
                (table(["subgraph, from the node", "kernels"], &top(subgraphs.map(subgraph).collect(), TOP, "subgraphs")))
            } @else {
                p .none { "No operator was dealt with." }
            }
            @if let Some(gains) = report.gains.as_ref().filter(|gains| !gains.left.is_empty()) {
                p { "Left on the table: " (time(gains.left_us)) " were found that CANN will not run as things are." }
                ul .left {
                    @for left in &gains.left {
                        li { strong { (time(left.saved_us)) } " " (left.op.short(NAME)) ", " (left.op_type) ": " (left.lever.kind) ". " (left.lever.what) "." }
                    }
                }
            }
            @if !report.dynamic.is_empty() {
                @let named = report.dynamic.iter().take(LEFT_OUT).map(left_out);
                p .note {
                    "Left out, because nothing tells their sizes (" (report.dynamic.len()) "): "
                    (named.collect::<Vec<_>>().join(", "))
                    @if report.dynamic.len() > LEFT_OUT { " and others" }
                    "."
                }
            }
            @if !report.unmapped.is_empty() {
                @let named = report.unmapped.iter().take(5).map(|node| format!("{} ({})", node.name.short(NAME), node.origin_type));
                p .note {
                    "No Ascend operator is known for " (report.unmapped.len()) " nodes; they are priced as data movement: "
                    (named.collect::<Vec<_>>().join(", "))
                    @if report.unmapped.len() > 5 { " and others" }
                    "."
                }
            }
        }
    }
}

/// A node that is left out, and why.
fn left_out(node: &LeftOut) -> String {
    let named = format!("{} ({})", node.name.short(NAME), node.origin_type);
    match node.reason.as_str() {
        "unknown operator" => {
            format!("{named}, behind {} of the unknown type {}", node.source.short(NAME), node.source_type)
        }
        "undescribed input" => format!("{named}, behind {}, which has no shape", node.source.short(NAME)),
        reason => format!("{named}, {reason}"),
    }
}

fn kernel(kernel: &Kernel) -> Row {
    let default = kernel.default.as_ref().map_or_else(String::new, |origin| format!("\n{origin} default"));
    let title = format!("{}\n{}\n{}{default}", kernel.label(96), kernel.workload, kernel.status);
    // Of one launch, as all other files have it: sums round differently.
    let gain = gain(kernel.before_us, kernel.after_us);
    Row { label: kernel.label(NAME), title, note: kernel.op_type.short(20), us: kernel.total_us(), gain }
}

fn subgraph(subgraph: &Subgraph) -> Row {
    let title = format!("{}\n{}", subgraph.label(96), subgraph.status);
    // Of one place, as the result file has it.
    let gain = truncated_improvement(microseconds(subgraph.before.us), microseconds(subgraph.after.us));
    Row { label: subgraph.label(NAME), title, note: subgraph.op_types.len().to_string(), us: subgraph.total_us(), gain }
}
