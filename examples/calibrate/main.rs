//! Fits the simulator's constants to measured kernels: `cargo run --release --example calibrate -- FOLDER`.
//!
//! Only rows on the fitting side of the split count; the search is deterministic. Prints every constant
//! that it would change, to be written into `crates/simulator/src/sim/constants.rs` by hand. With `--intervals` it leaves the constants as
//! they are and prints the intervals alone; with `--gate` what 20 random rows of a network teach `aoe calibrate`; with `--records` it fits the rates of repositories' convolutions, for
//! `crates/simulator/src/sim/record/fitted.rs`; with `--leave-out` how far each network is off when the constants are fitted to the
//! other networks. `--group=TEXT` fits only the groups whose names hold the text.

#[path = "../../benches/accuracy/data.rs"]
#[allow(dead_code, reason = "accuracy needs more of it")]
mod data;
mod gate;
mod leave_out;
mod records;

use aoe::sim::constants::Origin;
use aoe::sim::interval::{self, Interval, Kernel, Part};
use aoe::sim::{Cache, Constants};
use data::{Assumed, Class, Row};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Errors far below this count by their square, far above by their size.
const SOFT: f64 = 0.1;
/// Fewest rows of an interval of what bounds them.
const FEWEST: usize = 40;
/// Intervals of them that are wider say nothing.
const WIDEST: f64 = 12.0;
/// An interval reaches to these at least.
const NEAREST: [f64; 2] = [0.95, 1.05];
/// Leaves the constants as they are.
const INTERVALS: &str = "--intervals";
/// Shows what 20 rows of a network teach instead.
const GATE: &str = "--gate";
/// Fits the rates of convolutions with a repository's tiling instead.
const RECORDS: &str = "--records";
/// Fits to all networks but one instead, and prices that one.
const LEAVE_OUT: &str = "--leave-out";
/// Fits only groups whose names hold what follows.
const ONLY: &str = "--group=";
/// Cores that may read one panel without a wait.
const READERS: u64 = 6;
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
    // From where the gap between kernels, which these times hold, no longer counts. Products of
    // the bank tell what cores that read one panel cost each other where operands are fractals.
    Group {
        name: "linear layers",
        origin: Origin::fit_linear,
        sees: |r| {
            r.set == "mm_bf16_910b_24core" && r.measured_us >= 20.0
                || r.set == "matmul_910b2" && r.trusted && has_many_readers(r)
        },
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
    Group { name: "training steps", origin: Origin::fit_trace, sees: |r| r.set.starts_with("trace_") },
    Group {
        name: "cold kernels",
        origin: Origin::fit_cold,
        sees: |r| {
            !matches!(r.class, Class::Cube | Class::Attention)
                && r.job.as_ref().is_ok_and(|job| job.cache == Some(Cache::Cold))
        },
    },
];

/// Whether more cores than wait for nothing read one panel of a product with its tiling.
fn has_many_readers(row: &Row) -> bool {
    let cores = &row.case["schedule"]["cores"];
    ["m", "n"].iter().any(|axis| cores[axis].as_u64().is_some_and(|cores| cores > READERS))
}

fn main() {
    let is_given = |name: &str| std::env::args().any(|arg| arg == name);
    let only = std::env::args().find_map(|arg| arg.strip_prefix(ONLY).map(str::to_owned)).unwrap_or_default();
    let is_option = |arg: &str| [INTERVALS, RECORDS, GATE, LEAVE_OUT].contains(&arg) || arg.starts_with(ONLY);
    let args = std::env::args().skip(1).filter(|arg| !is_option(arg));
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
    if is_given(LEAVE_OUT) {
        return leave_out::run(&rows);
    }
    let mut constants = Constants::FITTED;
    for group in GROUPS.iter().filter(|group| !is_given(INTERVALS) && group.name.contains(&only)) {
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

/// A row that the fit did not see and that is judged, with what tells how sure its time is.
fn unseen<'a>(rows: &'a [Row], constants: &Constants) -> Vec<(&'a Row, Kernel, f64)> {
    let of = |row: &'a Row| {
        let (job, prediction) = (row.job.as_ref().ok()?, row.price(constants).ok()?);
        let kernel = Kernel::of(&job.workload, job.class(), &prediction, job.is_apart());
        Some((row, kernel, row.measured_us / prediction.time_us))
    };
    rows.iter().filter(|row| row.held_out && row.is_judged()).filter_map(of).collect()
}

