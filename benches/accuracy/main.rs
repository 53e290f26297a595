//! The simulator against measured kernels: `make accuracy DATA=folder`.
//!
//! Prints errors by set, SoC, operator class and decade of time, apart for the rows that fitting saw and
//! for those it did not, the pipes' busy shares, and totals of networks. No row is dropped: those that
//! cannot be priced are counted and named. Writes predictions and scatter plots.

mod data;
mod newcomers;
mod order;
mod pages;
mod plot;
mod score;
mod table;

use aoe::sim::{Constants, Prediction};
use data::{Assumed, Row};
use score::Score;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Kernels at least this long, in microseconds, are scored on their own: start and dispatch rule below.
const LONG_US: f64 = 5.0;

/// Most reasons for refusals that are named, by set.
const REASONS: usize = 8;

/// Pipes in the order of [`Row::pipes`].
const PIPES: [&str; 6] = ["mac", "mte1", "mte2", "fixpipe", "vec", "mte3"];

type Priced<'a> = (&'a Row, Prediction);

fn main() {
    // `cargo bench` adds a flag of its own.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let what = pages::What::of(&args);
    let args = args.into_iter().filter(|arg| !pages::What::is_option(arg));
    let (assumed, rest) = Assumed::parse(args).unwrap_or_else(|error| usage(&error));
    let folder = match rest.as_slice() {
        [folder] => PathBuf::from(folder),
        [] => {
            std::env::var_os("DATA").filter(|d| !d.is_empty()).map_or_else(|| usage("DATA is not set"), PathBuf::from)
        }
        _ => usage("one folder is enough"),
    };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../accuracy");
    if let Err(error) = run(&folder, &out, &assumed, what) {
        eprintln!("accuracy: {error}");
        std::process::exit(1);
    }
}

fn usage(error: &str) -> ! {
    eprintln!(
        "accuracy: {error}\nusage: make accuracy DATA=FOLDER\n   or: scripts/bench accuracy FOLDER [--soc NAME] \
         [--set [SOC:]FIELD=VALUE]... [--check-pages|--write-pages]\nFOLDER holds measured kernels, one JSON object a line, in .jsonl or .jsonl.gz files \
         (docs/simulate.md)"
    );
    std::process::exit(2);
}

fn run(folder: &Path, out: &Path, assumed: &Assumed, what: pages::What) -> Result<(), String> {
    let rows = data::load(folder, assumed)?;
    if rows.is_empty() {
        return Err(format!("{}: no measured kernels in its .jsonl files", folder.display()));
    }
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let mut sets: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        sets.entry(row.set.as_str()).or_default().push(row);
    }
    let mut all = Vec::new();
    for (set, rows) in &sets {
        all.extend(report(set, rows, out)?);
    }
    let lines = [table::lines(&all), order::of_pairs(&all), order::of_tuned(folder, assumed)?].concat();
    newcomers::print(&all);
    println!("== the table: mean absolute errors in %, with bias and rows");
    let page = table::page(&lines);
    println!("{}", page.join("\n"));
    pages::hold(&page, what)
}

/// Prints what is to be said of one set; answers its rows with their predictions.
fn report<'a>(set: &str, rows: &[&'a Row], out: &Path) -> Result<Vec<(&'a Row, Option<Priced<'a>>)>, String> {
    let mut priced: Vec<Priced<'a>> = Vec::new();
    let mut all: Vec<(&Row, Option<Priced>)> = Vec::new();
    let mut failures: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in rows {
        match row.price(&Constants::FITTED) {
            Ok(prediction) => {
                priced.push((row, prediction));
                all.push((row, Some((row, prediction))));
            }
            Err(reason) => {
                failures.entry(reason).or_default().push(&row.id);
                all.push((row, None));
            }
        }
    }
    println!("== {set}: {} rows, {} of them held out", rows.len(), rows.iter().filter(|r| r.held_out).count());
    for (reason, ids) in failures.iter().take(REASONS) {
        println!("   not priced: {} ({reason}), first {}", ids.len(), ids[0]);
    }
    if failures.len() > REASONS {
        let others: usize = failures.values().skip(REASONS).map(Vec::len).sum();
        println!("   not priced: {others} for {} other reasons", failures.len() - REASONS);
    }
    for held_out in [false, true] {
        let part: Vec<Priced> = priced.iter().filter(|(row, _)| row.held_out == held_out).copied().collect();
        if !part.is_empty() {
            println!("  {}", if held_out { "held out" } else { "seen by the fit" });
            classes(&part);
        }
    }
    pipes(&priced);
    networks(&priced);
    if !priced.is_empty() {
        write(set, &priced, out)?;
    }
    Ok(all)
}

