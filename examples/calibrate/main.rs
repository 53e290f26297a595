//! Fits the simulator's constants to measured kernels: `cargo run --release --example calibrate -- FOLDER`.
//!
//! Only rows on the fitting side of the split count; the search is deterministic. Prints every constant
//! that it would change, to be written into `crates/simulator/src/sim/constants.rs` by hand. With `--intervals` it leaves the constants as
//! they are and prints the intervals alone; with `--gate` what 20 random rows of a network teach `aoe calibrate`; with `--records` it fits the rates of repositories' convolutions, for
//! `crates/simulator/src/sim/record/fitted.rs`.

#[path = "../../benches/accuracy/data.rs"]
#[allow(dead_code, reason = "accuracy needs more of it")]
mod data;
mod gate;
mod records;

use aoe::sim::constants::Origin;
use aoe::sim::interval::Interval;
use aoe::sim::{Cache, Constants};
use data::{Assumed, Class, Row};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Errors far below this count by their square, far above by their size.
const SOFT: f64 = 0.1;
/// Kernels that are their start for the most part take less, in microseconds.
const SHORT_US: f64 = 5.0;
/// Leaves the constants as they are.
const INTERVALS: &str = "--intervals";
/// Shows what 20 rows of a network teach instead.
const GATE: &str = "--gate";
/// Fits the rates of convolutions with a repository's tiling instead.
const RECORDS: &str = "--records";
/// Steps that the search tries, as factors, coarse to fine.
const STEPS: [f64; 6] = [1.6, 1.25, 1.1, 1.05, 1.02, 1.01];

/// A group of constants and the rows that tell them.
struct Group {
    name: &'static str,
    origin: Origin,
    sees: fn(&Row) -> bool,
}

const GROUPS: [Group; 11] = [
    Group { name: "910B2 bank", origin: Origin::fit_cube, sees: |r| r.set == "matmul_910b2" && r.trusted },
    Group {
        name: "910 vector kernels",
        origin: Origin::fit_910_vector,
        sees: |r| r.set == data::NETWORKS && r.class != Class::Cube,
    },
    Group { name: "310P products", origin: Origin::fit_310p, sees: |r| r.set == "matmul_310p3" },
    Group {
        name: "910 cube kernels",
        origin: Origin::fit_910_cube,
        sees: |r| r.set == data::NETWORKS && r.class == Class::Cube,
    },
    // From where the gap between kernels, which these times hold, no longer counts.
    Group {
        name: "linear layers",
        origin: Origin::fit_linear,
        sees: |r| r.set == "mm_bf16_910b_24core" && r.measured_us >= 20.0,
    },
    Group {
        name: "quantised linear layers",
        origin: Origin::fit_quant,
        sees: |r| r.set == "w8a8_910b_24core" && r.measured_us >= 100.0,
    },
    Group {
        name: "attention",
        origin: Origin::fit_attention,
        sees: |r| r.set == "fia_910b_24core" && r.measured_us >= 100.0,
    },
    Group {
        name: "attention alone",
        origin: Origin::fit_alone,
        sees: |r| r.class == Class::Attention && r.job.as_ref().is_ok_and(|job| job.cache == Some(Cache::Cold)),
    },
    Group { name: "operators of the 310", origin: Origin::fit_310, sees: |r| r.set == "kernels_310" },
    Group { name: "20-core trace", origin: Origin::fit_trace, sees: |r| r.set == "trace_20core_1650mhz" },
    Group {
        name: "cold kernels",
        origin: Origin::fit_cold,
        sees: |r| {
            !matches!(r.class, Class::Cube | Class::Attention)
                && r.job.as_ref().is_ok_and(|job| job.cache == Some(Cache::Cold))
        },
    },
];

fn main() {
    let is_given = |name: &str| std::env::args().any(|arg| arg == name);
    let args = std::env::args().skip(1).filter(|arg| ![INTERVALS, RECORDS, GATE].contains(&arg.as_str()));
    let (assumed, folder) = match Assumed::parse(args) {
        Ok((assumed, rest)) if rest.len() == 1 => (assumed, PathBuf::from(&rest[0])),
        Ok(_) => usage("one folder is needed"),
        Err(error) => usage(&error),
    };
    let rows = match data::load(&folder, &assumed) {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("calibrate: {error}");
            std::process::exit(1);
        }
    };
    if is_given(RECORDS) {
        return records::run(&rows);
    }
    if is_given(GATE) {
        return gate::run(&rows);
    }
    let mut constants = Constants::FITTED;
    for group in GROUPS.iter().filter(|_| !is_given(INTERVALS)) {
        let seen: Vec<&Row> = rows.iter().filter(|r| !r.held_out && r.job.is_ok() && (group.sees)(r)).collect();
        let weights = weights(&seen);
        let before = loss(&seen, &weights, &constants);
        fit(group.origin, &seen, &weights, &mut constants);
        println!("{}: {} rows, loss {before:.5} -> {:.5}", group.name, seen.len(), loss(&seen, &weights, &constants));
        for entry in Constants::ALL.iter().filter(|e| e.origin == group.origin) {
            let (old, new) = (value(&Constants::FITTED, entry.name), value(&constants, entry.name));
            let mark = if (old - new).abs() > 1e-9 * old.abs() { "  changed" } else { "" };
            println!("  {:24} {old:>12.5} -> {new:>12.5}{mark}", entry.name);
        }
    }
    intervals(&rows, &constants);
    coverage(&rows, &constants);
}

