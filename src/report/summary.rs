//! `summary.json`: a tuning on one screen.

use super::counts::to_text;
use super::figures::{gain, microseconds};
use super::gains::Gains;
use super::{Context, Tuned};
use crate::status::Result;
use crate::tune::gdat::Found;
use crate::tune::sgat::SubgraphOutcome;
use crate::tune::{BankStatus, CaseOutcome};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Operators that are named for their improvement.
const TOP: usize = 10;

/// A tuning on one screen. The fields stand in the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary<'a> {
    /// Time after, in microseconds.
    pub(super) after_us: f64,
    /// Time before.
    pub(super) before_us: f64,
    /// When it began, as the names of its files have it.
    #[serde(default)]
    pub(super) began: Cow<'a, str>,
    /// Whether all was tuned.
    pub(super) finished: bool,
    /// What becomes of what was found; absent of gradients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gains: Option<Gains<'a>>,
    /// Name of the network.
    pub(super) graph: Cow<'a, str>,
    /// Kernels without known sizes, of which the figures know nothing; absent where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) left_out_ops: usize,
    /// Improvement of the network, for example `12.34%`.
    pub(super) performance_improvement: String,
    /// Those that gained most, the most first.
    pub(super) top_improved_ops: Vec<Improved<'a>>,
    /// Operators that were looked at.
    pub(super) total_ops: usize,
    /// Those of them that got a record.
    pub(super) tuned_ops: usize,
    /// Duration, for example `1823s`.
    pub(super) tuning_time: String,
}

/// An operator that gained.
#[derive(Debug, Serialize, Deserialize)]
pub struct Improved<'a> {
    /// Its improvement, for example `12.34%`.
    pub(super) improvement: String,
    /// Name of its first node.
    pub(super) op: Cow<'a, str>,
}

/// Operators that are alike: a distinct operator, a distinct subgraph with its kernels, or the exchanges of gradients.
struct Item<'a> {
    name: &'a str,
    operators: usize,
    before_us: f64,
    after_us: f64,
    is_better: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The summary as JSON, indented by four.
pub fn summary(tuned: Tuned<'_>, context: &Context) -> Result<String> {
    let items: Vec<Item<'_>> = match tuned {
        Tuned::Operators(_, outcome) => outcome.cases.iter().map(Item::from).collect(),
        Tuned::Subgraphs(outcome) => outcome.subgraphs.iter().map(Item::from).collect(),
        Tuned::Gradients(outcome) => outcome.found.iter().map(Item::from).collect(),
    };
    let mut better: Vec<&Item<'_>> = items.iter().filter(|item| item.is_better).collect();
    better.sort_by(|a, b| (b.before_us / b.after_us).total_cmp(&(a.before_us / a.after_us)));
    let top = better.iter().take(TOP);
    let (before_us, after_us) = tuned.times_us();
    to_text(&Summary {
        after_us: microseconds(after_us),
        before_us: microseconds(before_us),
        began: context.began.as_str().into(),
        finished: tuned.tuning().finished,
        gains: Gains::of(tuned),
        graph: tuned.tuning().graph.as_str().into(),
        left_out_ops: context.left_out.len(),
        performance_improvement: gain(before_us, after_us),
        top_improved_ops: top
            .map(|item| Improved { improvement: gain(item.before_us, item.after_us), op: item.name.into() })
            .collect(),
        total_ops: items.iter().map(|item| item.operators).sum(),
        tuned_ops: better.iter().map(|item| item.operators).sum(),
        tuning_time: seconds(tuned.elapsed()),
    })
}

impl<'a> From<&'a CaseOutcome> for Item<'a> {
    fn from(case: &'a CaseOutcome) -> Item<'a> {
        Item {
            name: case.nodes.first().map_or("", |node| &node.name),
            operators: case.nodes.len(),
            before_us: case.before_us,
            after_us: case.after_us,
            is_better: is_better(&case.status),
        }
    }
}

impl<'a> From<&'a SubgraphOutcome> for Item<'a> {
    fn from(subgraph: &'a SubgraphOutcome) -> Item<'a> {
        Item {
            name: subgraph.name(),
            operators: subgraph.count() * subgraph.names.len(),
            before_us: subgraph.before.us,
            after_us: subgraph.after.us,
            is_better: is_better(&subgraph.status),
        }
    }
}

/// The exchanges, which one split fuses.
impl<'a> From<&'a Found> for Item<'a> {
    fn from(found: &'a Found) -> Item<'a> {
        let [before_us, after_us] = [&found.before, found.taken()].map(|case| case.plan.end_us);
        let gradients = &found.training.gradients;
        Item {
            name: gradients.first().map_or("", |gradient| &gradient.all_reduce),
            operators: gradients.len(),
            before_us,
            after_us,
            is_better: is_better(&found.status),
        }
    }
}

fn is_better(status: &BankStatus) -> bool {
    matches!(status, BankStatus::Added | BankStatus::Updated)
}

/// A duration in whole seconds, with a decimal while these are few: `1823s`, `0.4s`.
fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 99.95 { format!("{seconds:.1}s") } else { format!("{seconds:.0}s") }
}

#[cfg(test)]
mod tests {
    use super::seconds;
    use std::time::Duration;

    #[test]
    fn short_times_have_a_decimal() {
        let texts = [0.0, 0.44, 99.94, 99.96, 1823.4].map(|s| seconds(Duration::from_secs_f64(s)));
        assert_eq!(texts, ["0.0s", "0.4s", "99.9s", "100s", "1823s"]);
    }
}