/// Prints of each set how many of the rows that the fit did not see lie in today's interval, and its median width.
fn coverage(rows: &[Row], constants: &Constants) {
    let mut sets: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    for (row, kernel, ratio) in unseen(rows, constants) {
        let interval = Interval::of(&kernel, &row.soc);
        let set = sets.entry(row.set.as_str()).or_default();
        set.0 += usize::from((interval.low..=interval.high).contains(&ratio));
        set.1.push(interval.high / interval.low);
    }
    for (set, (held, mut widths)) in sets {
        widths.sort_by(f64::total_cmp);
        let share = 100.0 * held as f64 / widths.len() as f64;
        println!("{set:24} {share:5.1} % of {} rows, median width {:.2}", widths.len(), widths[widths.len() / 2]);
    }
}

/// Prints the cells of `crates/simulator/src/sim/interval/cells.rs`, of rows that the fit did not see; what is alone, by
/// class alone.
fn intervals(rows: &[Row], constants: &Constants) {
    let mut classes: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    let mut bounds: BTreeMap<_, [Vec<f64>; 2]> = BTreeMap::new();
    for (row, kernel, ratio) in unseen(rows, constants) {
        let part = Part::of(&row.soc);
        // Of what is alone there are too few for each part.
        classes.entry((kernel.class, (!kernel.alone).then_some(part))).or_default().push(ratio);
        if !kernel.alone {
            // The true extents of the 310P's products tell nothing beside its tile in UB.
            let even = (kernel.class == interval::Class::TbeProduct && part != Part::M200).then_some(kernel.even);
            let key = (kernel.class, part, format!("{:?}", kernel.bound), even);
            bounds.entry(key).or_default()[usize::from(kernel.one_pipe)].push(ratio);
        }
    }
    let told = |of: &Interval| of.high < WIDEST * of.low;
    let ends = |Interval { low, high }: Interval| {
        let low = ((low * 100.0).floor() / 100.0).min(NEAREST[0]);
        format!("{low:.2}, {:.2}", ((high * 100.0).ceil() / 100.0).max(NEAREST[1]))
    };
    for ((class, part), mut ratios) in classes {
        match (Interval::conformal(&mut ratios).filter(told), part) {
            (Some(interval), Some(part)) => println!("all(Class::{class:?}, Part::{part:?}, {}),", ends(interval)),
            (Some(interval), None) => println!("// alone: Class::{class:?}, {}", ends(interval)),
            (None, _) => {}
        }
    }
    let interval = |ratios: &mut Vec<f64>| {
        let found = Interval::conformal(ratios).filter(told);
        found.filter(|_| ratios.len() >= FEWEST)
    };
    for ((class, part, bound, even), mut halves) in bounds {
        let cell = |one_pipe: Option<bool>, interval: Interval| {
            let of = [even, one_pipe];
            println!("cell(Class::{class:?}, Part::{part:?}, Bound::{bound}, {of:?}, {}),", ends(interval));
        };
        let all = interval(&mut halves.concat());
        let width = |of: Interval| (of.high / of.low).ln();
        let [several, one] = &mut halves;
        // Cut in two where that makes the intervals of most kernels narrower, and of all on the mean.
        let counts = [several.len(), one.len()].map(|count| count as f64);
        let narrower = |[several, one]: [f64; 2], all: f64| {
            let mean = (counts[0] * several + counts[1] * one) / (counts[0] + counts[1]);
            mean < all && if counts[0] > counts[1] { several < all } else { one < all }
        };
        match (interval(several), interval(one), all) {
            (Some(several), Some(one), all)
                if all.is_none_or(|all| narrower([several, one].map(width), width(all))) =>
            {
                cell(Some(false), several);
                cell(Some(true), one);
            }
            (.., Some(all)) => cell(None, all),
            _ => {}
        }
    }
}

fn usage(error: &str) -> ! {
    eprintln!(
        "calibrate: {error}\nusage: calibrate FOLDER [--intervals | --records | --gate | --leave-out | --group=TEXT] [--soc NAME] [--set [SOC:]FIELD=VALUE]..."
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
