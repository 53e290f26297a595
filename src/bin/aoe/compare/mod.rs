//! `aoe compare`: two results, reports, banks or profiles of one network.

mod sides;

use crate::arguments::{Subcommand, flag, given, operand, text};
use crate::console::Console;
use crate::exit_status::{DONE, MISUSED};
use crate::json;
use crate::labels::labelled;
use crate::table::{middle_cut, table};
use aoe::report::{improvement, time};
use aoe::status::{Error, Result};
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use sides::Side;
use std::path::Path;
use std::sync::Arc;

/// `aoe compare A B`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Exit status where B falls short of what was asked.
const FELL_SHORT: u8 = 1;
/// Times that differ by no more than this part are the same.
const SAME: f64 = 0.005;
/// Rows of a text; `--json` has all.
const SHOWN: usize = 30;
/// Columns of a name.
const NAME_COLUMNS: usize = 60;

fn arguments() -> Command {
    Command::new("compare")
        .about("Compare two results of a network: what got faster, slower, new, gone")
        .after_help(
            "A side is a results folder, its report.json, a result file of AOE, a bank (file or directory) or a profile\n\
             (op_summary_*.csv, kernel_details.csv, a folder with them); both are of one kind. Times are what CANN runs: its\n\
             default where it reads no record. Exit status: 0, 1 where --fail-below says so, 2 a wrong command line, or a side\n\
             that cannot be read.",
        )
        .arg(operand("A", "A", "Before"))
        .arg(operand("B", "B", "After"))
        .arg(
            Arg::new("fail_below")
                .long("fail-below")
                .alias("fail_below")
                .value_name("PCT")
                .allow_hyphen_values(true)
                .help("Exit with 1 where B gains less over A than so many per cent; -2 lets it be 2 per cent slower"),
        )
        .arg(flag("json", "Write JSON instead of text"))
}

/// Something that both sides have, or one.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    a_us: Option<f64>,
    b_us: Option<f64>,
    change: Change,
    name: String,
}

/// What became of it from A to B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Slower,
    Faster,
    New,
    Gone,
    /// The tuning of A alone changed it; the network of B may have it all the same.
    OnlyA,
    OnlyB,
    Same,
}

impl Change {
    fn of(a: Option<f64>, b: Option<f64>, only_changes: bool) -> Change {
        match (a, b) {
            (None, _) if only_changes => Change::OnlyB,
            (_, None) if only_changes => Change::OnlyA,
            (None, _) => Change::New,
            (_, None) => Change::Gone,
            (Some(a), Some(b)) if b > a * (1.0 + SAME) => Change::Slower,
            (Some(a), Some(b)) if a > b * (1.0 + SAME) => Change::Faster,
            _ => Change::Same,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Change::Slower => "slower",
            Change::Faster => "faster",
            Change::New => "new",
            Change::Gone => "gone",
            Change::OnlyA => "changed by A only",
            Change::OnlyB => "changed by B only",
            Change::Same => "same",
        }
    }
}

/// Two sides beside each other.
#[derive(Debug, Serialize)]
struct Comparison {
    a_us: f64,
    b_us: f64,
    /// Per cent, as AOE counts: `(a - b) / b`; none beside a bank that has no record.
    gain: Option<f64>,
    kind: &'static str,
    rows: Vec<Row>,
}

impl Comparison {
    /// Fails with [`Error::CommandLine`] for sides of two kinds, or which have no time in common.
    fn of(a: &Side, b: &Side) -> Result<Comparison> {
        let misused = |reason: String| Err(Error::CommandLine { reason });
        if a.kind != b.kind {
            return misused(format!("A is {}, B is {}: compare two of one kind", a.kind, b.kind));
        }
        let names = a.times_us.keys().chain(b.times_us.keys().filter(|name| !a.times_us.contains_key(*name)));
        let row = |name: &String| {
            let [a_us, b_us] = [a, b].map(|side| side.times_us.get(name).copied());
            Row { a_us, b_us, change: Change::of(a_us, b_us, a.only_changes), name: name.clone() }
        };
        let mut rows: Vec<Row> = names.map(row).collect();
        let shared = |side: fn(&Row) -> Option<f64>| -> f64 {
            rows.iter().filter(|row| row.a_us.is_some() && row.b_us.is_some()).filter_map(side).sum()
        };
        // Where there is no whole, as in a bank, what both have stands for it.
        let (a_us, b_us) = match (a.total_us, b.total_us) {
            (Some(a), Some(b)) => (a, b),
            _ => (shared(|row| row.a_us), shared(|row| row.b_us)),
        };
        let is_known = a_us > 0.0 && b_us > 0.0;
        if !is_known && !a.times_us.is_empty() && !b.times_us.is_empty() {
            return misused("A and B have no time in common".into());
        }
        let weight = |row: &Row| (row.a_us.unwrap_or_default() - row.b_us.unwrap_or_default()).abs();
        rows.sort_by(|x, y| x.change.cmp(&y.change).then(weight(y).total_cmp(&weight(x))));
        Ok(Comparison { a_us, b_us, gain: is_known.then(|| (a_us - b_us) / b_us * 100.0), kind: a.kind, rows })
    }

