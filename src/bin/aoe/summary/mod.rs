//! The text after a tuning: who measured, the network's time, its slowest operators, where the files lie.

mod slowest;
mod untuned;

use crate::labels::{labelled, some_of};
use crate::{gains, gradients};
use aoe::graph::infer::Cause;
use aoe::report::model::{Base, Files, Kernel, Profiles, RepoSummary, Report, Status, Subgraphs};
use aoe::report::{counted, improvement, quoted, time};
use aoe::status::Result;
use std::ops::Deref;
use std::path::Path;

/// What hides records from a compiler that has met the network before.
const FRESH_CACHE: &str =
    "a kernel that was compiled before keeps its tiling: compile with op_compiler_cache_mode=force once";

/// The session's report, of which the text is made.
#[derive(Debug)]
pub struct Summary(Report<'static>);

impl Deref for Summary {
    type Target = Report<'static>;

    fn deref(&self) -> &Report<'static> {
        &self.0
    }
}

fn model(Files { air, om, content, .. }: &Files<'_>) -> [String; 2] {
    [labelled("Model", &format!("{air} ({content})")), labelled("", om)]
}

fn subgraphs(found: &Subgraphs<'_>, dry_run: bool) -> Vec<String> {
    let told = format!(
        "{}; {} before, {} with all that was found, by the simulator; {} launches before, {} after",
        counts(&found.summary, &format!("{} distinct", found.summary.total), dry_run),
        time(found.before_us),
        time(found.after_us),
        found.traffic_before.launches,
        found.traffic_after.launches
    );
    let mut lines = vec![labelled("Subgraphs", &told)];
    lines.extend(found.bank.as_ref().map(|bank| labelled("", &recorded(&found.summary, bank))));
    lines
}

/// What was written into the subgraph bank.
fn recorded(summary: &RepoSummary, bank: &str) -> String {
    match summary.add + summary.update {
        0 => format!("nothing recorded in {bank}"),
        count => format!("{count} recorded in {bank}"),
    }
}

/// What became of what was tuned; `would` where no bank was written.
fn counts(summary: &RepoSummary, what: &str, would: bool) -> String {
    let RepoSummary { add, update, reserved, unsatisfied, .. } = summary;
    let would = if would { "would be " } else { "" };
    format!(
        "{what}: {add} {would}added to the bank, {update} {would}updated there, \
         {reserved} already in the bank, {unsatisfied} left at CANN's default"
    )
}

impl Summary {
    /// Reads the session's report.
    pub fn of(report: &str) -> Result<Summary> {
        Report::read(report, Path::new("report.json")).map(Summary)
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
        let is_simulated = self.backend.is_simulated();
        let told = |found| subgraphs(found, self.bank.dry_run);
        lines
            .extend(self.gains.iter().filter(|_| !self.is_empty()).flat_map(|found| gains::lines(found, is_simulated)));
        lines.extend(self.subgraphs.iter().filter(|found| found.summary.total > 0).flat_map(told));
        lines.extend(self.gradients.iter().filter(|found| found.split_before.is_some()).map(|_| {
            let gain = self.improvement();
            labelled("Gain", &format!("{gain} over hccl's own default, by what CANN reads; its interval is not known"))
        }));
        lines.extend(self.gradients.iter().flat_map(gradients::lines));
        if !self.kernels.is_empty() {
            lines.push(labelled("Tuned", &self.tuned()));
            lines.extend(self.base.iter().map(base));
            lines.extend(self.unsaved());
            lines.push(String::new());
            lines.extend(self.operators());
            lines.push(String::new());
        }
        lines.extend(self.asked.iter().map(|(what, outcome)| labelled("Asked for", &format!("{what}: {outcome}"))));
        lines.extend(self.unknown());
        lines.extend(self.left_out());
        lines.extend(self.bank_lines());
        lines.extend(self.tuned_model.iter().chain(&self.tuned_gears).flat_map(model));
        if let Some(Profiles { before, after }) = &self.profiles {
            lines.push(labelled("Profiles", before));
            lines.push(labelled("", after));
        }
        lines
    }

