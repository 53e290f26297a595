//! How long the best split of very many gradients takes, and what else gradient tuning computes beside it.
//!
//! Run with `scripts/bench gradients`. Goal: 10,000 gradients in less than a second.

use aoe::soc::Soc;
use aoe::tune::gdat::{Cluster, Plan, Step, best, from_bank, hccl_default};
use std::hint::black_box;
use std::time::Instant;

/// Segments that hccl takes.
const SEGMENTS: usize = 8;

fn main() {
    let soc = Soc::find("Ascend910A").expect("the part is built in");
    println!(
        "{:<10} {:>8} {:>12} {:>14} {:>14} {:>12}",
        "gradients", "devices", "split ms", "CANN's rule ms", "trailing", "hccl's"
    );
    for gradients in [161, 1_000, 10_000, 100_000] {
        for devices in [8, 4096] {
            measure(gradients, devices, &soc);
        }
    }
}

/// Splits a step of so many gradients and prints how long that took.
fn measure(gradients: usize, devices: u64, soc: &Soc) {
    let mut random = fastrand::Rng::with_seed(gradients as u64);
    let mut now = 0.0;
    let pauses: Vec<u64> = (0..gradients).map(|_| random.u64(100..120_000)).collect();
    let ready_us = pauses.iter().map(|&ns| {
        now += ns as f64 / 1e3;
        now
    });
    let ready_us: Vec<f64> = ready_us.collect();
    let bytes: Vec<u64> = (0..gradients).map(|_| 4 * random.u64(64..600_000)).collect();
    let step = Step { ready_us, bytes: bytes.clone(), backward_us: now };
    let cluster = Cluster::of_devices(devices);
    let contention = cluster.contention_on(soc);
    let cost = cluster.exchanges()[0].cost;
    let mut begun = Instant::now();
    let mut lap = || std::mem::replace(&mut begun, Instant::now()).elapsed().as_secs_f64() * 1e3;
    let split = black_box(best(&step, cost, contention, SEGMENTS)).expect("there are gradients");
    let split_ms = lap();
    // CANN's rule looks at every first segment, and from there on at every gradient.
    let entry = aoe::bank::gradient::Gradients { time: pauses, size: bytes };
    black_box(from_bank(&entry, &cluster));
    let rule_ms = lap();
    let trailing = |ends: &[usize]| Plan::new(&step, cost, contention, ends).trailing_us() / 1e3;
    let (ours, theirs) = (trailing(&split.ends), trailing(&hccl_default(&step)));
    println!("{gradients:<10} {devices:>8} {split_ms:>12.3} {rule_ms:>14.3} {ours:>11.3} ms {theirs:>9.3} ms");
}
