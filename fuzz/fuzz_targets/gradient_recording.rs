//! Any bytes as the two files of a recording, a zero byte between them: a training step whose split can be found, or
//! a fault; never a panic.
//!
//! Run with `cargo +nightly fuzz run gradient_recording`.
#![no_main]

use aoe::tune::gdat::recording::{Profile, combine, parse_summary};
use aoe::tune::gdat::{Cluster, best};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut files = data.splitn(2, |byte| *byte == 0);
    let (profile, summary) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let Ok(profile) = Profile::parse(profile) else { return };
    let Ok(rows) = parse_summary(summary, &profile.model) else { return };
    let Ok(training) = combine(&rows, profile) else { return };
    assert!(!training.entry().is_placeholder());
    let (step, cluster) = (training.step(), Cluster::default());
    for exchange in cluster.exchanges() {
        let split = best(&step, exchange.cost, cluster.contention.unwrap_or_default(), 8).expect("there are gradients");
        assert_eq!(split.ends.last(), Some(&step.bytes.len()));
    }
});