    fn lines(&self) -> Vec<String> {
        let Comparison { a_us, b_us, gain, rows, .. } = self;
        let count = |change: Change| rows.iter().filter(|row| row.change == change).count();
        let always = [Change::Faster, Change::Slower, Change::New, Change::Gone, Change::Same];
        let partly = [Change::OnlyA, Change::OnlyB].into_iter().filter(|&change| count(change) > 0);
        let counts: Vec<Change> = always.into_iter().chain(partly).collect();
        let counts: Vec<String> = counts.iter().map(|&change| format!("{} {}", count(change), change.word())).collect();
        let told = match gain {
            Some(_) => format!("{} from A to B, {} to {}", improvement(*a_us, *b_us), time(*a_us), time(*b_us)),
            None => "not known: A and B have no time in common".to_owned(),
        };
        let mut lines = vec![labelled("Gain", &told), labelled("", &counts.join(", "))];
        let told = |us: Option<f64>| us.map(time).unwrap_or_default();
        let row = |row: &Row| {
            let gain = row.a_us.zip(row.b_us).map(|(a, b)| improvement(a, b)).unwrap_or_default();
            [middle_cut(&row.name, NAME_COLUMNS), told(row.a_us), told(row.b_us), gain, row.change.word().to_owned()]
        };
        let changed: Vec<_> = rows.iter().filter(|row| row.change != Change::Same).collect();
        let shown: Vec<_> = changed.iter().take(SHOWN).map(|one| row(one)).collect();
        lines.extend(table(["", "A", "B", "gain", ""], "lrrrl", &shown));
        if changed.len() > SHOWN {
            lines.push(format!("{} more with --json", changed.len() - SHOWN));
        }
        lines
    }
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let least = given(matches, "fail_below").map(percent).transpose()?;
    let sides = ["A", "B"].map(|name| Side::read(Path::new(text(matches, name))));
    let [a, b] = match sides {
        [Ok(a), Ok(b)] => [a, b],
        // To a pipeline this is not that B is slower.
        [Err(error), _] | [_, Err(error)] => {
            console.error(&error);
            return Ok(MISUSED);
        }
    };
    let comparison = Comparison::of(&a, &b)?;
    if matches.get_flag("json") {
        console.line(&json::text(&comparison)?);
    } else {
        comparison.lines().iter().for_each(|line| console.line(line));
    }
    match (least, comparison.gain) {
        (Some(_), None) => {
            Err(Error::CommandLine { reason: "A and B have no time in common for --fail-below to judge".into() })
        }
        (Some(least), Some(gain)) if gain < least => {
            console.notice("ERROR", &format!("B gains {gain:.2} % over A, less than the {least} % of --fail-below"));
            Ok(FELL_SHORT)
        }
        _ => Ok(DONE),
    }
}

fn percent(text: &str) -> Result<f64> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| Error::CommandLine { reason: format!("--fail-below: `{text}` is no number of per cent") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(kind: &'static str, total_us: Option<f64>, times: &[(&str, f64)]) -> Side {
        let times_us = times.iter().map(|&(name, us)| (name.to_owned(), us)).collect();
        Side { kind, total_us, times_us, only_changes: kind == "a result file" }
    }

    #[test]
    fn what_a_result_file_does_not_list_is_not_gone_from_the_network() {
        let (a, b) = (side("a result file", Some(9.0), &[("x", 4.0)]), side("a result file", Some(9.0), &[("y", 2.0)]));
        let told = Comparison::of(&a, &b).unwrap().lines().join("\n");
        assert!(told.contains("0 new, 0 gone, 0 same, 1 changed by A only, 1 changed by B only"), "{told}");
    }

    #[test]
    fn everything_of_both_sides_is_told_once_by_what_became_of_it() {
        let a = side("a report", Some(60.0), &[("f", 20.0), ("s", 10.0), ("g", 5.0), ("e", 7.0)]);
        let b = side("a report", Some(50.0), &[("f", 10.0), ("s", 12.0), ("n", 3.0), ("e", 7.01)]);
        let told = Comparison::of(&a, &b).unwrap();
        let rows: Vec<_> = told.rows.iter().map(|row| (row.name.as_str(), row.change.word())).collect();
        assert_eq!(rows, [("s", "slower"), ("f", "faster"), ("n", "new"), ("g", "gone"), ("e", "same")]);
        assert!((told.gain.unwrap() - 20.0).abs() < 1e-9);
        assert!(told.lines().join("\n").contains("1 faster, 1 slower, 1 new, 1 gone, 1 same"));
    }

    #[test]
    fn without_a_whole_what_both_have_stands_for_it() {
        let (a, b) =
            (side("a bank", None, &[("x", 10.0), ("y", 1.0)]), side("a bank", None, &[("x", 8.0), ("z", 9.0)]));
        assert!((Comparison::of(&a, &b).unwrap().gain.unwrap() - 25.0).abs() < 1e-9);
        let from_nothing = Comparison::of(&side("a bank", None, &[]), &b).unwrap();
        assert!(from_nothing.gain.is_none() && from_nothing.lines()[0].contains("not known"));
        assert!(Comparison::of(&a, &side("a bank", None, &[("z", 9.0)])).is_err());
        assert!(Comparison::of(&a, &side("a profile", None, &[("x", 9.0)])).is_err());
    }

    #[test]
    fn a_bound_is_a_number_of_per_cent() {
        assert_eq!(["-2", "1.5%"].map(|text| percent(text).ok()), [Some(-2.0), Some(1.5)]);
        assert!(percent("much").is_err() && percent("nan").is_err());
    }
}
