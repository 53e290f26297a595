//! Any text as a cluster: one whose exchanges have sound times, or a fault; never a panic.
//!
//! Run with `cargo +nightly fuzz run cluster`.
#![no_main]

use aoe::tune::gdat::Cluster;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let Ok(cluster) = Cluster::parse(data) else { return };
    assert!(cluster.devices() > 1);
    for exchange in cluster.exchanges() {
        assert!(exchange.cost.us(1e9).is_finite() && exchange.cost.start_us >= 0.0);
    }
});
