//! Tables.

use crate::replay::Replay;
use crate::run::{self, Run};
use crate::{MARKS, setting};
use aoe::search::{Algorithm, Domain, Search, Settings};
use std::fmt::Write as _;
use std::path::Path;

/// Spaces that the published comparison of tuners is about, by the beginning of their names.
const NAMED: [&str; 3] = ["convolution_milo__A100", "dedispersion_milo__MI250X", "gemm__RTX_3090"];
/// Columns of a file of runs.
const HEADER: &str = "space\ttuner\tseed\tf25\tf50\tf100\tf200\toverhead_us";

/// Mean and half of the 95 % interval, by the normal distribution.
pub fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 1.96 * (variance / n).sqrt())
}

/// Writes runs as a table that others can read.
pub fn write_runs(path: &Path, runs: &[Run]) -> Result<(), String> {
    let mut text = format!("{HEADER}\n");
    for r in runs {
        let [a, b, c, d] = r.marks;
        let line = writeln!(text, "{}\t{}\t{}\t{a}\t{b}\t{c}\t{d}\t{}", r.space, r.tuner, r.seed, r.overhead_us);
        line.map_err(|e| e.to_string())?;
    }
    std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Reads such a table.
pub fn read_runs(path: &Path) -> Result<Vec<Run>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let parse = |line: &str| -> Option<Run> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [space, tuner, seed, a, b, c, d, overhead] = cells.try_into().ok()?;
        let mut marks = [0.0; 4];
        for (mark, cell) in marks.iter_mut().zip([a, b, c, d]) {
            *mark = cell.parse().ok()?;
        }
        let (space, tuner) = (space.to_owned(), tuner.to_owned());
        let overhead_us = overhead.parse().ok()?;
        Some(Run { space, tuner, seed: seed.parse().ok()?, marks, curve: Vec::new(), overhead_us })
    };
    let lines = text.lines().enumerate().skip(1);
    lines
        .map(|(number, line)| parse(line).ok_or_else(|| format!("{}:{}: not a run", path.display(), number + 1)))
        .collect()
}

fn tuners(runs: &[Run]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&run.tuner.as_str()) {
            names.push(&run.tuner);
        }
    }
    names
}

/// All tables of quality.
pub fn print(spaces: &[Replay], runs: &[Run], seeds: u64) {
    let named = |space: &Replay| NAMED.iter().any(|name| space.name.starts_with(name));
    println!("Fraction of the optimum after {MARKS:?} unique measurements, failures counted; {seeds} seeds; +- 95 %");
    class("the three named spaces (goal: .920 at 50, .970 at 100, .995 at 200)", spaces, runs, &named);
    class("hard spaces: random needs 250 draws (goal: .920, .970, .990)", spaces, runs, &Replay::is_hard);
    class("saturated spaces: random is above .97 at 25", spaces, runs, &Replay::is_saturated);
    class("all spaces", spaces, runs, &|_| true);
    if setting("VERBOSE").is_some() {
        for space in spaces {
            let title = format!("{} ({} legal, {:.0} draws)", space.name, space.size(), space.draws());
            class(&title, spaces, runs, &|other| other.name == space.name);
        }
    }
    below_random(spaces, runs);
    pairs(spaces, runs);
}

fn class(title: &str, spaces: &[Replay], runs: &[Run], member: &dyn Fn(&Replay) -> bool) {
    let members: Vec<&Replay> = spaces.iter().filter(|space| member(space)).collect();
    if members.is_empty() {
        return;
    }
    println!("\n== {title}: {} spaces", members.len());
    let expected = MARKS.map(|mark| members.iter().map(|s| s.random(mark)).sum::<f64>() / members.len() as f64);
    println!("  {:<22}{}", "random, expected", expected.map(|e| format!("  {e:.3}      ")).concat());
    for tuner in tuners(runs) {
        let its: Vec<&Run> =
            runs.iter().filter(|r| r.tuner == tuner && members.iter().any(|s| s.name == r.space)).collect();
        if its.is_empty() {
            continue;
        }
        let cells = (0..MARKS.len()).map(|mark| {
            let (mean, half) = interval(&its.iter().map(|r| r.marks[mark]).collect::<Vec<_>>());
            format!("  {mean:.3}+-{half:.3}")
        });
        let overhead = its.iter().map(|r| r.overhead_us).sum::<f64>() / its.len() as f64;
        let ran = members.iter().filter(|space| its.iter().any(|run| run.space == space.name)).count();
        let some = if ran < members.len() { format!(" ({ran} of these spaces only)") } else { String::new() };
        println!("  {tuner:<22}{}   {overhead:>8.1} us/measurement{some}", cells.collect::<String>());
    }
}

