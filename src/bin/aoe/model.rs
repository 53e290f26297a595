//! `aoe model`: graphs of GE looked at.

use crate::arguments::{Subcommand, flag, given, operands, option};
use crate::console::Console;
use crate::exit_status::{DONE, FAILED, MISUSED};
use aoe::frontend::Framework;
use aoe::frontend::check::{Finding, Judgement, Rule, judge_file};
use aoe::spelling::printable;
use aoe::status::{Error, Result};
use clap::{ArgMatches, Command};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// `aoe model COMMAND`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Findings of one rule that are printed; the rest are counted, and JSON has all.
const PRINTED: usize = 10;

fn arguments() -> Command {
    Command::new("model")
        .about("Judge whether GE would compile a graph")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .subcommand(check_arguments())
}

fn check_arguments() -> Command {
    Command::new("check")
        .about("Judge graphs of GE (.air, dumps) by the interfaces of their operators, their constants and their shapes")
        .arg(operands("file", "FILE", "Graphs of GE"))
        .arg(option("framework", "1", "Read the files as GE's (1), whatever their names"))
        .arg(flag("json", "Write a JSON line for each finding and one for each file"))
        .after_help(
            "Rules: graph, operator, input, output, attribute, value, shape; type, which is only remarked on.\n\
             More: docs/models.md.\n\
             Exit status: 0 each would compile, 1 one would not, 2 a wrong command line, or a file that cannot be read or\n\
             is none of GE's.",
        )
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let Some(("check", matches)) = matches.subcommand() else {
        return Err(Error::CommandLine { reason: "`aoe model` needs a command: check".to_owned() });
    };
    let framework = match given(matches, "framework") {
        None => None,
        Some(number) => Some(Framework::from_number(number).ok_or_else(|| {
            Error::option("framework", format!("there is no framework `{number}`; graphs of GE are 1"))
        })?),
    };
    let mut status = DONE;
    for path in matches.get_many::<String>("file").into_iter().flatten() {
        // A file that cannot be read must not hide what is wrong with the next.
        status = status.max(match judge_file(Path::new(path), framework) {
            Ok(judgement) => {
                let text = if matches.get_flag("json") { json_lines(path, &judgement) } else { text(path, &judgement) };
                console.text(&text);
                if judgement.compiles() { DONE } else { FAILED }
            }
            Err(error) => {
                console.error(&error);
                MISUSED
            }
        });
    }
    Ok(status)
}

/// A line for each finding, then one for the file.
fn json_lines(path: &str, judgement: &Judgement) -> String {
    let findings = judgement.findings.iter().map(|finding| {
        let Finding { node, op, rule, blocks, reason, advice } = finding;
        json!({"file": path, "node": node, "op": op, "rule": rule.name(), "blocks": blocks, "reason": reason, "advice": advice})
    });
    let whole = json!({
        "file": path, "nodes": judgement.nodes, "findings": judgement.findings.len(), "compiles": judgement.compiles(),
    });
    findings.chain([whole]).map(|line| line.to_string() + "\n").collect()
}

/// The findings rule by rule, and the verdict.
fn text(path: &str, judgement: &Judgement) -> String {
    let mut by_rule = BTreeMap::<Rule, Vec<&Finding>>::new();
    for finding in &judgement.findings {
        by_rule.entry(finding.rule).or_default().push(finding);
    }
    let mut text = String::new();
    for (rule, findings) in by_rule {
        for Finding { node, op, blocks, reason, advice, .. } in findings.iter().take(PRINTED) {
            let place = if node.is_empty() { String::new() } else { format!("`{node}` ({op}) ") };
            let weight = if *blocks { "" } else { " (remark)" };
            let told = format!("{path}: {}{weight}: {place}{reason}; {advice}", rule.name());
            let _ = writeln!(text, "{}", printable(&told));
        }
        if let Some(more) = findings.len().checked_sub(PRINTED).filter(|more| *more > 0) {
            let _ = writeln!(text, "{path}: {}: {more} more", rule.name());
        }
    }
    let (nodes, findings) = (judgement.nodes, judgement.findings.len());
    let verdict = if judgement.compiles() { "would compile" } else { "would not compile" };
    text + &format!("{path}: {nodes} nodes, {findings} findings: {verdict}\n")
}
