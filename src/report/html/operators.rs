//! Before and after, operator by operator, or subgraph by subgraph where only these were tuned.

use super::bars::{Row, table, top};
use super::labels::apart;
use super::scopes::label;
use super::table::Rows;
use super::text::shortened;
use crate::graph::infer::Cause;
use crate::report::figures::{microseconds, time, truncated_improvement};
use crate::report::gains::Left;
use crate::report::model::{Report, Unmapped, Unsized};
use crate::report::sgat::Subgraph;
use maud::{Markup, html};

/// Rows of subgraphs of their own.
const TOP: usize = 24;
/// Gains that do not reach the network and are told at once.
const LEFT: usize = 5;
/// Nodes that are left out and named.
const LEFT_OUT: usize = 12;
/// Nodes that may be opened beyond these.
const OPENED: usize = 1000;
/// Characters of a name.
const NAME: usize = 44;

/// The section.
pub fn operators(report: &Report<'_>, rows: &Rows<'_>) -> Markup {
    html! {
        section #operators {
            h2 { "Operators before and after" }
            @if !report.kernels.is_empty() {
                p { "Time of all launches of each operator in one run of the network, the slowest first; nodes that do the same work are one operator. Below each stand its tilings and what they lay into a core's buffers." }
                (rows.table(false))
                @if report.gains.is_some() {
                    p .note { "Before is what CANN runs by itself: a public default follows its published rules, an estimated one stands for rules that are closed. Opened, each row says which." }
                }
                @if report.subgraphs.is_some() {
                    p .note { "Before: the operators of the network with the strategies of subgraphs that CANN reads. What these gain is in the network's times, not here." }
                }
            } @else if report.subgraphs.is_some() {
                p { "Only subgraphs were tuned: the time of each at all of its places in one run of the network, the slowest first." }
                (table(["subgraph, from the node", "kernels"], &top(subgraphs(report), TOP, "subgraphs")))
            } @else {
                p .none { "No operator was dealt with." }
            }
            @if report.gains.as_ref().is_some_and(|gains| gains.own_form.count > 0) {
                p .note { "After is with all that was found, in each row and in the drawings below: also with what only libaoe reads, which does not count above." }
            }
            @if let Some(gains) = report.gains.as_ref().filter(|gains| !gains.left.is_empty()) {
                p { "Left on the table: " (time(gains.left_us)) " were found that CANN will not run as things are." }
                @let (first, others) = gains.left.split_at(gains.left.len().min(LEFT));
                ul .left { @for left in first { (lever(left)) } }
                @if !others.is_empty() {
                    details { summary { (others.len()) " more" } ul .left { @for left in others { (lever(left)) } } }
                }
            }
            @if !report.dynamic.is_empty() {
                @let named = report.dynamic.iter().take(LEFT_OUT).map(left_out);
                p .note {
                    "Left out, because nothing tells their sizes or how often they run (" (report.dynamic.len()) "): "
                    (named.collect::<Vec<_>>().join(", "))
                    "."
                }
                (more(report.dynamic.iter().skip(LEFT_OUT).map(left_out)))
            }
            @let (moved, untimed): (Vec<&Unmapped<'_>>, Vec<&Unmapped<'_>>) = report.unmapped.iter().partition(|node| node.is_timed());
            (unknown("no time is counted for them", &untimed))
            (unknown("what is counted is the movement of their data", &moved))
        }
    }
}

/// Nodes of which it is not known how they work, and what that means for their times.
fn unknown(counted: &str, nodes: &[&Unmapped<'_>]) -> Markup {
    let named = |node: &&Unmapped<'_>| {
        let named = format!("{} ({})", shortened(&node.name, NAME), node.origin_type);
        match &node.reason {
            Some(reason) => format!("{named}: {reason}"),
            None => named,
        }
    };
    html! {
        @if !nodes.is_empty() {
            p .note {
                "It is not known how " (nodes.len()) " nodes work; " (counted) ": "
                (nodes.iter().take(LEFT_OUT).map(named).collect::<Vec<_>>().join("; "))
                "."
            }
            (more(nodes.iter().skip(LEFT_OUT).map(named)))
        }
    }
}

/// Nodes beyond the first, each with its reason, to be opened.
fn more(named: impl ExactSizeIterator<Item = String>) -> Markup {
    let count = named.len();
    html! {
        @if count > 0 {
            details {
                summary { (count) " more" }
                ul .left { @for named in named.take(OPENED) { li { (named) } } }
                @if count > OPENED { p .note { (count - OPENED) " more are in report.json." } }
            }
        }
    }
}

/// What was found and does not reach the network, and what would bring it there.
fn lever(left: &Left<'_>) -> Markup {
    html! { li { strong { (time(left.saved_us)) } " " (shortened(&left.op, NAME)) ", " (left.op_type) ": " (left.lever.kind) ". " (left.lever.what) "." } }
}

/// A node that is left out, and why.
fn left_out(node: &Unsized<'_>) -> String {
    let named = format!("{} ({})", shortened(&node.name, NAME), node.origin_type);
    match (node.reason, node.why.as_deref()) {
        (Some(Cause::UnknownOperator), Some(why)) => {
            format!("{named}, behind {} ({}): {why}", shortened(&node.source, NAME), node.source_type)
        }
        (Some(Cause::UnknownOperator), None) => {
            format!("{named}, behind {} of the unknown type {}", shortened(&node.source, NAME), node.source_type)
        }
        (Some(Cause::Undescribed), _) => {
            format!("{named}, behind {}, which has no shape", shortened(&node.source, NAME))
        }
        (Some(Cause::Flow), Some(why)) => format!("{named}, {why}"),
        (Some(cause @ (Cause::Run | Cause::Flow)), _) => format!("{named}, {}", cause.name()),
        (None, _) => named,
    }
}

fn subgraphs(report: &Report<'_>) -> Vec<Row> {
    let distinct: Vec<&Subgraph<'_>> = report.subgraphs.iter().flat_map(|subgraphs| &subgraphs.distinct).collect();
    let labels = apart(distinct.iter().map(|subgraph| subgraph.name()), NAME);
    distinct.into_iter().zip(labels).map(|(of, label)| subgraph(of, label)).collect()
}

fn subgraph(subgraph: &Subgraph<'_>, name: String) -> Row {
    let title = format!("{}\n{}", label(subgraph, 96), subgraph.status.name());
    // Of one place, as the result file has it.
    let gain = truncated_improvement(microseconds(subgraph.before.us), microseconds(subgraph.after.us));
    let label = if subgraph.count > 1 { format!("{name} ×{}", subgraph.count) } else { name };
    Row { label, title, note: subgraph.op_types.len().to_string(), us: subgraph.total_us(), gain }
}

#[cfg(test)]
mod tests {
    use super::{LEFT_OUT, Unmapped, unknown};

    #[test]
    fn every_operator_of_which_nothing_is_known_is_named_with_its_reason() {
        let node = |index: usize| Unmapped {
            name: format!("node{index}").into(),
            origin_type: "Strange".into(),
            priced: "none".into(),
            reason: (index > 0).then(|| format!("reason{index}").into()),
        };
        let nodes: Vec<_> = (0..LEFT_OUT + 2).map(node).collect();
        let page = unknown("no time is counted for them", &nodes.iter().collect::<Vec<_>>()).into_string();
        assert!(page.contains("node0 (Strange);"), "{page}");
        for index in 1..LEFT_OUT + 2 {
            assert!(page.contains(&format!("node{index} (Strange): reason{index}")), "{page}");
        }
        assert!(page.contains("2 more"), "{page}");
    }
}
