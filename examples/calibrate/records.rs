//! Fits the rates of convolutions with a repository's tiling: `calibrate FOLDER --records`.
//!
//! It begins at numbers that are the same for every kernel and part, so that nothing but the rows it may see tells them
//! apart: first what a kind of part has in common, then kernel by kernel, drawn to that where rows are few.

use crate::data::Row;
use aoe::sim::record::{KERNELS, PARTS, Rates, Shared, Table, place, price_with};
use std::fmt::Write as _;

/// Steps that the search tries, as factors, coarse to fine.
const STEPS: [f64; 6] = [2.0, 1.4, 1.2, 1.1, 1.05, 1.02];
/// Rounds of kernels and what they share, one after the other.
const ROUNDS: usize = 8;
/// How strongly a kernel's rates are drawn to those of its part: the error that one row would have to lose for a rate to
/// move by a factor of e.
const DRAW: f64 = 0.5;
/// Where the search begins.
const NEUTRAL: Rates =
    Rates { start: 1.0, core: 0.05, gm: 200.0, memory: 1.5, out: 60.0, even: 1.0, odd: 1.0, plain: 1.0, spread: 200.0 };
const NEUTRAL_SHARED: Shared = Shared {
    load_cycles: 15.0,
    transfer_cycles: 50.0,
    tile_cycles: 50.0,
    sum_rate: 128.0,
    bias_rate: 128.0,
    spread_cycles: 50.0,
    overlap: 2.0,
    single_buffer: 0.2,
    fused_share: 0.5,
    added_share: 0.5,
};

/// A row, and the places of its part and kernel.
type Placed<'a> = ([usize; 2], &'a Row);

/// Prints the rates as `crates/simulator/src/sim/record/fitted.rs` holds them.
pub fn run(rows: &[Row]) {
    let seen: Vec<Placed> = rows
        .iter()
        .filter(|row| !row.held_out)
        .filter_map(|row| Some((place(row.job.as_ref().ok()?.record.as_ref()?, &row.soc)?.0, row)))
        .collect();
    let mut table = Table { shared: NEUTRAL_SHARED, parts: [[NEUTRAL; KERNELS.len()]; PARTS.len()] };
    // What a part has in common.
    for _ in 0..ROUNDS {
        for part in 0..PARTS.len() {
            let own = of(&seen, |at| at[0] == part);
            let rates = table.parts[part][0];
            let best = search(rates, Rates::RANGES, Rates::numbers, |rates| {
                table.parts[part] = [*rates; KERNELS.len()];
                loss(&own, &table)
            });
            table.parts[part] = [best; KERNELS.len()];
        }
        share(&mut table, &seen);
    }
    let common = table.parts.map(|kernels| kernels[0]);
    for _ in 0..ROUNDS {
        for (part, common) in common.iter().enumerate() {
            for kernel in 0..KERNELS.len() {
                let own = of(&seen, |at| at == [part, kernel]);
                let rates = table.parts[part][kernel];
                table.parts[part][kernel] = search(rates, Rates::RANGES, Rates::numbers, |rates| {
                    table.parts[part][kernel] = *rates;
                    loss(&own, &table) + DRAW * distance(*rates, *common)
                });
            }
        }
        share(&mut table, &seen);
    }
    for (name, table) in [("before", &Table::FITTED), ("after", &table)] {
        judge(name, rows, table);
    }
    println!("records: {} rows, mean loss {:.4}\n{}", seen.len(), loss(&seen, &table) / seen.len() as f64, text(table));
}

fn of<'a>(rows: &[Placed<'a>], only: impl Fn([usize; 2]) -> bool) -> Vec<Placed<'a>> {
    rows.iter().filter(|(at, _)| only(*at)).copied().collect()
}

fn share(table: &mut Table, rows: &[Placed]) {
    table.shared = search(table.shared, Shared::RANGES, Shared::numbers, |shared| {
        table.shared = *shared;
        loss(rows, table)
    });
}

/// Sum of errors: up to twice or half by their size, which is what the table of `docs/simulator.md` has; rows that no model
/// explains count by the logarithm of theirs.
fn loss(rows: &[Placed], table: &Table) -> f64 {
    rows.iter().filter_map(|(_, row)| Some(wrong(row.judged(price(row, table)?) / row.measured_us))).sum()
}

fn price(row: &Row, table: &Table) -> Option<f64> {
    let record = row.job.as_ref().ok()?.record.as_ref()?;
    price_with(record, &row.soc, table).ok().map(|prediction| prediction.time_us)
}

/// Prints the mean absolute error of each part's rows, of those that the fit saw and of the others.
fn judge(name: &str, rows: &[Row], table: &Table) {
    for (part, what) in PARTS.iter().enumerate() {
        let mean = |held_out: bool| {
            let own = rows.iter().filter(|row| row.held_out == held_out).filter_map(|row| {
                let record = row.job.as_ref().ok()?.record.as_ref()?;
                let us = (place(record, &row.soc)?.0[0] == part).then(|| price(row, table))??;
                Some((row.judged(us) / row.measured_us - 1.0).abs())
            });
            let errors: Vec<f64> = own.collect();
            100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64
        };
        println!("{name}: {what}: {:.1} % seen, {:.1} % held out", mean(false), mean(true));
    }
}

fn wrong(ratio: f64) -> f64 {
    let off = (ratio - 1.0).abs();
    if off <= 1.0 { off } else { 1.0 + off.ln() }
}

fn distance(mut one: Rates, mut other: Rates) -> f64 {
    one.numbers().iter().zip(other.numbers()).map(|(a, b)| (**a / *b).ln().powi(2)).sum()
}

/// Coordinate search: each number in turn is moved by a factor while that helps.
fn search<T: Copy>(
    from: T,
    ranges: &[[f64; 2]],
    numbers: fn(&mut T) -> Vec<&mut f64>,
    mut loss: impl FnMut(&T) -> f64,
) -> T {
    let (mut best, mut least) = (from, loss(&from));
    for step in STEPS {
        for _ in 0..4 {
            let start = least;
            for (at, [low, high]) in ranges.iter().enumerate() {
                for factor in [step, 1.0 / step] {
                    loop {
                        let mut tried = best;
                        let mut places = numbers(&mut tried);
                        let number = &mut *places[at];
                        *number = (*number * factor).clamp(*low, *high);
                        let new = loss(&tried);
                        if new >= least - 1e-9 {
                            break;
                        }
                        (best, least) = (tried, new);
                    }
                }
            }
            if least > start * (1.0 - 1e-4) {
                break;
            }
        }
    }
    best
}

fn text(mut table: Table) -> String {
    let mut text = String::from("shared:");
    for (name, number) in Shared::NAMES.iter().zip(table.shared.numbers()) {
        let _ = write!(text, " {name}: {},", written(*number));
    }
    for (part, kernels) in PARTS.iter().zip(&mut table.parts) {
        let _ = write!(text, "\n// {part}");
        for (kernel, rates) in KERNELS.iter().zip(kernels) {
            let numbers: Vec<String> = rates.numbers().into_iter().map(|number| written(*number)).collect();
            let _ = write!(text, "\nof([{}]), // {kernel}", numbers.join(", "));
        }
    }
    text
}

/// Three digits that count.
fn written(number: f64) -> String {
    let digits = 10.0_f64.powi(2 - number.abs().max(1e-9).log10().floor() as i32);
    format!("{:?}", (number * digits).round() / digits)
}