    /// Whether an interruption came before anything was tuned.
    pub fn is_empty(&self) -> bool {
        !self.finished && self.summary.total == 0
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
        let runs = self.dynamic.iter().filter(|node| node.reason == Some(Cause::Flow)).count();
        let sizes = self.dynamic.len() - runs;
        let left = [unknown(sizes, "sizes"), unknown(runs, "number of runs"), unknown(self.untimed(), "time")];
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

    fn tuned(&self) -> String {
        let told = match self.gains.as_ref().and_then(|gains| gains.reached) {
            Some([reached, wanted]) => format!("{reached} of {wanted} operators"),
            None => counted(self.summary.total as u64, "operator", "operators"),
        };
        counts(&self.summary, &format!("{told} in {:.1} s", self.tuning_time_s), self.bank.dry_run)
    }

    /// What was found and the bank did not take.
    fn unsaved(&self) -> Option<String> {
        let unsaved: Vec<&Kernel<'_>> = self.kernels.iter().filter(|kernel| kernel.status == Status::Unsaved).collect();
        let names: Vec<_> = unsaved.iter().map(|kernel| kernel.name().to_owned()).collect();
        let saved: f64 = unsaved.iter().map(|kernel| kernel.total_us()).map(|[before, after]| before - after).sum();
        let told = format!(
            "{}, {} less: better, and the bank could not be written; the error says where the records are: {}",
            counted(unsaved.len() as u64, "operator", "operators"),
            time(saved),
            some_of(&names)
        );
        (!unsaved.is_empty()).then(|| labelled("Not in bank", &told))
    }

    /// Where the bank lies, what has CANN read it, and what would hide it.
    pub fn bank_lines(&self) -> Vec<String> {
        let bank = &self.bank;
        if bank.dry_run {
            let why = if self.options.contains_key("dry_run") {
                "nothing was written (dry_run)"
            } else {
                "no record was written: result_file=none, and neither ge.op_bank_path nor TUNE_BANK_PATH names a bank"
            };
            return vec![labelled("Bank", why)];
        }
        let mut lines = vec![labelled("Bank", &bank.custom)];
        if !self.kernels.is_empty() && self.summary.add + self.summary.hit == 0 {
            lines.push(labelled("", "has no record of this network"));
        } else if self.gains.as_ref().is_some_and(|gains| gains.readers.is_empty()) {
            // The line for CANN would promise what it cannot keep.
            lines.push(labelled("", "has no record of this network that CANN reads"));
        } else if let Some(root) = &bank.root {
            // CANN reads the bank that the variable names and no other.
            lines.push(labelled("", &format!("export TUNE_BANK_PATH={}", quoted(root))));
            lines.push(labelled(
                "",
                "has CANN read it, and no other bank of a user's; --install puts records where it looks by itself",
            ));
            lines.push(labelled("", FRESH_CACHE));
        } else if self.gains.is_some() {
            // Where CANN looks by itself, a kernel of yesterday hides them as well.
            lines.push(labelled("", FRESH_CACHE));
        }
        lines
    }
}

/// What came of the earlier tuning that this one started from.
fn base(base: &Base<'_>) -> String {
    let told = match base.trials {
        0 => format!(
            "{}: nothing of it was used; it has no measurement of these operators, on this part and backend, that the bank \
             does not have",
            base.bank
        ),
        trials => format!(
            "{}: {} of {} were used",
            base.bank,
            counted(trials as u64, "earlier measurement", "earlier measurements"),
            counted(base.operators as u64, "operator", "operators")
        ),
    };
    labelled("Base", &told)
}

#[cfg(test)]
mod tests {
    use super::slowest::label;
    use super::untuned::skipped;
    use super::*;
    use serde_json::{Value, json};

    /// The report of a tuning that found nothing.
    fn nothing() -> Value {
        json!({
            "after_us": 0.0, "aoe_result": [], "before_us": 0.0, "defaults": {}, "dynamic": [], "finished": false,
            "backend": {"detail": "", "name": "simulator", "noisy": false, "note": ""},
            "bank": {"also_read": [], "custom": "/bank", "is_default": false},
            "found_us": 0.0, "graph": "net", "improvement": "0.00%", "kernels": [], "layout": 1, "options": {},
            "soc": "Ascend910B2", "summary": counts(0, 0, 0), "tuning_time(s)": 0.0, "unmapped": [], "version": "1.0.0"
        })
    }

    fn counts(add: usize, update: usize, total: usize) -> Value {
        json!({
            "repo_add_num": add, "repo_hit_num": 3 + update, "repo_reserved_num": 3, "repo_unsatisfied_num": 4,
            "repo_update_num": update, "total_num": total
        })
    }

    fn kernel(name: &str, count: usize, before_us: f64, after_us: f64) -> Value {
        let tiling = json!({"cores": 1, "ub_tile_bytes": 32, "double_buffer": false, "template": "flat"});
        json!({
            "after": tiling, "after_us": after_us, "backend": "simulator", "before": tiling, "before_us": before_us,
            "bound": null, "bound_before": null, "count": count, "default": "public", "failed_trials": 0,
            "improvements": [], "interval_us": null, "known_trials": 0, "nodes": [{"name": name, "op_type": "Conv2D"}],
            "op_type": "Conv2D", "status": "added", "stop": null, "trials": 0, "work": null, "workload": ""
        })
    }

    fn summary(fields: &[(&str, Value)]) -> Summary {
        let mut report = nothing();
        for (field, value) in fields {
            report[*field] = value.clone();
        }
        Summary::of(&report.to_string()).unwrap()
    }

    fn with(field: &str, value: Value) -> Summary {
        summary(&[(field, value)])
    }