/// Prints of each set how many of the rows that the fit did not see lie in today's interval, and its median width.
fn coverage(rows: &[Row], constants: &Constants) {
    let mut sets: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.held_out) {
        if let (Ok(job), Ok(prediction)) = (&row.job, row.price(constants)) {
            let interval = Interval::of(job.class(), &row.soc, prediction.time_us, job.cache.is_some());
            let [low, high] = interval.around(prediction.time_us);
            let set = sets.entry(row.set.as_str()).or_default();
            set.0 += usize::from((low..=high).contains(&row.measured_us));
            set.1.push(interval.high / interval.low);
        }
    }
    for (set, (held, mut widths)) in sets {
        widths.sort_by(f64::total_cmp);
        let share = 100.0 * held as f64 / widths.len() as f64;
        println!("{set:24} {share:5.1} % of {} rows, median width {:.2}", widths.len(), widths[widths.len() / 2]);
    }
}

/// Prints, class by class, the interval that holds nine of ten ratios of measured to predicted time of rows that the fit
/// did not see: what `crates/simulator/src/sim/interval.rs` holds.
fn intervals(rows: &[Row], constants: &Constants) {
    let mut ratios: BTreeMap<(&str, String, bool, bool), Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.held_out) {
        if let (Ok(job), Ok(prediction)) = (&row.job, row.price(constants)) {
            let class = job.class().name();
            let part = format!("{:?} {}", row.soc.arch, row.soc.ai_core_cnt);
            let key = (class, part, job.cache.is_some(), prediction.time_us < SHORT_US);
            ratios.entry(key).or_default().push(row.measured_us / prediction.time_us);
        }
    }
    for ((class, part, alone, short), mut ratios) in ratios {
        let where_from = if alone { "alone" } else { "network" };
        let length = if short { "short" } else { "long" };
        match Interval::conformal(&mut ratios) {
            Some(Interval { low, high }) => {
                println!("{class:14} {part:8} {where_from:8} {length:6} {low:.2} {high:.2}, {} rows", ratios.len());
            }
            None => println!("{class:14} {part:8} {where_from:8} {length:6} only {} rows", ratios.len()),
        }
    }
}

fn usage(error: &str) -> ! {
    eprintln!(
        "calibrate: {error}\nusage: calibrate FOLDER [--intervals | --records | --gate] [--soc NAME] [--set [SOC:]FIELD=VALUE]..."
    );
    std::process::exit(2);
}

fn value(constants: &Constants, name: &str) -> f64 {
    constants.get(name).unwrap_or(f64::NAN)
}

/// Half of the weight goes to rows alike, half by their share of a network's time.
fn weights(rows: &[&Row]) -> Vec<f64> {
    let network: f64 = rows.iter().filter(|r| r.network.is_some()).map(|r| r.count * r.measured_us).sum();
    let share = |r: &Row| if network > 0.0 { r.count * r.measured_us / network } else { 1.0 / rows.len() as f64 };
    rows.iter().map(|r| 0.5 / rows.len() as f64 + 0.5 * share(r)).collect()
}

fn loss(rows: &[&Row], weights: &[f64], constants: &Constants) -> f64 {
    let error = |r: &Row| match r.price(constants) {
        Ok(prediction) => {
            let log = (prediction.time_us / r.measured_us).ln();
            // Grows like the logarithm far out: rows that no model explains must not pull.
            SOFT * SOFT * (1.0 + log * log / (SOFT * SOFT)).ln()
        }
        Err(_) => 1.0,
    };
    rows.iter().zip(weights).map(|(r, w)| w * error(r)).sum()
}

/// Coordinate search: each constant in turn is moved by a factor while that helps.
fn fit(origin: Origin, rows: &[&Row], weights: &[f64], constants: &mut Constants) {
    let mut best = loss(rows, weights, constants);
    for step in STEPS {
        for _ in 0..6 {
            let start = best;
            for entry in Constants::ALL.iter().filter(|e| e.origin == origin) {
                for factor in [step, 1.0 / step] {
                    loop {
                        let old = value(constants, entry.name);
                        let moved = if old == 0.0 { step - 1.0 } else { old * factor };
                        let new = moved.clamp(entry.range[0], entry.range[1]);
                        constants.set(entry.name, new);
                        let tried = loss(rows, weights, constants);
                        if tried < best - 1e-9 {
                            best = tried;
                        } else {
                            constants.set(entry.name, old);
                            break;
                        }
                    }
                }
            }
            if best > start - 1e-7 {
                break;
            }
        }
    }
}
