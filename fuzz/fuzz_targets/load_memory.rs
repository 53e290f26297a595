//! Any bytes as a model: an error or a graph that is one and that lowers or says why not; never a
//! panic.
//!
//! Run with `cargo +nightly fuzz run load_memory fuzz/corpus/load_memory examples/models`.
#![no_main]

use aoe::frontend::{Gear, ModelOptions, load_memory};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    let batch = ModelOptions { gear: data.first().map(|&b| Gear::Batch(i64::from(b))), ..ModelOptions::default() };
    for options in [ModelOptions::default(), batch] {
        if let Ok(graph) = load_memory(data, "fuzz", None, &options) {
            graph.validate().expect("a graph that was loaded is one");
            let _ = lower(&graph, &SOC, &Settings::default());
        }
    }
});