    #[test]
    fn the_slowest_before_and_the_slowest_after_are_both_listed_once() {
        let after = |i| [60.0, 50.0].into_iter().zip([0, 19]).find_map(|(us, at)| (at == i).then_some(us));
        let kernels =
            (0..20).map(|i| kernel(&format!("op{i}"), 1, 100.0 - f64::from(i), after(i).unwrap_or(1.0))).collect();
        let summary = with("kernels", kernels);
        let names: Vec<_> = summary.slowest().into_iter().map(Kernel::name).collect();
        assert_eq!(names, ["op0", "op1", "op2", "op3", "op4", "op5", "op6", "op7", "op19"]);
    }

    #[test]
    fn what_the_bank_did_not_take_is_counted_and_named() {
        let lost = |name: &str| {
            let mut kernel = kernel(name, 2, 9.0, 8.0);
            kernel["status"] = "unsaved".into();
            kernel
        };
        let lines = with("kernels", json!([kernel("kept", 1, 9.0, 8.0), lost("a"), lost("b")])).lines().join("\n");
        assert!(lines.contains("2 operators, 4.00 µs less: better, and the bank could not be written"), "{lines}");
        assert!(lines.contains("records are: a, b"), "{lines}");
        assert_eq!(with("kernels", json!([kernel("kept", 1, 9.0, 8.0)])).unsaved(), None);
    }

    #[test]
    fn an_operator_is_as_slow_as_all_its_nodes_together() {
        let mut kernels = vec![kernel("many", 30, 1.0, 1.0)];
        kernels.extend((0..10).map(|i| kernel(&format!("op{i}"), 1, 20.0, 20.0)));
        let summary = with("kernels", kernels.into());
        assert_eq!(label(summary.slowest()[0]), "many (x30)");
        assert!(summary.operators()[1].contains("30.00"), "{:#?}", summary.operators());
    }

    #[test]
    fn what_was_recorded_of_the_subgraphs_is_counted_and_nothing_is_said_to_be_nothing() {
        let traffic = json!({"bytes": 0, "bytes_from_memory": 0, "launches": 0});
        let said = |added, updated| {
            let found = json!({
                "after_us": 0.0, "bank": "/bank", "before_us": 0.0, "distinct": [], "finished": true,
                "improvement": "0.00%", "priced_by": "", "summary": counts(added, updated, 7 + added + updated),
                "traffic_after": traffic, "traffic_before": traffic
            });
            subgraphs(with("subgraphs", found).subgraphs.as_ref().unwrap(), false).pop().unwrap()
        };
        assert!(said(2, 1).ends_with(" 3 recorded in /bank"), "{}", said(2, 1));
        assert!(said(0, 0).ends_with(" nothing recorded in /bank"), "{}", said(0, 0));
    }

    #[test]
    fn an_interruption_that_left_nothing_tells_no_times() {
        let text = with("graph", "net".into()).lines().join("\n");
        assert!(text.contains("before anything was tuned") && !text.contains("0.000"), "{text}");
        let text = with("summary", counts(0, 0, 1)).lines().join("\n");
        assert!(text.contains("as far as it was tuned"), "{text}");
    }

    #[test]
    fn a_long_list_of_unknown_operators_is_cut() {
        let names: Vec<_> = (0..7).map(|i| format!("n{i}")).collect();
        let line = skipped("Unknown", names.iter().map(|name| (name.as_str(), "Foo")), "why").unwrap();
        assert!(line.contains("n4 (Foo) and 2 more"), "{line}");
    }

    #[test]
    fn what_counts_as_movement_is_not_said_to_count_no_time() {
        let node = |name: &str, priced: &str| json!({"name": name, "origin_type": "Foo", "priced": priced});
        let mut fields = vec![
            ("kernels", json!([kernel("moved", 1, 39.0, 39.0), kernel("mm", 1, 100.0, 90.0)])),
            ("finished", true.into()),
            ("unmapped", json!([node("moved", "movement")])),
        ];
        let moved = summary(&fields);
        let lines = moved.unknown();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("moved (Foo)") && lines[0].contains("39.0 µs") && !lines[0].contains("no time"),
            "{lines:?}"
        );
        let headline = moved.network();
        assert!(headline.contains("39.0 µs") && !headline.contains("unknown time"), "{headline}");
        let mut why = node("a", "none");
        why["reason"] = "no operator has such an input".into();
        fields[2].1 = json!([why, node("b", "none")]);
        let untimed = summary(&fields);
        let lines = untimed.unknown();
        assert!(lines[0].contains("b (Foo): it is not known how they work, so no time"), "{lines:?}");
        assert!(lines[1].contains("a (Foo): no operator has such an input, so no time"), "{lines:?}");
        assert!(untimed.network().contains("without 2 kernels of unknown time"), "{}", untimed.network());
    }
}
