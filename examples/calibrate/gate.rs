//! What `aoe calibrate` makes of 20 random rows of a network: `calibrate FOLDER --gate`. Rows of networks are learned from and
//! priced as a profile's are: products with their weights in device memory.
//!
//! Of each network, and of each set that is none, rows are drawn, a calibration is learned from them as from a profile, and
//! the others are priced with it and without. Rows are drawn twice over: kernels, each of which counts once, and launches,
//! as a profile has them, where a kernel that runs often is drawn more than once. Launches of one kernel take the mean that
//! the set has of them: single ones are not published.

use crate::data::Row;
use aoe::kernels::{Profile, Seen, calibrate_profile, in_network};
use aoe::sim::Constants;
use aoe::simulate::{Job, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rows that are drawn.
const DRAWN: usize = 20;
/// Draws of each network.
const DRAWS: u64 = 20;
/// Share of the error that is to remain at most.
const GOAL: f64 = 2.0 / 3.0;
/// What a row has that a profile does not tell of a kernel.
const OURS: [&str; 10] =
    ["id", "soc", "measured", "measured_us", "count", "network", "source", "spread", "variation", "attrs"];

/// A row of a network, as a profile would show it.
struct Launched<'a> {
    row: &'a Row,
    case: Value,
    job: Job,
}

/// Numbers from 0 to 1 that look random and are the same every time.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// Prints the error before and after, network by network.
pub fn run(rows: &[Row]) {
    let mut networks: BTreeMap<(&str, &str, &str), Vec<&Row>> = BTreeMap::new();
    // A kernel that was measured with another is no row of a profile.
    for row in rows.iter().filter(|row| row.before.is_none() && row.price(&Constants::FITTED).is_ok()) {
        let key = (row.set.as_str(), row.network.as_deref().unwrap_or("-"), row.soc.name.as_str());
        networks.entry(key).or_default().push(row);
    }
    for ((set, network, _), rows) in &networks {
        // Sets of single kernels have each once.
        let is_network = rows.iter().any(|row| row.count > 1.0);
        let rows: Vec<Launched<'_>> = rows.iter().filter_map(|row| launched(row, is_network)).collect();
        for (what, weight) in [("kernels", (|_| 1) as fn(&Row) -> u64), ("launches", |row| row.count as u64)] {
            let weights: Vec<u64> = rows.iter().map(|launched| weight(launched.row)).collect();
            let all = weights.iter().sum::<u64>();
            if all < 2 * DRAWN as u64 || what == "launches" && all == rows.len() as u64 {
                continue;
            }
            let tried: Vec<[f64; 4]> = (1..=DRAWS).map(|seed| one(&rows, &weights, seed)).collect();
            let mean = |at: usize| tried.iter().map(|of| of[at]).sum::<f64>() / DRAWS as f64;
            let verdict = if mean(1) <= GOAL * mean(0) { "falls by a third" } else { "-" };
            let [before, after, refused, least] = [0, 1, 2, 3].map(|at| 100.0 * mean(at));
            println!(
                "{set:22} {network:22} {what:8} {before:6.1} % {after:6.1} %  left {:4.2}, at best {:4.2}, refused {refused:3.0} %  \
                 {verdict}",
                after / before,
                least / before
            );
        }
    }
}

/// Mean errors of the rows that were not drawn, before and after; whether the calibration was refused; and what error the
/// rows that were drawn could leave at best.
fn one(rows: &[Launched<'_>], weights: &[u64], seed: u64) -> [f64; 4] {
    let (mut draws, mut left) = (Draws(seed), weights.to_vec());
    let mut drawn = vec![0; rows.len()];
    for _ in 0..DRAWN {
        let mut place = (draws.next() * left.iter().sum::<u64>() as f64) as u64;
        let at = left.iter().position(|&of| {
            let found = place < of;
            place = place.saturating_sub(of);
            found
        });
        let at = at.unwrap_or(rows.len() - 1);
        left[at] = left[at].saturating_sub(1);
        drawn[at] += 1;
    }
    let seen = rows.iter().zip(&drawn).filter(|(_, count)| **count > 0).map(|(row, count)| seen(row, *count));
    let profile = Profile { kernels: seen.collect(), ..Profile::default() };
    let part = &rows[0].row.soc;
    let calibration = calibrate_profile(&profile, part);
    let mut soc = part.clone();
    let refused = calibration.is_err();
    if let Ok(calibration) = calibration {
        soc.corrections = calibration.corrections(PathBuf::from("gate"), &soc).ok();
    }
    let error = |soc: &aoe::soc::Soc| {
        let mut sum = 0.0;
        for (Launched { row, job, .. }, weight) in rows.iter().zip(&left).filter(|(_, weight)| **weight > 0) {
            let priced = job.predict(soc, &Constants::FITTED).ok();
            sum += priced.map_or(0.0, |p| (row.judged(p.time_us) / row.measured_us - 1.0).abs()) * *weight as f64;
        }
        sum / left.iter().sum::<u64>().max(1) as f64
    };
    [error(part), error(&soc), f64::from(u8::from(refused)), least(rows, &left, &drawn)]
}

/// Mean error of the rows that were not drawn if kernels that were drawn are known exactly, and of all others each type's
/// factor is the best that there is for these very rows. No calibration by factors can leave less.
fn least(rows: &[Launched<'_>], left: &[u64], drawn: &[u64]) -> f64 {
    // Predicted over measured time, and the launches that have it.
    let mut types: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for ((Launched { row, job, .. }, weight), drawn) in rows.iter().zip(left).zip(drawn) {
        let priced = job.predict(&row.soc, &Constants::FITTED).ok();
        if let (Some(prediction), 0, 1..) = (priced, *drawn, *weight) {
            let ratio = row.judged(prediction.time_us) / row.measured_us;
            types.entry(&row.op).or_default().push((ratio, *weight as f64));
        }
    }
    let errors: f64 = types.values().map(|ratios| least_of(ratios)).sum();
    errors / left.iter().sum::<u64>().max(1) as f64
}

/// Least sum of errors that one factor leaves of these ratios: that of one of them, as the sum bends nowhere else.
fn least_of(ratios: &[(f64, f64)]) -> f64 {
    let sum = |factor: f64| ratios.iter().map(|(ratio, weight)| weight * (factor * ratio - 1.0).abs()).sum::<f64>();
    ratios.iter().map(|(ratio, _)| sum(1.0 / ratio)).fold(f64::INFINITY, f64::min)
}

/// A row as a profile would show it; `None` where it cannot be priced so.
fn launched(row: &Row, is_network: bool) -> Option<Launched<'_>> {
    let mut case = row.case.clone();
    if let Some(fields) = case.as_object_mut() {
        for name in OURS {
            fields.remove(name);
        }
    }
    if is_network {
        case = in_network(case, row.soc.l2_size);
    }
    let job = read(&case.to_string(), &row.soc).ok()?;
    Some(Launched { row, case, job })
}

/// So many launches of it.
fn seen(launched: &Launched<'_>, count: u64) -> Seen {
    let us = |launches: u64| launches as f64 * launched.row.measured_us;
    let (op, case, seconds) = (launched.row.op.clone(), launched.case.clone(), count / 2);
    Seen { op, case, count, us: us(count), seconds, second_us: us(seconds), spread: 1.0 }
}
