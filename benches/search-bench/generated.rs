//! Generated spaces, so that the benchmark runs without data: blocked loops on an imagined processor, with
//! its cliffs, its liking for powers of two, and failures.

use crate::replay::Replay;
use aoe::search::{Domain, Scale};

/// Names, seeds of the processor, and extents of the blocked loops.
const SPACES: [(&str, u64, [f64; 2]); 4] = [
    ("blocked__small", 11, [512.0, 512.0]),
    ("blocked__wide", 12, [4096.0, 768.0]),
    ("blocked__odd", 13, [1000.0, 3000.0]),
    ("blocked__other", 14, [512.0, 512.0]),
];

/// Parameters: two block extents, two work items per thread, vector width, staging, padding.
struct Blocked {
    sizes: Vec<u32>,
    values: Vec<Vec<f64>>,
}

impl Blocked {
    fn new() -> Blocked {
        let blocks: Vec<f64> = (1..=24).map(|n| f64::from(n * 8)).collect();
        let rows = vec![1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0];
        let items: Vec<f64> = (1..=8).map(f64::from).collect();
        let flags = vec![0.0, 1.0];
        let values = vec![blocks, rows, items.clone(), items, vec![1.0, 2.0, 4.0], flags.clone(), flags];
        Blocked { sizes: values.iter().map(|v| v.len() as u32).collect(), values }
    }

    fn of(&self, configuration: &[u32]) -> Vec<f64> {
        configuration.iter().zip(&self.values).map(|(&index, values)| values[index as usize]).collect()
    }
}

impl Domain for Blocked {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn scale(&self, parameter: usize) -> Scale<'_> {
        Scale::Ordinal(&self.values[parameter])
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        let v = self.of(configuration);
        (32.0..=1024.0).contains(&(v[0] * v[1])) && v[2] % v[4] == 0.0 && (v[5] > 0.0 || v[6] == 0.0)
    }
}

/// The generated spaces.
pub fn spaces() -> Vec<Replay> {
    let of = |&(name, seed, extents): &(&str, u64, [f64; 2])| {
        let blocked = Blocked::new();
        Replay::new(name.to_owned(), Box::new(Blocked::new()), move |c| time(&blocked.of(c), seed, extents))
    };
    SPACES.iter().map(of).collect()
}

/// An imagined time. The processor's traits come from its seed.
fn time(v: &[f64], seed: u64, extents: [f64; 2]) -> Option<f64> {
    let mut traits = fastrand::Rng::with_seed(seed);
    let mut within = |low: f64, high: f64| low + (high - low) * traits.f64();
    let (registers, wave, latency, staging, banks) =
        (within(20.0, 60.0), within(32.0, 96.0).round(), within(4.0, 16.0), within(0.5, 1.6), within(0.0, 0.5));
    let [bx, by, tx, ty, vector, stage, pad] = v.try_into().ok()?;
    let threads: f64 = bx * by;
    let held = tx * ty * (1.0 + 0.4 * vector) + 6.0;
    if held > 2.2 * registers {
        return None;
    }
    let lanes = (threads / wave).ceil() * wave / threads;
    let tiles = (extents[0] / (bx * tx)).ceil() * (extents[1] / (by * ty)).ceil();
    let covered = tiles * bx * tx * by * ty / (extents[0] * extents[1]);
    let reuse = 1.0 / tx + 1.0 / ty + if stage > 0.0 { staging * (1.0 / bx + 1.0 / by) } else { 0.6 };
    let conflict = if stage > 0.0 && pad == 0.0 && bx % 32.0 == 0.0 { 1.0 + banks } else { 1.0 };
    let spill = if held > registers { 1.0 + (held - registers) / registers } else { 1.0 };
    let occupancy = (registers * 16.0 / (held * threads)).min(1.0);
    let hidden = 1.0 + latency * 0.05 / (occupancy * (threads / wave).ceil()).max(0.05);
    Some(lanes * covered * (0.4 + reuse / vector.sqrt()) * conflict * spill * hidden)
}
