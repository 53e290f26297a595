//! The text after a tuning: who measured, the network's time, its slowest operators, where the files lie.

use crate::gains::Gains;
use crate::gradients::Gradients;
use crate::labels::{labelled, some_of};
use crate::table::{Align, middle_cut, table};
use aoe::backend::simulator::Simulator;
use aoe::lower::Priced;
use aoe::report::{counted, gain, improvement, quoted, time};
use aoe::status::{Error, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Operators listed: the slowest before and the slowest after, so many of each.
const SLOWEST: usize = 8;
/// Columns of an operator's name; longer names lose their middle.
const NAME_COLUMNS: usize = 44;
/// What is told about the tuning of one network, as the session's report has it.
#[derive(Debug, Default, Deserialize)]
pub struct Summary {
    backend: Backend,
    bank: Bank,
    /// Name of the network.
    pub graph: String,
    /// Time of the network in microseconds.
    pub before_us: f64,
    /// After tuning.
    pub after_us: f64,
    /// What became of what was asked for by name.
    #[serde(default)]
    asked: BTreeMap<String, String>,
    /// What becomes of what was found; not of gradients.
    gains: Option<Gains>,
    kernels: Vec<Kernel>,
    /// Whether all was tuned.
    pub finished: bool,
    gradients: Option<Gradients>,
    subgraphs: Option<Subgraphs>,
    #[serde(rename = "summary")]
    counts: Counts,
    #[serde(rename = "tuning_time(s)")]
    seconds: f64,
    profiles: Option<Profiles>,
    tuned_model: Option<TunedModel>,
    unmapped: Vec<Unmapped>,
    /// What was left out because nothing tells its sizes.
    dynamic: Vec<LeftOut>,
}

/// A node whose sizes nothing tells.
#[derive(Debug, Deserialize)]
struct LeftOut {
    #[serde(flatten)]
    node: Unmapped,
    reason: String,
    /// The node from which it has no sizes.
    source: String,
    source_type: String,
}

/// The folders of the profiles.
#[derive(Debug, Deserialize)]
struct Profiles {
    before: PathBuf,
    after: PathBuf,
}

/// The files of the tuned model.
#[derive(Debug, Deserialize)]
struct TunedModel {
    air: PathBuf,
    om: PathBuf,
    content: String,
}

#[derive(Debug, Default, Deserialize)]
struct Backend {
    name: String,
    note: String,
}

#[derive(Debug, Default, Deserialize)]
struct Bank {
    custom: PathBuf,
    #[serde(default)]
    dry_run: bool,
    root: Option<PathBuf>,
}

/// Tuned operators by what became of them.
#[derive(Debug, Default, Deserialize)]
struct Counts {
    #[serde(rename = "repo_add_num")]
    added: usize,
    #[serde(rename = "repo_update_num")]
    updated: usize,
    #[serde(rename = "repo_reserved_num")]
    reserved: usize,
    #[serde(rename = "repo_unsatisfied_num")]
    unsatisfied: usize,
    #[serde(rename = "total_num")]
    total: usize,
}

/// What became of the subgraphs, where these were tuned.
#[derive(Debug, Default, Deserialize)]
struct Subgraphs {
    bank: Option<PathBuf>,
    before_us: f64,
    after_us: f64,
    #[serde(rename = "summary")]
    counts: Counts,
    traffic_before: Traffic,
    traffic_after: Traffic,
}

#[derive(Debug, Default, Deserialize)]
struct Traffic {
    launches: u64,
}

impl Subgraphs {
    fn lines(&self) -> Vec<String> {
        let launches = (self.traffic_before.launches, self.traffic_after.launches);
        let told = format!(
            "{}; {} before, {} with all that was found, by the simulator; {} launches before, {} after",
            self.counts.text("distinct"),
            time(self.before_us),
            time(self.after_us),
            launches.0,
            launches.1
        );
        let mut lines = vec![labelled("Subgraphs", &told)];
        lines.extend(self.bank.as_ref().map(|bank| labelled("", &self.recorded(bank))));
        lines
    }

    /// What was written into the subgraph bank.
    fn recorded(&self, bank: &Path) -> String {
        match self.counts.added + self.counts.updated {
            0 => format!("nothing recorded in {}", bank.display()),
            count => format!("{count} recorded in {}", bank.display()),
        }
    }
}

impl Counts {
    fn text(&self, what: &str) -> String {
        let Counts { added, updated, reserved, unsatisfied, total } = self;
        format!(
            "{total} {what}: {added} added to the bank, {updated} updated there, \
             {reserved} already in the bank, {unsatisfied} left at CANN's default"
        )
    }
}

/// One distinct operator of the network.
#[derive(Debug, Deserialize)]
struct Kernel {
    op_type: String,
    /// How many nodes run it.
    count: usize,
    nodes: Vec<Node>,
    /// Time of one run in microseconds.
    before_us: f64,
    after_us: f64,
    status: String,
}

#[derive(Debug, Deserialize)]
struct Node {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Unmapped {
    name: String,
    origin_type: String,
    /// Whether the movement of its data counts, or no time does.
    #[serde(default)]
    priced: String,
    /// Why it is not known how it works, where that is known.
    reason: Option<String>,
}

impl Unmapped {
    fn is_timed(&self) -> bool {
        self.priced == Priced::Movement.name()
    }
}

impl Kernel {
    /// Time of all its nodes.
    fn total_before_us(&self) -> f64 {
        self.before_us * self.count as f64
    }

    fn total_after_us(&self) -> f64 {
        self.after_us * self.count as f64
    }

    fn first_node(&self) -> &str {
        self.nodes.first().map_or("", |node| &node.name)
    }

    /// The first node's name, shortened, and how many nodes run the operator.
    fn label(&self) -> String {
        let name = middle_cut(self.first_node(), NAME_COLUMNS);
        if self.count > 1 { format!("{name} (x{})", self.count) } else { name }
    }
}

impl Summary {
    /// Reads the session's report.
    pub fn of(report: &str) -> Result<Summary> {
        serde_json::from_str(report)
            .map_err(|error| Error::Internal { place: "summary of the report".to_owned(), message: error.to_string() })
    }

    /// CANN's improvement of the network, for example `12.34%`.
    pub fn improvement(&self) -> String {
        improvement(self.before_us, self.after_us)
    }

    /// The lines to print after CANN's.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            labelled("Measured by", self.backend.note.trim_start_matches("backend ")),
            labelled("Network", &self.network()),
        ];
        let is_simulated = self.backend.name == Simulator::NAME;
        lines.extend(self.gains.iter().filter(|_| !self.is_empty()).flat_map(|gains| gains.lines(is_simulated)));
        lines.extend(self.subgraphs.iter().filter(|found| found.counts.total > 0).flat_map(Subgraphs::lines));
        lines.extend(self.gradients.iter().flat_map(Gradients::lines));
        if !self.kernels.is_empty() {
            lines.push(labelled("Tuned", &self.tuned()));
            lines.extend(self.unsaved());
            lines.push(String::new());
            lines.extend(self.operators());
            lines.push(String::new());
        }
        lines.extend(self.asked.iter().map(|(what, outcome)| labelled("Asked for", &format!("{what}: {outcome}"))));
        lines.extend(self.unknown());
        lines.extend(self.left_out());
        lines.extend(self.bank_lines());
        if let Some(TunedModel { air, om, content }) = &self.tuned_model {
            lines.push(labelled("Model", &format!("{} ({content})", air.display())));
            lines.push(labelled("", &om.display().to_string()));
        }
        if let Some(Profiles { before, after }) = &self.profiles {
            lines.push(labelled("Profiles", &before.display().to_string()));
            lines.push(labelled("", &after.display().to_string()));
        }
        lines
    }

    fn untimed(&self) -> usize {
        self.unmapped.iter().filter(|node| !node.is_timed()).count()
    }

    /// Whether an interruption came before anything was tuned.
    pub fn is_empty(&self) -> bool {
        !self.finished && self.counts.total == 0
    }

    fn network(&self) -> String {
        let nodes: usize = self.kernels.iter().map(|kernel| kernel.count).sum();
        let (before, after) = (time(self.before_us), time(self.after_us));
        let distinct = self.kernels.len();
        if self.is_empty() {
            return "interrupted before anything was tuned".to_owned();
        }
        let part = if self.finished { "" } else { ", as far as it was tuned" };
        let unknown = |count: usize, what: &str| {
            (count > 0).then(|| format!("{} of unknown {what}", counted(count as u64, "kernel", "kernels")))
        };
        let left = [unknown(self.dynamic.len(), "sizes"), unknown(self.untimed(), "time")];
        let left: Vec<String> = left.into_iter().flatten().collect();
        let without = if left.is_empty() { String::new() } else { format!("; without {}", left.join(" and ")) };
        let moved = if self.untimed() < self.unmapped.len() {
            format!("; {} is movement of data alone", self.moved())
        } else {
            String::new()
        };
        let part = format!("{part}{without}{moved}");
        if distinct == 0 {
            return format!("{before} before, {after} after{part}");
        }
        format!("{before} before, {after} after; {nodes} kernels, {distinct} distinct{part}")
    }

    /// What is neither tuned nor counted, by reason.
    fn left_out(&self) -> Vec<String> {
        let line = |label: &str, reason: &str, why: &dyn Fn(&str) -> String| {
            let of: Vec<&LeftOut> = self.dynamic.iter().filter(|node| node.reason == reason).collect();
            let mut sources: Vec<_> = of.iter().map(|n| format!("{} ({})", n.source, n.source_type)).collect();
            sources.dedup();
            skipped(label, of.iter().map(|node| &node.node), &(why(&some_of(&sources)) + ", neither tuned nor counted"))
        };
        let unknown = line("Left out", "unknown operator", &|sources| {
            format!("their sizes follow from operators whose results are not known, {sources}")
        });
        let undescribed = line("Left out", "undescribed input", &|sources| {
            format!("their sizes follow from {sources}, which has no shape: give it with input_shape")
        });
        let run = line("Dynamic", "only a run tells", &|_| "only a run tells their sizes".to_owned());
        [unknown, undescribed, run].into_iter().flatten().collect()
    }

    /// The lines that name nodes of which it is not known how they work: why, and what is counted for them.
    fn unknown(&self) -> Vec<String> {
        let (moved, untimed): (Vec<&Unmapped>, Vec<&Unmapped>) = self.unmapped.iter().partition(|node| node.is_timed());
        let mut reasons: Vec<Option<&str>> = untimed.iter().map(|node| node.reason.as_deref()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let line = |reason: Option<&str>| {
            let nodes = untimed.iter().copied().filter(|node| node.reason.as_deref() == reason);
            let why = reason.unwrap_or("it is not known how they work");
            skipped("Unknown", nodes, &format!("{why}, so no time is counted for them"))
        };
        let mut lines: Vec<String> = reasons.into_iter().filter_map(line).collect();
        let why = format!("their own work is not modelled; the movement of their data is counted, {}", self.moved());
        lines.extend(skipped("Moved", moved, &why));
        lines
    }

    /// The time of kernels of which only the movement of data counts.
    fn moved(&self) -> String {
        let moved: BTreeSet<&str> =
            self.unmapped.iter().filter(|node| node.is_timed()).map(|node| node.name.as_str()).collect();
        let share = |kernel: &Kernel| {
            let nodes = kernel.nodes.iter().filter(|node| moved.contains(node.name.as_str())).count();
            kernel.before_us * nodes as f64
        };
        format!("{} of the time before", time(self.kernels.iter().map(share).sum()))
    }

    fn tuned(&self) -> String {
        self.counts.text(&format!("operators in {:.1} s", self.seconds))
    }

    /// What was found and the bank did not take.
    fn unsaved(&self) -> Option<String> {
        let unsaved: Vec<&Kernel> = self.kernels.iter().filter(|kernel| kernel.status == "unsaved").collect();
        let names: Vec<_> = unsaved.iter().map(|kernel| kernel.first_node().to_owned()).collect();
        let saved: f64 = unsaved.iter().map(|kernel| kernel.total_before_us() - kernel.total_after_us()).sum();
        let told = format!(
            "{}, {} less: better, and the bank could not be written; the error says where the records are: {}",
            counted(unsaved.len() as u64, "operator", "operators"),
            time(saved),
            some_of(&names)
        );
        (!unsaved.is_empty()).then(|| labelled("Not in bank", &told))
    }

    /// Where the bank lies, and what has CANN read it.
    pub fn bank_lines(&self) -> Vec<String> {
        let Bank { custom, dry_run, root } = &self.bank;
        if *dry_run {
            return vec![labelled("Bank", "nothing was written (dry_run)")];
        }
        let mut lines = vec![labelled("Bank", &custom.display().to_string())];
        if let Some(root) = root {
            // CANN reads the bank that the variable names and no other.
            lines.push(labelled("", &format!("export TUNE_BANK_PATH={}", quoted(&root.display().to_string()))));
            lines.push(labelled(
                "",
                "has CANN read it, and no other bank of a user's; --install puts records where it looks by itself",
            ));
        }
        lines
    }

    /// The slowest operators, before or after, the slowest before first.
    fn operators(&self) -> Vec<String> {
        let row = |kernel: &Kernel| {
            let (before, after) = (kernel.total_before_us(), kernel.total_after_us());
            // Of one launch, as the result file has it.
            let gain = match kernel.status.as_str() {
                "not_sure" => "not sure".to_owned(),
                _ => gain(kernel.before_us, kernel.after_us),
            };
            [kernel.label(), kernel.op_type.clone(), format!("{before:.2}"), format!("{after:.2}"), gain]
        };
        let columns = [
            ("Slowest operators", Align::Left),
            ("type", Align::Left),
            ("before us", Align::Right),
            ("after us", Align::Right),
            ("gain", Align::Right),
        ];
        // What could not be timed has a line of its own.
        let timed = self.slowest().into_iter().filter(|kernel| kernel.before_us > 0.0);
        let rows: Vec<_> = timed.map(row).collect();
        table(columns, &rows)
    }

    fn slowest(&self) -> Vec<&Kernel> {
        let rank = |time: fn(&Kernel) -> f64| {
            let mut order: Vec<usize> = (0..self.kernels.len()).collect();
            order.sort_by(|&a, &b| time(&self.kernels[b]).total_cmp(&time(&self.kernels[a])));
            order
        };
        let (before, mut after) = (rank(Kernel::total_before_us), rank(Kernel::total_after_us));
        after.truncate(SLOWEST);
        let listed = before.iter().enumerate().filter(|(place, index)| *place < SLOWEST || after.contains(index));
        listed.map(|(_, &index)| &self.kernels[index]).collect()
    }
}

/// The line that names nodes which are not tuned as what they are, and says why.
fn skipped<'a>(label: &str, nodes: impl IntoIterator<Item = &'a Unmapped>, why: &str) -> Option<String> {
    let names: Vec<_> = nodes.into_iter().map(|node| format!("{} ({})", node.name, node.origin_type)).collect();
    (!names.is_empty()).then(|| labelled(label, &format!("{}: {why}", some_of(&names))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, before_us: f64, after_us: f64) -> Kernel {
        let nodes = vec![Node { name: name.to_owned() }];
        Kernel { op_type: "Conv2D".to_owned(), count: 1, nodes, before_us, after_us, status: "added".to_owned() }
    }

    #[test]
    fn the_slowest_before_and_the_slowest_after_are_both_listed_once() {
        let mut kernels: Vec<_> = (0..20).map(|i| kernel(&format!("op{i}"), 100.0 - f64::from(i), 1.0)).collect();
        kernels[19].after_us = 50.0;
        kernels[0].after_us = 60.0;
        let summary = Summary { kernels, ..Summary::default() };
        let names: Vec<_> = summary.slowest().into_iter().map(Kernel::first_node).collect();
        assert_eq!(names, ["op0", "op1", "op2", "op3", "op4", "op5", "op6", "op7", "op19"]);
    }

    #[test]
    fn what_the_bank_did_not_take_is_counted_and_named() {
        let kept = kernel("kept", 9.0, 8.0);
        let lost = |name: &str| Kernel { status: "unsaved".to_owned(), count: 2, ..kernel(name, 9.0, 8.0) };
        let summary = Summary { kernels: vec![kept, lost("a"), lost("b")], ..Summary::default() };
        let lines = summary.lines().join("\n");
        assert!(lines.contains("2 operators, 4.00 µs less: better, and the bank could not be written"), "{lines}");
        assert!(lines.contains("records are: a, b"), "{lines}");
        let summary = Summary { kernels: vec![kernel("kept", 9.0, 8.0)], ..Summary::default() };
        assert_eq!(summary.unsaved(), None);
    }

    #[test]
    fn an_operator_is_as_slow_as_all_its_nodes_together() {
        let many = Kernel { count: 30, ..kernel("many", 1.0, 1.0) };
        let mut kernels = vec![many];
        kernels.extend((0..10).map(|i| kernel(&format!("op{i}"), 20.0, 20.0)));
        let summary = Summary { kernels, ..Summary::default() };
        assert_eq!(summary.slowest()[0].label(), "many (x30)");
        assert!(summary.operators()[1].contains("30.00"), "{:#?}", summary.operators());
    }

    #[test]
    fn what_was_recorded_of_the_subgraphs_is_counted_and_nothing_is_said_to_be_nothing() {
        let said = |added, updated| {
            let counts = Counts { added, updated, reserved: 3, unsatisfied: 4, total: 7 + added + updated };
            Subgraphs { bank: Some("/bank".into()), counts, ..Subgraphs::default() }.lines().pop().unwrap()
        };
        assert!(said(2, 1).ends_with(" 3 recorded in /bank"), "{}", said(2, 1));
        assert!(said(0, 0).ends_with(" nothing recorded in /bank"), "{}", said(0, 0));
    }

    #[test]
    fn an_interruption_that_left_nothing_tells_no_times() {
        let text = Summary::default().lines().join("\n");
        assert!(text.contains("before anything was tuned") && !text.contains("0.000"), "{text}");
        let counts = Counts { total: 1, ..Counts::default() };
        let text = Summary { counts, ..Summary::default() }.lines().join("\n");
        assert!(text.contains("as far as it was tuned"), "{text}");
    }

    #[test]
    fn a_long_list_of_unknown_operators_is_cut() {
        let node = |i| unmapped(&format!("n{i}"), Priced::None, None);
        let line = skipped("Unknown", &(0..7).map(node).collect::<Vec<_>>(), "why").unwrap();
        assert!(line.contains("n4 (Foo) and 2 more"), "{line}");
    }

    fn unmapped(name: &str, priced: Priced, reason: Option<&str>) -> Unmapped {
        let (priced, reason) = (priced.name().to_owned(), reason.map(str::to_owned));
        Unmapped { name: name.to_owned(), origin_type: "Foo".to_owned(), priced, reason }
    }

    #[test]
    fn what_counts_as_movement_is_not_said_to_count_no_time() {
        let kernels = vec![kernel("moved", 39.0, 39.0), kernel("mm", 100.0, 90.0)];
        let mut summary = Summary { kernels, finished: true, before_us: 139.0, after_us: 129.0, ..Summary::default() };
        summary.unmapped = vec![unmapped("moved", Priced::Movement, None)];
        let lines = summary.unknown();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("moved (Foo)") && lines[0].contains("39.0 µs") && !lines[0].contains("no time"),
            "{lines:?}"
        );
        let headline = summary.network();
        assert!(headline.contains("39.0 µs") && !headline.contains("unknown time"), "{headline}");
        summary.unmapped =
            vec![unmapped("a", Priced::None, Some("no operator has such an input")), unmapped("b", Priced::None, None)];
        let lines = summary.unknown();
        assert!(lines[0].contains("b (Foo): it is not known how they work, so no time"), "{lines:?}");
        assert!(lines[1].contains("a (Foo): no operator has such an input, so no time"), "{lines:?}");
        assert!(summary.network().contains("without 2 kernels of unknown time"), "{}", summary.network());
    }
}
