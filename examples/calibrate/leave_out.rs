//! What the constants of the first 910 are worth on a network that they were not fitted to: each network in turn is left
//! out whole, the constants are fitted to the others, and it is priced.

use super::data::{self, Class, Row};
use super::{Group, fit, weights};
use aoe::sim::Constants;
use aoe::sim::constants::Origin;
use std::collections::BTreeSet;

/// Shorter kernels are their start for the most part.
const KERNEL_US: f64 = 5.0;

pub fn run(rows: &[Row]) {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.set == data::NETWORKS && row.job.is_ok()).collect();
    let networks: BTreeSet<&str> = rows.iter().filter_map(|row| row.network.as_deref()).collect();
    println!("{:24} {:>8} {:>24} {:>24}", "left out", "kernels", "cube, vector, total: %", "today's constants");
    for network in networks {
        let is_it = |row: &Row| row.network.as_deref() == Some(network);
        let mut constants = Constants::FITTED;
        for Group { origin, sees, .. } in super::GROUPS {
            if ![Origin::fit_910_cube, Origin::fit_910_vector].contains(&origin) {
                continue;
            }
            let others: Vec<&Row> = rows.iter().copied().filter(|row| !is_it(row) && sees(row)).collect();
            fit(origin, &others, &weights(&others), &mut constants);
        }
        let left: Vec<&Row> = rows.iter().copied().filter(|row| is_it(row)).collect();
        let [fitted, today] = [&constants, &Constants::FITTED].map(|constants| errors(&left, constants));
        println!("{network:24} {:>8} {fitted:>24} {today:>24}", left.len());
    }
}

/// Mean absolute errors of cube and vector kernels, and the error of the network's total, in percent.
fn errors(rows: &[&Row], constants: &Constants) -> String {
    let (mut errors, mut total) = ([Vec::new(), Vec::new()], [0.0; 2]);
    for row in rows {
        let Ok(prediction) = row.price(constants) else { continue };
        total[0] += row.count * row.measured_us;
        total[1] += row.count * prediction.time_us;
        if row.measured_us > KERNEL_US {
            errors[usize::from(row.class != Class::Cube)].push((prediction.time_us / row.measured_us - 1.0).abs());
        }
    }
    let [cube, vector] = errors.map(|of| match of.len() {
        0 => "-".to_owned(),
        count => format!("{:.1}", 100.0 * of.iter().sum::<f64>() / count as f64),
    });
    format!("{cube}, {vector}, {:+.1}", 100.0 * (total[1] / total[0] - 1.0))
}
