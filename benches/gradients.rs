//! How long gradient tuning takes for very many gradients: the best split by itself, CANN's rule, the best split of two
//! sets, and all of a recording's tuning from its gradients to bank and outcome.
//!
//! Run with `scripts/bench gradients`. Goal: 10,000 gradients in less than a second, all in all.

use aoe::backend::Description;
use aoe::bank::BankPaths;
use aoe::bank::gradient::{GradientBank, Gradients};
use aoe::graph::DataType;
use aoe::soc::Soc;
use aoe::tune::gdat::{
    Cluster, GdatJob, GdatSettings, Gradient, Plan, Source, Training, best, best_of_sets, from_bank, gdat, hccl_default,
};
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Segments that hccl takes.
const SEGMENTS: usize = 8;

fn main() {
    let soc = Soc::find("Ascend910A").expect("the part is built in");
    println!(
        "{:<10} {:>8} {:>10} {:>15} {:>12} {:>10} {:>14} {:>13}",
        "gradients", "devices", "split ms", "CANN's rule ms", "two sets ms", "whole ms", "trailing", "hccl's"
    );
    for gradients in [161, 1_000, 10_000, 100_000] {
        for devices in [8, 4096] {
            measure(gradients, devices, &soc);
        }
    }
}

/// A step of so many gradients, of two groups by turns if they are to be.
fn training(gradients: usize, groups: usize) -> Training {
    let mut random = fastrand::Rng::with_seed(gradients as u64);
    let times_ns = (0..gradients).map(|_| random.u64(100..120_000)).collect();
    let gradient = |at: usize| Gradient {
        node: format!("gradient{at}"),
        all_reduce: format!("exchange{at}"),
        dtype: DataType::Float,
        bytes: 4 * random.u64(64..600_000),
        group: format!("group{}", at % groups),
    };
    let gradients = (0..gradients).map(gradient).collect();
    Training { gradients, times_ns, rest_us: 0.0, from_begin: true, hash: 1 }
}

/// Splits a step of so many gradients and prints how long that took.
fn measure(gradients: usize, devices: u64, soc: &Soc) {
    let (one, two) = (training(gradients, 1), training(gradients, 2));
    let (step, mixed) = (one.step(), two.step());
    let cluster = Cluster::of_devices(devices);
    let contention = cluster.contention_on(soc);
    let cost = cluster.exchanges()[0].cost;
    let mut begun = Instant::now();
    let mut lap = || std::mem::replace(&mut begun, Instant::now()).elapsed().as_secs_f64() * 1e3;
    let split = black_box(best(&step, cost, contention, SEGMENTS)).expect("there are gradients");
    let split_ms = lap();
    let Gradients { time, size } = one.entry();
    black_box(from_bank(&Gradients { time, size }, &cluster));
    let rule_ms = lap();
    let joint =
        black_box(best_of_sets(&mixed, cost, contention, SEGMENTS, &[], &|| false)).expect("there are gradients");
    let joint_ms = lap();
    assert!(joint.is_optimum, "two sets are not too many");
    let whole_ms = whole(one, cluster, soc);
    let trailing = |ends: &[usize]| Plan::new(&step, cost, contention, ends).trailing_us() / 1e3;
    let (ours, theirs) = (trailing(&split.ends), trailing(&hccl_default(&step)));
    println!(
        "{gradients:<10} {devices:>8} {split_ms:>10.3} {rule_ms:>15.3} {joint_ms:>12.3} {whole_ms:>10.3} {ours:>11.3} ms \
         {theirs:>10.3} ms"
    );
}

/// Milliseconds for all of a recording's tuning: best, default and equal splits, what CANN makes of it, scaling, bank.
fn whole(training: Training, cluster: Cluster, soc: &Soc) -> f64 {
    let directory = tempfile::tempdir().expect("a directory for the bank");
    let paths = BankPaths { custom: directory.path().to_owned(), also_read: Vec::new() };
    let bank = GradientBank::open(&paths, soc);
    let description = Description { name: "recording".into(), detail: String::new(), noisy: true, is_simulated: false };
    let settings = GdatSettings { cluster, most_segments: SEGMENTS, repeat_tune: false, deadline: None, rescue: None };
    let (cancel, source) = (AtomicBool::new(false), Source::Recording(training, description));
    let job = GdatJob { name: "bench", source, soc, bank: &bank, settings: &settings, cancel: &cancel };
    let begun = Instant::now();
    let outcome = gdat(&job, &mut ()).expect("the gradients are sound");
    assert!(outcome.found.is_some(), "it came to its end");
    begun.elapsed().as_secs_f64() * 1e3
}