/// Where a tuner is surely worse than chance.
fn below_random(spaces: &[Replay], runs: &[Run]) {
    println!("\n== below the expectation of random search (95 %), at any mark");
    for tuner in tuners(runs) {
        let mut places = Vec::new();
        for space in spaces {
            for (i, mark) in MARKS.into_iter().enumerate() {
                let values: Vec<f64> =
                    runs.iter().filter(|r| r.tuner == tuner && r.space == space.name).map(|r| r.marks[i]).collect();
                let (mean, half) = interval(&values);
                if values.len() > 1 && mean + half < space.random(mark) {
                    places.push(format!("{}@{mark}", space.name));
                }
            }
        }
        println!("  {tuner:<22} {}", if places.is_empty() { "nowhere".to_owned() } else { places.join(" ") });
    }
}

/// On how many spaces `auto` is better than each other tuner: mean over the marks of each run, Welch's
/// interval of the difference.
fn pairs(spaces: &[Replay], runs: &[Run]) {
    let score = |tuner: &str, space: &Replay| -> Vec<f64> {
        let its = runs.iter().filter(|r| r.tuner == tuner && r.space == space.name);
        its.map(|r| r.marks.iter().sum::<f64>() / r.marks.len() as f64).collect()
    };
    println!("\n== auto against each other (mean of the four marks; surely: 95 % interval of the difference)");
    for other in tuners(runs).into_iter().filter(|&tuner| tuner != "auto") {
        let (mut better, mut surely, mut worse, mut count) = (0, 0, 0, 0);
        for space in spaces {
            let (ours, theirs) = (score("auto", space), score(other, space));
            if ours.len() < 2 || theirs.len() < 2 {
                continue;
            }
            let ((a, ha), (b, hb)) = (interval(&ours), interval(&theirs));
            let half = ha.hypot(hb);
            count += 1;
            better += usize::from(a > b);
            surely += usize::from(a - b > half);
            worse += usize::from(b - a > half);
        }
        if count > 0 {
            println!("  {other:<22} better on {better} of {count} (surely {surely}), surely worse on {worse}");
        }
    }
}

/// Overhead on the largest space, and memory.
pub fn print_cost(spaces: &[Replay], seeds: u64) {
    let Some(largest) = spaces.iter().max_by_key(|space| space.size()) else { return };
    println!("\n== cost on {} ({} legal configurations), 200 measurements", largest.name, largest.size());
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        let goal = match algorithm {
            Algorithm::Genetic => "10",
            Algorithm::Bayesian | Algorithm::Auto => "500",
            _ => "",
        };
        let times: Vec<f64> =
            (0..seeds.min(10)).map(|seed| run::run(largest, name, algorithm, seed).overhead_us).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let (mean, _) = interval(&times);
        println!("  {name:<12} mean {mean:>7.1} us, least {least:>7.1} us a measurement   (goal: {goal})");
    }
    let before = resident();
    let searches: Vec<_> = (0..8).map(|seed| asked(largest, seed)).collect();
    let bytes = resident().saturating_sub(before) as f64 / searches.len() as f64;
    let cells = run::cells(largest) as f64;
    println!("  auto keeps {:.1} bytes a legal configuration and parameter (goal: 64)", bytes / cells);
}

/// A search that has done its 200 measurements.
fn asked(space: &Replay, seed: u64) -> Search<&(dyn Domain + Send)> {
    use aoe::search::Outcome;
    let domain: &(dyn Domain + Send) = &*space.domain;
    let settings = Settings { seed, max_trials: MARKS[3], ..Settings::default() };
    let mut search = Search::new(domain, settings).expect("the benchmark's settings are sound");
    while let Some(trial) = search.ask() {
        let outcome = space.measure(&trial.configuration).map_or(Outcome::Failed, Outcome::Cost);
        search.tell(trial.id, outcome).expect("the trial is out");
    }
    search
}

/// Bytes of this process in memory; 0 where the system does not say.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|kb| kb.trim().parse::<usize>().ok()).unwrap_or(0) * 1024
}