/// Errors by SoC, by class, of the long kernels, and by decade of the measured time.
fn classes(rows: &[Priced]) {
    group(rows, |row| Some(format!("{} all", row.soc.name)));
    group(rows, |row| Some(format!("{} {}", row.soc.name, row.class.name())));
    group(rows, |row| (row.measured_us > LONG_US).then(|| format!("all over {LONG_US} us")));
    group(rows, |row| (row.measured_us > LONG_US).then(|| format!("{} over {LONG_US} us", row.class.name())));
    group(rows, |row| row.trusted.then(|| "products whose rows are surely aligned".to_owned()));
    group(rows, |row| {
        let decade = row.measured_us.log10().floor() as i32;
        Some(format!("from 1e{decade} us"))
    });
}

fn group(rows: &[Priced], key: impl Fn(&Row) -> Option<String>) {
    let mut groups: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (row, prediction) in rows {
        if let Some(name) = key(row) {
            groups.entry(name).or_default().push((row.measured_us, prediction.time_us));
        }
    }
    for (name, pairs) in groups {
        if let Some(score) = Score::of(&pairs) {
            println!("    {name:40} {score}");
        }
    }
}

/// Predicted busy shares, in the order of [`PIPES`].
fn shares(prediction: &Prediction) -> [f64; 6] {
    let p = prediction.pipes;
    [p.mac, p.mte1, p.mte2, p.fixpipe, p.vec, p.mte3]
}

/// Mean absolute difference of busy shares, over the pipes that the core has.
fn pipes(rows: &[Priced]) {
    let mut differences: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (row, prediction) in rows.iter().filter(|(row, _)| row.measured_us > LONG_US) {
        for ((name, measured), share) in PIPES.into_iter().zip(row.pipes.unwrap_or_default()).zip(shares(prediction)) {
            if let Some(measured) = measured {
                differences.entry(name).or_default().push((measured - share).abs());
            }
        }
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let all: Vec<f64> = differences.values().flatten().copied().collect();
    if !all.is_empty() {
        println!("  busy shares of pipes, kernels over {LONG_US} us: mean absolute error {:.3}", mean(&all));
        for (name, of) in &differences {
            println!("    {name:8} {:.3} of {} shares", mean(of), of.len());
        }
    }
}

/// Of each network: whether fitting did not see it, and its measured and predicted time, each kernel as often as it
/// runs.
fn totals<'a>(rows: &[Priced<'a>]) -> BTreeMap<&'a str, (bool, f64, f64)> {
    let mut totals: BTreeMap<&str, (bool, f64, f64)> = BTreeMap::new();
    for (row, prediction) in rows {
        if let Some(name) = &row.network {
            let total = totals.entry(name).or_insert((row.held_out, 0.0, 0.0));
            total.1 += row.count * row.measured_us;
            total.2 += row.count * prediction.time_us;
        }
    }
    totals
}

/// Prints the totals of networks that were priced whole.
fn networks(rows: &[Priced]) {
    let totals = totals(rows);
    for held_out in [false, true] {
        let part: Vec<_> = totals.iter().filter(|(_, total)| total.0 == held_out).collect();
        for (name, (_, measured, predicted)) in &part {
            println!(
                "  network {name:28} {measured:>10.0} us measured {predicted:>10.0} us predicted ({:+.1} %)",
                (predicted / measured - 1.0) * 100.0
            );
        }
        let errors: Vec<f64> =
            part.iter().map(|(_, (_, measured, predicted))| (predicted / measured - 1.0).abs()).collect();
        if !errors.is_empty() {
            let mean = errors.iter().sum::<f64>() / errors.len() as f64 * 100.0;
            println!(
                "  networks {}: mean absolute error {mean:.1} %",
                if held_out { "held out" } else { "seen by the fit" }
            );
        }
    }
}

fn write(set: &str, rows: &[Priced], out: &Path) -> Result<(), String> {
    let mut table = format!("id\top\tclass\theld_out\tmeasured_us\tpredicted_us\tbound\t{}\n", PIPES.join("\t"));
    for (row, p) in rows {
        let (id, op, class) = (&row.id, &row.op, row.class.name());
        let _ = write!(
            table,
            "{id}\t{op}\t{class}\t{}\t{}\t{:.4}\t{:?}",
            row.held_out, row.measured_us, p.time_us, p.bound
        );
        for share in shares(p) {
            let _ = write!(table, "\t{share:.4}");
        }
        table.push('\n');
    }
    let points: Vec<(&Row, f64)> = rows.iter().map(|(row, p)| (*row, p.time_us)).collect();
    for (name, text) in [(format!("{set}.tsv"), table), (format!("{set}.svg"), plot::scatter(set, &points))] {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("  wrote {}", path.display());
    }
    Ok(())
}
