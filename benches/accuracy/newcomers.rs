//! Operator types as if nobody had measured them: what each would lose that has a setup of its own.

use super::Priced;
use super::data::{Class, Row};
use aoe::sim::setups_us;
use std::collections::BTreeMap;

/// Prints, for each type with a setup of its own, its mean absolute error with that, with what an unknown type gets, and with
/// none. A setup is added to all else, so nothing has to be priced again.
pub fn print(all: &[(&Row, Option<Priced>)]) {
    let mut types: BTreeMap<(&str, &str), Vec<[f64; 3]>> = BTreeMap::new();
    for (row, priced) in all {
        let (Some((_, prediction)), true) = (priced, row.set.starts_with("kernels_cold")) else { continue };
        let Some([own, shared]) = setups_us(&row.op, &row.soc) else { continue };
        if own == 0.0 || !matches!(row.class, Class::Vector | Class::Movement) {
            continue;
        }
        let error = |setup: f64| ((prediction.time_us - own + setup) / row.measured_us - 1.0).abs() * 100.0;
        types.entry((&row.set, &row.op)).or_default().push([own, shared, 0.0].map(error));
    }
    println!(
        "== operator types as newcomers: mean absolute error in % with their own setup, with that of a type that nobody"
    );
    println!("   measured, and with none");
    let mut sets: BTreeMap<&str, Vec<[f64; 3]>> = BTreeMap::new();
    for ((set, op), errors) in &types {
        let mean = mean(errors);
        println!("  {set:20} {op:24} {:5.1} {:5.1} {:5.1}   {} rows", mean[0], mean[1], mean[2], errors.len());
        sets.entry(set).or_default().push(mean);
    }
    for (set, errors) in &sets {
        let mean = mean(errors);
        println!(
            "  {set:20} {:24} {:5.1} {:5.1} {:5.1}   {} types",
            "mean of types",
            mean[0],
            mean[1],
            mean[2],
            errors.len()
        );
    }
}

fn mean(errors: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|i| errors.iter().map(|e| e[i]).sum::<f64>() / errors.len() as f64)
}
